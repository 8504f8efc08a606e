"""The change of a filter.

Δ σ(R) = σ(ΔR)          identity: the input's
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slackwater.delta.rows import Change, Rows
from slackwater.plan import Filter

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Filter, part: str, named: bool, derive: Derivation) -> Rows:
    return _filtered(node, derive.at(node.input, part, named))


def change(node: Filter, named: bool, derive: Derivation) -> Change | None:
    below = derive.change(node.input, named)
    return below and replace(below, rows=_filtered(node, below.rows))


def _filtered(node: Filter, rows: Rows) -> Rows:
    return replace(rows, plan=Filter(rows.plan, node.condition))
