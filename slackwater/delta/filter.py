"""The change of a filter.

Δ σ(R) = σ(ΔR)          identity: the input's
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.delta.rows import Change, Rows
from slackwater.plan import Filter

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Filter, part: str, named: bool, derive: Derivation) -> Rows:
    return _filtered(node, derive.at(node.input, part, named))


def change(node: Filter, named: bool, derive: Derivation) -> Change:
    below = derive.change(node.input, named)
    return Change(below.added and _filtered(node, below.added), below.removed and _filtered(node, below.removed))


def _filtered(node: Filter, rows: Rows) -> Rows:
    return Rows(Filter(rows.plan, node.condition), rows.id)
