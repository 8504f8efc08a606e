"""What one binding of a query shares: fresh names, types, and the subqueries met so far.

Expressions under construction may hold two markers that no finished plan holds:

    Outer   a column of the query around the subquery it stands in
    Nested  a subquery used as a value or a condition, not yet joined to the plan
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from slackwater.plan.nodes import Column, Expression, Node, Output, Project, column
from slackwater.sql.expression_types import Typer, known_type


class Relations(Protocol):
    """The tables and views that a query may name."""

    def columns(self, name: str) -> tuple[Column, ...] | None:
        """The visible columns of a table or view, named as declared; None when there is no such relation. Case does not matter."""
        ...

    def names(self) -> Iterable[str]:
        """All names, to suggest one for a misspelt one."""
        ...


class Outer(exp.Expression):
    """A reference from inside a subquery to the column `this` of a query around it."""

    arg_types = {"this": True}


class Nested(exp.Expression):
    """Subquery number `this`, used as `kind`: a scalar, EXISTS, or IN with the operands `expressions`."""

    arg_types = {"this": True, "kind": True, "expressions": False}

    @property
    def number(self) -> int:
        return int(self.args["this"])

    @property
    def kind(self) -> str:
        return str(self.args["kind"])


@dataclass(frozen=True)
class Bound:
    """A query's plan, what the user calls its columns, and the order asked for (over the plan's own columns)."""

    plan: Node
    names: tuple[str, ...]
    order: tuple[exp.Ordered, ...] = ()


@dataclass
class Binding:
    """The state of binding one text."""

    text: str
    relations: Relations
    typer: Typer
    types: dict[str, str] = field(default_factory=dict)
    subqueries: list[Bound] = field(default_factory=list)
    known: dict[object, tuple[int, object]] = field(default_factory=dict)
    count: int = 0

    def fresh(self, hint: str, type_: str) -> Column:
        """A column with a name that nothing else in the plan has, readable as `hint`."""
        self.count += 1
        plain = re.sub(r"[^a-z0-9]+", "_", hint.lower()).strip("_")[:40] or "column"
        if plain[0].isdigit():
            plain = f"c_{plain}"
        name = f"{plain}_{self.count}"
        self.types[name] = type_
        return Column(name, type_)

    def like(self, columns: Iterable[Column]) -> tuple[Column, ...]:
        """Fresh columns for the given ones, of the same types."""
        return tuple(self.fresh(hint_of(each.name), each.type) for each in columns)

    def types_of(self, expressions: Sequence[Expression]) -> list[str]:
        """The types of expressions over the plan's columns; the engine is asked at most once, for those whose shape does not tell."""
        plain = [inner_view(expression) for expression in expressions]
        known = [known_type(expression, self.types) for expression in plain]
        missing = [expression for expression, type_ in zip(plain, known, strict=True) if type_ is None]
        if not missing:
            return [str(type_) for type_ in known]
        used = sorted({reference.name for expression in missing for reference in expression.find_all(exp.Column)})
        answers = iter(self.typer.types(missing, [Column(name, self.types[name]) for name in used]))
        return [next(answers) if type_ is None else type_ for type_ in known]

    def outputs(self, items: Sequence[tuple[str, Expression]]) -> tuple[Output, ...]:
        """Fresh outputs for (hint, expression) pairs."""
        types = self.types_of([expression for _, expression in items])
        return tuple(Output(self.fresh(hint, type_), expression) for (hint, expression), type_ in zip(items, types, strict=True))

    def extend(self, plan: Node, items: Sequence[tuple[str, Expression]]) -> tuple[Node, list[str]]:
        """The plan with computed columns added, and their names; expressions that are columns already are taken as they are."""
        added = iter(self.outputs([item for item in items if not isinstance(item[1], exp.Column)]))
        new: list[Output] = []
        names: list[str] = []
        for _, expression in items:
            if isinstance(expression, exp.Column):
                names.append(expression.name)
            else:
                new.append(next(added))
                names.append(new[-1].name)
        return (Project(plan, passed(plan.columns) + tuple(new)) if new else plan), names

    def renamed(self, plan: Node) -> tuple[Node, dict[str, str]]:
        """The plan under fresh column names, and the new name of each old one."""
        fresh = self.like(plan.columns)
        outputs = tuple(Output(new, column(old.name)) for new, old in zip(fresh, plan.columns, strict=True))
        return Project(plan, outputs), {old.name: new.name for old, new in zip(plan.columns, fresh, strict=True)}

    def nest(self, bound: Bound, kind: str, operands: Sequence[Expression] = ()) -> Nested:
        """Remember a bound subquery and stand in for it."""
        self.subqueries.append(bound)
        return Nested(this=str(len(self.subqueries) - 1), kind=kind, expressions=list(operands))

    def nest_once(self, key: object, select: object, make: Callable[[], Bound]) -> int:
        """The number of the subquery known by `key` in one SELECT, bound when it is first met: written twice, it is one."""
        if (key, id(select)) not in self.known:
            self.subqueries.append(make())
            # The SELECT is kept, too: one that is gone would leave its id to another, in which the same words mean something else.
            self.known[key, id(select)] = len(self.subqueries) - 1, select
        return self.known[key, id(select)][0]


