"""The change of UNION ALL.

Δ (R + S) = ΔR + ΔS          identity: the branch and the input's
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.rows import ID, STATE, Change, Rows, identity, together, united
from slackwater.plan import Column, Output, Project, Union, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Union, part: str, named: bool, derive: Derivation) -> Rows:
    return united([_branch(node, number, derive.at(branch, part, named)) for number, branch in enumerate(node.branches)], node.names)


def change(node: Union, named: bool, derive: Derivation) -> Change | None:
    below = [derive.change(branch, named) for branch in node.branches]
    return together([c and replace(c, rows=_branch(node, number, c.rows)) for number, c in enumerate(below)], node.names)


def _branch(node: Union, number: int, rows: Rows) -> Rows:
    """The rows of a branch under the names of the union."""
    outputs = [Output(c, column(name)) for c, name in zip(node.columns, node.branches[number].names, strict=True)]
    id = f"{ID}_{node.names[0]}" if rows.id is not None else None
    state = f"{STATE}_{node.names[0]}" if rows.state is not None else None
    if id is not None:
        outputs.append(Output(Column(id, "string"), identity(exp.Literal.number(number), column(str(rows.id)))))
    if state is not None:
        outputs.append(Output(Column(state, "boolean"), column(str(rows.state))))
    return Rows(Project(rows.plan, tuple(outputs)), id, state)
