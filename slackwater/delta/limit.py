"""The change of ORDER BY with LIMIT.

    Δ top(R) = top(new(R)) - what this path wrote before

Any change may bring a row in or push one out, so the top is computed anew from the buffer below: a path worth delaying. The identity ends
every order, so that ties do not move rows that did not change. Identity: the input row's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.difference import difference
from slackwater.delta.rows import ID, NEW, Rows, keep_outputs
from slackwater.plan import Column, Limit, Node, Output, Project, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def first(node: Limit, derive: Derivation) -> Rows:
    rows = derive.at(node.input, NEW)
    assert rows.id is not None
    plan = Limit(rows.plan, (*node.order, exp.Ordered(this=column(rows.id), desc=False, nulls_first=True)), node.count, node.offset)
    return Rows(Project(plan, (*keep_outputs(plan, node.names), Output(Column(ID, "string"), column(rows.id)))), ID)


def flush(node: Limit, own: Rows, derive: Derivation) -> Node | None:
    if not derive.moves(node.input):
        return None
    return difference(own, first(node, derive), node.names)
