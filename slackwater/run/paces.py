"""What a view costs at which paces: what is known of its paths and of what arrives, simulated and planned.

Rows are those of traces, costs what earlier flushes took (run/choice.py), arrivals those of the past (run/forecast.py). What is not known
yet is guessed.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slackwater.catalog import Catalog, Snapshot, View
from slackwater.errors import Unsupported
from slackwater.pace.goal import WITHIN, Goal
from slackwater.pace.planners import MARGIN, Planner, greedy, least_left, with_room
from slackwater.pace.simulate import Arriving, Paces, Simulation, Work
from slackwater.pace.trigger import MARKER, ROWS, WINDOW
from slackwater.path import Path
from slackwater.run.anew import costs_anew
from slackwater.run.compile import Compiled
from slackwater.run.compiled import compiled
from slackwater.run.models import path_model
from slackwater.run.refresh import in_order
from slackwater.run.warehouse import Warehouse

SHARES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)  # of the batch work, of which a trade-off is shown
LINES = 200  # of the history of a view, by which its triggers and its speed are told
A_DAY = 86400.0  # seconds, until a trigger of which nothing else is known
SLOWEST = 0.1  # CPU seconds of a second, if refreshes took less of them


@dataclass(frozen=True)
class Point:
    """Paces that leave no more than a share of the batch work for the trigger, if there are any."""

    share: float
    paces: Paces
    work: Work
    is_met: bool


@dataclass(frozen=True)
class TradeOff:
    """What it costs to leave less for the trigger."""

    simulation: Simulation
    batch: Work
    points: tuple[Point, ...]
    least: float  # CPU seconds that are left for the trigger, whatever is spent before
    planning: float  # seconds


def trade_off(form: Compiled, view: View | None, snapshot: Snapshot, warehouse: Warehouse, shares: Sequence[float] = SHARES) -> TradeOff:
    """For a view, or for a query that is none yet."""
    simulation = simulated(form, view, snapshot, warehouse)
    began = time.perf_counter()
    batch = simulation.work((1,) * len(simulation.paths))
    points = []
    for share in shares:
        paces = with_room(greedy, simulation, share * batch.final if share < 1 else math.inf)
        work = simulation.work(paces)
        points.append(Point(share, paces, work, work.final <= share * batch.final + 1e-9))
    return TradeOff(simulation, batch, tuple(points), least_left(greedy, simulation), time.perf_counter() - began)


@dataclass(frozen=True)
class Plan:
    """How often each path of a view is flushed until its next trigger, the last time then, and what that is expected to cost."""

    simulation: Simulation
    paces: Paces
    most: float  # CPU seconds that may be left for the trigger
    speed: float  # CPU seconds of a second
    planning: float  # seconds
    times: float = 1.0  # as many rows are expected as came before

    @property
    def work(self) -> Work:
        return self.simulation.work(self.paces)

    @property
    def batch(self) -> Work:
        return self.simulation.work((1,) * len(self.paces))

    @property
    def is_met(self) -> bool:
        return self.work.final <= self.most + 1e-9

    @property
    def latency(self) -> float:
        """Seconds after the trigger until the answer is there."""
        return self.work.final / self.speed

    @property
    def least(self) -> float:
        """CPU seconds that a goal would have to leave for the trigger, with some room."""
        return min(least_left(greedy, self.simulation) / MARGIN, self.batch.final)

    @property
    def moving(self) -> float:
        """Rows that are expected to come and go."""
        return sum(table.moving for table in self.simulation.tables.values())

    def pace(self, path: str) -> int:
        return self.paces[self.simulation.index[path]]

    def takes(self, path: str) -> float:
        """Seconds that a flush of a path is expected to take."""
        return float(self.simulation.costs(self.simulation.index[path], self.paces).max()) / self.speed


def planned(view: View, snapshot: Snapshot, warehouse: Warehouse, planner: Planner = greedy, times: float = 1.0) -> Plan:
    """For a view with a goal. `times` as many rows come as came before."""
    began = time.perf_counter()
    simulation = simulated(compiled(view.name, snapshot, warehouse), view, snapshot, warehouse, times)
    speed = _speed(view, warehouse)
    batch = simulation.work((1,) * len(simulation.paths)).final
    most = allowed(view.goal, batch, speed)
    paces = with_room(planner, simulation, most)
    return Plan(simulation, paces, most, speed, time.perf_counter() - began, times)


def allowed(goal: Goal, batch: float, speed: float = 1.0) -> float:
    """CPU seconds that may be left for the trigger, of so many in one batch."""
    if goal.kind == WITHIN:
        return goal.seconds * speed
    return goal.share * batch if goal.share < 1 else math.inf


def _speed(view: View, warehouse: Warehouse) -> float:
    """CPU seconds that a second of the view's refreshes takes."""
    if warehouse.engine.is_elsewhere:
        return 1.0  # its costs are seconds
    lines = [line for line in warehouse.catalog.history(view.name, LINES) if line.action in ("refresh", "flush") and line.cpu_seconds]
    seconds, cpu = (sum(getattr(line, name) for line in lines) for name in ("seconds", "cpu_seconds"))
    return float(min(max(cpu / seconds, SLOWEST), os.cpu_count() or 1)) if seconds else 1.0


