"""The statement of one flush, as a plan.

Its rows are what the path's trace gets: the side (added or removed), the identity, and the columns that the path keeps. The first flush of
a path computes everything there is; every later one computes the change by the rule of the path's topmost operator, or, when so much has
moved that this is dearer, computes everything again and compares.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from slackwater.delta import aggregate, keep, limit, window
from slackwater.delta.derive import Derivation, Known
from slackwater.delta.difference import difference
from slackwater.delta.rows import ADDED, ID, OWN, SIDE, Moved, Rows, Top
from slackwater.plan import Aggregate, Column, Limit, Node, Output, Project, Scan, Window, column

TOPS: Mapping[type[Node], Top] = {Aggregate: aggregate, Window: window, Limit: limit}


def first_flush(top: Node) -> Node:
    """Everything, from the sources as they are now."""
    return _added(_top(top).first(top, Derivation({})), top)


def next_flush(top: Node, name: str, moved: Mapping[str, Moved], known: Mapping[str, Known] | None = None) -> Node | None:
    """What the moved sources change in the path called `name`; None when nothing can have changed. `known`: of the sources."""
    return _top(top).flush(top, _own(top, name), Derivation(moved, known))


def gained(top: Node, moved: Mapping[str, Moved], known: Mapping[str, Known] | None = None) -> Node | None:
    """What groups gain by the moved sources, where the next flush adds that to what the path has; None where it does something else."""
    delta = Derivation(moved, known).change(top.input, named=False) if isinstance(top, Aggregate) else None
    if not isinstance(top, Aggregate) or delta is None or not aggregate.merges(top, delta):
        return None
    return _added(aggregate.gains(top, delta), top)


def whole_flush(top: Node, name: str) -> Node:
    """The same change, found by computing everything anew and comparing it with what the path called `name` has."""
    return difference(_own(top, name), _top(top).first(top, Derivation({})), top.names)


def _added(rows: Rows, top: Node) -> Node:
    """Rows that arrive."""
    outputs = [Output(Column(SIDE, "string"), exp.Literal.string(ADDED)), Output(Column(ID, "string"), column(str(rows.id)))]
    outputs += [Output(c, column(c.name)) for c in top.columns]
    return Project(rows.plan, tuple(outputs))


def _own(top: Node, name: str) -> Rows:
    return Rows(Scan(f"{name}@{OWN}", (*top.names, ID), (*top.columns, Column(ID, "string"))), ID)


def _top(node: Node) -> Top:
    return TOPS.get(type(node), keep)


def how(top: Node, moved: Mapping[str, Moved]) -> str:
    """In a word or two, how the next flush works."""
    if isinstance(top, Aggregate):
        delta = Derivation(moved).change(top.input, named=False)
        return "merges partials" if delta is None or aggregate.merges(top, delta) else "recomputes touched groups"
    if isinstance(top, Window):
        return "recomputes touched partitions" if top.keys else "recomputes the only partition"
    return "recomputes the top" if isinstance(top, Limit) else "passes changes on"
