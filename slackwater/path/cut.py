"""Cut a plan into paths.

A path is the operators between two buffers. A buffer is a source, or the output of a blocking operator: aggregate, distinct, window, sort
with limit. What one path writes, others read; each remembers how far it has read every one of its sources and is flushed on its own.

The groups that a HAVING leaves get a buffer of their own where they are joined. Few are left as a rule, and few of those move: what they
are joined with is then looked for by the keys of these, and not by those of every group that was touched.

What a stream is joined with before it is grouped gets a buffer, too, that is filled once (passing.py).

Equal subplans become one path. A view whose plan ends in a projection of a buffer has no path for that: the projection is its *answer*,
computed when the view is read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from slackwater.delta import split
from slackwater.path.fingerprint import fingerprint
from slackwater.path.passing import beside_streams, check_grouped, check_seen_once, streams_in
from slackwater.plan import Aggregate, Column, Filter, Join, Limit, Node, Project, Scan, Union, Window

# Outer joins inside outer joins multiply the terms of a change; past this many the inner one gets a buffer.
MOST_TERMS = 24


@dataclass(frozen=True)
class Path:
    """The operators below `top`, down to the sources it reads. Its name is that of the trace it writes."""

    name: str
    top: Node

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.top.columns

    @property
    def sources(self) -> tuple[str, ...]:
        """The traces it reads, each once, in the order of the plan."""
        return tuple(dict.fromkeys(node.relation for node in self.top.walk() if isinstance(node, Scan)))

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.top)

    @property
    def operator(self) -> str:
        """What ends it."""
        if isinstance(self.top, Aggregate):
            return "aggregate" if self.top.measures else "distinct"
        return {Window: "window", Limit: "limit"}.get(type(self.top), "keep")


@dataclass(frozen=True)
class Paths:
    """The paths of one view, those that are read before those that read them, and the plan of its answer over what they keep.

    `fixed`: those that are flushed once, when the view is created, in the same order.
    """

    paths: tuple[Path, ...]
    answer: Node
    fixed: tuple[Path, ...] = ()

    @property
    def buffers(self) -> tuple[str, ...]:
        """The traces that the answer reads."""
        return tuple(dict.fromkeys(node.relation for node in self.answer.walk() if isinstance(node, Scan)))


def cut(plan: Node, view: str, streams: Collection[str] = ()) -> Paths:
    """The paths of a view, named `view/1`, `view/2` and so on. `streams`: those of its relations of which rows are seen once."""
    cutter = _Cutter(view, streams)
    answer = cutter.below(plan)
    check_grouped(answer, streams)
    if not cutter.is_answer(answer):
        answer = cutter.buffer(answer)
    if not cutter.fixed:
        return Paths(tuple(cutter.paths), answer)
    living = cutter.below_them([node.relation for node in answer.walk() if isinstance(node, Scan)], cutter.fixed)
    once = cutter.below_them(cutter.fixed)
    return Paths(
        tuple(path for path in cutter.paths if path.name in living), answer, tuple(path for path in cutter.paths if path.name in once)
    )


class _Cutter:
    def __init__(self, view: str, streams: Collection[str]) -> None:
        self.view = view
        self.streams = streams
        self.fed: set[str] = set()  # names of paths that rest on a stream
        self.fixed: set[str] = set()  # and of those that are flushed once
        self.paths: list[Path] = []
        self._tops: dict[str, Node] = {}
        self._done: dict[Node, Node] = {}
        self._by_fingerprint: dict[str, Path] = {}

    def below(self, node: Node) -> Node:
        """The node with every blocking operator in it replaced by a scan of what its path keeps."""
        if node not in self._done:
            rebuilt = node.with_inputs(*(self.below(child) for child in node.inputs))
            self._done[node] = self._cut(self._lightened(rebuilt))
        return self._done[node]

    def _cut(self, node: Node) -> Node:
        if self.streams:
            node = beside_streams(node, self.streams, self.fed, self._fixed)
        if isinstance(node, Aggregate):
            values = split(node)
            return values.with_inputs(self.buffer(values.inputs[0]))
        if isinstance(node, Join):
            return node.with_inputs(*(self.buffer(side) if self._is_sifted(side) else side for side in node.inputs))
        return self.buffer(node) if isinstance(node, Window | Limit) else node

    def buffer(self, top: Node) -> Scan:
        """A path that ends here, as a scan of what it keeps."""
        known = self._by_fingerprint.get(fingerprint(top))
        if known is None:
            known = Path(f"{self.view}/{len(self.paths) + 1}", top)
            if streams_in(top, self.streams):
                check_seen_once(top, known.name, self.streams)
            if any(source in self.streams or source in self.fed for source in known.sources):
                self.fed.add(known.name)
            self.paths.append(known)
            self._tops[known.name] = top
            self._by_fingerprint[known.fingerprint] = known
        return Scan(known.name, known.top.names, top.columns)

    def _fixed(self, node: Node) -> Node:
        """What a stream is joined with, kept as it is when the view is created; tables that only the stream ties together, one by one."""
        if isinstance(node, Join) and node.kind == "inner" and node.condition is None:
            return node.with_inputs(*(self._fixed(side) for side in node.inputs))
        scan = self.buffer(node)
        self.fixed.add(scan.relation)
        return scan

    def below_them(self, names: Collection[str], but: Collection[str] = ()) -> set[str]:
        """The paths with these names, and all that they read, but not past some."""
        known = {path.name: path for path in self.paths}
        found: set[str] = set()
        waiting = [name for name in names if name in known and name not in but]
        while waiting:
            found.add(name := waiting.pop())
            waiting += [source for source in known[name].sources if source in known and source not in found and source not in but]
        return found

    def is_answer(self, plan: Node) -> bool:
        """Whether a plan is cheap and cannot fail, so that it may be computed on every read: values of partials, or columns as they are."""
        while isinstance(plan, Project):
            plain = all(isinstance(output.expression, exp.Column) for output in plan.outputs)
            below = plan.input
            if not plain and not (isinstance(below, Scan) and isinstance(self._tops.get(below.relation), Aggregate)):
                return False
            plan = below
        return isinstance(plan, Scan) and plan.relation in self._tops

    def _is_sifted(self, node: Node) -> bool:
        """Whether it is some of the groups that a path keeps."""
        filters = 0
        while isinstance(node, Project | Filter):
            filters += isinstance(node, Filter)
            node = node.input
        return filters > 0 and isinstance(node, Scan) and isinstance(self._tops.get(node.relation), Aggregate)

    def _lightened(self, node: Node) -> Node:
        """A node whose change has not too many terms: where it has, its heaviest input gets a buffer."""
        while terms(node) > MOST_TERMS and any(terms(child) > 1 for child in node.inputs):
            heaviest = max(node.inputs, key=terms)
            node = node.with_inputs(*(self.buffer(child) if child is heaviest else child for child in node.inputs))
        return node


def terms(node: Node) -> int:
    """How many times a source is read as changed in the change of `node`."""
    below = [terms(child) for child in node.inputs]
    if isinstance(node, Scan):
        return 1
    if isinstance(node, Union):
        return sum(below)
    if isinstance(node, Join):
        left, right = below
        pairs, alone = left + right, left + 2 * right
        return {"inner": pairs, "semi": alone, "anti": alone, "left": pairs + alone, "full": pairs + alone + right + 2 * left}[node.kind]
    return max(below, default=0)
