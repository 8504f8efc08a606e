"""A view computed anew from what it reads, past the paths in between.

What paths keep for others pays while changes are small. Where much has changed, to bring all of it up to date may cost more than the query
itself. Then the last path is computed as the view's text would be, with the plans of the paths below it in the place of what they keep,
and compared with what it has:

    Δ last = last(below(tables as they are now)) - what it wrote before

The paths below stay behind and catch up when changes are small again. The last one has then read tables instead of them, which is what
its cursor says. Paths that are too far behind keep nothing any more and begin from nothing then: tables are not folded past what somebody
has yet to read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from slackwater.catalog import View
from slackwater.delta import OWN, first_flush, whole_flush
from slackwater.pace.price import MOVED
from slackwater.pace.simulate import Costs
from slackwater.path import Path
from slackwater.plan import Node, Output, Project, Scan, column
from slackwater.plan.rename import rename
from slackwater.run.beside import guess_for, may_run_beside
from slackwater.run.choice import FIRST, FULL, Choice, by_cost, expected_cost
from slackwater.run.compile import AnyPath, Compiled
from slackwater.run.plans import InFull, slim, stored
from slackwater.run.plans import in_full as computed_in_full
from slackwater.run.reads import Reads
from slackwater.run.warehouse import Step, Warehouse


@dataclass(frozen=True)
class Anew:
    """How a view's last path is computed from what the view reads."""

    path: Path
    plans: InFull
    sources: tuple[str, ...]


@lru_cache(maxsize=1024)
def anew(paths: tuple[AnyPath, ...], buffers: tuple[str, ...]) -> Anew | None:
    """For a view with these paths whose answer comes from these. None: nothing lies in between."""
    known = {path.name: path for path in paths if isinstance(path, Path)}
    last = known.get(buffers[0]) if len(buffers) == 1 else None
    if last is None or not set(last.sources) & set(known):
        return None
    ways = (first_flush(last.top), whole_flush(last.top, last.name))
    everything, change = (slim(_Inlined(known).plan(stored(plan, last.columns))) for plan in ways)
    sources = dict.fromkeys(node.relation.rpartition("@")[0] for node in everything.walk() if isinstance(node, Scan))
    return Anew(last, InFull(everything, change), tuple(sources))


