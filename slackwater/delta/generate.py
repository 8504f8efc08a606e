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


def change(node: Generate, named: bool, derive: Derivation) -> Change | None:
    below = derive.change(node.input, named)
    return below and replace(below, rows=_exploded(node, below.rows))


def _exploded(node: Generate, rows: Rows) -> Rows:
    exploded = replace(rows, plan=replace(node, input=rows.plan))
    if rows.id is None:
        return exploded
    return with_identity(exploded, node.names, f"{ID}_{node.position.name}", identity(column(rows.id), column(node.position.name)))
