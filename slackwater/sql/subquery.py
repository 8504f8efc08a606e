"""Subqueries in expressions, as joins.

    WHERE EXISTS, IN            semi join
    WHERE NOT EXISTS            anti join
    WHERE NOT IN                anti join that also pairs what NULL makes unknown
    scalar, uncorrelated        join with its one row
    scalar, correlated          left join with the subquery grouped by what it is compared with; a missing group is an aggregate of nothing
    EXISTS, IN as a value       left join with the distinct keys and a mark; NOT IN also counts rows, because of NULLs

As a value, IN and NOT IN are never NULL: this is Spark's way, not that of the standard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from slackwater.plan.nodes import (
    Aggregate,
    Expression,
    Filter,
    Join,
    Limit,
    Node,
    Output,
    Project,
    Values,
    column,
    conjunction,
    conjuncts,
)
from slackwater.sql.binding import Binding, Nested, Outer, bracketed, passed, rebuild, replace_equal, without_brackets
from slackwater.sql.correlation import Correlated, join_with, outer_names
from slackwater.sql.decorrelate import correlate
from slackwater.sql.domain import by_domain
from slackwater.sql.functions import value_over_nothing
from slackwater.sql.pull_up import aggregate_by_equalities, grouped_by_equalities

TOO_MANY_ROWS = "more than one row returned by a subquery used as an expression"


def keep(binding: Binding, plan: Node, condition: Expression) -> Node:
    """The rows of the plan for which a condition, which may hold subqueries, is true."""
    parts = [each for part in conjuncts(condition) for each in _demands(part)]
    plain = conjunction(part for part in parts if part.find(Nested) is None)
    if plain is not None:
        plan = Filter(plan, plain)
    for part in parts:
        if part.find(Nested) is not None:
            plan = _keep_nested(binding, plan, part)
    return plan


def attach(binding: Binding, plan: Node, expressions: Sequence[Expression], null_aware: bool = True) -> tuple[Node, list[Expression]]:
    """The plan joined with the subqueries in the expressions, and the expressions using the new columns instead. Rows stay as they are.

    `null_aware=False` takes NOT IN for the negation of IN.
    """
    work = _Attach(binding, plan, null_aware)
    values = [work.value(expression) for expression in expressions]
    return work.plan, values


def _demands(part: Expression) -> list[Expression]:
    """A condition with subqueries as conditions that must all hold: NOT goes inwards, to where it makes an anti join."""
    inner = without_brackets(part.this) if isinstance(part, exp.Not) and part.find(Nested) is not None else None
    if isinstance(inner, exp.Or):
        return [each for side in (inner.this, inner.expression) for each in _demands(exp.Not(this=side.copy()))]
    return [each for one in conjuncts(inner.this) for each in _demands(one)] if isinstance(inner, exp.Not) else [part]


def _keep_nested(binding: Binding, plan: Node, part: Expression) -> Node:
    negated = isinstance(part, exp.Not)
    nested = without_brackets(part.this) if isinstance(part, exp.Not) else part
    if isinstance(nested, Nested) and nested.kind in ("exists", "in"):
        return _semi_or_anti(binding, plan, nested, negated)
    work = _Attach(binding, plan)
    condition = work.value(part)
    return Filter(work.plan, condition)


def _semi_or_anti(binding: Binding, plan: Node, nested: Nested, negated: bool) -> Node:
    work = _Attach(binding, plan)
    operands = [_outwards(work.value(operand)) for operand in nested.expressions]
    inner = binding.subqueries[nested.number].plan
    inner = _without_frame(inner) if nested.kind == "exists" else inner
    found = correlate(binding, work.plan, inner)
    compare = _not_false if negated else _equal
    same = tuple(compare(operand, name) for operand, name in zip(operands, inner.names, strict=False))
    join, _ = join_with(binding, work.plan, "anti" if negated else "semi", Correlated(found.plan, found.conditions + same, None))
    return join


def _equal(operand: Expression, name: str) -> Expression:
    return exp.EQ(this=bracketed(operand), expression=column(name))


def _not_false(operand: Expression, name: str) -> Expression:
    """True unless the comparison is false: what NOT IN must not find."""
    null_left = exp.Is(this=bracketed(operand), expression=exp.Null())
    null_right = exp.Is(this=column(name), expression=exp.Null())
    return exp.Paren(this=exp.or_(_equal(operand, name), null_left, null_right, wrap=False))


class _Attach:
    """Joins subqueries to a plan, one after the other."""

    def __init__(self, binding: Binding, plan: Node, null_aware: bool = True) -> None:
        self.binding = binding
        self.plan = plan
        self.null_aware = null_aware
        self.done: dict[Expression, Expression] = {}

    def value(self, expression: Expression) -> Expression:
        """The expression with its subqueries joined."""
        if expression.find(Nested) is None:
            return expression
        if isinstance(expression, Nested):
            return self._once(expression, self._nested)
        if isinstance(expression, exp.Not):
            return self._negated(without_brackets(expression.this))
        if isinstance(expression, exp.EQ) and expression.expression == exp.false():
            return self._negated(without_brackets(expression.this))  # as Spark simplifies it, which for IN is not the same
        return rebuild(expression, {key: self._argument(value) for key, value in expression.args.items()})

    def _argument(self, value: object) -> object:
        if isinstance(value, Expression):
            return self.value(value)
        return [self._argument(item) for item in value] if isinstance(value, list) else value

    def _negated(self, inner: Expression) -> Expression:
        """NOT goes inwards until it meets the subquery, because NOT IN is more than IN negated."""
        if isinstance(inner, exp.And | exp.Or):
            other = exp.Or if isinstance(inner, exp.And) else exp.And
            return exp.Paren(
                this=other(
                    this=self._negated(without_brackets(inner.this)),
                    expression=self._negated(without_brackets(inner.expression)),
                )
            )
        if isinstance(inner, exp.Not):
            return bracketed(self.value(without_brackets(inner.this)))
        if isinstance(inner, Nested) and inner.kind == "in" and self.null_aware:
            return self._once(exp.Not(this=inner.copy()), lambda _: self._not_in(inner))
        return exp.Not(this=bracketed(self.value(inner)))

    def _once(self, key: Expression, make: Callable[[Any], Expression]) -> Expression:
        if key not in self.done:
            self.done[key] = make(key)
        return self.done[key].copy()

    def _nested(self, nested: Nested) -> Expression:
        operands = [self.value(operand) for operand in nested.expressions]
        inner = self.binding.subqueries[nested.number].plan
        if nested.kind == "scalar":
            return self._scalar(inner)
        if nested.kind == "exists":
            return self._exists(_without_frame(inner))
        return self._in(inner, operands)

    # scalar

    def _scalar(self, inner: Node) -> Expression:
        if not outer_names(inner, self.plan):
            return self._scalar_alone(inner)
        projects, core = _below_projects(inner)
        if isinstance(core, Aggregate) and not core.keys:
            grouped = aggregate_by_equalities(self.binding, self.plan, core)
            if grouped is not None:
                return self._scalar_of_groups(projects, core, grouped)
        if not _one_row(inner):
            keyed = grouped_by_equalities(self.binding, self.plan, inner)
            if keyed is not None and keyed.keys:
                return self._scalar_by_keys(keyed, inner.names[0])
        spread = by_domain(self.binding, self.plan, inner)
        if not _one_row(inner):
            return self._scalar_by_keys(spread, inner.names[0])
        return column(self._join("left", spread)[inner.names[0]])

    def _scalar_alone(self, inner: Node) -> Expression:
        if not _one_row(inner):
            inner = self._single(inner, (), inner.names[0])
        return column(self._join("inner", Correlated(inner, (), None))[inner.names[-1]])

    def _scalar_of_groups(self, projects: list[Project], core: Aggregate, grouped: Correlated) -> Expression:
        """The value computed above the join, so that a missing group gives the aggregates of no rows."""
        names = self._join("left", grouped)
        values: dict[Expression, Expression] = {
            column(measure.name): value_over_nothing(measure.expression, names[measure.name], measure.column.type)
            for measure in core.measures
        }
        value: Expression = values[column(core.names[0])]
        for project in reversed(projects):
            values = {column(output.name): replace_equal(output.expression, values) for output in project.outputs}
            value = values[column(project.names[0])]
        value = value.transform(lambda node: column(node.name) if isinstance(node, Outer) and node.name in self.plan.names else node)
        return bracketed(value)

    def _scalar_by_keys(self, found: Correlated, name: str) -> Expression:
        keys = tuple(dict.fromkeys(found.keys or ()))
        single = self._single(found.plan, keys, name)
        return column(self._join("left", Correlated(single, found.conditions, keys))[single.names[-1]])

    def _single(self, inner: Node, keys: tuple[str, ...], name: str) -> Node:
        """One row per key (or altogether) with the one value; an error for a second row."""
        maximum = exp.Max(this=column(name))
        if _at_most_one_row(inner) and not keys:
            return Aggregate(inner, keys, self.binding.outputs([("value", maximum)]))
        measures = self.binding.outputs([("rows", exp.Count(this=exp.Star(), big_int=True)), ("value", maximum)])
        grouped = Aggregate(inner, keys, measures)
        many = exp.GT(this=column(measures[0].name), expression=exp.Literal.number(1))
        error = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(TOO_MANY_ROWS)])
        checked = exp.Case(ifs=[exp.If(this=many, true=error)], default=column(measures[1].name))
        value = Output(self.binding.fresh("value", measures[1].column.type), checked)
        return Project(grouped, passed(each for each in grouped.columns if each.name in keys) + (value,))

    # EXISTS and IN as values

    def _exists(self, inner: Node) -> Expression:
        if not outer_names(inner, self.plan):
            counted = Aggregate(inner, (), self.binding.outputs([("rows", exp.Count(this=exp.Star(), big_int=True))]))
            names = self._join("inner", Correlated(counted, (), None))
            return exp.Paren(this=exp.GT(this=column(names[counted.names[0]]), expression=exp.Literal.number(0)))
        keyed = grouped_by_equalities(self.binding, self.plan, inner) or by_domain(self.binding, self.plan, inner)
        return self._marked(keyed)

    def _marked(self, keyed: Correlated) -> Expression:
        """A left join with the distinct keys; the mark is NULL where there was no partner."""
        keys = tuple(dict.fromkeys(keyed.keys or ()))
        distinct = Aggregate(keyed.plan, keys, ())
        mark = Output(self.binding.fresh("found", "boolean"), exp.true())
        names = self._join("left", Correlated(Project(distinct, (*passed(distinct.columns), mark)), keyed.conditions, keys))
        return exp.Paren(this=exp.Not(this=exp.Is(this=column(names[mark.name]), expression=exp.Null())))

    def _in(self, inner: Node, operands: Sequence[Expression]) -> Expression:
        """As Spark has it: whether there is an equal row. Where SQL would say unknown, this is false."""
        same = conjunction(_equal(_outwards(operand), name) for operand, name in zip(operands, inner.names, strict=True))
        assert same is not None
        return self._exists(Filter(inner, same))

    def _not_in(self, nested: Nested) -> Expression:
        """As Spark has it: whether every row is different for certain. Where SQL would say unknown, this is false."""
        operands = [self.value(operand) for operand in nested.expressions]
        inner = self.binding.subqueries[nested.number].plan
        if len(operands) > 1:
            alike = conjunction(_not_false(_outwards(operand), name) for operand, name in zip(operands, inner.names, strict=True))
            assert alike is not None
            return exp.Not(this=self._exists(Filter(inner, alike)))
        found = self._in(inner, operands)
        rows, filled = self._counts(inner)
        known = exp.and_(exp.Not(this=exp.Is(this=bracketed(operands[0]), expression=exp.Null())), exp.EQ(this=rows, expression=filled))
        none = exp.EQ(this=rows.copy(), expression=exp.Literal.number(0))
        return exp.Paren(this=exp.and_(exp.Not(this=found), exp.or_(none, known)))

    def _counts(self, inner: Node) -> tuple[Expression, Expression]:
        """How many rows the subquery has for the outer row, and how many of them are not NULL."""
        counts = [("rows", exp.Count(this=exp.Star(), big_int=True)), ("filled", exp.Count(this=column(inner.names[0]), big_int=True))]
        core = Aggregate(inner, (), self.binding.outputs(counts))
        if not outer_names(core, self.plan):
            names = self._join("inner", Correlated(core, (), None))
            return column(names[core.names[0]]), column(names[core.names[1]])
        grouped = aggregate_by_equalities(self.binding, self.plan, core)
        names = self._join("left", grouped or by_domain(self.binding, self.plan, core))
        first, second = (value_over_nothing(measure.expression, names[measure.name], "bigint") for measure in core.measures)
        return first, second

    def _join(self, kind: str, found: Correlated) -> dict[str, str]:
        """Join, and say what the subquery's columns are called there."""
        self.plan, names = join_with(self.binding, self.plan, kind, found)
        return names


