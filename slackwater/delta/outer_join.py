"""The change of a left or full outer join.

    L ⟕ R = L ⋈ R  +  (L ▷ R, padded with NULLs)
    L ⟗ R = L ⋈ R  +  (L ▷ R, padded)  +  (R ▷ L, padded)

so its change is the change of these parts, each by its own rule. The parts share no row.

Identity: those of both inputs, nothing for the missing one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta import inner_join
from slackwater.delta.rows import ID, KEPT, Change, Rows, identity, keep_outputs, together, united, with_identity
from slackwater.plan import Column, Join, Output, Project, column, conjuncts

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Join, part: str, named: bool, derive: Derivation) -> Rows:
    left, right = derive.at(node.left, part, named), derive.at(node.right, part, named)
    if part == KEPT:
        pairs = inner_join.joined([left, right], conjuncts(node.condition), node.names)
        return united([pairs, *(_padded(node, derive.at(alone, KEPT, named)) for alone in _alone(node))], node.names)
    rows = Rows(Join(left.plan, right.plan, node.kind, node.condition), None)
    if left.id is None or right.id is None:
        return rows
    return with_identity(rows, node.names, f"{ID}_{node.names[0]}", identity(column(left.id), column(right.id)))


def change(node: Join, named: bool, derive: Derivation) -> Change | None:
    pairs = inner_join.terms([node.left, node.right], conjuncts(node.condition), node.names, named, derive)
    alone = [derive.change(part, named) for part in _alone(node)]
    return together([pairs, *(c and replace(c, rows=_padded(node, c.rows)) for c in alone)], node.names)


def _alone(node: Join) -> list[Join]:
    """The rows without a partner, as anti joins of their own."""
    left = Join(node.left, node.right, "anti", node.condition)
    return [left, Join(node.right, node.left, "anti", node.condition)] if node.kind == "full" else [left]


def _padded(node: Join, rows: Rows) -> Rows:
    """Rows of one side, with NULLs for the other."""
    there = set(rows.plan.names)
    outputs = []
    for wanted in node.columns:
        kept = keep_outputs(rows.plan, [wanted.name])[0] if wanted.name in there else _null(wanted)
        outputs.append(kept)
    outputs += keep_outputs(rows.plan, [rows.state] if rows.state else [])
    if rows.id is None:
        return replace(rows, plan=Project(rows.plan, tuple(outputs)))
    is_left = set(node.left.names) <= there
    name = f"{ID}_{node.names[0]}"
    both = (column(rows.id), None) if is_left else (None, column(rows.id))
    return Rows(Project(rows.plan, (*outputs, Output(Column(name, "string"), identity(*both)))), name, rows.state)


def _null(wanted: Column) -> Output:
    return Output(wanted, exp.cast(exp.null(), wanted.type, dialect="spark"))
