"""The change of an inner join of any number of inputs.

    J(k) = J(k-1) ⋈ R(k)

    added(J(k))   = added(J(k-1))   ⋈ new(R(k))   +   kept(J(k-1)) ⋈ added(R(k))
    removed(J(k)) = removed(J(k-1)) ⋈ old(R(k))   +   kept(J(k-1)) ⋈ removed(R(k))

Nested inner joins are flattened first, and nothing between them is remembered: kept(J(k-1)) is joined from what moved in R(k) outwards.
A pair of rows that both arrived is found once; a pair of which one arrived and the other left was never there and is found nowhere. So
the terms share no row.

The inputs are taken from the smallest to the largest, each connected to those before it. What moved in all the small ones then meets the
largest in one join, and the largest is read once, however many inputs moved.

Identity: those of all the inputs, in the order of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slackwater.delta.rows import ADDED, ID, KEPT, NEW, OLD, REMOVED, Change, Rows, identity, keep_outputs, with_identity
from slackwater.plan import Join, Node, Project, Union, column, columns_in, conjunction, conjuncts
from slackwater.plan.nodes import Expression

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Join, part: str, named: bool, derive: Derivation) -> Rows:
    inputs, conditions = flatten(node)
    return joined([derive.at(below, part, named) for below in inputs], conditions, node.names)


def change(node: Join, named: bool, derive: Derivation) -> Change:
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
    return _identified(_outwards([part.plan for part in parts], conditions), [part.id for part in parts], names)


def terms(inputs: Sequence[Node], conditions: Sequence[Expression], names: tuple[str, ...], named: bool, derive: Derivation) -> Change:
    """The change of the inputs' join."""
    order = _small_first(inputs, conditions, derive)
    ids = [derive.at(below, NEW, named).id for below in inputs]
    added = _side(order, conditions, named, ADDED, derive)
    removed = _side(order, conditions, named, REMOVED, derive)
    return Change(_named(added, ids, names), _named(removed, ids, names))


def _side(order: Sequence[Node], conditions: Sequence[Expression], named: bool, side: str, derive: Derivation) -> Node | None:
    """One side of the change, input by input. The inputs' identities stay columns of their own until the end."""
    after = NEW if side == ADDED else OLD
    so_far = _moved(order[0], named, side, derive)
    applied: list[Expression] = []
    for k in range(1, len(order)):
        known = {name for below in order[: k + 1] for name in below.names}
        ready = [condition for condition in conditions if columns_in(condition) <= known]
        found = []
        if so_far is not None:
            here = derive.at(order[k], after, named).plan
            found.append(_outwards([so_far, here], [condition for condition in ready if condition not in applied]))
        moved = _moved(order[k], named, side, derive)
        if moved is not None:
            kept = [derive.at(below, KEPT, named).plan for below in order[:k]]
            found.append(_outwards([moved, *kept], ready))
        so_far = _together(found)
        applied = ready
    return so_far


def _moved(node: Node, named: bool, side: str, derive: Derivation) -> Node | None:
    delta = derive.change(node, named)
    rows = delta.added if side == ADDED else delta.removed
    return rows.plan if rows is not None else None


def _together(found: list[Node]) -> Node | None:
    """The union of terms whose columns may stand in another order."""
    if len(found) < 2:
        return found[0] if found else None
    names = found[0].names
    branches = tuple(plan if plan.names == names else Project(plan, keep_outputs(plan, names)) for plan in found)
    return Union(branches, found[0].columns)


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


def _small_first(inputs: Sequence[Node], conditions: Sequence[Expression], derive: Derivation) -> list[Node]:
    """The inputs from the smallest to the largest, each connected to those before it where that can be."""
    remaining = list(inputs)
    order: list[Node] = []
    while remaining:
        known = tuple(name for below in order for name in below.names)
        near = [below for below in remaining if _connected(known, below.names, conditions)] or remaining
        smallest = min(near, key=derive.size)
        remaining.remove(smallest)
        order.append(smallest)
    return order


def _connected(names: Sequence[str], others: Sequence[str], conditions: Sequence[Expression]) -> bool:
    here, there = set(names), set(others)
    return any((used := columns_in(condition)) <= here | there and used & here and used & there for condition in conditions)


def _named(plan: Node | None, ids: Sequence[str | None], names: tuple[str, ...]) -> Rows | None:
    return _identified(plan, ids, names) if plan is not None else None


def _identified(plan: Node, ids: Sequence[str | None], names: tuple[str, ...]) -> Rows:
    if any(id is None for id in ids):
        return Rows(plan, None)
    return with_identity(plan, names, f"{ID}_{names[0]}", identity(*(column(str(id)) for id in ids)))
