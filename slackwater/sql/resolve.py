"""From the parser's expression to one over the plan's columns.

Names become columns, subqueries become `Nested`, named windows are written out. Functions that are not deterministic are refused here,
because here their place in the text is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from slackwater.errors import QueryError, Unsupported
from slackwater.plan.nodes import Expression
from slackwater.sql.binding import Binding, Bound, Nested, Outer, bracketed, rebuild, without_brackets
from slackwater.sql.expression_types import elements_of
from slackwater.sql.functions import NonDeterministic, call_of, is_aggregate, is_window_only, nondeterminism, order_dependent, written_name
from slackwater.sql.place import place_of, word_in
from slackwater.sql.scope import Scope, access, parts_of
from slackwater.sql.spelling import respelled

Aliases = Mapping[str, Sequence[Expression]]


@dataclass(frozen=True)
class Resolver:
    """Resolves expressions at one place of a query.

    `first` are names that come before the columns of FROM (what HAVING and ORDER BY see of the select list); `then` are names that come
    after them (what GROUP BY and later select items see of it). `select` tells one SELECT from another: a subquery written twice in the
    same one is one.
    """

    binding: Binding
    scope: Scope
    bind_query: Callable[[Expression, Scope], Bound]
    windows: Mapping[str, exp.Window] = field(default_factory=dict)
    first: Aliases = field(default_factory=dict)
    then: Aliases = field(default_factory=dict)
    select: object = None
    where: str = "the select list"
    aggregates: bool = True
    functions: bool = True

    def at(self, **changes: object) -> Resolver:
        """The same at another place."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def resolve(self, node: Expression) -> Expression:
        """The expression over the plan's columns."""
        if isinstance(node, exp.Column):
            return self._column(node)
        node = respelled(node)
        if isinstance(node, exp.Subquery | exp.Query):
            return self._scalar(node)
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query | exp.Subquery):
            return self._nested(node.this, "exists")[0]
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            return self._in(node)
        if isinstance(node, exp.Any | exp.All) and isinstance(node.this, exp.Query | exp.Subquery):
            raise Unsupported(
                "comparison with ANY or ALL of a subquery is not something Spark has", place=place_of(node), hint="use EXISTS or IN"
            )
        if isinstance(node, exp.Window):
            return self._window(node)
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            raise Unsupported("* inside an expression", place=place_of(node), hint="name the columns")
        if isinstance(node, exp.ArraysZip):
            return self._zipped(node)
        if isinstance(node, exp.And | exp.Or):
            return self._connected(node)
        self._check_function(node)
        if is_aggregate(node):
            return self._aggregate(node)
        return self._children(node)

    def _connected(self, node: exp.And | exp.Or) -> Expression:
        """A chain of ANDs or ORs as a balanced tree, so that a long one is not deep."""
        parts: list[Expression] = []
        rest: Expression = node
        while type(rest) is type(node):
            parts.append(self.resolve(rest.expression))
            rest = rest.this
        parts.append(self.resolve(rest))
        return _balanced(type(node), parts[::-1])

    def _children(self, node: Expression) -> Expression:
        return rebuild(node, {key: self._argument(value) for key, value in node.args.items()})

    def _argument(self, value: object) -> object:
        if isinstance(value, Expression):
            return self.resolve(value)
        if isinstance(value, list):
            return [self._argument(item) for item in value]
        return value

    def _zipped(self, node: exp.ArraysZip) -> Expression:
        """arrays_zip names the fields of its structs after columns: the user's names, not the plan's."""
        names = [each.name if isinstance(each, exp.Column) else str(index) for index, each in enumerate(node.expressions)]
        arguments = [self.resolve(each) for each in node.expressions]
        elements = [elements_of(type_)[0] for type_ in self.binding.types_of(arguments)]
        fields = ",".join(f"`{name}`:{element}" for name, element in zip(names, elements, strict=True))
        return exp.cast(exp.ArraysZip(expressions=arguments), f"array<struct<{fields}>>", dialect="spark")

    def _column(self, node: exp.Column) -> Expression:
        if isinstance(node.this, exp.Star):
            raise Unsupported(f"{node.sql(dialect='spark')} inside an expression", place=place_of(node), hint="name the columns")
        parts = parts_of(node)
        if parts[0].lower() in self.first and not (len(parts) > 1 and self.scope.matching(parts)[1] > 1):
            return access(self._alias(node, self.first[parts[0].lower()]), parts[1:])

        def between(name: str) -> Expression | None:
            choices = self.then.get(name.lower())
            return self._alias(node, choices) if choices else None

        return self.scope.find(node, parts, between)

    def _alias(self, node: exp.Column, choices: Sequence[Expression]) -> Expression:
        if any(choice != choices[0] for choice in choices):
            raise QueryError(
                f'column "{node.name}" is ambiguous: several columns of the select list have that name',
                place=place_of(node),
                hint="give them different aliases",
            )
        return bracketed(choices[0])

    def _scalar(self, node: Expression) -> Expression:
        nested, bound = self._nested(node, "scalar")
        if len(bound.names) != 1:
            raise QueryError(f"a subquery used as a value must have one column, this one has {len(bound.names)}", place=place_of(node))
        return nested

    def _nested(self, tree: Expression, kind: str, operands: Sequence[Expression] = ()) -> tuple[Nested, Bound]:
        number = self.binding.nest_once((tree, self.scope), self.select, lambda: self.bind_query(tree, self.scope))
        return Nested(this=str(number), kind=kind, expressions=list(operands)), self.binding.subqueries[number]

    def _in(self, node: exp.In) -> Expression:
        left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        operands = [self.resolve(without_brackets(operand)) for operand in left]
        nested, bound = self._nested(node.args["query"], "in", operands)
        if len(bound.names) != len(operands):
            message = f"IN compares {len(operands)} column(s) with a subquery of {len(bound.names)}"
            raise QueryError(message, place=place_of(node))
        return nested

    def _window(self, node: exp.Window) -> Expression:
        if not self.functions:
            raise QueryError(f"window functions cannot stand in {self.where}", place=place_of(node), hint="compute it in a subquery")
        node = self._spelled_out(node)
        inside = self.at(functions=False, first={}, where="another window function")
        self._check_stable(call_of(node.this))
        arguments = {key: inside._argument(value) for key, value in node.args.items() if key != "this"}
        return rebuild(node, {**arguments, "this": inside._window_function(node.this)})

    def _window_function(self, node: Expression) -> Expression:
        """The function before OVER: it is no aggregate of the query itself, but its arguments may hold some."""
        node = respelled(node)
        if call_of(node) is node:
            return self._children(node)
        return rebuild(
            node, {key: self._window_function(value) if key == "this" else self._argument(value) for key, value in node.args.items()}
        )

    def _spelled_out(self, node: exp.Window) -> exp.Window:
        """A window that names a definition of the WINDOW clause, with the definition put in."""
        name = node.args.get("alias")
        if name is None:
            return node
        definition = self.windows.get(name.name.lower())
        if definition is None:
            raise QueryError(
                f'window "{name.name}" is not defined', place=place_of(name), hint=f"add WINDOW {name.name} AS (...) to the query"
            )
        merged = {key: value for key, value in definition.args.items() if key not in ("this", "alias") and value}
        own = {key: value for key, value in node.args.items() if key != "alias" and value}
        spelled = rebuild(node, {**merged, **own, "alias": definition.args.get("alias")})
        assert isinstance(spelled, exp.Window)
        return self._spelled_out(spelled)

    def _aggregate(self, node: Expression) -> Expression:
        call = call_of(node)
        if not self.aggregates:
            raise QueryError(
                f"aggregate functions cannot stand in {self.where}",
                place=place_of(call),
                hint="use HAVING to choose groups" if self.where == "WHERE" else "compute it in a subquery",
            )
        if order_dependent(node):
            name = written_name(call)
            hint = "add WITHIN GROUP (ORDER BY ...)" if name == "listagg" else "use min, max, min_by or max_by"
            raise NonDeterministic(f"the answer of {name}() depends on the order in which rows are read", place=place_of(call), hint=hint)
        inside = self.at(aggregates=False, functions=False, first={}, where="another aggregate function")
        bound = inside._wrapped(node)
        if bound.find(Outer) is not None and bound.find(exp.Column) is None:
            raise Unsupported(
                "an aggregate over columns of the query outside of this subquery",
                place=place_of(call),
                hint="compute it in a derived table",
            )
        return bound

    def _wrapped(self, node: Expression) -> Expression:
        """An aggregate call without taking the call inside FILTER for a second one."""
        if call_of(node) is node:
            return self._children(node)
        return rebuild(
            node, {key: self._wrapped(respelled(value)) if key == "this" else self._argument(value) for key, value in node.args.items()}
        )

    def _check_stable(self, node: Expression) -> None:
        unstable = nondeterminism(node)
        if unstable:
            place = place_of(node) or word_in(self.binding.text, unstable[0])
            raise NonDeterministic(f"{unstable[0]}() is not deterministic", place=place, hint=unstable[1])

    def _check_function(self, node: Expression) -> None:
        self._check_stable(node)
        if is_window_only(node) and self.functions:
            raise QueryError(f"{written_name(node)}() needs an OVER clause", place=place_of(node))


def _balanced(kind: type[exp.And] | type[exp.Or], parts: Sequence[Expression]) -> Expression:
    if len(parts) == 1:
        return parts[0]
    half = (len(parts) + 1) // 2
    return kind(this=_balanced(kind, parts[:half]), expression=_balanced(kind, parts[half:]))
