"""The change of a semi join (left rows with a partner) and of an anti join (left rows without).

    Δ+(L ⋉ R) = added(L) ⋉ new(R)     +  (kept(L) ⋉ added(R))   ▷ old(R)
    Δ-(L ⋉ R) = removed(L) ⋉ old(R)   +  (kept(L) ⋉ removed(R)) ▷ new(R)

    Δ+(L ▷ R) = added(L) ▷ new(R)     +  (kept(L) ⋉ removed(R)) ▷ new(R)
    Δ-(L ▷ R) = removed(L) ▷ old(R)   +  (kept(L) ⋉ added(R))   ▷ old(R)

A kept row changes sides only if a partner of it moved, and then one look at the other partners decides. Any condition will do; NOT IN is an
anti join whose condition also holds when either side is NULL. Identity: the left input's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.delta.rows import KEPT, NEW, OLD, Change, Rows, together
from slackwater.delta.touched import partners
from slackwater.plan import Join

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Join, part: str, named: bool, derive: Derivation) -> Rows:
    left = derive.at(node.left, part, named)
    if part != KEPT:
        return _join(left, derive.at(node.right, part, False), node.kind, node)
    # Kept: in the result before and after. Old and new partners are looked at one after the other.
    before, after = derive.at(node.right, OLD, False), derive.at(node.right, NEW, False)
    first = _join(left, before, node.kind, node)
    return first if before == after else _join(first, after, node.kind, node)


def change(node: Join, named: bool, derive: Derivation) -> Change:
    left, right = derive.change(node.left, named), derive.change(node.right, False)
    arriving, leaving = (right.added, right.removed) if node.kind == "semi" else (right.removed, right.added)
    # A semi join gains rows through arriving partners that are the first, an anti join through leaving partners that were the last.
    others_of_arriving, others_of_leaving = (OLD, NEW) if node.kind == "semi" else (NEW, OLD)
    added = [
        left.added and _join(left.added, derive.at(node.right, NEW, False), node.kind, node, narrow=True),
        arriving and _turned(node, arriving, others_of_arriving, named, derive),
    ]
    removed = [
        left.removed and _join(left.removed, derive.at(node.right, OLD, False), node.kind, node, narrow=True),
        leaving and _turned(node, leaving, others_of_leaving, named, derive),
    ]
    return Change(together(added, node.names), together(removed, node.names))


def _turned(node: Join, moved: Rows, others: str, named: bool, derive: Derivation) -> Rows:
    """Kept left rows that have a partner among `moved` and none among the `others`."""
    touched = _join(derive.at(node.left, KEPT, named), moved, "semi", node)
    return _join(touched, derive.at(node.right, others, False), "anti", node, narrow=True)


def _join(left: Rows, right: Rows, kind: str, node: Join, narrow: bool = False) -> Rows:
    """Join on the node's condition. `narrow`: the left side is small, so read only the partners it can have."""
    other = partners(left.plan, right.plan, node.condition) if narrow else right.plan
    return Rows(Join(left.plan, other, kind, node.condition), left.id)
