"""A path that ends without a blocking operator: its rows are kept as they come.

    what is written = ΔR, each row with its side

Identity: the rows' own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.rows import ADDED, ID, NEW, REMOVED, SIDE, Rows, keep_outputs
from slackwater.plan import Column, Node, Output, Project, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def first(node: Node, derive: Derivation) -> Rows:
    rows = derive.at(node, NEW)
    assert rows.id is not None
    return Rows(Project(rows.plan, (*keep_outputs(rows.plan, node.names), Output(Column(ID, "string"), column(rows.id)))), ID)


def flush(node: Node, own: Rows, derive: Derivation) -> Node | None:
    delta = derive.change(node)
    if delta is None:
        return None
    assert delta.rows.id is not None
    outputs = (
        Output(Column(SIDE, "string"), delta.told(exp.Literal.string(ADDED), exp.Literal.string(REMOVED))),
        Output(Column(ID, "string"), column(delta.rows.id)),
        *keep_outputs(delta.rows.plan, node.names),
    )
    return Project(delta.rows.plan, outputs)
