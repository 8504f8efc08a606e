"""What it takes to run each path at a pace (Tang, Thrifty Query Processing, 3.2.2 and Algorithm 1).

A path of pace k is flushed k times between two triggers, when another k-th of the data is there, the last time at the trigger. What it
reads of tables has arrived by then; what it reads of other paths is as of their own last flush. The work of the last flushes of all paths
is the final work: what is left to do when the trigger comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slackwater.pace.flow import Flow, Moves, Numbers, Sizes, flow
from slackwater.plan import Node, Scan

LOOKED_THROUGH = 0.3  # of what a row costs that is read does one that is only looked through for keys
MOVED = 8  # times as much does one that has moved and is joined: it is derived, named and compared

Paces = tuple[int, ...]  # by path


@dataclass(frozen=True)
class Arriving:
    """A table, and what is expected to move in it until the next trigger."""

    rows: float
    inserts: float = 0.0
    updates: float = 0.0
    deletes: float = 0.0

    def between(self, since: Numbers, until: Numbers) -> Flow:
        """From one progress to another."""
        grown, share = self.inserts - self.deletes, until - since
        moves = Moves(self.inserts * share, self.updates * share, self.deletes * share)
        return Flow(self.rows + grown * since, self.rows + grown * until, moves)


@dataclass(frozen=True)
class PathModel:
    """A path, the rows of its operators, and what flushes of it cost: by rows, read incrementally or in full."""

    name: str
    top: Node
    sizes: Sizes
    incremental: Callable[[Numbers], Numbers]
    full: Callable[[Numbers], Numbers]

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
    """The paths of a view, those that are read before those that read them, and the tables below."""

    paths: Sequence[PathModel]
    tables: Mapping[str, Arriving]
    _known: dict[tuple[int, Paces], Work] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index = {path.name: number for number, path in enumerate(self.paths)}
        self.children = [tuple(self.index[s] for s in path.sources if s in self.index) for path in self.paths]

    def work(self, paces: Paces) -> Work:
        """Of all paths."""
        return sum((self.of_path(number, paces) for number in range(len(self.paths))), Work(0.0, 0.0))

    def of_path(self, number: int, paces: Paces) -> Work:
        """Of one, which depends on its own pace and on those of the paths that it reads."""
        key = (number, (paces[number], *(paces[child] for child in self.children[number])))
        if key not in self._known:
            costs = self.costs(number, paces)
            self._known[key] = Work(float(costs.sum()), float(costs[-1]))
        return self._known[key]

    def costs(self, number: int, paces: Paces) -> Numbers:
        """Of each flush of a path."""
        path, pace = self.paths[number], paces[number]
        until = np.arange(1, pace + 1) / pace
        since = until - 1 / pace
        sources = {source: self._seen(source, since, until, paces) for source in path.sources}
        met = flow(path.top, sources, path.sizes)
        return np.minimum(
            path.incremental(_units(path, sources, met)), path.full(np.sum([each.after for each in sources.values()], axis=0))
        )

    def _seen(self, source: str, since: Numbers, until: Numbers, paces: Paces) -> Flow:
        """What a path sees of a source: of another path, what that has flushed."""
        if source in self.index:
            pace = paces[self.index[source]]
            since, until = (np.floor(each * pace + 1e-9) / pace for each in (since, until))
        return self._between(source, since, until)

    def _between(self, source: str, since: Numbers, until: Numbers) -> Flow:
        if source not in self.index:
            return self.tables[source].between(since, until)
        path = self.paths[self.index[source]]
        return flow(path.top, {each: self._between(each, since, until) for each in path.sources}, path.sizes)


def _units(path: PathModel, sources: Mapping[str, Flow], met: Flow) -> Numbers:
    """How many rows an incremental flush reads, or what counts for as many."""
    read = sum(each.moves.read for each in sources.values())
    looked: Numbers = np.zeros_like(read)
    for source, each in sources.items():
        others = [other for name, other in sources.items() if name != source]
        if others:  # in which what moved elsewhere is looked for
            looked = looked + each.before * (sum(other.moves.read for other in others) > 0)
    return np.asarray(read + LOOKED_THROUGH * looked + (MOVED - 1) * np.maximum(met.moves.read, read if len(sources) > 1 else 0.0))
