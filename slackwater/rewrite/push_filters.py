"""Bring conditions to where they first can be decided.

A condition moves below projections, into the condition of an inner join or to the side it speaks about, below an aggregate when it only
uses the keys, below a window when it only uses the partition keys, and into every branch of a union. An outer join lets through what
speaks about the side it keeps. A left join whose missing partners a condition above would reject anyway becomes an inner join. What all
alternatives of a condition demand of one column is asked of that column, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from slackwater.plan.nodes import (
    Aggregate,
    Expression,
    Filter,
    Generate,
    Join,
    Node,
    Project,
    Union,
    Window,
    column,
    columns_in,
    conjunction,
    conjuncts,
)
from slackwater.rewrite.sharing import shared_subplans


def push_filters(plan: Node) -> Node:
    """The plan with its conditions as far down as they can go."""
    return _Push(shared_subplans(plan)).push(plan, [])


class _Push:
    def __init__(self, shared: frozenset[Node]) -> None:
        self.shared = shared
        self.done: dict[Node, Node] = {}

    def push(self, node: Node, conditions: list[Expression]) -> Node:
        """`Filter(node, conditions)`, with the conditions as far down as they can go."""
        if node in self.shared:
            if node not in self.done:
                self.done[node] = self._into(node, [])
            return _filtered(self.done[node], conditions)
        return self._into(node, conditions)

    def _into(self, node: Node, conditions: list[Expression]) -> Node:
        if isinstance(node, Filter):
            return self.push(node.input, factored(conjuncts(node.condition)) + conditions)
        if isinstance(node, Project):
            return self._project(node, conditions)
        if isinstance(node, Join):
            return self._join(node, conditions)
        if isinstance(node, Union):
            return self._union(node, conditions)
        if isinstance(node, Aggregate | Window):
            # Only a whole group may be left out; without keys the one group is always there.
            return self._below(node, conditions, set(node.keys) if node.keys else None)
        if isinstance(node, Generate):
            return self._below(node, conditions, set(node.input.names))
        return _filtered(node.with_inputs(*(self.push(below, []) for below in node.inputs)), conditions)

    def _below(self, node: Aggregate | Window | Generate, conditions: list[Expression], free: set[str] | None) -> Node:
        """Conditions that use only the columns `free` go below the node."""
        through = [each for each in conditions if free is not None and columns_in(each) <= free]
        rest = [each for each in conditions if each not in through]
        return _filtered(replace(node, input=self.push(node.input, through)), rest)

    def _project(self, node: Project, conditions: list[Expression]) -> Node:
        values = {output.name: output.expression for output in node.outputs}
        through = [each for each in conditions if not any(_raises(values[name]) for name in columns_in(each))]
        rest = [each for each in conditions if each not in through]
        below = self.push(node.input, [_over(each, values) for each in through])
        return _filtered(replace(node, input=below), rest)

    def _union(self, node: Union, conditions: list[Expression]) -> Node:
        branches = []
        for branch in node.branches:
            names: dict[str, Expression] = {ours: column(theirs) for ours, theirs in zip(node.names, branch.names, strict=True)}
            branches.append(self.push(branch, [_over(each, names) for each in conditions]))
        return node.with_inputs(*branches)

    def _join(self, node: Join, conditions: list[Expression]) -> Node:
        own = factored(conjuncts(node.condition))
        if node.kind == "left" and any(_rejects_missing(each, set(node.right.names)) for each in conditions):
            node = replace(node, kind="inner")
        if node.kind == "inner":
            return self._inner(node, own + conditions)
        if node.kind == "full":
            return _filtered(Join(self.push(node.left, []), self.push(node.right, []), "full", node.condition), conditions)
        left, right = set(node.left.names), set(node.right.names)
        to_left = [each for each in conditions if columns_in(each) <= left]
        rest = [each for each in conditions if each not in to_left]
        # A partner must fulfil the whole condition, so what it says about the partner alone can be asked first, whatever the kind.
        to_right = [each for each in own if columns_in(each) and columns_in(each) <= right]
        own = [each for each in own if each not in to_right]
        if node.kind == "semi":
            to_left += [each for each in own if columns_in(each) <= left]
            own = [each for each in own if not columns_in(each) <= left]
        joined = Join(self.push(node.left, to_left), self.push(node.right, to_right), node.kind, conjunction(own))
        return _filtered(joined, rest)

    def _inner(self, node: Join, conditions: list[Expression]) -> Node:
        left, right = set(node.left.names), set(node.right.names)
        conditions = [*conditions, *_implied(conditions, {c.name: c.type for side in node.inputs for c in side.columns})]
        to_left = [each for each in conditions if columns_in(each) <= left]
        to_right = [each for each in conditions if each not in to_left and columns_in(each) <= right]
        own = [each for each in conditions if each not in to_left and each not in to_right]
        return Join(self.push(node.left, to_left), self.push(node.right, to_right), "inner", conjunction(own))


def factored(conditions: Sequence[Expression]) -> list[Expression]:
    """`(a AND b) OR (a AND c)` as `a` and `b OR c`: what all alternatives demand can be asked by itself."""
    result: list[Expression] = []
    for condition in conditions:
        result += _factor(condition)
    return list(dict.fromkeys(result))


def _factor(condition: Expression) -> list[Expression]:
    choices = _alternatives(condition)
    if len(choices) < 2:
        return [condition]
    alternatives = [factored(conjuncts(each)) for each in choices]
    common = [each for each in alternatives[0] if all(each in other for other in alternatives[1:])]
    if not common:
        return [condition]
    rests = [conjunction(each for each in alternative if each not in common) for alternative in alternatives]
    left = [each for each in rests if each is not None]
    # An alternative that demands nothing more makes the others superfluous.
    return common if len(left) < len(rests) else [*common, exp.Paren(this=exp.or_(*left, copy=True))]


def _implied(conditions: Sequence[Expression], types: Mapping[str, str]) -> list[Expression]:
    """`a IN (1, 2)`, of `(a = 1 AND b = 2) OR (a = 2 AND b = 1)`: less than the whole, but it speaks about one side of a join alone."""
    found: list[Expression] = []
    for condition in conditions:
        first, *others = [dict(filter(None, map(_listed, conjuncts(each)))) for each in _alternatives(condition)]
        for name, values in first.items():
            if others and all(name in other for other in others):
                every = list(dict.fromkeys([*values, *(value for other in others for value in other[name])]))
                if all(_is_of(value, types.get(name, "")) for value in every):
                    found.append(exp.In(this=column(name), expressions=[value.copy() for value in every]))
    return found


def _listed(condition: Expression) -> tuple[str, list[Expression]] | None:
    """The column that must be one of some literals, and those."""
    if isinstance(condition, exp.Paren):
        return _listed(condition.this)
    if isinstance(condition, exp.EQ):
        name, values = condition.this, [condition.expression]
    elif isinstance(condition, exp.In):
        name, values = condition.this, condition.expressions
    else:
        return None
    is_list = isinstance(name, exp.Column) and values and all(isinstance(value, exp.Literal) for value in values)
    return (name.name, values) if is_list else None


def _is_of(value: Expression, type_: str) -> bool:
    """Whether a literal is compared with a column of this type as it is, so that no row can make that fail."""
    is_number = type_ in ("tinyint", "smallint", "int", "bigint") or type_.startswith("decimal(")
    return value.is_string if type_ == "string" else is_number and not value.is_string


def _alternatives(condition: Expression) -> list[Expression]:
    if isinstance(condition, exp.Paren):
        return _alternatives(condition.this)
    if isinstance(condition, exp.Or):
        return _alternatives(condition.this) + _alternatives(condition.expression)
    return [condition]


def _over(condition: Expression, values: Mapping[str, Expression]) -> Expression:
    """The condition with columns replaced by what they stand for."""

    def value(node: Expression) -> Expression:
        if not isinstance(node, exp.Column):
            return node
        new = values[node.name].copy()
        return new if isinstance(new, exp.Column | exp.Literal) else exp.Paren(this=new)

    return condition.transform(value)


def _raises(expression: Expression) -> bool:
    """Whether the expression is there to stop the query: it must see the rows it was written for, and no others."""
    return any(str(call.this).lower() == "raise_error" for call in expression.find_all(exp.Anonymous))


# Operators that give NULL when an operand is NULL.
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like)
_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren)


def _rejects_missing(condition: Expression, names: set[str]) -> bool:
    """Whether the condition cannot be true when all the columns `names` are NULL."""
    if isinstance(condition, exp.Paren):
        return _rejects_missing(condition.this, names)
    if isinstance(condition, _COMPARISONS):
        return _strict(condition.this, names) or _strict(condition.expression, names)
    if isinstance(condition, exp.Between):
        return _strict(condition.this, names)
    if isinstance(condition, exp.Not) and isinstance(condition.this, exp.Is) and isinstance(condition.this.expression, exp.Null):
        return _strict(condition.this.this, names)
    if isinstance(condition, exp.Or):
        return _rejects_missing(condition.this, names) and _rejects_missing(condition.expression, names)
    return False


def _strict(expression: Expression, names: set[str]) -> bool:
    """Whether the expression is NULL when all the columns `names` are."""
    if isinstance(expression, exp.Column):
        return expression.name in names
    if isinstance(expression, exp.Cast | exp.Paren | exp.Neg):
        return _strict(expression.this, names)
    if isinstance(expression, _STRICT):
        return _strict(expression.this, names) or _strict(expression.expression, names)
    return False


def _filtered(node: Node, conditions: list[Expression]) -> Node:
    condition = conjunction(dict.fromkeys(conditions))
    return node if condition is None else Filter(node, condition)
