"""Which side of a join is carried to the other.

Spark takes the product of two inputs' sizes for the size of their join. What starts at a handful of changed rows looks huge to it after
one join, so it shuffles a big table, or carries that one around, where the few rows should have gone to it. Here sizes are known: the rows
of every part of a source, and that a change touches the same share of everything it is joined with.

    share(part) = rows(part) / rows(source)         a nation of 25 has a 25th of the customers, their orders, and those orders' lines
    rows(L \u22c8 R) = share(L) * share(R) * max(all of L, all of R)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slackwater.plan import Aggregate, Few, Join, Limit, Node, Scan, Union, Values

MOST = 300_000  # rows that are still carried around
TIMES = 4  # the other side must be this much larger, or the engine may choose


@dataclass(frozen=True)
class Size:
    """How many rows, of how many that there would be if nothing but the change were left out."""

    rows: float
    of: float

    @property
    def share(self) -> float:
        return min(1.0, self.rows / self.of) if self.of else 1.0


def with_broadcasts(plan: Node, sizes: Mapping[str, Size]) -> Node:
    """The plan with the small sides of its joins marked. `sizes` has every relation that the plan scans."""
    return _Marked(sizes).plan(plan)


def expected_rows(plan: Node, sizes: Mapping[str, Size]) -> float:
    """About how many rows a plan gives."""
    return _Marked(sizes).size(plan).rows


class _Marked:
    def __init__(self, sizes: Mapping[str, Size]) -> None:
        self.sizes = sizes
        self.known: dict[Node, Size] = {}
        self.done: dict[Node, Node] = {}

    def plan(self, node: Node) -> Node:
        if node not in self.done:
            changed = node.with_inputs(*(self.plan(below) for below in node.inputs))
            self.done[node] = self._join(node, changed) if isinstance(node, Join) and isinstance(changed, Join) else changed
        return self.done[node]

    def _join(self, node: Join, changed: Join) -> Node:
        left, right = self.size(node.left), self.size(node.right)
        # The side whose rows are kept without a partner cannot be carried around.
        if node.kind != "full" and right.rows <= MOST and (left.rows > right.rows * TIMES or left.rows <= MOST and node.kind != "inner"):
            return changed.with_inputs(changed.left, Few(changed.right))
        if node.kind == "inner" and left.rows <= MOST and right.rows > left.rows * TIMES:
            return changed.with_inputs(Few(changed.left), changed.right)
        return changed

    def size(self, node: Node) -> Size:
        if node not in self.known:
            self.known[node] = self._size(node)
        return self.known[node]

    def _size(self, node: Node) -> Size:
        if isinstance(node, Scan):
            return self.sizes[node.relation]
        if isinstance(node, Values):
            return Size(len(node.rows), len(node.rows))
        below = [self.size(each) for each in node.inputs]
        if isinstance(node, Union):
            return Size(sum(size.rows for size in below), max(size.of for size in below))
        if isinstance(node, Join):
            return _joined(node.kind, *below)
        if isinstance(node, Limit) and node.count is not None:
            return Size(min(node.count, below[0].rows), below[0].of)
        if isinstance(node, Aggregate) and not node.keys:
            return Size(1, 1)
        return below[0]


def _joined(kind: str, left: Size, right: Size) -> Size:
    if kind == "anti":
        return left
    if kind == "semi":
        return Size(left.rows * right.share, left.of)
    of = max(left.of, right.of)
    rows = left.share * right.share * of
    if kind == "inner":
        return Size(rows, of)
    return Size(max(rows, left.rows, right.rows if kind == "full" else 0), of)
