"""A query's text as a plan: names, types and subqueries resolved.

    text -> tree (sqlglot) -> Bound plan

Each clause of a SELECT is one step in the order of its meaning: FROM, WHERE, GROUP BY, HAVING, windows, generators, the select list,
DISTINCT, ORDER BY with LIMIT. Queries nested in FROM and WITH are bound where they stand; those in expressions become joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from slackwater.errors import QueryError, SlackwaterError, Unsupported
from slackwater.plan.nodes import Expression, Limit, Node, column
from slackwater.sql.binding import Binding, Bound, Relations
from slackwater.sql.expression_types import GuessTyper, Typer
from slackwater.sql.functions import NonDeterministic
from slackwater.sql.place import place_of
from slackwater.sql.resolve import Resolver
from slackwater.sql.sampling import samplings_in
from slackwater.sql.scope import Field, Scope
from slackwater.sql.select import bind_select, limit_of
from slackwater.sql.setops import distinct, intersect_or_except, union_all
from slackwater.sql.sources import bind_values
from slackwater.sql.syntax import tree_of

__all__ = ["GuessTyper", "Query", "Relations", "Typer", "bind"]


@dataclass(frozen=True)
class Query:
    """A bound query: its plan (column names unique), what the user calls the columns, and in what order to show the rows."""

    plan: Node
    names: tuple[str, ...]
    order: tuple[exp.Ordered, ...] = ()


def bind(text: str, relations: Relations, typer: Typer, tree: Expression | None = None) -> Query:
    """The plan of a query. `tree` spares parsing the text again."""
    try:
        if samplings := samplings_in(text):
            hint = "CREATE SAMPLE keeps one up to date, which views can read"
            raise NonDeterministic("TABLESAMPLE takes other rows each time", place=samplings[0].clause, hint=hint)
        binder = Binder(Binding(text, relations, typer))
        bound = binder.query(tree if tree is not None else tree_of(text), None)
        return Query(bound.plan, bound.names, bound.order)
    except SlackwaterError as error:
        raise error.within(text) from None


class Binder:
    """Binds queries; knows the WITH entries in force."""

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self.ctes: list[dict[str, Bound]] = []

    def query(self, tree: Expression, outer: Scope | None) -> Bound:
        """Any query: SELECT, set operation, VALUES, in brackets or not."""
        with self._with(tree, outer):
            if isinstance(tree, exp.Subquery):
                return self._modified(tree, self._in_brackets(tree, outer))
            if isinstance(tree, exp.Select):
                return bind_select(self, tree, outer)
            if isinstance(tree, exp.SetOperation):
                return self._modified(tree, self._set_operation(tree, outer))
            if isinstance(tree, exp.Values):
                return bind_values(self, tree)
            if isinstance(tree, exp.Table):
                star = exp.Select(expressions=[exp.Star()]).from_(tree.copy())
                return bind_select(self, star, outer)
            raise Unsupported(f"{type(tree).__name__.lower()} as a query", place=place_of(tree), hint="write a SELECT")

    def _in_brackets(self, tree: exp.Subquery, outer: Scope | None) -> Bound:
        bound = self.query(tree.this, outer)
        shown = any(tree.args.get(word) for word in ("order", "limit", "offset"))
        return Bound(bound.plan, bound.names) if shown else bound

    def resolver(self, scope: Scope) -> Resolver:
        """How names are resolved in a scope."""
        return Resolver(self.binding, scope, self.query, select=object())

    # WITH

    def cte(self, name: str) -> Bound | None:
        """The innermost WITH entry of that name."""
        return next((level[name.lower()] for level in reversed(self.ctes) if name.lower() in level), None)

    def cte_names(self) -> list[str]:
        return [name for level in self.ctes for name in level]

    @contextmanager
    def _with(self, tree: Expression, outer: Scope | None) -> Iterator[None]:
        clause = tree.args.get("with_")
        if clause is None:
            yield
            return
        if clause.args.get("recursive"):
            raise Unsupported(
                "a recursive WITH",
                place=place_of(clause.expressions[0].args.get("alias")),
                hint="only queries without recursion are kept incrementally",
            )
        level: dict[str, Bound] = {}
        self.ctes.append(level)
        try:
            for entry in clause.expressions:
                level[entry.alias.lower()] = self._entry(entry, outer)
            yield
        finally:
            self.ctes.pop()

    def _entry(self, entry: exp.CTE, outer: Scope | None) -> Bound:
        bound = self.query(entry.this, outer)
        written = [identifier.name for identifier in entry.args["alias"].args.get("columns") or []]
        if written and len(written) != len(bound.names):
            raise QueryError(f"{len(written)} column names for {len(bound.names)} columns", place=place_of(entry.args["alias"]))
        return Bound(bound.plan, tuple(written) or bound.names)

    # set operations

    def _set_operation(self, tree: exp.SetOperation, outer: Scope | None) -> Bound:
        if tree.args.get("by_name") or tree.args.get("side") or tree.args.get("kind"):
            raise Unsupported("a set operation BY NAME", place=place_of(tree), hint="list the columns in the same order on both sides")
        once = tree.args.get("distinct") is not False
        if isinstance(tree, exp.Union):
            whole = union_all(self.binding, [self.query(part, outer) for part in _union_parts(tree, once)])
            return Bound(distinct(whole.plan), whole.names) if once else whole
        left, right = self.query(tree.this, outer), self.query(tree.expression, outer)
        return intersect_or_except(self.binding, left, right, isinstance(tree, exp.Intersect), once)

    def _modified(self, tree: Expression, bound: Bound) -> Bound:
        """ORDER BY, LIMIT and OFFSET behind brackets or a set operation: they see the output columns only."""
        order = tree.args.get("order")
        keys = tuple(self._order_key(key, bound) for key in order.expressions) if order else bound.order
        limit = limit_of(self.binding, tree)
        plan = bound.plan if limit is None else Limit(bound.plan, keys, *limit)
        return Bound(plan, bound.names, keys)

    def _order_key(self, key: exp.Ordered, bound: Bound) -> exp.Ordered:
        if isinstance(key.this, exp.Literal) and key.this.is_int:
            value: Expression = column(bound.plan.names[ordinal(key.this, len(bound.names))])
        else:
            scope = Scope(tuple(Field("", name, each) for name, each in zip(bound.names, bound.plan.columns, strict=True)))
            value = self.resolver(scope).at(aggregates=False, functions=False, where="this ORDER BY").resolve(key.this)
        new = key.copy()
        new.set("this", value)
        return new


def _union_parts(tree: exp.Union, once: bool) -> list[Expression]:
    """The parts of a chain of unions of one kind."""
    parts: list[Expression] = []
    node: Expression = tree
    while isinstance(node, exp.Union) and (node is tree or _continues(node, once)):
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def _continues(node: exp.Union, once: bool) -> bool:
    plain = not any(node.args.get(word) for word in ("order", "limit", "offset", "with_", "by_name", "side", "kind"))
    # Under UNION, how often a row occurs below does not matter: either kind may be merged into it.
    return plain and (once or node.args.get("distinct") is False)


def ordinal(literal: exp.Literal, count: int) -> int:
    """`ORDER BY 2` as an index."""
    position = int(literal.name)
    if not 1 <= position <= count:
        raise QueryError(f"position {position} is not in the select list, which has {count} columns", place=place_of(literal))
    return position - 1
