"""What a view costs at which paces: what is known of its paths and of what arrives, simulated and planned.

Rows are those of traces, costs what earlier flushes took (run/choice.py), arrivals those of the past. What is not known yet is guessed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slackwater.catalog import Catalog, Done, Snapshot, View
from slackwater.errors import Unsupported
from slackwater.pace.estimate import estimated_sizes
from slackwater.pace.flow import Numbers, Sizes
from slackwater.pace.planners import greedy, uniform
from slackwater.pace.simulate import Arriving, Paces, PathModel, Simulation, Work
from slackwater.pace.trigger import ROWS, Trigger
from slackwater.path import Path
from slackwater.run.beside import guess_for
from slackwater.run.choice import FIRST, FULL, INCREMENTAL, Guess, Learned, expected_cost
from slackwater.run.compile import Compiled
from slackwater.run.plans import in_full
from slackwater.run.warehouse import Warehouse

SHARES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)  # of the batch work, of which a trade-off is shown
USUAL = 0.01  # of a table's rows arrive until the next trigger, where nothing is known
LINES = 200  # of the history of a table, by which its arrivals are expected
A_DAY = 86400.0  # seconds, until a trigger that is not told by the clock
SOME = np.array([0.0, *(10.0 ** np.arange(2, 11))])  # rows, by which the cost of any number is told


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
    planning: float  # seconds


def trade_off(form: Compiled, view: View | None, snapshot: Snapshot, warehouse: Warehouse, shares: Sequence[float] = SHARES) -> TradeOff:
    """For a view, or for a query that is none yet."""
    simulation = simulated(form, view, snapshot, warehouse)
    began = time.perf_counter()
    batch = simulation.work((1,) * len(simulation.paths))
    points = []
    for share in shares:
        paces = greedy(simulation, share * batch.final)
        work = simulation.work(paces)
        points.append(Point(share, paces, work, work.final <= share * batch.final + 1e-9))
    return TradeOff(simulation, batch, tuple(points), time.perf_counter() - began)


def simulated(form: Compiled, view: View | None, snapshot: Snapshot, warehouse: Warehouse) -> Simulation:
    """The paths of a view between two triggers."""
    paths = [path for path in form.paths if isinstance(path, Path)]
    if len(paths) < len(form.paths):
        raise Unsupported("a view that is refreshed in full has no paths to pace", hint="EXPLAIN says why it is")
    own = {path.name for path in paths}
    sources = dict.fromkeys(source for path in paths for source in path.sources if source not in own)
    tables = {source: _arriving(source, view, snapshot, warehouse.catalog) for source in sources}
    if view is not None and view.trigger.kind == ROWS:
        tables = _scaled(tables, view.trigger.rows)
    rows = {source: table.rows for source, table in tables.items()}
    models = []
    for path in paths:
        trace = snapshot.traces.get(path.name)
        sizes = estimated_sizes(path.top, rows, float(trace.rows) if trace is not None and trace.rows else None)
        rows[path.name] = sizes[path.top]
        learned = view.learned.get(path.name, {}) if view is not None else {}
        models.append(_model(path, sizes, learned, _guess(path, sum(rows[source] for source in path.sources), warehouse)))
    return Simulation(models, tables)


def _model(path: Path, sizes: Sizes, learned: Learned, guess: Guess) -> PathModel:
    full = learned.get(FULL) or learned.get(FIRST)
    return PathModel(path.name, path.top, sizes, _priced(learned.get(INCREMENTAL), guess), _priced(full, guess))


def _guess(path: Path, rows: float, warehouse: Warehouse) -> Guess:
    return guess_for(in_full(path).change, int(rows), warehouse)


def _priced(sums: Sequence[float] | None, guess: Guess) -> Callable[[Numbers], Numbers]:
    costs = np.array([expected_cost(int(rows), sums, guess) for rows in SOME])
    return lambda rows: np.interp(rows, SOME, costs)


def _arriving(source: str, view: View | None, snapshot: Snapshot, catalog: Catalog) -> Arriving:
    """A source, with as much to come as came before, in the time between two triggers."""
    trace = snapshot.traces.get(source)
    rows = float(trace.rows) if trace is not None else 0.0
    lines = _since_it_was_filled(catalog.history(source.partition("/")[0], LINES))
    if not lines:
        return Arriving(rows, inserts=USUAL * rows)
    seconds = max(1.0, time.time() - min(line.at for line in lines))
    share = _interval(view.trigger if view is not None else None) / seconds
    added, removed = (sum(getattr(line, side) for line in lines) * share for side in ("added", "removed"))
    changed = min(added, removed)
    return Arriving(rows, added - changed, changed, removed - changed)


def _since_it_was_filled(lines: list[Done]) -> list[Done]:
    """Lines of rows that came or went, newest first, but for the first: what a table begins with is no sign of what will come."""
    return [line for line in lines if line.added or line.removed][:-1]


def _interval(trigger: Trigger | None) -> float:
    """Seconds between two triggers."""
    if trigger is None:
        return A_DAY
    first = trigger.next_after(time.time())
    return A_DAY if math.isinf(first) else trigger.next_after(first) - first


def _scaled(tables: dict[str, Arriving], rows: int) -> dict[str, Arriving]:
    """As many rows in all as make an answer due."""
    moving = sum(table.inserts + 2 * table.updates + table.deletes for table in tables.values())
    factor = rows / moving if moving else 0.0
    return {
        name: Arriving(table.rows, table.inserts * factor, table.updates * factor, table.deletes * factor) for name, table in tables.items()
    }


def shown(found: TradeOff) -> str:
    """A trade-off as lines, for people."""
    names = [path.name for path in found.simulation.paths]
    lines = [
        f"in one batch, when the trigger comes: {found.batch.final:.2f} CPU-s",
        "",
        f"{'left':>6} {'CPU-s':>8} {'in all':>8} {'more':>6}  paces",
    ]
    for point in found.points:
        paces = ", ".join(f"{name} {pace}" for name, pace in zip(names, point.paces, strict=True))
        more = point.work.total / found.batch.total - 1 if found.batch.total else 0.0
        word = "" if point.is_met else f"; no less than {point.work.final / found.batch.final:.2f} can be left"
        lines.append(f"{point.share:>6g} {point.work.final:>8.2f} {point.work.total:>8.2f} {more:>6.0%}  {paces}{word}")
    best = found.points[-1]
    one = uniform(found.simulation, best.share * found.batch.final)
    told = found.simulation.work(one)
    lines += ["", f"with one pace for all of them, {one[0]}: {told.final:.2f} left, {told.total:.2f} in all"]
    arriving = ", ".join(
        f"{name} {table.rows:,.0f} (+{table.inserts:,.0f}, ~{table.updates:,.0f}, -{table.deletes:,.0f})"
        for name, table in found.simulation.tables.items()
    )
    return "\n".join([*lines, f"expected rows, and how many come, change and go until then: {arriving}"])