def _outwards(expression: Expression) -> Expression:
    """An expression of the outer row as the subquery sees it."""
    return expression.transform(lambda node: Outer(this=node.name) if isinstance(node, exp.Column) else node)


def _without_frame(plan: Node) -> Node:
    """What decides whether a plan has rows at all: without projections, groupings and limits on top."""
    while True:
        if isinstance(plan, Project) or isinstance(plan, Aggregate) and plan.keys:
            plan = plan.input
        elif isinstance(plan, Limit) and plan.count != 0 and not plan.offset:
            plan = plan.input
        else:
            return plan


def _below_projects(plan: Node) -> tuple[list[Project], Node]:
    projects = []
    while isinstance(plan, Project):
        projects.append(plan)
        plan = plan.input
    return projects, plan


def _one_row(plan: Node) -> bool:
    """Whether the plan has exactly one row, whatever the data."""
    if isinstance(plan, Project):
        return _one_row(plan.input)
    if isinstance(plan, Join):
        return plan.kind == "inner" and plan.condition is None and _one_row(plan.left) and _one_row(plan.right)
    return isinstance(plan, Aggregate) and not plan.keys or isinstance(plan, Values) and len(plan.rows) == 1


def _at_most_one_row(plan: Node) -> bool:
    if isinstance(plan, Limit):
        return plan.count is not None and plan.count <= 1 or _at_most_one_row(plan.input)
    if isinstance(plan, Project | Filter):
        return _at_most_one_row(plan.input)
    return _one_row(plan)
