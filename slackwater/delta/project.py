"""The change of a projection.

Δ π(R) = π(ΔR)          identity: the input's, under a name of its own
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slackwater.delta.rows import ID, STATE, Change, Rows
from slackwater.plan import Column, Output, Project, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Project, part: str, named: bool, derive: Derivation) -> Rows:
    return _projected(node, derive.at(node.input, part, named))


def change(node: Project, named: bool, derive: Derivation) -> Change | None:
    below = derive.change(node.input, named)
    return below and replace(below, rows=_projected(node, below.rows))


def _projected(node: Project, rows: Rows) -> Rows:
    # A subplan may be used twice in one join; each use is a projection with column names of its own, and needs its own hidden names, too.
    outputs = list(node.outputs)
    id, state = rows.id, rows.state
    if rows.id is not None:
        id = f"{ID}_{node.names[0]}" if node.names else rows.id
        outputs.append(Output(Column(id, "string"), column(rows.id)))
    if rows.state is not None:
        state = f"{STATE}_{node.names[0]}" if node.names else rows.state
        outputs.append(Output(Column(state, "boolean"), column(rows.state)))
    return Rows(Project(rows.plan, tuple(outputs)), id, state)
