"""The change of an inner join of any number of inputs.

    added   = Σ i   kept(1) ⋈ … ⋈ kept(i-1) ⋈ added(i)   ⋈ new(i+1) ⋈ … ⋈ new(n)
    removed = Σ i   kept(1) ⋈ … ⋈ kept(i-1) ⋈ removed(i) ⋈ old(i+1) ⋈ … ⋈ old(n)

Nested inner joins are flattened first, so there is one term per input that moved and nothing between them is remembered. A pair of rows
that both arrived is found once, in the term of the later of the two; a pair of which one arrived and the other left was never there and is
found nowhere. So the terms share no row. Each term starts at what moved and grows outwards along the conditions.

Identity: those of all the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slackwater.delta.rows import ID, KEPT, NEW, OLD, Change, Rows, identity, together, with_identity
from slackwater.plan import Join, Node, column, columns_in, conjunction, conjuncts
from slackwater.plan.nodes import Expression

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Join, part: str, named: bool, derive: Derivation) -> Rows:
    inputs, conditions = flatten(node)
    return joined([derive.at(below, part, named) for below in inputs], conditions, 0, node.names)


def change(node: Join, named: bool, derive: Derivation) -> Change:
    inputs, conditions = flatten(node)
    return terms(inputs, conditions, node.names, named, derive)


def terms(inputs: Sequence[Node], conditions: Sequence[Expression], names: tuple[str, ...], named: bool, derive: Derivation) -> Change:
    """One term for each input that moved."""
    added, removed = [], []
    for i, moving in enumerate(inputs):
        delta = derive.change(moving, named)
        for start, after, found in ((delta.added, NEW, added), (delta.removed, OLD, removed)):
            if start is not None:
                parts = [
                    start if j == i else derive.at(below, KEPT if j < i else after, named)
                    for j, below in enumerate(inputs)
                ]
                found.append(joined(parts, conditions, i, names))
    return Change(together(added, names), together(removed, names))


def flatten(node: Node) -> tuple[list[Node], list[Expression]]:
    """The inputs of a tree of inner joins, and all its conditions."""
    if isinstance(node, Join) and node.kind == "inner":
        left, left_conditions = flatten(node.left)
        right, right_conditions = flatten(node.right)
        return left + right, left_conditions + right_conditions + conjuncts(node.condition)
    return [node], []


def joined(parts: Sequence[Rows], conditions: Sequence[Expression], start: int, names: tuple[str, ...]) -> Rows:
    """The inputs joined outwards from input `start`; every condition stands where its columns first meet."""
    plan = parts[start].plan
    waiting = list(conditions)
    remaining = [i for i in range(len(parts)) if i != start]
    while remaining:
        nearest = next((i for i in remaining if _connected(plan, parts[i].plan, waiting)), remaining[0])
        remaining.remove(nearest)
        other = parts[nearest].plan
        ready = [c for c in waiting if columns_in(c) <= {*plan.names, *other.names}]
        waiting = [c for c in waiting if c not in ready]
        plan = Join(plan, other, "inner", conjunction(ready))
    ids = [part.id for part in parts]
    if any(id is None for id in ids):
        return Rows(plan, None)
    return with_identity(plan, names, f"{ID}_{names[0]}", identity(*(column(str(id)) for id in ids)))


def _connected(plan: Node, other: Node, conditions: Sequence[Expression]) -> bool:
    here, there = set(plan.names), set(other.names)
    return any((used := columns_in(c)) <= here | there and used & here and used & there for c in conditions)
