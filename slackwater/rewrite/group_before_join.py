"""Group what is joined before it is joined.

    customer ⟕ orders, grouped by customer      count(order)
    customer ⟕ (orders grouped by customer)     coalesce(count, 0)

Where a left join is grouped by a key of its left side, each group is one row of that side with all its partners. Those can be grouped by
what they are found by, without the row: a change of theirs is then added to sums, and nothing of the other side is looked up for it.

Only bare columns of the right side are taken in: the row of NULLs that stands for a missing partner counts for nothing then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from slackwater.plan.nodes import (
    Aggregate,
    Column,
    Expression,
    Filter,
    Join,
    Node,
    Output,
    Project,
    Scan,
    column,
    columns_compared,
    conjuncts,
)

Keys = Mapping[str, tuple[str, ...]]  # by table: columns in which no two rows agree
BEFORE = "_before"  # how names end that are given before the join
_FUNCTIONS = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


def group_before_join(plan: Node, keys: Keys) -> Node:
    """The plan whose left joins meet groups, where they are grouped by a key of the left side. `keys`: those of tables."""
    done: dict[Node, Node] = {}  # a subplan that several parts share is changed once

    def visit(node: Node) -> Node:
        if node not in done:
            changed = node.with_inputs(*(visit(below) for below in node.inputs))
            done[node] = (_grouped(changed, keys) if isinstance(changed, Aggregate) else None) or changed
        return done[node]

    return visit(plan)


def _grouped(node: Aggregate, keys: Keys) -> Node | None:
    join, passed = _joined(node.input)
    if join is None or join.kind != "left" or not all(key in passed for key in node.keys):
        return None
    groups = [passed[key] for key in node.keys]
    found = _found_by(join)
    if found is None or not set(groups) <= set(join.left.names) or not _is_unique(join.left, set(groups), keys):
        return None
    measures = [_of_right(measure, join.right, passed) for measure in node.measures]
    told = [measure for measure in measures if measure is not None]
    if not told or len(told) < len(measures):
        return None
    partners = Aggregate(join.right, tuple(dict.fromkeys(there for _, there in found)), tuple(told))
    shown = [Output(shown, column(name)) for shown, name in zip(node.columns, groups, strict=False)]
    shown += [Output(measure.column, _value(inner)) for measure, inner in zip(node.measures, told, strict=True)]
    return Project(replace(join, right=partners), tuple(shown))


def _joined(node: Node) -> tuple[Join | None, dict[str, str]]:
    """The join below a node that does no more than pass columns on, and how those are called there."""
    passed = {name: name for name in node.names}
    while isinstance(node, Project):
        below = {each.name: each.expression.name for each in node.outputs if isinstance(each.expression, exp.Column)}
        passed = {name: below[there] for name, there in passed.items() if there in below}
        node = node.input
    return (node, passed) if isinstance(node, Join) else (None, passed)


def _found_by(join: Join) -> list[tuple[str, str]] | None:
    """By which equal columns partners are found; None if something else decides, too, or equal ones may differ."""
    types = {each.name: each.type for each in (*join.left.columns, *join.right.columns)}
    found = []
    for condition in conjuncts(join.condition):
        pair = columns_compared(condition) if isinstance(condition, exp.EQ) else None
        if pair is None or types[pair[0]] != types[pair[1]] or not _is_exact(types[pair[0]]):
            return None
        here, there = pair if pair[0] in join.left.names else pair[::-1]
        if here not in join.left.names or there not in join.right.names:
            return None
        found.append((here, there))
    return found or None


def _is_unique(node: Node, names: set[str], keys: Keys) -> bool:
    """Whether no two rows of a node agree in these of its columns."""
    if isinstance(node, Filter):
        return _is_unique(node.input, names, keys)
    if isinstance(node, Project):
        below = {each.expression.name for each in node.outputs if each.name in names and isinstance(each.expression, exp.Column)}
        return _is_unique(node.input, below, keys)
    if isinstance(node, Join) and node.kind in ("semi", "anti"):
        return _is_unique(node.left, names, keys)
    if not isinstance(node, Scan):
        return False
    shown = {source.lower(): each for source, each in zip(node.source, node.outputs, strict=True) if each.name in names}
    key = [name.lower() for name in keys.get(node.relation.lower(), ())]
    return bool(key) and all(name in shown and _is_exact(shown[name].type) for name in key)


def _is_exact(type: str) -> bool:
    """Whether values that are equal are the same: of floating ones, zero and minus zero are not."""
    return type in ("string", "date", "timestamp", "boolean", "tinyint", "smallint", "int", "bigint") or type.startswith("decimal")


def _of_right(measure: Output, right: Node, passed: Mapping[str, str]) -> Output | None:
    """A measure of one of the right side's columns, in its own names."""
    function = measure.expression
    if type(function) not in _FUNCTIONS or not isinstance(function.this, exp.Column) or _has_more(function):
        return None
    name = passed.get(function.this.name)
    if name not in right.names:
        return None
    return Output(Column(measure.name + BEFORE, measure.column.type), type(function)(this=column(name)))


def _has_more(function: Expression) -> bool:
    return any(value for name, value in function.args.items() if name not in ("this", "big_int"))


def _value(inner: Output) -> Expression:
    """What a group's measure is where there may be no group."""
    value = column(inner.name)
    return exp.func("coalesce", value, exp.cast(exp.Literal.number(0), "bigint")) if isinstance(inner.expression, exp.Count) else value
