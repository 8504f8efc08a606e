"""Subqueries in expressions, as joins.

    WHERE EXISTS, IN            semi join
    WHERE NOT EXISTS            anti join
    WHERE NOT IN                anti join that also pairs what NULL makes unknown
    scalar, uncorrelated        join with its one row
    scalar, correlated          left join with the subquery grouped by what it is compared with; a missing group is an aggregate of nothing
    EXISTS, IN as a value       left join with the distinct keys and a mark; IN also counts, to tell false from unknown
"""

from __future__ import annotations

from collections.abc import Sequence

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
from slackwater.sql.binding import Binding, Bound, Nested, Outer, passed, rebuild, replace_equal
from slackwater.sql.decorrelate import Correlated, aggregate_by_equalities, by_domain, correlate, grouped_by_equalities, outer_names
from slackwater.sql.functions import value_over_nothing

TOO_MANY_ROWS = "more than one row returned by a subquery used as an expression"


def keep(binding: Binding, plan: Node, condition: Expression) -> Node:
    """The rows of the plan for which a condition, which may hold subqueries, is true."""
    parts = conjuncts(condition)
    plain = conjunction(part for part in parts if part.find(Nested) is None)
    if plain is not None:
        plan = Filter(plan, plain)
    for part in parts:
        if part.find(Nested) is not None:
            plan = _keep_nested(binding, plan, part)
    return plan


def attach(binding: Binding, plan: Node, expressions: Sequence[Expression]) -> tuple[Node, list[Expression]]:
    """The plan joined with the subqueries in the expressions, and the expressions using the new columns instead. Rows stay as they are."""
    work = _Attach(binding, plan)
    values = [work.value(expression, False) for expression in expressions]
    return work.plan, values


def _keep_nested(binding: Binding, plan: Node, part: Expression) -> Node:
    negated = isinstance(part, exp.Not)
    nested = part.this.unnest() if isinstance(part, exp.Not) else part
    if isinstance(nested, Nested) and nested.kind in ("exists", "in"):
        return _semi_or_anti(binding, plan, nested, negated)
    work = _Attach(binding, plan)
    condition = work.value(part, True)
    return Filter(work.plan, condition)


def _semi_or_anti(binding: Binding, plan: Node, nested: Nested, negated: bool) -> Node:
    work = _Attach(binding, plan)
    operands = [work.value(operand, False) for operand in nested.expressions]
    plan = work.plan
    bound = _take(binding, nested)
    inner = _without_frame(bound.plan) if nested.kind == "exists" else bound.plan
    found = correlate(binding, plan, inner)
    compare = _not_false if negated else _equal
    same = [compare(operand, name) for operand, name in zip(operands, inner.names, strict=False)] if nested.kind == "in" else []
    return Join(plan, found.plan, "anti" if negated else "semi", conjunction([*found.conditions, *same]))


def _equal(operand: Expression, name: str) -> Expression:
    return exp.EQ(this=_grouped(operand), expression=column(name))


def _not_false(operand: Expression, name: str) -> Expression:
    """True unless the comparison is false: what NOT IN must not find."""
    null_left = exp.Is(this=_grouped(operand), expression=exp.Null())
    null_right = exp.Is(this=column(name), expression=exp.Null())
    return exp.Paren(this=exp.or_(_equal(operand, name), null_left, null_right, wrap=False))


def _grouped(operand: Expression) -> Expression:
    """The operand, in brackets if it is made of several."""
    return operand.copy() if isinstance(operand, exp.Column | exp.Literal | exp.Func | exp.Paren) else exp.Paren(this=operand.copy())


def _take(binding: Binding, nested: Nested) -> Bound:
    """The subquery's plan; under fresh names when it has been joined before."""
    bound = binding.subqueries[nested.number]
    if nested.number not in binding.attached:
        binding.attached.add(nested.number)
        return bound
    plan, _ = binding.renamed(bound.plan)
    return Bound(plan, bound.names)