class _Inlined:
    """Puts what a path computes in the place of what it keeps."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._numbers = itertools.count(1)

    def plan(self, plan: Node) -> Node:
        return plan.transform(self._scan)

    def _scan(self, node: Node) -> Node:
        source, _, part = node.relation.rpartition("@") if isinstance(node, Scan) else ("", "", "")
        if not isinstance(node, Scan) or part == OWN or source not in self._paths:
            return node
        path, number = self._paths[source], next(self._numbers)
        # Within a plan a name stands for one thing, and a path may be read at several places.
        below = rename(self.plan(stored(first_flush(path.top), path.columns)), lambda name: f"{name}__{number}")
        return Project(below, tuple(Output(out, column(f"{name}__{number}")) for name, out in zip(node.source, node.outputs, strict=True)))


def choose_for_view(step: Step, view: View, form: Compiled, left: Mapping[str, Costs]) -> Choice | None:
    """Path by path, or past all but the last. None: there is nothing to choose. `left`: what is left for each path, if that is known."""
    whole = anew(form.paths, form.buffers)
    if whole is None:
        return None
    now = {source: step.traces[source].version for source in whole.sources}
    in_full = Reads(whole.plans.everything, {}, now, step).rows
    if not _is_worth_it(form, whole, in_full, step.warehouse):
        return None
    guess, learned = guess_for(whole.plans.change, in_full, step.warehouse), view.learned.get(view.name, {})
    if step.cursor(whole.path.name) is None:
        return replace(by_cost(in_full, in_full, learned, guess), how=FIRST)
    catch_up = _to_catch_up(step, form, whole, in_full, _met)
    begins = any(step.cursor(path.name) is None for path in form.paths)
    expected = float(sum(costs.least[0] for costs in left.values())) if left else None
    changed = MOVED * _met(step, step.cursor(whole.path.name) or {}, now) if is_anew(step, whole) else catch_up
    choice = step.warehouse.chooser(changed, in_full, learned, guess, catch_up, expected)
    if choice.how == FULL:
        return choice.that_read(in_full, in_full)
    return replace(choice, how=FIRST, rows=in_full) if begins else replace(choice, rows=catch_up)


def cost_anew(form: Compiled, view: View | None, rows: Mapping[str, float], warehouse: Warehouse) -> float | None:
    """CPU seconds that it is expected to take to compute a view past its paths, from sources of so many rows. None: that is not done."""
    whole = anew(form.paths, form.buffers)
    if whole is None:
        return None
    scans = [node.relation.rpartition("@")[0] for node in whole.plans.everything.walk() if isinstance(node, Scan)]
    in_full = int(sum(rows[source] for source in scans))
    if not _is_worth_it(form, whole, in_full, warehouse):
        return None
    learned = view.learned.get(view.name, {}) if view is not None else {}
    return expected_cost(in_full, learned.get(FULL) or learned.get(FIRST), guess_for(whole.plans.change, in_full, warehouse))


def _is_worth_it(form: Compiled, whole: Anew, read: int, warehouse: Warehouse) -> bool:
    """Not if our engine would have to do alone, past the paths, what another does for less below a view's last one."""
    below = [path for path in form.paths if isinstance(path, Path) and path.name != whole.path.name]
    return may_run_beside(whole.plans.change, read, warehouse) or not all(
        may_run_beside(computed_in_full(path).change, read, warehouse) for path in below
    )


def forget_far_behind(step: Step, form: Compiled, whole: Anew) -> None:
    """Drop what the paths below keep, if to catch up would cost them more than all the view reads."""
    in_full = Reads(whole.plans.everything, {}, {source: step.traces[source].version for source in whole.sources}, step).rows
    if _to_catch_up(step, form, whole, in_full, _changed) >= in_full:
        for path in form.paths:
            if path.name != whole.path.name and path.name in step.traces:
                step.drop_trace(path.name)


Count = Callable[[Step, Mapping[str, int], Mapping[str, int]], int]  # of rows, between two versions of what a view reads


def _to_catch_up(step: Step, form: Compiled, whole: Anew, in_full: int, count: Count) -> int:
    """What it takes to bring all paths up to date, in rows that are read. From nothing it takes all of them, and more to write."""
    if any(step.cursor(path.name) is None for path in form.paths):
        return MOVED * in_full
    now = {source: step.traces[source].version for source in whole.sources}
    return MOVED * count(step, _seen(step, form, whole), now)


def is_anew(step: Step, whole: Anew) -> bool:
    """Whether a view's last path was computed past the others."""
    return set(step.cursor(whole.path.name) or {}) == set(whole.sources)


def _seen(step: Step, form: Compiled, whole: Anew) -> dict[str, int]:
    """How far the paths have read what the view reads; the one that is furthest behind counts."""
    cursors = [step.cursor(path.name) or {} for path in form.paths]
    return {source: min((cursor[source] for cursor in cursors if source in cursor), default=0) for source in whole.sources}


def _changed(step: Step, seen: Mapping[str, int], now: Mapping[str, int]) -> int:
    """How many rows have arrived or left."""
    return sum(batch.rows for source, version in now.items() for batch in step.traces[source].between(seen[source], version))


def _met(step: Step, seen: Mapping[str, int], now: Mapping[str, int]) -> int:
    """How many rows that means where all are joined: what moved in a small source moves as large a share of the largest."""
    rows = {source: max(1, step.traces[source].rows) for source in now}
    shares = [min(1.0, _changed(step, seen, {source: version}) / rows[source]) for source, version in now.items()]
    return max(_changed(step, seen, now), int(sum(shares) * max(rows.values())))
