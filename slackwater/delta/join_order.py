"""In which order the inputs of a join meet.

Joined along keys, a row meets one partner, or the rows that refer to it. Joined otherwise (customers and suppliers of one nation) rows meet
in crowds, so that comes last. Among the rest that order is best in which the least is read:

    work = Σ rows(R(k)) for each k after something that moved   +   Σ rows(R(1)) + ... + rows(R(k-1)) for each R(k) that moved
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.plan import Node, columns_in
from slackwater.plan.nodes import Expression

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation

ONE, SOME, CROWD, ALL = range(4)  # how many rows of an input one row of the others meets


def best_order(inputs: Sequence[Node], conditions: Sequence[Expression], derive: Derivation) -> list[Node]:
    """The inputs in the order in which their changes are put together."""
    orders = [_from(first, inputs, conditions, derive) for first in sorted(inputs, key=derive.size)]
    return min(orders, key=lambda order: _work(order, conditions, derive))


def nearest(known: Sequence[Node], remaining: Sequence[Node], conditions: Sequence[Expression], derive: Derivation) -> Node:
    """Of the remaining inputs the one that multiplies rows the least."""
    return min(remaining, key=lambda node: (meets(known, node, conditions, derive), derive.size(node)))


def meets(known: Sequence[Node], node: Node, conditions: Sequence[Expression], derive: Derivation) -> int:
    """How many rows of `node` a row of the known inputs meets, roughly."""
    here, there = {name for each in known for name in each.names}, set(node.names)
    connecting = [used for part in conditions if (used := columns_in(part)) <= here | there and used & here and used & there]
    if not connecting:
        return ALL
    equal = [columns_in(part) for part in conditions if isinstance(part, exp.EQ)]
    compared = {name for used in equal if used in connecting for name in used}
    if derive.unique(node, compared & there):
        return ONE
    return SOME if any(derive.unique(each, compared & set(each.names)) for each in known) else CROWD


def _from(first: Node, inputs: Sequence[Node], conditions: Sequence[Expression], derive: Derivation) -> list[Node]:
    order, remaining = [first], [node for node in inputs if node is not first]
    while remaining:
        near = min(remaining, key=lambda node: (max(SOME, meets(order, node, conditions, derive)), derive.size(node)))
        remaining = [node for node in remaining if node is not near]
        order.append(near)
    return order


def _work(order: Sequence[Node], conditions: Sequence[Expression], derive: Derivation) -> tuple[int, int]:
    crowds = sum(meets(order[:k], order[k], conditions, derive) >= CROWD for k in range(1, len(order)))
    rows, before, moved = 0, 0, False
    for node in order:
        rows += derive.size(node) * moved + before * bool(derive.moves(node))
        before += derive.size(node)
        moved = moved or bool(derive.moves(node))
    return crowds, rows