def hint_of(name: str) -> str:
    """A plan name without its number."""
    return re.sub(r"_\d+$", "", name)


def passed(columns: Iterable[Column]) -> tuple[Output, ...]:
    """Outputs that hand columns through unchanged."""
    return tuple(Output(each, column(each.name)) for each in columns)


def rebuild(node: Expression, change: Mapping[str, object]) -> Expression:
    """The same kind of expression with other arguments, keeping its place in the text."""
    new = type(node)(**{key: _free(value) for key, value in change.items()})
    if node.meta:
        new.meta.update(node.meta)
    return new


def _free(value: object) -> object:
    """An argument that no other expression holds."""
    if isinstance(value, list):
        return [_free(item) for item in value]
    return value.copy() if isinstance(value, Expression) and value.parent is not None else value


def inner_view(expression: Expression) -> Expression:
    """The expression with outer references written as columns, for whoever only asks about types."""
    if expression.find(Outer) is None:
        return expression
    return expression.transform(lambda node: column(node.name) if isinstance(node, Outer) else node)


def replace_equal(expression: Expression, replacements: Mapping[Expression, Expression]) -> Expression:
    """Every largest part that equals a key, replaced by its value."""
    if expression in replacements:
        return replacements[expression].copy()
    return expression.transform(lambda node: bracketed(replacements[node]) if node in replacements else node)


def without_brackets(expression: Expression) -> Expression:
    """What stands inside of brackets; a subquery keeps its own."""
    while isinstance(expression, exp.Paren):
        expression = expression.this
    return expression


_WHOLE = (exp.Column, exp.Literal, exp.Paren, exp.Null, exp.Boolean, exp.Cast, exp.Case, exp.Coalesce, exp.Anonymous, Outer, Nested)


def bracketed(expression: Expression) -> Expression:
    """A copy that can stand inside a larger expression, in brackets if an operator next to it could tear it apart."""
    whole = isinstance(expression, _WHOLE) or isinstance(expression, exp.AggFunc) and not isinstance(expression, exp.Binary)
    return expression.copy() if whole else exp.Paren(this=expression.copy())


def map_outers(plan: Node, names: Mapping[str, str]) -> Node:
    """The plan with its outer references renamed."""

    def rename(expression: Expression) -> Expression:
        if not any(outer.name in names for outer in expression.find_all(Outer)):
            return expression
        return expression.transform(lambda node: Outer(this=names[node.name]) if isinstance(node, Outer) and node.name in names else node)

    return plan.transform(lambda node: map_expressions(node, rename))


def map_expressions(node: Node, change: Callable[[Expression], Expression]) -> Node:
    """The node with each scalar expression it holds changed."""

    def changed(value: object) -> object:
        if isinstance(value, Expression):
            return change(value)
        if isinstance(value, Output):
            return Output(value.column, change(value.expression))
        if isinstance(value, tuple):
            return tuple(changed(item) for item in value)
        return value

    fields = {name: getattr(node, name) for name in node.__dataclass_fields__ if name not in node.input_fields and name != "branches"}
    new = {name: changed(value) for name, value in fields.items()}
    return node if all(new[name] is value or new[name] == value for name, value in fields.items()) else replace(node, **new)