def simulated(
    form: Compiled,
    view: View | None,
    snapshot: Snapshot,
    warehouse: Warehouse,
    times: float = 1.0,
    arriving: Mapping[str, Arriving] | None = None,
) -> Simulation:
    """The paths of a view and of all views that it reads, between two triggers.

    `times` as many rows come as came before, or `arriving`, by source.
    """
    parts = [(compiled(each.name, snapshot, warehouse), each) for each in in_order(form.reads, snapshot)]
    owned = [(path, owner) for part, owner in [*parts, (form, view)] for path in part.paths]
    paths = [(path, owner) for path, owner in owned if isinstance(path, Path)]
    if len(paths) < len(owned):
        raise Unsupported("a view that is refreshed in full has no paths to pace", hint="EXPLAIN says why it is")
    own = {path.name for path, _ in paths}
    sources = dict.fromkeys(source for path, _ in paths for source in path.sources if source not in own)
    tables = arriving or _expected(sources, view, snapshot, warehouse, times)
    rows = {source: table.after for source, table in tables.items()}
    models = []
    for path, owner in paths:
        learned = owner.learned.get(path.name, {}) if owner is not None else {}
        models.append(path_model(path, rows, snapshot.traces.get(path.name), learned, warehouse))
        rows[path.name] = models[-1].sizes[path.top]
    return Simulation(models, tables, {} if parts else costs_anew(form, view, rows, warehouse))


def _expected(sources: Iterable[str], view: View | None, snapshot: Snapshot, warehouse: Warehouse, times: float) -> dict[str, Arriving]:
    """What arrives until the next trigger."""
    interval, rows, tables = _interval(view, warehouse.catalog), _rows_until_trigger(view), dict[str, Arriving]()
    for source in sources:
        there = float(snapshot.traces[source].rows) if source in snapshot.traces else 0.0
        is_table = source in snapshot.relations  # or what a stream is joined with, which never changes
        tables[source] = warehouse.forecast.arriving(source, there, interval, time.time()) if is_table else Arriving(there)
    moving = sum(table.moving for table in tables.values())
    factor = times if rows is None else times * rows / moving if moving else 0.0
    return {source: table * factor for source, table in tables.items()}


def _rows_until_trigger(view: View | None) -> int | None:
    """How many rows are sure to come, or were said to."""
    if view is None:
        return None
    return view.trigger.rows if view.trigger.kind == ROWS else view.expects


def _interval(view: View | None, catalog: Catalog) -> float:
    """Seconds between two triggers."""
    if view is None:
        return A_DAY
    first = view.trigger.next_after(time.time())
    if not math.isinf(first):
        return view.trigger.next_after(first) - first
    is_told = view.trigger.kind in (MARKER, WINDOW)
    asked = [line.due or 0.0 for line in catalog.history(view.name, LINES, due=True)] if is_told else []
    return (asked[0] - asked[-1]) / (len(asked) - 1) if len(asked) > 1 else view.trigger.seconds or A_DAY
