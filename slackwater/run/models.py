"""What is known of a path and of what flushes of it cost, for whoever plans: paces between triggers, and the way of a refresh."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from slackwater.catalog import View
from slackwater.pace.estimate import estimated_sizes
from slackwater.pace.flow import Flow, Numbers
from slackwater.pace.given import fitted, moved
from slackwater.pace.price import MOVED, Price, price
from slackwater.pace.simulate import Costs, PathModel
from slackwater.path import Path
from slackwater.plan import Scan
from slackwater.run.beside import guess_for
from slackwater.run.choice import CATCH_UP_OVER, Guess, Learned, cost_in_full, prices
from slackwater.run.compile import Compiled
from slackwater.run.plans import in_full
from slackwater.run.warehouse import Step, Warehouse
from slackwater.trace import Trace

SOME = np.array([0.0, *(10.0 ** np.arange(2, 11))])  # rows, by which the cost of any number is told


def path_model(path: Path, rows: Mapping[str, float], trace: Trace | None, learned: Learned, warehouse: Warehouse) -> PathModel:
    """A path whose sources have so many rows. `trace`: what it keeps, if there is something."""
    sizes = estimated_sizes(path.top, rows, float(trace.rows) if trace is not None and trace.rows else None)
    scans = [node.relation for node in path.top.walk() if isinstance(node, Scan)]
    guess = guess_for(in_full(path).change, int(sum(rows[source] for source in scans)), warehouse)
    guessed = Price(guess.fixed, guess.per_row, (MOVED - 1) * guess.per_row, guess.per_row * guess.looked_through)
    full = priced(learned, guess)
    model = PathModel(path.name, path.top, sizes, price(prices(learned), guessed), full)
    return fitted(model, learned)


def priced(learned: Learned, guess: Guess) -> Callable[[Numbers], Numbers]:
    """What a full flush costs, by rows that it reads."""
    costs = np.array([cost_in_full(int(rows), learned, guess) for rows in SOME])
    return lambda rows: np.interp(rows, SOME, costs)


def remaining(step: Step, view: View, form: Compiled) -> dict[str, Costs]:
    """By path: CPU seconds that it is expected to take now, incrementally or in full, for what it has not read yet.

    Only where a goal may have had some of them run before others: nothing otherwise. A path that was passed by (run/anew.py) would have to
    catch up, which must pay within some triggers.
    """
    answered = step.cursor(form.buffers[0]) if len(form.buffers) == 1 else None
    if not view.goal.is_paced or answered is None:
        return {}
    rows: dict[str, float] = {}
    coming: dict[str, Flow] = {}  # by path: what it is about to do
    found: dict[str, Costs] = {}
    for path in form.paths:
        seen = step.cursor(path.name)
        is_behind = seen is None or set(seen) != set(path.sources)
        since = answered if is_behind or seen is None else seen
        if not isinstance(path, Path) or any(source not in since and source not in coming for source in path.sources):
            return {}
        sources = {
            source: _unread(step.traces[source], since[source], coming.get(source)) if source in since else coming[source]
            for source in path.sources
        }
        rows |= {source: float(flow.after[0]) for source, flow in sources.items()}
        model = path_model(path, rows, step.traces.get(path.name), view.learned.get(path.name, {}), step.warehouse)
        coming[path.name] = model.flow(sources)
        costs = model.costs(sources, coming[path.name])
        catching_up = np.maximum(costs.full - costs.incremental, 0.0) / CATCH_UP_OVER if is_behind else 0.0
        found[path.name] = Costs(costs.incremental + catching_up, costs.full)
    return found


def _unread(trace: Trace, seen: int, coming: Flow | None) -> Flow:
    """What moved in a trace since a version, and what is about to."""
    batches = trace.between(seen, trace.version)
    came, went = sum(batch.added_rows for batch in batches), sum(batch.removed_rows for batch in batches)
    flow = moved(max(trace.rows - came + went, 0), came, went)
    return flow if coming is None else Flow(flow.before, coming.after, flow.moves + coming.moves)