class _Attach:
    """Joins subqueries to a plan, one after the other."""

    def __init__(self, binding: Binding, plan: Node) -> None:
        self.binding = binding
        self.plan = plan
        self.done: dict[Expression, Expression] = {}

    def value(self, expression: Expression, only_truth: bool) -> Expression:
        """The expression with its subqueries joined. `only_truth`: the caller cannot tell false from NULL."""
        if expression.find(Nested) is None:
            return expression
        if not isinstance(expression, Nested):
            kept = only_truth and isinstance(expression, exp.And | exp.Or | exp.Paren)
            return rebuild(expression, {key: self._argument(value, kept) for key, value in expression.args.items()})
        if expression not in self.done:
            self.done[expression] = self._nested(expression, only_truth)
        return self.done[expression].copy()

    def _argument(self, value: object, only_truth: bool) -> object:
        if isinstance(value, Expression):
            return self.value(value, only_truth)
        return [self._argument(item, only_truth) for item in value] if isinstance(value, list) else value

    def _nested(self, nested: Nested, only_truth: bool) -> Expression:
        operands = [self.value(operand, False) for operand in nested.expressions]
        bound = _take(self.binding, nested)
        if nested.kind == "scalar":
            return self._scalar(bound.plan)
        if nested.kind == "exists":
            return self._exists(_without_frame(bound.plan))
        if only_truth:
            return self._found(bound.plan, operands)
        if len(operands) > 1:
            return self._row_in(bound.plan, operands)
        return self._in(bound.plan, operands[0])

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
        self._join("left", spread)
        return column(inner.names[0])

    def _scalar_alone(self, inner: Node) -> Expression:
        if not _one_row(inner):
            inner = self._single(inner, (), inner.names[0])
        self.plan = Join(self.plan, inner, "inner")
        return column(inner.names[-1])

    def _scalar_of_groups(self, projects: list[Project], core: Aggregate, grouped: Correlated) -> Expression:
        """The value computed above the join, so that a missing group gives the aggregates of no rows."""
        self._join("left", grouped)
        values: dict[Expression, Expression] = {
            column(measure.name): value_over_nothing(measure.expression, measure.name, measure.column.type) for measure in core.measures
        }
        value: Expression = values[column(core.names[0])]
        for project in reversed(projects):
            values = {column(output.name): replace_equal(output.expression, values) for output in project.outputs}
            value = values[column(project.names[0])]
        value = value.transform(lambda node: column(node.name) if isinstance(node, Outer) and node.name in self.plan.names else node)
        return value if isinstance(value, exp.Column) else exp.Paren(this=value)

    def _scalar_by_keys(self, found: Correlated, name: str) -> Expression:
        keys = tuple(dict.fromkeys(found.keys or ()))
        single = self._single(found.plan, keys, name)
        self._join("left", Correlated(single, found.conditions, keys))
        return column(single.names[-1])

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
            self.plan = Join(self.plan, counted, "inner")
            return exp.Paren(this=exp.GT(this=column(counted.names[0]), expression=exp.Literal.number(0)))
        keyed = grouped_by_equalities(self.binding, self.plan, inner) or by_domain(self.binding, self.plan, inner)
        return self._marked(keyed)

    def _found(self, inner: Node, operands: Sequence[Expression]) -> Expression:
        """Whether IN is true: EXISTS of an equal row."""
        same = conjunction(exp.EQ(this=column(name), expression=_outwards(operand)) for operand, name in zip(operands, inner.names, strict=True))
        assert same is not None
        return self._exists(Filter(inner, same))

    def _marked(self, keyed: Correlated) -> Expression:
        """A left join with the distinct keys; the mark is NULL where there was no partner."""
        keys = tuple(dict.fromkeys(keyed.keys or ()))
        distinct = Aggregate(keyed.plan, keys, ())
        mark = Output(self.binding.fresh("found", "boolean"), exp.true())
        self._join("left", Correlated(Project(distinct, (*passed(distinct.columns), mark)), keyed.conditions, keys))
        return exp.Paren(this=exp.Not(this=exp.Is(this=column(mark.name), expression=exp.Null())))

    def _in(self, inner: Node, operand: Expression) -> Expression:
        """True if found; unknown if there is something to compare with and either side is NULL; else false."""
        found = self._found(inner, [operand])
        counts_plan, renaming = self.binding.renamed(inner)
        rows, filled = self._counts(counts_plan, renaming[inner.names[0]])
        unknown = exp.and_(
            exp.GT(this=rows, expression=exp.Literal.number(0)),
            exp.or_(exp.Is(this=_grouped(operand), expression=exp.Null()), exp.GT(this=rows.copy(), expression=filled)),
        )
        return _three_valued(found, unknown)

    def _counts(self, inner: Node, name: str) -> tuple[Expression, Expression]:
        """How many rows the subquery has for the outer row, and how many of them are not NULL."""
        counts = [("rows", exp.Count(this=exp.Star(), big_int=True)), ("filled", exp.Count(this=column(name), big_int=True))]
        core = Aggregate(inner, (), self.binding.outputs(counts))
        if not outer_names(core, self.plan):
            self.plan = Join(self.plan, core, "inner")
            return column(core.names[0]), column(core.names[1])
        grouped = aggregate_by_equalities(self.binding, self.plan, core)
        if grouped is None:
            self._join("left", by_domain(self.binding, self.plan, core))
            return column(core.names[0]), column(core.names[1])
        self._join("left", grouped)
        first, second = (value_over_nothing(measure.expression, measure.name, "bigint") for measure in core.measures)
        return first, second

    def _row_in(self, inner: Node, operands: Sequence[Expression]) -> Expression:
        """IN of several columns: unknown if no row is equal but some row is not different."""
        found = self._found(inner, operands)
        copy, renaming = self.binding.renamed(inner)
        tests = []
        for operand, name in zip(operands, inner.names, strict=True):
            tests.append(_not_false(_outwards(operand), renaming[name]))
        condition = conjunction(tests)
        assert condition is not None
        return _three_valued(found, self._exists(Filter(copy, condition)))

    def _join(self, kind: str, found: Correlated) -> None:
        self.plan = Join(self.plan, found.plan, kind, conjunction(found.conditions))


def _three_valued(found: Expression, unknown: Expression) -> Expression:
    cases = [exp.If(this=found, true=exp.true()), exp.If(this=unknown, true=exp.cast(exp.Null(), "boolean"))]
    return exp.Case(ifs=cases, default=exp.false())


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
