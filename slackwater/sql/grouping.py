"""GROUP BY and the aggregates of a select.

Keys become columns of the input, aggregate calls become measures, and what the select list makes of them is computed above. Grouping
sets are one aggregate: every row is repeated once per set, with the keys that the set leaves out blanked, and the set's number is one
more key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from sqlglot import exp

from slackwater.errors import QueryError, Unsupported
from slackwater.plan.nodes import Aggregate, Expression, Generate, Node, Output, Project, column
from slackwater.sql.binding import Binding, Bound, Nested, Outer, hint_of, map_outers, passed, rebuild, without_brackets
from slackwater.sql.functions import call_of, is_aggregate, written_name
from slackwater.sql.place import place_of
from slackwater.sql.subquery import attach


@dataclass(frozen=True)
class Groups:
    """What to group by: expressions, and the sets of them (by position) when there are several; `sets` is None for one plain grouping."""

    keys: list[Expression] = field(default_factory=list)
    sets: list[tuple[int, ...]] | None = None


def grouping_sets(items: Sequence[Expression], resolve: Callable[[Expression], Expression], wholesale: Expression | None = None) -> Groups:
    """The groups of a GROUP BY list: plain items, ROLLUP, CUBE and GROUPING SETS; `wholesale` is a trailing WITH ROLLUP or CUBE."""
    keys: list[Expression] = []

    def key(item: Expression) -> int:
        bound = resolve(item)
        if bound not in keys:
            keys.append(bound)
        return keys.index(bound)

    if wholesale is not None:
        positions = [(key(item),) for item in items]
        return Groups(keys, _rollup(positions) if isinstance(wholesale, exp.Rollup) else _cube(positions))
    factors = [_sets_of(item, key) for item in items]
    if all(len(factor) == 1 for factor in factors) and not any(
        isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube) for item in items
    ):
        return Groups(keys)
    return Groups(keys, [_merged(choice) for choice in product(*factors)])


def _sets_of(item: Expression, key: Callable[[Expression], int]) -> list[tuple[int, ...]]:
    if isinstance(item, exp.Rollup):
        return _rollup([_positions(part, key) for part in item.expressions])
    if isinstance(item, exp.Cube):
        return _cube([_positions(part, key) for part in item.expressions])
    if isinstance(item, exp.GroupingSets):
        nested = (exp.Rollup, exp.Cube, exp.GroupingSets)
        return [
            each for part in item.expressions for each in (_sets_of(part, key) if isinstance(part, nested) else [_positions(part, key)])
        ]
    return [_positions(item, key)]


def _positions(part: Expression, key: Callable[[Expression], int]) -> tuple[int, ...]:
    members = part.expressions if isinstance(part, exp.Tuple) else [without_brackets(part)]
    return tuple(key(member) for member in members)


def _rollup(parts: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [_merged(parts[:length]) for length in range(len(parts), -1, -1)]


def _cube(parts: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [
        _merged(part for part, chosen in zip(parts, choice, strict=True) if chosen) for choice in product((True, False), repeat=len(parts))
    ]


def _merged(parts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(position for part in parts for position in part))


def aggregates_in(expression: Expression) -> bool:
    """Whether the expression holds an aggregate of the query itself: not one with OVER, not one in a subquery."""
    if isinstance(expression, exp.Window):
        return any(aggregates_in(part) for part in _window_parts(expression))
    if is_aggregate(expression) or isinstance(expression, exp.Grouping | exp.GroupingId):
        return True
    return any(aggregates_in(child) for child in expression.iter_expressions())


def _window_parts(window: exp.Window) -> list[Expression]:
    """What stands inside of a window function and its OVER: all but the call itself and what wraps it."""
    parts: list[Expression] = []
    node: Expression = window
    while node is window or call_of(node) is not node:
        parts += [child for child in node.iter_expressions() if child is not node.this]
        node = node.this
    return [*parts, *node.iter_expressions()]


class Grouped:
    """The aggregate over a plan, built from the expressions that will stand above it."""

    def __init__(self, binding: Binding, plan: Node, groups: Groups) -> None:
        self.binding = binding
        self.groups = groups
        self.measures: dict[Expression, Output] = {}
        self.offered = set(plan.names)
        below, keys = attach(binding, plan, groups.keys)
        self.below = below
        self.bound_keys = keys
        self.plan: Node = plan

    def apply(self, expressions: Sequence[Expression]) -> list[Expression]:
        """Build the plan, and give the expressions over its columns."""
        calls = list(dict.fromkeys(call for expression in expressions for call in self._calls(expression)))
        self.below, arguments = attach(self.binding, self.below, calls)
        self.below, names = self.binding.extend(self.below, [(_hint(key), key) for key in self.bound_keys])
        if self.groups.sets is not None:
            names, number = self._repeat(names)
        else:
            number = None
        distinct = list(dict.fromkeys(arguments))
        outputs = self.binding.outputs([(_hint(call), call) for call in distinct])
        by_argument = dict(zip(distinct, outputs, strict=True))
        self.measures = {call: by_argument[argument] for call, argument in zip(calls, arguments, strict=True)}
        keys = tuple(dict.fromkeys(names)) + ((number,) if number else ())
        self.plan = Aggregate(self.below, keys, outputs)
        self.columns = {key: column(name) for key, name in zip(self.groups.keys, names, strict=True)}
        self.number = number
        return [self._lift(expression) for expression in expressions]

    def _calls(self, expression: Expression) -> Iterable[Expression]:
        if expression in self.groups.keys:
            return
        if isinstance(expression, exp.Window):
            for part in _window_parts(expression):
                yield from self._calls(part)
        elif is_aggregate(expression):
            yield expression
        else:
            for child in expression.iter_expressions():
                yield from self._calls(child)

    def _repeat(self, names: list[str]) -> tuple[list[str], str]:
        """Every row once per grouping set, the keys that are not in the set blanked."""
        sets = self.groups.sets or []
        numbers = exp.Array(expressions=[exp.Literal.number(index) for index in range(len(sets))])
        position, number = self.binding.fresh("position", "int"), self.binding.fresh("grouping_set", "int")
        spread = Generate(self.below, numbers, position, (number,))
        blanked = []
        for index, name in enumerate(names):
            inside = [exp.Literal.number(at) for at, members in enumerate(sets) if index in members]
            kept = exp.In(this=column(number.name), expressions=inside) if inside else exp.false()
            value = exp.Case(ifs=[exp.If(this=kept, true=column(name))])
            blanked.append(Output(self.binding.fresh(hint_of(name), self.binding.types[name]), value))
        self.below = Project(spread, passed(self.below.columns) + tuple(blanked) + passed([number]))
        return [output.name for output in blanked], number.name

    def _lift(self, expression: Expression) -> Expression:
        """The expression over the aggregate's columns."""
        if expression in self.columns:
            return self.columns[expression].copy()
        if isinstance(expression, exp.Window):
            return self._lift_window(expression)
        if is_aggregate(expression):
            return column(self.measures[expression].name)
        if isinstance(expression, exp.Grouping):
            return self._grouping(expression, expression.expressions)
        if isinstance(expression, exp.GroupingId):
            return self._grouping_id(expression)
        if isinstance(expression, exp.Column):
            raise self._not_grouped(expression)
        if isinstance(expression, Nested):
            return self._lift_nested(expression)
        return rebuild(expression, {key: self._argument(value) for key, value in expression.args.items()})

    def _argument(self, value: object) -> object:
        if isinstance(value, Expression):
            return self._lift(value)
        return [self._argument(item) for item in value] if isinstance(value, list) else value

    def _lift_window(self, window: exp.Window) -> Expression:
        return rebuild(
            window, {key: self._lift_function(value) if key == "this" else self._argument(value) for key, value in window.args.items()}
        )

    def _lift_function(self, node: Expression) -> Expression:
        if call_of(node) is node:
            return rebuild(node, {key: self._argument(value) for key, value in node.args.items()})
        return rebuild(
            node, {key: self._lift_function(value) if key == "this" else self._argument(value) for key, value in node.args.items()}
        )

    def _lift_nested(self, nested: Nested) -> Expression:
        """A subquery above the aggregate sees the keys only."""
        bound = self.binding.subqueries[nested.number]
        renaming: dict[str, str] = {}
        for node in bound.plan.walk():
            for expression in node.expressions():
                for outer in expression.find_all(Outer):
                    if outer.name in self.offered:
                        renaming[outer.name] = self._lift(column(outer.name)).name
        changed = {old: new for old, new in renaming.items() if old != new}
        plan = map_outers(bound.plan, changed) if changed else bound.plan
        operands = [self._lift(operand) for operand in nested.expressions]
        if plan is bound.plan:
            return rebuild(nested, {**nested.args, "expressions": operands})
        return self.binding.nest(Bound(plan, bound.names), nested.kind, operands)

    def _grouping(self, node: Expression, arguments: Sequence[Expression]) -> Expression:
        """1 if the argument is blanked in this row, 0 if not."""
        if len(arguments) != 1:
            raise QueryError("grouping() takes one of the grouping columns", place=place_of(node), hint="use grouping_id() for several")
        return exp.cast(self._bits(node, arguments), "tinyint")

    def _grouping_id(self, node: Expression) -> Expression:
        return exp.cast(self._bits(node, node.expressions or self.groups.keys), "bigint")

    def _bits(self, node: Expression, arguments: Sequence[Expression]) -> Expression:
        if self.groups.sets is None or self.number is None:
            raise QueryError("grouping() and grouping_id() need GROUPING SETS, ROLLUP or CUBE", place=place_of(node))
        positions = []
        for argument in arguments:
            if argument not in self.groups.keys:
                raise QueryError("the argument is not one of the grouping columns", place=place_of(node))
            positions.append(self.groups.keys.index(argument))
        cases = []
        for number, members in enumerate(self.groups.sets):
            value = 0
            for position in positions:
                value = value * 2 + (position not in members)
            same = exp.EQ(this=column(self.number), expression=exp.Literal.number(number))
            cases.append(exp.If(this=same, true=exp.Literal.number(value)))
        return exp.Case(ifs=cases)

    def _not_grouped(self, node: exp.Column) -> QueryError | Unsupported:
        name = hint_of(node.name)
        return QueryError(
            f'column "{name}" must be in GROUP BY or inside an aggregate function',
            place=place_of(node),
            hint=f"add it to GROUP BY, or take min({name}) or max({name})",
        )


def _hint(expression: Expression) -> str:
    """A readable name for a key or a measure."""
    if isinstance(expression, exp.Column):
        return hint_of(expression.name)
    if is_aggregate(expression):
        call = call_of(expression)
        inner = call.find(exp.Column)
        return f"{written_name(call)}_{hint_of(inner.name)}" if inner is not None else written_name(call)
    return "key"
