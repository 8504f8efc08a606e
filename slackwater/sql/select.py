"""One SELECT, clause by clause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.errors import QueryError, Unsupported
from slackwater.plan.nodes import Expression, Limit, Node, Project, column, columns_in
from slackwater.sql.binding import Binding, Bound, passed, replace_equal, without_brackets
from slackwater.sql.expression_types import fields_of
from slackwater.sql.functions import NonDeterministic, generator_kind, is_other_generator
from slackwater.sql.generate import generate
from slackwater.sql.grouping import Grouped, Groups, aggregates_in, grouping_sets
from slackwater.sql.output_names import output_name
from slackwater.sql.place import place_of
from slackwater.sql.resolve import Resolver
from slackwater.sql.scope import Field, Scope, access
from slackwater.sql.setops import distinct
from slackwater.sql.sources import bind_from
from slackwater.sql.subquery import attach, keep
from slackwater.sql.windows import apply_windows

if TYPE_CHECKING:
    from slackwater.sql.bind import Binder


@dataclass(frozen=True)
class Item:
    """An entry of the select list: what the user calls it, its value, and the tree it came from. A generator has several names."""

    names: tuple[str, ...]
    value: Expression
    tree: Expression

    @property
    def generator(self) -> bool:
        return generator_kind(self.value) is not None


class Made(exp.Expression):
    """The column `this` of a generator in the select list, where a sort key names it before its rows are made."""

    arg_types = {"this": True}


def bind_select(binder: Binder, select: exp.Select, outer: Scope | None) -> Bound:
    """The plan of one SELECT, with its ORDER BY and LIMIT."""
    return _Select(binder, select, outer).bind()


def limit_of(binding: Binding, tree: Expression) -> tuple[int | None, int] | None:
    """LIMIT and OFFSET as numbers; None when there is neither."""
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    if isinstance(limit, exp.Fetch):
        raise Unsupported("FETCH", place=place_of(limit), hint="use LIMIT")
    count = _number(limit.expression) if limit is not None and limit.expression.name.lower() != "all" else None
    skip = _number(offset.expression) if offset is not None else 0
    return None if count is None and not skip else (count, skip)


def _number(node: Expression) -> int:
    if isinstance(node, exp.Literal) and node.is_int:
        return int(node.name)
    raise Unsupported("LIMIT or OFFSET with anything but a number", place=place_of(node), hint="write the number")


class _Select:
    """The state of binding one SELECT."""

    def __init__(self, binder: Binder, select: exp.Select, outer: Scope | None) -> None:
        self.binder = binder
        self.binding = binder.binding
        self.select = select
        self.outer = outer
        _refuse(select)

    def bind(self) -> Bound:
        self.plan, self.scope = bind_from(self.binder, self.select, self.outer)
        windows = {window.name.lower(): window for window in self.select.args.get("windows") or []}
        self.resolver = self.binder.resolver(self.scope).at(windows=windows)
        self._where()
        items = self._items()
        having, qualify, order = self._having(items), self._clause("qualify", items), self._order(items)
        # From here on the values travel together, because each step rewrites all that stand above it.
        values = [item.value for item in items] + [key.this for key in order]
        values, having, qualify = self._group(items, values, having, qualify)
        if having is not None:
            self.plan = keep(self.binding, self.plan, having)
        tests = [qualify] if qualify is not None else []
        self.plan, attached = attach(self.binding, self.plan, values)
        self.plan, windowed = apply_windows(self.binding, self.plan, [*attached, *tests])
        if tests:
            self.plan = keep(self.binding, self.plan, windowed.pop())
        outputs = self._generate(items, windowed[: len(items)])
        made: dict[Expression, Expression] = {Made(this=name): value for name, value in outputs}
        keys = [replace_equal(value, made) for value in windowed[len(items) :]]
        return self._finish(outputs, list(zip(order, keys, strict=True)))

    # WHERE, the select list, and the clauses that see its aliases

    def _where(self) -> None:
        where = self.select.args.get("where")
        if where is not None:
            resolver = self.resolver.at(aggregates=False, functions=False, where="WHERE")
            self.plan = keep(self.binding, self.plan, resolver.resolve(where.this))

    def _items(self) -> list[Item]:
        if not self.select.expressions:
            raise QueryError("the select list is empty", hint="name the columns to select, or write *")
        items: list[Item] = []
        aliases: dict[str, list[Expression]] = {}
        for tree in self.select.expressions:
            for item in self._expanded(tree, self.resolver.at(then=aliases)):
                items.append(item)
                if isinstance(tree, exp.Alias):
                    aliases.setdefault(item.names[0].lower(), []).append(item.value)
        return items

    def _expanded(self, tree: Expression, resolver: Resolver) -> list[Item]:
        if isinstance(tree, exp.Star):
            return self._star(self.scope.fields, tree, tree)
        if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
            return self._struct_star(tree) or self._star(self._fields_of(tree), tree.this, tree)
        if isinstance(tree, exp.Aliases):
            return [Item(tuple(identifier.name for identifier in tree.expressions), resolver.resolve(tree.this), tree)]
        written = without_brackets(tree.this if isinstance(tree, exp.Alias) else tree)
        if is_other_generator(written):
            raise Unsupported("a generator other than explode, posexplode and inline", place=place_of(written))
        names = (tree.alias,) if isinstance(tree, exp.Alias) else () if generator_kind(written) else (output_name(tree),)
        return [Item(names, resolver.resolve(written), tree)]

    def _struct_star(self, tree: exp.Column) -> list[Item]:
        """`s.*` where s is a struct and not a table."""
        parts = [part.name for part in tree.parts[:-1]]
        if parts[0].lower() in {field.table.lower() for field in self.scope.fields} or not self.scope.matching(parts)[0]:
            return []
        value = self.scope.find(exp.Column(this=tree.parts[-2].copy()), parts)
        fields = fields_of(self.binding.types_of([value])[0])
        return [Item((name,), access(value.copy(), [name]), tree) for name, _ in fields]

    def _fields_of(self, tree: exp.Column) -> tuple[Field, ...]:
        written = ".".join(part.name for part in tree.parts[:-1]).lower()
        scope: Scope | None = self.scope
        fields = tuple(
            field for field in self.scope.fields if field.table.lower() in (written, "") or field.table.lower().endswith("." + written)
        )
        fields = tuple(field for field in fields if field.table)
        if not fields:
            assert scope is not None
            raise QueryError(
                f'table "{written}" is not among the tables of this query', place=place_of(tree), hint=scope._tables_in_sight()
            )
        # Written with its table, a column that USING hid is meant as well.
        return tuple(Field(field.table, field.name, field.column) for field in fields)

    def _star(self, fields: Sequence[Field], star: exp.Star, tree: Expression) -> list[Item]:
        if star.args.get("replace") or star.args.get("rename"):
            raise Unsupported("* with REPLACE or RENAME", place=place_of(star), hint="list the columns")
        left_out = {each.name.lower() for each in star.args.get("except_") or []}
        if not self.scope.fields:
            raise QueryError("SELECT * needs a FROM clause", place=place_of(star))
        shown = [field for field in fields if not field.hidden and field.name.lower() not in left_out]
        return [Item((field.name,), column(field.column.name), tree) for field in shown]

    def _aliases(self, items: Sequence[Item]) -> dict[str, list[Expression]]:
        aliases: dict[str, list[Expression]] = {}
        for item in items:
            if item.generator:
                aliases.update((name.lower(), [Made(this=name)]) for name in item.names or ("pos", "col", "key", "value"))
            else:
                aliases.setdefault(item.names[0].lower(), []).append(item.value)
        return aliases

    def _having(self, items: Sequence[Item]) -> Expression | None:
        return self._clause("having", items)

    def _clause(self, name: str, items: Sequence[Item]) -> Expression | None:
        clause = self.select.args.get(name)
        if clause is None:
            return None
        resolver = self.resolver.at(first=self._aliases(items), where=name.upper(), functions=name == "qualify")
        return resolver.resolve(clause.this)

    def _order(self, items: Sequence[Item]) -> list[exp.Ordered]:
        clause = self.select.args.get("order")
        if clause is None:
            return []
        resolver = self.resolver.at(first=self._aliases(items), where="ORDER BY")
        keys: list[exp.Ordered] = []
        for key in clause.expressions:
            if key.name.lower() == "all" and isinstance(key.this, exp.Column | exp.Var) and "all" not in resolver.first:
                keys.extend(_ordered(key, item.value) for item in items)
            elif isinstance(key.this, exp.Literal) and key.this.is_int:
                keys.append(_ordered(key, self._at(key.this, items)))
            else:
                keys.append(_ordered(key, without_brackets(resolver.resolve(key.this))))
        return keys

    def _at(self, literal: exp.Literal, items: Sequence[Item]) -> Expression:
        position = int(literal.name)
        if not 1 <= position <= len(items):
            raise QueryError(f"position {position} is not in the select list, which has {len(items)} columns", place=place_of(literal))
        return items[position - 1].value.copy()

    # GROUP BY

    def _group(
        self, items: Sequence[Item], values: list[Expression], having: Expression | None, qualify: Expression | None
    ) -> tuple[list[Expression], Expression | None, Expression | None]:
        tests = [test for test in (having, qualify) if test is not None]
        clause = self.select.args.get("group")
        if clause is None and having is None and not any(aggregates_in(value) for value in [*values, *tests]):
            return values, having, qualify
        groups = self._groups(clause, items) if clause is not None else Groups()
        grouped = Grouped(self.binding, self.plan, groups)
        lifted = grouped.apply([*values, *tests])
        self.plan = grouped.plan
        rest = iter(lifted[len(values) :])
        return lifted[: len(values)], next(rest) if having is not None else None, next(rest) if qualify is not None else None

    def _groups(self, clause: exp.Group, items: Sequence[Item]) -> Groups:
        if clause.args.get("all"):
            return Groups(list(dict.fromkeys(item.value for item in items if not aggregates_in(item.value))))
        resolver = self.resolver.at(then=self._aliases(items), aggregates=False, functions=False, where="GROUP BY")

        def resolve(tree: Expression) -> Expression:
            if isinstance(tree, exp.Literal) and tree.is_int:
                value = self._at(tree, items)
                if aggregates_in(value):
                    raise QueryError(
                        "aggregate functions cannot stand in GROUP BY", place=place_of(tree), hint="the position names an aggregate"
                    )
                return value
            value = resolver.resolve(tree)
            if aggregates_in(value):
                raise QueryError("aggregate functions cannot stand in GROUP BY", place=place_of(tree))
            return without_brackets(value)

        plain = list(clause.expressions)
        special = [each for word in ("grouping_sets", "rollup", "cube") for each in clause.args.get(word) or []]
        wholesale = next((each for each in special if isinstance(each, exp.Rollup | exp.Cube) and not each.expressions), None)
        if wholesale is not None:
            return grouping_sets(plain, resolve, wholesale)
        if plain and any(isinstance(each, exp.GroupingSets) for each in special):
            # GROUP BY a, b GROUPING SETS (...) names the keys first; without a comma the list before is only that.
            for item in plain:
                resolve(item)
            return grouping_sets(special, resolve)
        return grouping_sets([*plain, *special], resolve)

    # the output

    def _generate(self, items: Sequence[Item], values: Sequence[Expression]) -> list[tuple[str, Expression]]:
        """The select list as (name, value) pairs; a generator in it makes rows first."""
        makers = [index for index, item in enumerate(items) if item.generator]
        if len(makers) > 1:
            raise Unsupported("more than one generator in the select list", place=place_of(items[makers[1]].tree), hint="use LATERAL VIEW")
        outputs: list[tuple[str, Expression]] = []
        for item, value in zip(items, values, strict=True):
            if not item.generator:
                outputs.append((item.names[0], value))
                continue
            made = generate(self.binding, self.plan, value, item.tree, False)
            self.plan = made.plan
            names = item.names or tuple(name for name, _, _ in made.columns)
            if len(names) != len(made.columns):
                raise QueryError(f"{len(names)} name(s) for the {len(made.columns)} columns of a generator", place=place_of(item.tree))
            outputs += [(name, each) for name, (_, each, _) in zip(names, made.columns, strict=True)]
        return outputs

    def _finish(self, outputs: Sequence[tuple[str, Expression]], order: Sequence[tuple[exp.Ordered, Expression]]) -> Bound:
        project = Project(self.plan, self.binding.outputs(outputs))
        names = tuple(name for name, _ in outputs)
        shown = {output.expression: column(output.name) for output in reversed(project.outputs)}
        keys = [(written, replace_equal(value, shown)) for written, value in order]
        unshown = [value for _, value in keys if not columns_in(value) <= set(project.names)]
        limit = limit_of(self.binding, self.select)
        if self.select.args.get("distinct") is not None:
            if unshown:
                raise QueryError(
                    "with SELECT DISTINCT, ORDER BY can only use what is selected",
                    place=place_of(self.select.args["order"]),
                    hint="select the column too",
                )
            return self._limited(distinct(project), names, keys, limit)
        if limit is None or not unshown:
            return self._limited(project, names, [] if unshown else keys, limit)
        # LIMIT needs what it orders by: computed with the rest, dropped afterwards.
        values = list(dict.fromkeys(value for _, value in order if replace_equal(value, shown) in unshown))
        hidden = self.binding.outputs([("order_key", value) for value in values])
        wide = Project(self.plan, project.outputs + hidden)
        known = {**{output.expression: column(output.name) for output in hidden}, **shown}
        bound = self._limited(wide, names, [(written, replace_equal(value, known)) for written, value in order], limit)
        return Bound(Project(bound.plan, passed(project.columns)), names)

    def _limited(
        self, plan: Node, names: tuple[str, ...], keys: Sequence[tuple[exp.Ordered, Expression]], limit: tuple[int | None, int] | None
    ) -> Bound:
        order = tuple(_ordered(written, value) for written, value in keys)
        return Bound(plan if limit is None else Limit(plan, order, *limit), names, order)


def _ordered(key: exp.Ordered, value: Expression) -> exp.Ordered:
    """The sort key over another value, in the same direction."""
    return exp.Ordered(this=value.copy(), **{name: setting for name, setting in key.args.items() if name != "this"})


def _refuse(select: exp.Select) -> None:
    """What a SELECT may hold that no plan can say."""
    if select.args.get("sample"):
        raise NonDeterministic("TABLESAMPLE takes other rows each time", hint="choose rows by a condition on a key")
    if select.args.get("pivots"):
        raise Unsupported("PIVOT and UNPIVOT", hint="write one aggregate with FILTER (WHERE ...) per column")
    if isinstance(select.args.get("distinct"), exp.Distinct) and select.args["distinct"].args.get("on"):
        raise Unsupported("DISTINCT ON", place=place_of(select.args["distinct"]), hint="use row_number() = 1")
    if any(isinstance(tree, exp.QueryTransform) for tree in select.expressions):
        raise Unsupported("TRANSFORM, which runs a script over the rows", hint="use SQL functions")
    for word, name in (("match", "MATCH_RECOGNIZE"), ("connect", "CONNECT BY"), ("into", "SELECT INTO"), ("kind", "SELECT AS STRUCT")):
        if select.args.get(word):
            raise Unsupported(name)
