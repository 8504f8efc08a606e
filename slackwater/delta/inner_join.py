"""The change of an inner join of any number of inputs.

    J(k) = J(k-1) ⋈ R(k)

    Δ J(k) = Δ J(k-1) ⋈ all(R(k))   +   kept(J(k-1)) ⋈ Δ R(k)

where what arrives meets the rows that are kept or arrive with it, and what leaves those that are kept or leave with it.

Nested inner joins are flattened first, and nothing between them is remembered: kept(J(k-1)) is joined from what moved in R(k) outwards.
A pair of rows that both arrived is found once; a pair of which one arrived and the other left was never there and is found nowhere. So
the terms share no row.

The order of the inputs decides how much is read (see join_order.py). Where keys allow it the largest comes last: what moved in all the
small ones then meets it in one join, and it is read once, however many inputs moved.

Identity: those of all the inputs, in the order of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.join_order import best_order, nearest
from slackwater.delta.rows import ALL, ID, KEPT, NEW, OLD, Change, Rows, identity, keep_outputs, together, with_identity
from slackwater.plan import Join, Node, Project, column, columns_in, conjunction, conjuncts
from slackwater.plan.nodes import Expression, columns_compared

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Join, part: str, named: bool, derive: Derivation) -> Rows:
    inputs, conditions = flatten(node)
    return joined([derive.at(below, part, named) for below in inputs], conditions, node.names)


def change(node: Join, named: bool, derive: Derivation) -> Change | None:
    inputs, conditions = flatten(node)
    return terms(inputs, conditions, node.names, named, derive)


def flatten(node: Node) -> tuple[list[Node], list[Expression]]:
    """The inputs of a tree of inner joins, and all its conditions."""
    if isinstance(node, Join) and node.kind == "inner":
        left, left_conditions = flatten(node.left)
        right, right_conditions = flatten(node.right)
        return left + right, left_conditions + right_conditions + conjuncts(node.condition)
    return [node], []


def joined(parts: Sequence[Rows], conditions: Sequence[Expression], names: tuple[str, ...]) -> Rows:
    """The inputs joined, with an identity made from theirs."""
    return _identified(Rows(_outwards([part.plan for part in parts], conditions), None), [part.id for part in parts], names)


def terms(
    inputs: Sequence[Node], conditions: Sequence[Expression], names: tuple[str, ...], named: bool, derive: Derivation
) -> Change | None:
    """The change of the inputs' join. The inputs' identities stay columns of their own until the end."""
    order = best_order(inputs, conditions, derive)
    ids = [derive.at(below, NEW, named).id for below in inputs]
    so_far = derive.change(order[0], named)
    applied: list[Expression] = []
    for k in range(1, len(order)):
        known = {name for below in order[: k + 1] for name in below.names}
        ready = [condition for condition in conditions if columns_in(condition) <= known]
        moved = derive.change(order[k], named)
        found = [
            so_far and _met(so_far, order[k], [condition for condition in ready if condition not in applied], named, derive),
            moved and _from(moved, [derive.at(below, KEPT, named).plan for below in _nearest_first(order[: k + 1], ready, derive)], ready),
        ]
        hidden = [derive.at(below, NEW, named).id for below in order[: k + 1]]
        so_far = together(found, tuple(name for below in order[: k + 1] for name in below.names) + tuple(id for id in hidden if id))
        applied = ready
    return so_far and replace(so_far, rows=_identified(so_far.rows, ids, names))


def _nearest_first(order: Sequence[Node], conditions: Sequence[Expression], derive: Derivation) -> list[Node]:
    """All but the last, as they are met from the last one outwards."""
    known, remaining = [order[-1]], list(order[:-1])
    while remaining:
        near = nearest(known, remaining, conditions, derive)
        remaining = [node for node in remaining if node is not near]
        known.append(near)
    return known[1:]


def _from(moved: Change, others: Sequence[Node], conditions: Sequence[Expression]) -> Change:
    """What moved, joined with others that did not."""
    return replace(moved, rows=Rows(_outwards([moved.rows.plan, *others], conditions), None, moved.rows.state))


def _met(so_far: Change, node: Node, conditions: Sequence[Expression], named: bool, derive: Derivation) -> Change | None:
    """What moved, joined with what was there when it did: arrivals meet the new rows, departures the old ones."""
    if so_far.arrives is not None or not derive.moves(node):
        return _from(so_far, [derive.at(node, NEW if so_far.arrives is not False else OLD, named).plan], conditions)
    if at_once(node, conditions, derive):
        every = derive.at(node, ALL, named)
        together_there = met(conditions, column(str(so_far.rows.state)), column(str(every.state)))
        plan = Join(so_far.rows.plan, every.plan, "inner", together_there)
        shown = keep_outputs(plan, [name for name in plan.names if name != every.state])
        return replace(so_far, rows=Rows(Project(plan, shown), None, so_far.rows.state))
    names = tuple(name for name in so_far.rows.plan.names if name != so_far.rows.state)
    here = derive.at(node, NEW, named)
    sides = []
    for arrives, part in ((True, NEW), (False, OLD)):
        moved = so_far.side(arrives)
        assert moved is not None
        sides.append(_from(Change(moved, arrives), [derive.at(node, part, named).plan], conditions))
    return together(sides, (*names, *node.names, *here.hidden))


def at_once(node: Node, conditions: Sequence[Expression], derive: Derivation) -> bool:
    """Whether arrivals and departures can meet the rows of `node` in one join, which pays where columns are compared with columns."""
    return derive.tells_states(node) and any(columns_compared(condition) is not None for condition in conditions)


def met(conditions: Sequence[Expression], moved: Expression, other: Expression) -> Expression:
    """The conditions, for rows that were there at the same time. What may fail is not tried on rows that never met."""
    there = exp.paren(exp.or_(exp.Is(this=other.copy(), expression=exp.null()), exp.EQ(this=other.copy(), expression=moved.copy())))
    safe = [condition for condition in conditions if columns_compared(condition) is not None]
    rest = conjunction(condition for condition in conditions if columns_compared(condition) is None)
    if rest is None:
        return exp.and_(*safe, there)
    return exp.and_(*safe, exp.Case(ifs=[exp.If(this=there, true=rest)], default=exp.false()))


def _outwards(plans: Sequence[Node], conditions: Sequence[Expression]) -> Node:
    """The plans joined from the first one outwards; every condition stands where its columns first meet."""
    plan, remaining, waiting = plans[0], list(plans[1:]), list(conditions)
    while remaining:
        other = next((near for near in remaining if _connected(plan.names, near.names, waiting)), remaining[0])
        remaining.remove(other)
        known = {*plan.names, *other.names}
        ready = [condition for condition in waiting if columns_in(condition) <= known]
        waiting = [condition for condition in waiting if condition not in ready]
        plan = Join(plan, other, "inner", conjunction(ready))
    return plan


def _connected(names: Sequence[str], others: Sequence[str], conditions: Sequence[Expression]) -> bool:
    here, there = set(names), set(others)
    return any((used := columns_in(condition)) <= here | there and used & here and used & there for condition in conditions)


def _identified(rows: Rows, ids: Sequence[str | None], names: tuple[str, ...]) -> Rows:
    if any(id is None for id in ids):
        return rows
    return with_identity(rows, names, f"{ID}_{names[0]}", identity(*(column(str(id)) for id in ids)))
