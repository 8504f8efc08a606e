"""Streams pass by: their rows are seen once, and must be grouped before anything else is made of them.

(Winter et al., Meet Me Halfway: Split Maintenance of Continuous Views, 3.2.) What a stream is joined with before it is grouped is computed
once and kept as it is then, in a buffer that never changes: rows that have passed could not be joined again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from slackwater.delta import ADDED, Moved, next_flush
from slackwater.errors import Unsupported
from slackwater.plan import Aggregate, Join, Limit, Node, Scan, Union, Window

GROUP = "group its rows first, in a subquery or a WITH clause"


def streams_in(node: Node, streams: Collection[str]) -> list[str]:
    """The streams whose rows a plan reads one by one: those that are grouped are read by another path."""
    return [scan.relation for scan in node.walk() if isinstance(scan, Scan) and scan.relation in streams]


def beside_streams(node: Node, streams: Collection[str], fed: Collection[str], fixed: Callable[[Node], Node]) -> Node:
    """An operator of which an input is a stream, the other inputs `fixed`. `fed`: traces that rest on a stream."""
    passing = [found[0] if (found := streams_in(child, streams)) else "" for child in node.inputs]
    if not any(passing):
        return node
    if isinstance(node, Window | Limit):
        what = "ordered and limited" if isinstance(node, Limit) else "given to window functions"
        raise Unsupported(f'the rows of stream "{passing[0]}" are {what} before they are grouped', hint=GROUP)
    if isinstance(node, Join):
        _check_join(node, passing, fed)
    if isinstance(node, Join | Union):
        return node.with_inputs(*(child if stream else fixed(child) for child, stream in zip(node.inputs, passing, strict=True)))
    return node


def _check_join(join: Join, passing: list[str], fed: Collection[str]) -> None:
    left, right = passing
    if left and right:
        what = f'streams "{left}" and "{right}" are joined' if left != right else f'stream "{left}" is joined with itself'
        raise Unsupported(f"{what} before both are grouped", hint="group each by what they are joined by, in a subquery or a WITH clause")
    grouped = streams_in(join.right if left else join.left, fed)
    if grouped:
        raise Unsupported(f'stream "{left or right}" is joined with groups of a stream before it is grouped itself', hint=GROUP)
    if join.kind == "full" or (right and join.kind != "inner"):
        hint = "put the stream on the left side of the join, or group it first"
        raise Unsupported(f'rows without a partner in stream "{left or right}" are asked for: one may yet come', hint=hint)


def check_grouped(answer: Node, streams: Collection[str]) -> None:
    """What a view shows must not be the rows of a stream as they are."""
    for stream in streams_in(answer, streams):
        hint = f"{GROUP}; GROUP BY all columns keeps each of them"
        raise Unsupported(f'the rows of stream "{stream}" would be kept one by one', hint=hint)


def check_seen_once(top: Node, name: str, streams: Collection[str]) -> None:
    """A path must be able to go on without the rows of its streams that have passed."""
    if not isinstance(top, Aggregate):
        check_grouped(top, streams)
    sources = dict.fromkeys(scan.relation for scan in top.walk() if isinstance(scan, Scan))
    change = next_flush(top, name, {source: Moved(source in streams, False) for source in sources})
    for scan in change.walk() if change is not None else ():
        source, _, part = scan.relation.rpartition("@") if isinstance(scan, Scan) else ("", "", "")
        if source in streams and part != ADDED:
            measures = ", ".join(each.expression.sql(dialect="spark") for each in top.measures) if isinstance(top, Aggregate) else ""
            raise Unsupported(
                f'of {measures or "this"} over stream "{source}" nothing can be kept that later rows could be added to',
                hint="group by the values as well, and count or order those in a query above",
            )
