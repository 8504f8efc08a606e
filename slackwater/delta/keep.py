"""A path that ends without a blocking operator: its rows are kept as they come.

    what is written = added(R) and removed(R), each with its side

Identity: the rows' own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.rows import ADDED, ID, NEW, REMOVED, SIDE, Rows, keep_outputs
from slackwater.plan import Column, Node, Output, Project, Union, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def first(node: Node, derive: Derivation) -> Rows:
    rows = derive.at(node, NEW)
    assert rows.id is not None
    return Rows(Project(rows.plan, (*keep_outputs(rows.plan, node.names), Output(Column(ID, "string"), column(rows.id)))), ID)


def flush(node: Node, own: Rows, derive: Derivation) -> Node | None:
    delta = derive.change(node)
    sides = [_side(node, rows, side) for rows, side in ((delta.added, ADDED), (delta.removed, REMOVED)) if rows is not None]
    if not sides:
        return None
    return sides[0] if len(sides) == 1 else Union(tuple(sides), sides[0].columns)


def _side(node: Node, rows: Rows, side: str) -> Node:
    assert rows.id is not None
    outputs = (
        Output(Column(SIDE, "string"), exp.Literal.string(side)),
        Output(Column(ID, "string"), column(rows.id)),
        *keep_outputs(rows.plan, node.names),
    )
    return Project(rows.plan, outputs)
