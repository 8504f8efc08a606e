"""A source: a table, or what another path has written.

    Δ R = the batches between this path's version and the newest one

The parts of a source are relations of their own, named `orders@old`, `orders@added` and so on. Traces know how to read them. Where rows of
several states are read together, each part brings the state of its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.rows import ADDED, ALL, ID, KEPT, REMOVED, STATE, Change, Rows, keep_outputs, united
from slackwater.plan import Column, Output, Project, Scan
from slackwater.plan.nodes import Expression

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def at(node: Scan, part: str, named: bool, derive: Derivation) -> Rows:
    if part != ALL:
        return _read(node, part, named)
    kept = _told(node, _read(node, KEPT, named), exp.cast(exp.null(), "boolean"))
    return united([kept, *_moved(node, named, derive)], node.names)


def change(node: Scan, named: bool, derive: Derivation) -> Change | None:
    moved = derive.moves(node)
    if moved.added and moved.removed:
        return Change(united(_moved(node, named, derive), node.names))
    return Change(_read(node, ADDED if moved.added else REMOVED, named), arrives=moved.added)


def _moved(node: Scan, named: bool, derive: Derivation) -> list[Rows]:
    moved = derive.moves(node)
    sides = ((ADDED, moved.added, exp.true()), (REMOVED, moved.removed, exp.false()))
    return [_told(node, _read(node, side, named), state) for side, there, state in sides if there]


def _told(node: Scan, rows: Rows, state: Expression) -> Rows:
    """Rows with their state. Hidden columns are named after the first column, whose name no other scan has."""
    name = f"{STATE}_{node.names[0]}"
    outputs = (*keep_outputs(rows.plan, rows.plan.names), Output(Column(name, "boolean"), state))
    return Rows(Project(rows.plan, outputs), rows.id, name)


def _read(node: Scan, part: str, named: bool) -> Rows:
    relation = f"{node.relation}@{part}"
    if not named:
        return Rows(Scan(relation, node.source, node.outputs), None)
    name = f"{ID}_{node.names[0]}"
    return Rows(Scan(relation, (*node.source, ID), (*node.outputs, Column(name, "string"))), name)
