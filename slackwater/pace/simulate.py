"""What it takes to run each path at a pace (Tang, Thrifty Query Processing, 3.2.2 and Algorithm 1).

A path of pace k is flushed k times between two triggers, when another k-th of the data is there, the last time at the trigger. What it
reads of tables has arrived by then; what it reads of other paths is as of their own last flush. If those were flushed several times since
it last looked, it reads what each of these flushes wrote, of which the next took back a part. The work of the last flushes of all paths
is the final work: what is left to do when the trigger comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slackwater.pace.flow import Flow, Moves, Numbers, Sizes, flow
from slackwater.pace.price import CLEARLY, Price, weigh
from slackwater.plan import Node, Scan

Paces = tuple[int, ...]  # by path
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
        moved, several = np.sum([(read or {}).get(name, each.moves.read) for name, each in sources.items()], axis=0), len(sources) > 1
        there = met.before + (sum(each.before for each in sources.values()) if several else 0.0)
        incremental = self.incremental.at(weigh(moved, met.moves.read, several), there)
        full = self.full(np.sum([each.after for each in sources.values()], axis=0))
        return Costs(*(np.where(moved > 0, each, 0.0) for each in (incremental, full)))

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.relation for node in self.top.walk() if isinstance(node, Scan)))


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

    `anew`: what it costs to compute the view past its paths when the trigger comes, where that can be done.
    """

    paths: Sequence[PathModel]
    tables: Mapping[str, Arriving]
    anew: float | None = None
    _known: dict[tuple[int, Paces], Work] = field(default_factory=dict)
    _flows: dict[tuple[str, int, int], Flow] = field(default_factory=dict)
    _written: dict[tuple[str, int, int], Numbers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index = {path.name: number for number, path in enumerate(self.paths)}
        self.children = [tuple(self.index[s] for s in path.sources if s in self.index) for path in self.paths]

    def work(self, paces: Paces) -> Work:
        """Of all paths, or at the trigger past them where that is clearly less."""
        work = sum((self.of_path(number, paces) for number in range(len(self.paths))), Work(0.0, 0.0))
        if self.anew is None or self.anew >= CLEARLY * work.final:
            return work
        return Work(work.total - work.final + self.anew, self.anew)

    def of_path(self, number: int, paces: Paces) -> Work:
        """Of one, which depends on its own pace and on those of the paths that it reads."""
        key = (number, (paces[number], *(paces[child] for child in self.children[number])))
        if key not in self._known:
            costs = self.costs(number, paces)
            self._known[key] = Work(float(costs.sum()), float(costs[-1]))
        return self._known[key]

    def costs(self, number: int, paces: Paces) -> Numbers:
        """Of each flush of a path."""
        sources, met = self._flows_of(number, paces)
        read = {source: self._read(source, paces[number], paces) for source in sources if source in self.index}
        return self.paths[number].costs(sources, met, read).least

    def given(self, number: int, paces: Paces) -> Numbers:
        """Rows that each flush of a path gives to those who read it."""
        return self._flows_of(number, paces)[1].moves.read

    def _flows_of(self, number: int, paces: Paces) -> tuple[dict[str, Flow], Flow]:
        """Of what a path reads, and of what it makes of that."""
        path = self.paths[number]
        sources = {source: self._seen(source, paces[number], paces) for source in path.sources}
        return sources, path.flow(sources)

    def _seen(self, source: str, pace: int, paces: Paces) -> Flow:
        """What a path of such a pace sees of a source: of another path, what that has flushed."""
        theirs = paces[self.index[source]] if source in self.index else 0
        key = (source, pace, theirs)
        if key not in self._flows:
            until = np.arange(1, pace + 1) / pace
            since = until - 1 / pace
            if theirs:
                since, until = (np.floor(each * theirs + 1e-9) / theirs for each in (since, until))
            self._flows[key] = self._between(source, since, until)
        return self._flows[key]

    def _read(self, source: str, pace: int, paces: Paces) -> Numbers:
        """How many rows a path of such a pace reads of what another has written, flush by flush."""
        theirs = paces[self.index[source]]
        key = (source, pace, theirs)
        if key not in self._written:
            until = np.arange(1, theirs + 1) / theirs
            written = self._between(source, until - 1 / theirs, until).moves.read
            upto = np.concatenate([[0.0], np.cumsum(written)])
            ends = np.floor(np.arange(pace + 1) / pace * theirs + 1e-9).astype(int)
            self._written[key] = np.diff(upto[ends])
        return self._written[key]

    def _between(self, source: str, since: Numbers, until: Numbers) -> Flow:
        if source not in self.index:
            return self.tables[source].between(since, until)
        path = self.paths[self.index[source]]
        return path.flow({each: self._between(each, since, until) for each in path.sources})
