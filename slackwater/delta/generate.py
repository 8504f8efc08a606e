"""The change of explode.

Δ explode(R) = explode(ΔR)          identity: the input's and the element's position
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slackwater.delta.rows import ID, Change, Rows, identity, with_identity
from slackwater.plan import Generate, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Generate, part: str, named: bool, derive: Derivation) -> Rows:
    return _exploded(node, derive.at(node.input, part, named))


def change(node: Generate, named: bool, derive: Derivation) -> Change:
    below = derive.change(node.input, named)
    return Change(below.added and _exploded(node, below.added), below.removed and _exploded(node, below.removed))


def _exploded(node: Generate, rows: Rows) -> Rows:
    plan = replace(node, input=rows.plan)
    if rows.id is None:
        return Rows(plan, None)
    return with_identity(plan, node.names, f"{ID}_{node.position.name}", identity(column(rows.id), column(node.position.name)))
