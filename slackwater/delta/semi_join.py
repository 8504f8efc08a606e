"""The change of a semi join (left rows with a partner) and of an anti join (left rows without).

    turned    = (kept(L) ⋉ ΔR) ▷ kept(R)

    Δ+(L ⋉ R) = added(L) ⋉ new(R)     +  (turned ⋉ added(R))   ▷ removed(R)
    Δ-(L ⋉ R) = removed(L) ⋉ old(R)   +  (turned ⋉ removed(R)) ▷ added(R)

    Δ+(L ▷ R) = added(L) ▷ new(R)     +  (turned ⋉ removed(R)) ▷ added(R)
    Δ-(L ▷ R) = removed(L) ▷ old(R)   +  (turned ⋉ added(R))   ▷ removed(R)

A kept row changes sides only if a partner of it moved, none stays, and no other one moves the other way. What is there is read once, for
all of the change. Any condition will do; NOT IN is an anti join whose condition also holds when either side is NULL. Identity: the left
input's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta import inner_join
from slackwater.delta.rows import ALL, KEPT, NEW, OLD, STATE, Change, Rows, keep_outputs, together
from slackwater.delta.touched import meeting, partners, rivals
from slackwater.plan import Column, Generate, Join, Output, Project, column, conjunction, conjuncts

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Join, part: str, named: bool, derive: Derivation) -> Rows:
    left = derive.at(node.left, part, named)
    if part != KEPT:
        return _join(left, derive.at(node.right, part, False), node)
    # Kept: in the result before and after. Old and new partners are looked at one after the other.
    before, after = derive.at(node.right, OLD, False), derive.at(node.right, NEW, False)
    first = _join(left, before, node)
    return first if before == after else _join(first, after, node)


def change(node: Join, named: bool, derive: Derivation) -> Change | None:
    left, right = derive.change(node.left, named), derive.change(node.right, False)
    return together([left and _met(node, left, derive), right and _turned(node, right, named, derive)], node.names)


def _met(node: Join, left: Change, derive: Derivation) -> Change | None:
    """Left rows that moved, with or without partners that were there when they did."""
    if left.arrives is not None or not derive.moves(node.right):
        return replace(left, rows=_join(left.rows, derive.at(node.right, OLD if left.arrives is False else NEW, False), node, narrow=True))
    if inner_join.at_once(node.right, conjuncts(node.condition), derive):
        every = derive.at(node.right, ALL, False)
        other = partners(left.rows.plan, every.plan, node.condition)
        condition = inner_join.met(conjuncts(node.condition), column(str(left.rows.state)), column(str(every.state)))
        return replace(left, rows=replace(left.rows, plan=Join(left.rows.plan, other, node.kind, condition)))
    sides = []
    for arrives, part in ((True, NEW), (False, OLD)):
        moved = left.side(arrives)
        assert moved is not None
        sides.append(Change(_join(moved, derive.at(node.right, part, False), node, narrow=True), arrives))
    return together(sides, node.names)


def _turned(node: Join, right: Change, named: bool, derive: Derivation) -> Change:
    """Kept left rows whose partners all moved the same way. If they arrive, a semi join gains the row and an anti join loses it."""
    left = derive.at(node.left, KEPT, named)
    touched = replace(left, plan=meeting(left.plan, right.rows.plan, node.condition))
    others = rivals(touched.plan, derive.at(node.right, KEPT, False).plan, right.rows.plan, node.condition)
    alone = replace(touched, plan=Join(touched.plan, others, "anti", node.condition))
    gains = node.kind == "semi"
    if right.arrives is not None:
        return Change(alone, right.arrives is gains)
    # Each row is asked twice: have partners of it arrived and none left, have partners of it left and none arrived?
    turn, moved = derive.fresh("turn"), column(str(right.rows.state))
    asked = Generate(
        alone.plan, exp.Array(expressions=[exp.false(), exp.true()]), Column(derive.fresh("turn"), "int"), (Column(turn, "boolean"),)
    )
    conditions = conjuncts(node.condition)
    with_one = Join(asked, right.rows.plan, "semi", conjunction([*conditions, exp.EQ(this=moved, expression=column(turn))]))
    only = Join(with_one, right.rows.plan, "anti", conjunction([*conditions, exp.NEQ(this=moved.copy(), expression=column(turn))]))
    state = f"{STATE}_{node.names[0]}"
    arrives = column(turn) if gains else exp.not_(column(turn))
    kept = keep_outputs(only, (*node.names, alone.id) if alone.id else node.names)
    return Change(Rows(Project(only, (*kept, Output(Column(state, "boolean"), arrives))), alone.id, state))


def _join(left: Rows, right: Rows, node: Join, narrow: bool = False) -> Rows:
    """Join on the node's condition. `narrow`: the left side is small, so read only the partners it can have."""
    other = partners(left.plan, right.plan, node.condition) if narrow else right.plan
    return replace(left, plan=Join(left.plan, other, node.kind, node.condition))
