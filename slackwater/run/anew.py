"""A view computed anew from what it reads, past paths in between.

What paths keep for others pays while changes are small. Where much has changed, to bring all of it up to date may cost more than the query
itself. Then the last path is computed as the view's text would be, with the plans of paths below it in the place of what they keep, and
compared with what it has:

    Δ last = last(below(tables as they are now)) - what it wrote before

Past all of them, or past some: paths that a goal has run before its trigger are up to date for little, and what lies above them is one
statement over what they keep, instead of one for each path.

The paths that are passed by stay behind and catch up when changes are small again. The last one has then read tables, and paths that were
kept, instead of them, which is what its cursor says. Paths that are too far behind keep nothing any more and begin from nothing then:
tables are not folded past what somebody has yet to read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
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
from slackwater.run.choice import FIRST, FULL, Choice, Learned, by_cost, expected_cost
from slackwater.run.compile import AnyPath, Compiled
from slackwater.run.plans import InFull, slim, stored
from slackwater.run.plans import in_full as computed_in_full
from slackwater.run.reads import Reads
from slackwater.run.warehouse import Step, Warehouse

MANY = 5  # paths below the last, of which all sets are looked at


@dataclass(frozen=True)
class Anew:
    """How a view's last path is computed from what the view reads and from the paths that are kept, past the others."""

    path: Path
    plans: InFull
    sources: tuple[str, ...]
    kept: frozenset[str]


@dataclass(frozen=True)
class Way:
    """What was chosen for a view: to compute it anew, or path by path, as the choice says."""

    anew: Anew
    choice: Choice


@lru_cache(maxsize=1024)
def anew(paths: tuple[AnyPath, ...], buffers: tuple[str, ...], kept: frozenset[str] = frozenset()) -> Anew | None:
    """For a view with these paths whose answer comes from these. None: nothing lies in between."""
    known = {path.name: path for path in paths if isinstance(path, Path) and path.name not in kept}
    last = known.get(buffers[0]) if len(buffers) == 1 else None
    if last is None or not set(last.sources) & set(known):
        return None
    ways = (first_flush(last.top), whole_flush(last.top, last.name))
    everything, change = (slim(_Inlined(known).plan(stored(plan, last.columns))) for plan in ways)
    sources = dict.fromkeys(node.relation.rpartition("@")[0] for node in everything.walk() if isinstance(node, Scan))
    return Anew(last, InFull(everything, change), tuple(sources), kept)


@lru_cache(maxsize=1024)
def ways_past(paths: tuple[AnyPath, ...], buffers: tuple[str, ...]) -> tuple[Anew, ...]:
    """All of them for a view: past all paths but the last, and past some. Who keeps a path keeps what it reads."""
    below = [path for path in paths if path.name not in buffers]
    counts = range(len(below) if len(below) <= MANY else 1)
    sets = (frozenset(path.name for path in some) for count in counts for some in itertools.combinations(below, count))
    reads = {path.name: set(path.sources) & {each.name for each in below} for path in below}
    found = (anew(paths, buffers, kept) for kept in sets if all(reads[name] <= kept for name in kept))
    return tuple(each for each in found if each is not None)


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


def choose_for_view(step: Step, view: View, form: Compiled, left: Mapping[str, Costs]) -> Way | None:
    """Path by path, or past some. None: there is nothing to choose. `left`: what is left for each path, if that is known."""
    if form.streams:
        return None  # their rows cannot be read again
    learned = view.learned.get(view.name, {})
    if left:
        ways = [way for whole in ways_past(form.paths, form.buffers) if (way := _expected(step, form, whole, left, learned)) is not None]
        return _cheapest(ways, left)
    whole = anew(form.paths, form.buffers)
    if whole is None:
        return None
    now = {source: step.traces[source].version for source in whole.sources}
    in_full = Reads(whole.plans.everything, {}, now, step).rows
    if not _is_worth_it(form, whole, in_full, step.warehouse):
        return None
    guess = guess_for(whole.plans.change, in_full, step.warehouse)
    if step.cursor(whole.path.name) is None:
        return Way(whole, replace(by_cost(in_full, in_full, learned, guess), how=FIRST))
    catch_up = _to_catch_up(step, form, whole, in_full, _met)
    begins = any(step.cursor(path.name) is None for path in form.paths)
    changed = MOVED * _met(step, step.cursor(whole.path.name) or {}, now) if is_anew(step, whole) else catch_up
    choice = step.warehouse.chooser(changed, in_full, learned, guess, catch_up)
    if choice.how == FULL:
        return Way(whole, choice.that_read(in_full, in_full))
    return Way(whole, replace(choice, how=FIRST, rows=in_full) if begins else replace(choice, rows=catch_up))


