"""The change of window functions.

    touched = partitions in which a row arrived or left
    Δ w(R)  = w(new(R) restricted to touched) - what this path wrote for touched

Without PARTITION BY there is one partition, and every change touches it. Identity: the input row's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.delta.difference import difference
from slackwater.delta.rows import ID, NEW, TOUCHED, Rows, keep_outputs
from slackwater.delta.touched import restrict, touched_keys
from slackwater.plan import Column, Node, Output, Project, Window, column

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation


def first(node: Window, derive: Derivation) -> Rows:
    return _computed(node, derive.at(node.input, NEW))


def flush(node: Window, own: Rows, derive: Derivation) -> Node | None:
    delta = derive.change(node.input, named=False)
    if delta is None:
        return None
    rows, old = derive.at(node.input, NEW), own
    if node.keys:
        touched = touched_keys(delta.rows.plan, node.keys, TOUCHED)
        rows = Rows(restrict(rows.plan, node.keys, touched), rows.id)
        old = Rows(restrict(own.plan, node.keys, touched), own.id)
    return difference(old, _computed(node, rows), node.names)


def _computed(node: Window, rows: Rows) -> Rows:
    assert rows.id is not None
    plan = node.with_inputs(rows.plan)
    return Rows(Project(plan, (*keep_outputs(plan, node.names), Output(Column(ID, "string"), column(rows.id)))), ID)
