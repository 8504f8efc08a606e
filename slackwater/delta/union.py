"""The change of UNION ALL.

Δ (R + S) = ΔR + ΔS          identity: the branch and the input's
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.rows import ID, Change, Rows, identity, keep_outputs
from slackwater.plan import Column, Output, Project, Union, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Union, part: str, named: bool, derive: Derivation) -> Rows:
    rows = _united(node, [derive.at(branch, part, named) for branch in node.branches], named)
    assert rows is not None
    return rows


def change(node: Union, named: bool, derive: Derivation) -> Change:
    below = [derive.change(branch, named) for branch in node.branches]
    return Change(_united(node, [c.added for c in below], named), _united(node, [c.removed for c in below], named))


def _united(node: Union, branches: list[Rows | None], named: bool) -> Rows | None:
    name = f"{ID}_{node.names[0]}"
    parts = []
    for number, (rows, branch) in enumerate(zip(branches, node.branches, strict=True)):
        if rows is None:
            continue
        outputs = keep_outputs(rows.plan, branch.names)
        if rows.id is not None:
            outputs += (Output(Column(name, "string"), identity(exp.Literal.number(number), column(rows.id))),)
        parts.append(Project(rows.plan, outputs))
    if not parts:
        return None
    outputs_named = (*node.outputs, Column(name, "string")) if named else node.outputs
    return Rows(Union(tuple(parts), outputs_named), name if named else None)
