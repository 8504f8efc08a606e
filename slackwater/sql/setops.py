"""UNION, INTERSECT and EXCEPT, with and without ALL.

UNION ALL       the rows of both
UNION           the same, each row once
INTERSECT       both sides' rows are tagged and counted per distinct row; kept where both counts are positive
EXCEPT          likewise; kept where the left count is positive and the right one zero
... ALL         the row is repeated least(left, right) or left - right times
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from slackwater.errors import QueryError
from slackwater.plan.nodes import Aggregate, Expression, Filter, Generate, Node, Output, Project, Union, column
from slackwater.sql.binding import Binding, Bound, hint_of, passed


def union_all(binding: Binding, parts: Sequence[Bound]) -> Bound:
    """The rows of all parts, their columns brought to common types."""
    for part in parts[1:]:
        if len(part.names) != len(parts[0].names):
            raise QueryError(
                f"the two sides have {len(parts[0].names)} and {len(part.names)} columns",
                hint="select the same number of columns on both sides",
            )
    cells = [[column(part.plan.names[index]) for part in parts] for index in range(len(parts[0].names))]
    kinds = [[part.plan.columns[index].type for part in parts] for index in range(len(parts[0].names))]
    types = common_types(binding, cells, kinds)
    branches = tuple(_cast(binding, part.plan, types) for part in parts)
    outputs = tuple(binding.fresh(name, type_) for name, type_ in zip(parts[0].names, types, strict=True))
    return Bound(Union(branches, outputs), parts[0].names)


def distinct(plan: Node) -> Node:
    """Each row once."""
    return Aggregate(plan, plan.names, ())


def intersect_or_except(binding: Binding, left: Bound, right: Bound, intersect: bool, once: bool) -> Bound:
    """Rows by how often each side has them."""
    tagged = union_all(binding, [_tagged(binding, left, 1), _tagged(binding, right, 2)])
    *keys, tag = tagged.plan.names
    measures = binding.outputs([("left_rows", _count_of(tag, 1)), ("right_rows", _count_of(tag, 2))])
    grouped = Aggregate(tagged.plan, tuple(keys), measures)
    mine, theirs = (column(measure.name) for measure in measures)
    if once:
        condition = exp.and_(_positive(mine), _positive(theirs) if intersect else exp.EQ(this=theirs, expression=exp.Literal.number(0)))
        plan: Node = Filter(grouped, condition)
    else:
        times = exp.Least(this=mine, expressions=[theirs]) if intersect else exp.Sub(this=mine, expression=theirs)
        plan = _repeated(binding, grouped, times)
    return Bound(Project(plan, passed(each for each in plan.columns if each.name in keys)), left.names)


def common_types(binding: Binding, cells: Sequence[Sequence[Expression]], kinds: Sequence[Sequence[str]]) -> list[str]:
    """For each column, the type that all its cells can be brought to."""
    open_ = [index for index, types in enumerate(kinds) if len(set(types) - {"void"}) > 1]
    asked = []
    for index in open_:
        first_of_each = list(dict(zip(reversed(kinds[index]), reversed(cells[index]), strict=True)).values())
        asked.append(exp.Coalesce(this=first_of_each[-1].copy(), expressions=[cell.copy() for cell in reversed(first_of_each[:-1])]))
    answers = dict(zip(open_, binding.types_of(asked), strict=True)) if asked else {}
    return [answers[index] if index in answers else (set(types) - {"void"} or {"void"}).pop() for index, types in enumerate(kinds)]


def _cast(binding: Binding, plan: Node, types: Sequence[str]) -> Node:
    if all(each.type == type_ for each, type_ in zip(plan.columns, types, strict=True)):
        return plan
    outputs = []
    for each, type_ in zip(plan.columns, types, strict=True):
        value = column(each.name) if each.type == type_ else exp.cast(column(each.name), type_, dialect="spark")
        outputs.append(Output(binding.fresh(hint_of(each.name), type_), value))
    return Project(plan, tuple(outputs))


def _tagged(binding: Binding, bound: Bound, side: int) -> Bound:
    tag = Output(binding.fresh("side", "int"), exp.Literal.number(side))
    return Bound(Project(bound.plan, (*passed(bound.plan.columns), tag)), (*bound.names, "side"))


def _count_of(tag: str, side: int) -> Expression:
    return exp.CountIf(this=exp.EQ(this=column(tag), expression=exp.Literal.number(side)))


def _positive(count: Expression) -> Expression:
    return exp.GT(this=count.copy(), expression=exp.Literal.number(0))


def _repeated(binding: Binding, plan: Node, times: Expression) -> Node:
    """Each row as often as `times` says; none where it is not positive."""
    number = Output(binding.fresh("times", "bigint"), times)
    counted = Project(plan, (*passed(plan.columns), number))
    # Filtered first: a sequence from 1 to 0 would count downwards.
    some = Filter(counted, _positive(column(number.name)))
    sequence = exp.Anonymous(this="sequence", expressions=[exp.cast(exp.Literal.number(1), "bigint"), column(number.name)])
    return Generate(some, sequence, binding.fresh("position", "int"), (binding.fresh("copy", "bigint"),))
