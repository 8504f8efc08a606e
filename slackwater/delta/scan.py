"""A source: a table, or what another path has written.

    Δ R = the batches between this path's version and the newest one

The parts of a source are relations of their own, named `orders@old`, `orders@added` and so on. Traces know how to read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.delta.rows import ADDED, ID, REMOVED, Change, Rows
from slackwater.plan import Column, Scan

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Scan, part: str, named: bool, derive: Derivation) -> Rows:
    return read(node, part, named)


def change(node: Scan, named: bool, derive: Derivation) -> Change:
    moved = derive.moves(node)
    return Change(read(node, ADDED, named) if moved.added else None, read(node, REMOVED, named) if moved.removed else None)


def read(node: Scan, part: str, named: bool) -> Rows:
    """One part of the source. The identity's name is made from the first column's, which no other scan has."""
    relation = f"{node.relation}@{part}"
    if not named:
        return Rows(Scan(relation, node.source, node.outputs), None)
    name = f"{ID}_{node.names[0]}"
    return Rows(Scan(relation, (*node.source, ID), (*node.outputs, Column(name, "string"))), name)
