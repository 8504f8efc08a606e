"""The change of a projection.

Δ π(R) = π(ΔR)          identity: the input's, under a name of its own
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.delta.rows import ID, Change, Rows
from slackwater.plan import Column, Output, Project, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Project, part: str, named: bool, derive: Derivation) -> Rows:
    return _projected(node, derive.at(node.input, part, named))


def change(node: Project, named: bool, derive: Derivation) -> Change:
    below = derive.change(node.input, named)
    return Change(below.added and _projected(node, below.added), below.removed and _projected(node, below.removed))


def _projected(node: Project, rows: Rows) -> Rows:
    if rows.id is None:
        return Rows(Project(rows.plan, node.outputs), None)
    # A subplan may be used twice in one join; each use is a projection with column names of its own, and so needs its own identity's name.
    name = f"{ID}_{node.names[0]}" if node.names else rows.id
    return Rows(Project(rows.plan, (*node.outputs, Output(Column(name, "string"), column(rows.id)))), name)
