"""About how many rows the operators of a path have, before anything of it was seen.

What a filter leaves of one source it leaves of all that is joined with it: a nation of 25 has a 25th of the customers and of their orders.
Of a path that exists its own rows are known, and those of its sources always are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from slackwater.pace.flow import Sizes
from slackwater.plan import Aggregate, Filter, Join, Limit, Node, Project, Scan, Union, Values, columns_in, conjuncts
from slackwater.plan.nodes import Expression

EQUAL, BETWEEN, LIKE = 0.1, 0.3, 0.1  # of all rows pass a comparison with a value, if nothing is known of the column
GROUPS = 0.7  # of n rows there are n to this power different ones


@dataclass(frozen=True)
class _Size:
    """Rows, of how many that there would be without filters."""

    rows: float
    of: float

    @property
    def share(self) -> float:
        return min(1.0, self.rows / self.of) if self.of else 1.0


def estimated_sizes(top: Node, rows: Mapping[str, float], own: float | None = None) -> Sizes:
    """Rows of the operators of a path. `rows`: of its sources; `own`: that it keeps, if it was computed already."""
    found: dict[Node, float] = {}
    last = top  # that says how many there are
    while isinstance(last, Project):
        last = last.input

    def size(node: Node) -> _Size:
        result = _size(node, [size(each) for each in node.inputs], rows)
        if node is last and own is not None:
            result = _Size(own, max(own, result.of))
        found[node] = max(1.0, result.rows)
        return result

    size(top)
    return found


def _size(node: Node, below: list[_Size], rows: Mapping[str, float]) -> _Size:
    if isinstance(node, Scan):
        return _Size(rows[node.relation], rows[node.relation])
    if isinstance(node, Values):
        return _Size(len(node.rows), len(node.rows))
    if isinstance(node, Filter):
        share = 1.0
        for each in conjuncts(node.condition):
            share *= passing(each)
        return _Size(below[0].rows * share, below[0].of)
    if isinstance(node, Join):
        return _joined(node, *below)
    if isinstance(node, Union):
        return _Size(sum(each.rows for each in below), sum(each.of for each in below))
    if isinstance(node, Aggregate):
        groups = below[0].rows ** GROUPS if node.keys else 1.0
        return _Size(groups, groups)
    if isinstance(node, Limit) and node.count is not None:
        return _Size(min(float(node.count), below[0].rows), below[0].of)
    return below[0]


def _joined(node: Join, left: _Size, right: _Size) -> _Size:
    if node.kind in ("semi", "anti"):
        met = left.rows * min(1.0, right.share)
        return _Size(met if node.kind == "semi" else max(left.rows - met, left.rows * EQUAL), left.of)
    conditions = conjuncts(node.condition)
    sides = [set(each.names) for each in node.inputs]
    if any(isinstance(each, exp.EQ) and all(columns_in(each) & side for side in sides) for each in conditions):
        of = max(left.of, right.of)
        pairs = left.share * right.share * of
    else:
        of = left.of * right.of
        pairs = left.rows * right.rows * (BETWEEN if conditions else 1.0)
    if node.kind == "inner":
        return _Size(pairs, of)
    return _Size(max(pairs, left.rows, right.rows if node.kind == "full" else 0.0), of)


def passing(condition: Expression) -> float:
    """About which share of rows a condition lets pass."""
    if isinstance(condition, exp.Paren):
        return passing(condition.this)
    if isinstance(condition, exp.Not):
        return 1 - passing(condition.this)
    if isinstance(condition, exp.And):
        return passing(condition.this) * passing(condition.expression)
    if isinstance(condition, exp.Or):
        return 1 - (1 - passing(condition.this)) * (1 - passing(condition.expression))
    if isinstance(condition, exp.EQ | exp.NullSafeEQ):
        return EQUAL
    if isinstance(condition, exp.In):
        return min(0.9, EQUAL * max(1, len(condition.expressions)))
    if isinstance(condition, exp.NEQ):
        return 1 - EQUAL
    if isinstance(condition, exp.Like | exp.Is):
        return LIKE
    return BETWEEN
