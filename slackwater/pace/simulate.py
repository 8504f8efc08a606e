"""What it takes to run each path at a pace (Tang, Thrifty Query Processing, 3.2.2 and Algorithm 1).

A path of pace k is flushed k times between two triggers, when another k-th of the data is there, the last time at the trigger. What it
reads of tables has arrived by then; what it reads of other paths is as of their own last flush. If those were flushed several times since
it last looked, it reads what each of these flushes wrote, of which the next took back a part. The work of the last flushes of all paths
is the final work: what is left to do when the trigger comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from slackwater.pace.flow import Flow, Moves, Numbers, Sizes, flow
from slackwater.pace.price import CLEARLY, Price, derived
from slackwater.plan import Node, Scan

Paces = tuple[int, ...]  # by path
# Those that are tried: from ten on in steps of about a quarter, which tell little from each other.
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100)
Bias = Callable[[Mapping[str, Flow], Numbers], Numbers | float]  # times as many rows are given as operators tell of what sources do


@dataclass(frozen=True)
class Arriving:
    """A table, and what is expected to move in it until the next trigger."""

    rows: float
    inserts: float = 0.0
    updates: float = 0.0
    deletes: float = 0.0

    def __mul__(self, times: float) -> Arriving:
        """With so many times as much to come. No more rows can change or leave than there are."""
        inserts = self.inserts * times
        updates, deletes = (min(each * times, self.rows + inserts) for each in (self.updates, self.deletes))
        return Arriving(self.rows, inserts, updates, deletes)

    @property
    def after(self) -> float:
        """Rows at the trigger."""
        return self.rows + self.inserts - self.deletes

    @property
    def moving(self) -> float:
        """Rows that come and go; a change is both."""
        return self.inserts + 2 * self.updates + self.deletes

    def between(self, since: Numbers, until: Numbers) -> Flow:
        """From one progress to another."""
        grown, share = self.inserts - self.deletes, until - since
        moves = Moves(self.inserts * share, self.updates * share, self.deletes * share)
        return Flow(self.rows + grown * since, self.rows + grown * until, moves)


@dataclass(frozen=True)
class Costs:
    """CPU seconds of flushes, either way."""

    incremental: Numbers
    full: Numbers

    @property
    def least(self) -> Numbers:
        return np.minimum(self.incremental, self.full)


@dataclass(frozen=True)
class PathModel:
    """A path, the rows of its operators, and what flushes of it cost, incrementally, or in full by rows that are read."""

    name: str
    top: Node
    sizes: Sizes
    incremental: Price
    full: Callable[[Numbers], Numbers]
    bias: Bias = lambda sources, told: 1.0

    def flow(self, sources: Mapping[str, Flow]) -> Flow:
        """What it makes of what its sources do."""
        found = flow(self.top, sources, self.sizes)
        return Flow(found.before, found.after, found.moves * self.bias(sources, found.moves.read))

    def costs(self, sources: Mapping[str, Flow], met: Flow, read: Mapping[str, Numbers] | None = None) -> Costs:
        """Of flushes for what the sources do, of which it makes such a flow. `read`: how many rows that is, if it was written piecemeal."""
        moved = np.asarray(sum((read or {}).get(name, each.moves.read) for name, each in sources.items()))
        several = len(sources) > 1
        there = met.before + (sum(each.before for each in sources.values()) if several else 0.0)
        incremental = self.incremental.at(moved, derived(moved, met.moves.read, several), there)
        full = self.full(np.asarray(sum(sources[each].after for each in self.scans)))
        return Costs(*(np.where(moved > 0, each, 0.0) for each in (incremental, full)))

    @cached_property
    def scans(self) -> tuple[str, ...]:
        """What it reads, each as often as it does."""
        return tuple(node.relation for node in self.top.walk() if isinstance(node, Scan))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.scans))


@dataclass(frozen=True)
class Work:
    """In CPU seconds: of all flushes, and of those that are left for the trigger."""

    total: float
    final: float

    def __add__(self, other: Work) -> Work:
        return Work(self.total + other.total, self.final + other.final)


@dataclass
class Simulation:
    """The paths of a view, those that are read before those that read them, and the tables below.

    `past`: what it costs to compute the view past paths when the trigger comes, by those that are kept and flushed then, too.

    Planners ask for a path at most paces if they ask for it at one: all of them are looked at together, in arrays that hold the flushes of
    one pace after those of the other.
    """

    paths: Sequence[PathModel]
    tables: Mapping[str, Arriving]
    past: Mapping[frozenset[str], float] = field(default_factory=dict)
    _known: dict[tuple[int, Paces], Work] = field(default_factory=dict)
    _seen: dict[tuple[str, Paces, int], tuple[Flow, Numbers | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index = {path.name: number for number, path in enumerate(self.paths)}
        self.children = [tuple(self.index[each] for each in path.sources if each in self.index) for path in self.paths]

    def work(self, paces: Paces) -> Work:
        """Of all paths, or at the trigger past some of them where that is clearly less."""
        works = [self.of_path(number, paces) for number in range(len(self.paths))]
        work = Work(sum(each.total for each in works), sum(each.final for each in works))
        final = self._at_trigger(works)[1]
        return Work(work.total - work.final + final, final)

    def kept(self, paces: Paces) -> frozenset[str] | None:
        """The paths that are flushed when the trigger comes, if the view is then computed past the others."""
        return self._at_trigger([self.of_path(number, paces) for number in range(len(self.paths))])[0]

    def _at_trigger(self, works: Sequence[Work]) -> tuple[frozenset[str] | None, float]:
        """Which paths are kept, if any are passed by, and what is left to do then."""
        best, least = None, sum(each.final for each in works)
        for kept, anew in self.past.items():
            flushed = sum(works[self.index[name]].final for name in kept)
            passed = sum(each.final for each in works) - flushed
            if anew < CLEARLY * passed and flushed + anew < least:
                best, least = kept, flushed + anew
        return best, least

    def of_path(self, number: int, paces: Paces) -> Work:
        """Of one, which depends on its own pace and on those of the paths that it reads."""
        below = tuple(paces[child] for child in self.children[number])
        key = (number, (paces[number], *below))
        if key not in self._known:
            own = paces[number]
            steps = tuple(step for step in STEPS if step <= min(below, default=step)) if own in STEPS else ()
            steps = steps if own in steps else (own,)
            for pace, costs in zip(steps, self._split(self._costs(number, steps, paces), steps), strict=True):
                self._known[number, (pace, *below)] = Work(float(costs.sum()), float(costs[-1]))
        return self._known[key]

    def costs(self, number: int, paces: Paces) -> Numbers:
        """Of each flush of a path."""
        return self._costs(number, (paces[number],), paces)

    def given(self, number: int, paces: Paces) -> Numbers:
        """Rows that each flush of a path gives to those who read it."""
        path = self.paths[number]
        return path.flow({each: self._news(each, (paces[number],), paces)[0] for each in path.sources}).moves.read

    def _costs(self, number: int, steps: Paces, paces: Paces) -> Numbers:
        """Of each flush of a path at some paces, one after the other, where those that it reads have theirs."""
        path = self.paths[number]
        news = {each: self._news(each, steps, paces) for each in path.sources}
        sources = {each: flow for each, (flow, _) in news.items()}
        read = {each: rows for each, (_, rows) in news.items() if rows is not None}
        return path.costs(sources, path.flow(sources), read).least

    def _news(self, source: str, steps: Paces, paces: Paces) -> tuple[Flow, Numbers | None]:
        """What a path of such paces sees of a source: of another path, what that has flushed, and how many rows it wrote for it."""
        theirs = paces[self.index[source]] if source in self.index else 0
        key = (source, steps, theirs)
        if key not in self._seen:
            until = np.concatenate([np.arange(1, step + 1) / step for step in steps])
            since = until - np.repeat([1 / step for step in steps], steps)
            written: Numbers | None = None
            if theirs:
                first, last = (np.floor(each * theirs + 1e-9).astype(int) for each in (since, until))
                upto = np.concatenate([[0.0], np.cumsum(self._written(source, theirs))])
                since, until, written = first / theirs, last / theirs, upto[last] - upto[first]
            self._seen[key] = self._between(source, since, until), written
        return self._seen[key]

    def _written(self, source: str, pace: int) -> Numbers:
        """How many rows a path writes at each of its flushes."""
        until = np.arange(1, pace + 1) / pace
        return self._between(source, until - 1 / pace, until).moves.read

    def _between(self, source: str, since: Numbers, until: Numbers) -> Flow:
        if source not in self.index:
            return self.tables[source].between(since, until)
        path = self.paths[self.index[source]]
        return path.flow({each: self._between(each, since, until) for each in path.sources})

    @staticmethod
    def _split(of_flushes: Numbers, steps: Paces) -> list[Numbers]:
        """By pace."""
        return np.split(of_flushes, np.cumsum(steps)[:-1])
