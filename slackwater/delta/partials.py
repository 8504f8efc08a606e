"""Aggregates as partials that add up.

An aggregate that can be put together from sums and counts is kept as those, and its value is computed from them:

    avg(x)        sum(x), count(x)             sum / count, as the type of avg
    sum(x)        sum(x), count(x)             NULL once the count is 0
    bool_or(x)    count of true, count(x)      true > 0
    FILTER        the argument becomes NULL for rows that do not pass

`split` turns an aggregate into a projection over an aggregate whose measures are partials. How far they add up is a fact of each measure:

    ADDS        under arrivals and departures: counts, exact sums
    GROWS       under arrivals only: min, max, and sums of FLOAT or DOUBLE, which must never be subtracted (NaN, infinity, drift)
    RECOMPUTES  not at all: distinct, percentiles, collected lists, moments
"""

from __future__ import annotations

import re

from sqlglot import exp

from slackwater.plan import Aggregate, Column, Node, Output, Project, column
from slackwater.plan.nodes import Expression

ADDS, GROWS, RECOMPUTES = "adds", "grows", "recomputes"

ROWS = "_n"  # how many rows a group has: a group whose count reaches 0 is gone

_EXACT = re.compile(r"(tinyint|smallint|int|bigint|decimal\(\d+,\s*\d+\))$")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)$")


def split(node: Aggregate) -> Node:
    """The same aggregate as values computed from partials."""
    partials: dict[Expression, Output] = {}
    values = []
    for measure in node.measures:
        values.append(Output(measure.column, _value(measure, partials, {c.name: c.type for c in node.input.columns})))
    measures = list(partials.values())
    if not measures or (node.keys and all(how_far(measure) != RECOMPUTES for measure in measures)):
        measures.append(Output(Column(ROWS, "bigint"), exp.Count(this=exp.Star())))
    kept = Aggregate(node.input, node.keys, tuple(measures))
    keys = tuple(Output(c, column(c.name)) for c in node.columns[: len(node.keys)])
    return Project(kept, (*keys, *values))


def how_far(measure: Output) -> str:
    """How far a partial adds up."""
    function = measure.expression
    if isinstance(function, exp.Count):
        return RECOMPUTES if isinstance(function.this, exp.Distinct) or function.expressions else ADDS
    if isinstance(function, exp.Sum) and not isinstance(function.this, exp.Distinct):
        if _EXACT.match(measure.column.type):
            return RECOMPUTES if loses_digits(measure.column.type) else ADDS
        return GROWS if measure.column.type == "double" else RECOMPUTES
    if isinstance(function, exp.Min | exp.Max) and not isinstance(function.this, exp.Distinct) and not function.expressions:
        return GROWS
    return RECOMPUTES


def is_longest(type_: str) -> bool:
    """Whether a decimal has as many digits as there can be."""
    decimal = _DECIMAL.match(type_)
    return decimal is not None and int(decimal[1]) == 38


def loses_digits(type_: str) -> bool:
    """Whether Spark, to add two such numbers, makes room for one more digit before the point and keeps fewer behind it."""
    decimal = _DECIMAL.match(type_)
    return decimal is not None and is_longest(type_) and int(decimal[2]) > 6


def _value(measure: Output, partials: dict[Expression, Output], types: dict[str, str]) -> Expression:
    """The value of a measure in terms of partials, adding the ones it needs."""
    function, passes = measure.expression, None
    if isinstance(function, exp.Filter):
        function, passes = function.this, function.expression.this

    def partial(call: Expression, type: str, suffix: str) -> exp.Column:
        if call not in partials:
            partials[call] = Output(Column(f"{measure.name}_{suffix}", type), call)
        return column(partials[call].name)

    argument = function.this
    single = isinstance(argument, exp.Expression) and not isinstance(argument, exp.Distinct | exp.Star) and not function.expressions
    if isinstance(function, exp.Count) and (isinstance(argument, exp.Star) or single):
        counted = exp.Literal.number(1) if isinstance(argument, exp.Star) and passes is not None else argument
        return partial(exp.Count(this=_when(passes, counted)), "bigint", "count")
    if isinstance(function, exp.CountIf) and single:
        return partial(exp.Count(this=_when(_and(passes, argument), exp.Literal.number(1))), "bigint", "count")
    if isinstance(function, exp.Sum) and single:
        count = partial(exp.Count(this=_when(passes, argument)), "bigint", "count")
        total = partial(exp.Sum(this=_when(passes, argument)), measure.column.type, "sum")
        return _unless_empty(count, total)
    if isinstance(function, exp.Avg) and single and (summed := _sum_of_average(argument, measure.column.type, types)):
        count = partial(exp.Count(this=_when(passes, argument)), "bigint", "count")
        total = partial(exp.Sum(this=_when(passes, summed[0])), summed[1], "sum")
        quotient = exp.Div(this=exp.cast(total, "double") if measure.column.type == "double" else total, expression=count.copy())
        return _unless_empty(count, exp.cast(quotient, measure.column.type, dialect="spark"))
    if isinstance(function, exp.LogicalOr | exp.LogicalAnd) and single:
        count = partial(exp.Count(this=_when(passes, argument)), "bigint", "count")
        true = partial(exp.Count(this=_when(_and(passes, argument), exp.Literal.number(1))), "bigint", "true")
        if isinstance(function, exp.LogicalOr):
            return _unless_empty(count, exp.GT(this=true, expression=exp.Literal.number(0)))
        return _unless_empty(count, exp.EQ(this=true, expression=count.copy()))
    if isinstance(function, exp.Min | exp.Max) and single:
        kind = type(function)
        return partial(kind(this=_when(passes, argument)), measure.column.type, kind.__name__.lower())
    return partial(measure.expression, measure.column.type, "value")


def _sum_of_average(argument: Expression, type: str, types: dict[str, str]) -> tuple[Expression, str] | None:
    """What to sum for an average, and the sum's type; None when only the engine's own avg is exact."""
    decimal = _DECIMAL.match(type)
    if decimal:
        precision, scale = int(decimal[1]) - 4, int(decimal[2]) - 4
        # At 38 digits the type no longer tells what the argument's was.
        return (argument, f"decimal({min(precision + 10, 38)},{scale})") if precision + 4 < 38 and scale >= 0 else None
    if type != "double":
        return None
    known = types.get(argument.name) if isinstance(argument, exp.Column) else None
    if known in ("tinyint", "smallint", "int", "bigint"):
        # A sum of BIGINTs may overflow where their average does not. Added to, not cast: Sail takes sum(a) and sum(CAST(a AS ...)) for one.
        return exp.Add(this=argument.copy(), expression=exp.cast(exp.Literal.number(0), "decimal(20,0)", dialect="spark")), "decimal(31,0)"
    return (argument if known == "double" else exp.cast(argument, "double")), "double"


def _when(passes: Expression | None, argument: Expression) -> Expression:
    return argument.copy() if passes is None else exp.Case(ifs=[exp.If(this=passes.copy(), true=argument.copy())])


def _and(passes: Expression | None, condition: Expression) -> Expression:
    return condition if passes is None else exp.and_(passes, condition)


def _unless_empty(count: Expression, value: Expression) -> Expression:
    return exp.Case(ifs=[exp.If(this=exp.GT(this=count.copy(), expression=exp.Literal.number(0)), true=value)])
