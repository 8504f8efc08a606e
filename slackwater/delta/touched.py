"""Touched keys: read only the rows that a change can concern.

An operator that recomputes the keys its input's change touched hands them down here, past projections, filters and joins, to the scan
that can use them. This decides whether a flush costs what changed or what exists.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from slackwater.plan import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Node,
    Output,
    Project,
    Scan,
    Union,
    column,
    columns_in,
    conjunction,
    conjuncts,
)
from slackwater.plan.nodes import Column, Expression

MOST_SCANS_TWICE = 3


def restrict(plan: Node, keys: Sequence[str], touched: Node, equal: type[exp.Binary] = exp.NullSafeEQ) -> Node:
    """The rows of `plan` whose `keys` are among the rows of `touched`, its columns in the same order. NULL is a key like any other."""
    if isinstance(plan, Filter):
        return plan.with_inputs(restrict(plan.input, keys, touched, equal))
    if isinstance(plan, Project):
        by_name = {output.name: output.expression for output in plan.outputs}
        if all(isinstance(by_name[key], exp.Column) for key in keys):
            return plan.with_inputs(restrict(plan.input, [by_name[key].name for key in keys], touched, equal))
    if isinstance(plan, Generate) and set(keys) <= set(plan.input.names):
        return plan.with_inputs(restrict(plan.input, keys, touched, equal))
    if isinstance(plan, Union):
        positions = [plan.names.index(key) for key in keys]
        return plan.with_inputs(*(restrict(branch, [branch.names[p] for p in positions], touched, equal) for branch in plan.branches))
    if isinstance(plan, Join):
        if set(keys) <= set(plan.left.names) and plan.kind != "full":
            right = plan.right if plan.kind == "inner" else _partners_by_key(plan, keys, touched, equal)
            return plan.with_inputs(restrict(plan.left, keys, touched, equal), right)
        if set(keys) <= set(plan.right.names) and plan.kind == "inner":
            return plan.with_inputs(plan.left, restrict(plan.right, keys, touched, equal))
    conditions = [equal(this=column(key), expression=column(name)) for key, name in zip(keys, touched.names, strict=True)]
    return Join(plan, touched, "semi", conjunction(conditions))


def _partners_by_key(join: Join, keys: Sequence[str], touched: Node, equal: type[exp.Binary]) -> Node:
    """The rows of a join's right side that can meet left rows with touched keys, where the condition compares these keys with columns."""
    compared = {there.name: here.name for here, there in _equalities(join.left, join.right, join.condition) if _are_columns(here, there)}
    both = [(compared[key], c) for key, c in zip(keys, touched.columns, strict=True) if key in compared]
    if not both or _is_dear(touched):
        return join.right
    wanted = Project(touched, tuple(Output(c, column(c.name)) for _, c in both))
    return restrict(join.right, [name for name, _ in both], wanted, equal)


def touched_keys(moved: Node, keys: Sequence[str], fresh: str) -> Node:
    """The distinct keys of some rows, under names that start with `fresh`."""
    known = {c.name: c for c in moved.columns}
    rows = Project(moved, tuple(Output(Column(f"{fresh}{i}", known[key].type), column(key)) for i, key in enumerate(keys)))
    return Aggregate(rows, rows.names, ())


def partners(left: Node, right: Node, condition: Expression | None) -> Node:
    """The rows of `right` that can meet a row of `left`, by the equalities in the condition; all of `right` when there are none."""
    if _is_dear(left):
        return right
    return _looked_up(right, left, _equalities(left, right, condition))


def meeting(left: Node, right: Node, condition: Expression | None) -> Node:
    """The rows of `left` that meet one of few rows of `right`, looked up where the columns that are compared come from."""
    pairs = [(here, there) for here, there in _equalities(left, right, condition) if isinstance(there, exp.Column)]
    if pairs:
        left = restrict(left, [there.name for _, there in pairs], _wanted(right, [here for here, _ in pairs]), exp.EQ)
    return left if pairs and len(pairs) == len(conjuncts(condition)) else Join(left, right, "semi", condition)


def rivals(left: Node, right: Node, moved: Node, condition: Expression | None) -> Node:
    """The rows of `right` that can meet a row of `left` which meets one of `moved` too, rows of the same columns as `right`."""
    return _looked_up(right, moved, [(here, here) for here, _ in _equalities(left, right, condition)])


def _equalities(left: Node, right: Node, condition: Expression | None) -> list[tuple[Expression, Expression]]:
    """What of `right` must equal what of `left`."""
    equalities = []
    for part in conjuncts(condition):
        if isinstance(part, exp.EQ):
            sides = (part.this, part.expression)
            for here, there in (sides, sides[::-1]):
                if _within(here, right) and _within(there, left):
                    equalities.append((here, there))
                    break
    return equalities


def _looked_up(rows: Node, wanted: Node, equalities: Sequence[tuple[Expression, Expression]]) -> Node:
    """The rows for which the first of each pair of expressions is what the second is for some row of `wanted`."""
    if not equalities:
        return rows
    values = _wanted(wanted, [there for _, there in equalities])
    conditions = [exp.EQ(this=here.copy(), expression=column(f"wanted_{i}")) for i, (here, _) in enumerate(equalities)]
    return Join(rows, values, "semi", conjunction(conditions))


def _wanted(rows: Node, values: Sequence[Expression]) -> Node:
    """What is looked for, under names that the other side cannot have. Types of columns tell where their values may lie."""
    types = {c.name: c.type for c in rows.columns}
    outputs = []
    for i, value in enumerate(values):
        type_ = types[value.name] if isinstance(value, exp.Column) else "string"
        outputs.append(Output(Column(f"wanted_{i}", type_), value.copy()))
    return Project(rows, tuple(outputs))


def _is_dear(plan: Node) -> bool:
    """What is looked for is computed a second time: that must stay cheaper than reading all of what it is looked for in."""
    return sum(isinstance(node, Scan) for node in plan.walk()) > MOST_SCANS_TWICE


def _are_columns(*expressions: Expression) -> bool:
    return all(isinstance(each, exp.Column) for each in expressions)


def _within(expression: Expression, node: Node) -> bool:
    used = columns_in(expression)
    return bool(used) and used <= set(node.names)