def _expected(step: Step, form: Compiled, whole: Anew, left: Mapping[str, Costs], learned: Learned) -> Way | None:
    """What is chosen, past some paths or not, for all but those that are kept, which are flushed in any case."""
    if not all(source in step.traces for source in whole.sources):
        return None
    in_full = Reads(whole.plans.everything, {}, {source: step.traces[source].version for source in whole.sources}, step).rows
    if not _is_worth_it(form, whole, in_full, step.warehouse):
        return None
    passed = float(sum(costs.least[0] for name, costs in left.items() if name not in whole.kept))
    guess = guess_for(whole.plans.change, in_full, step.warehouse)
    choice = step.warehouse.chooser(in_full, in_full, learned, guess, 0, passed)
    return Way(whole, choice.that_read(in_full, in_full) if choice.how == FULL else choice)


def _cheapest(ways: Sequence[Way], left: Mapping[str, Costs]) -> Way | None:
    """The way by which all paths together take the least."""

    def takes(way: Way) -> float:
        kept = sum(float(costs.least[0]) for name, costs in left.items() if name in way.anew.kept)
        return kept + (way.choice.full if way.choice.how == FULL else way.choice.incremental)

    return min(ways, key=takes, default=None)


def costs_anew(form: Compiled, view: View | None, rows: Mapping[str, float], warehouse: Warehouse) -> dict[frozenset[str], float]:
    """CPU seconds that it is expected to take to compute a view past its paths, by those that are kept, from sources of so many rows."""
    learned = view.learned.get(view.name, {}) if view is not None else {}
    found = {}
    for whole in ways_past(form.paths, form.buffers) if not form.streams else ():
        scans = [node.relation.rpartition("@")[0] for node in whole.plans.everything.walk() if isinstance(node, Scan)]
        in_full = int(sum(rows[source] for source in scans))
        if _is_worth_it(form, whole, in_full, warehouse):
            guess = guess_for(whole.plans.change, in_full, warehouse)
            found[whole.kept] = expected_cost(in_full, learned.get(FULL) or learned.get(FIRST), guess)
    return found


def _is_worth_it(form: Compiled, whole: Anew, read: int, warehouse: Warehouse) -> bool:
    """Not if our engine would have to do alone, past the paths, what another does for less below a view's last one."""
    passed = [path for path in _passed(form, whole) if isinstance(path, Path)]
    return may_run_beside(whole.plans.change, read, warehouse) or not all(
        may_run_beside(computed_in_full(path).change, read, warehouse) for path in passed
    )


def _passed(form: Compiled, whole: Anew) -> list[AnyPath]:
    """The paths that are passed by."""
    return [path for path in form.paths if path.name != whole.path.name and path.name not in whole.kept]


def forget_far_behind(step: Step, form: Compiled, whole: Anew) -> None:
    """Drop what the paths that are passed by keep, if to catch up would cost them more than all that is read past them."""
    in_full = Reads(whole.plans.everything, {}, {source: step.traces[source].version for source in whole.sources}, step).rows
    if _to_catch_up(step, form, whole, in_full, _changed) >= in_full:
        for path in _passed(form, whole):
            if path.name in step.traces:
                step.drop_trace(path.name)


def has_news(step: Step, form: Compiled) -> bool:
    """Whether anything has moved that the view's answer rests on: by what its paths have read, not what they usually do."""
    known, waiting = {path.name: path for path in form.paths}, list(form.buffers)
    for name in waiting:
        seen = step.cursor(name)
        if seen is None or seen != {source: step.traces[source].version for source in seen if source in step.traces}:
            return True
        waiting += [source for source in seen if source in known and source not in waiting]
    return False


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
