"""Rows written out in the text: they never change.

Δ values = nothing          identity: the row's position in the text
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.rows import ID, Change, Rows
from slackwater.plan import Column, Values

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Values, part: str, named: bool, derive: Derivation) -> Rows:
    if not named:
        return Rows(node, None)
    name = derive.fresh(ID)
    rows = tuple((*row, exp.Literal.number(position)) for position, row in enumerate(node.rows))
    return Rows(Values(rows, (*node.outputs, Column(name, "int"))), name)


def change(node: Values, named: bool, derive: Derivation) -> Change | None:
    return None
