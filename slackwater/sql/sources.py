"""FROM: tables, views, derived tables, VALUES, joins and lateral views, as a plan and the scope it offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.errors import QueryError, Unsupported, did_you_mean
from slackwater.plan.nodes import Column, Expression, Join, Node, Output, Project, Scan, Values, column, conjunction, conjuncts
from slackwater.sql.binding import Bound, Nested, Outer, bracketed, passed
from slackwater.sql.correlation import Correlated, join_with
from slackwater.sql.decorrelate import correlate
from slackwater.sql.functions import NonDeterministic, generator_kind
from slackwater.sql.generate import generate
from slackwater.sql.place import place_of
from slackwater.sql.scope import Field, Scope
from slackwater.sql.setops import common_types
from slackwater.sql.subquery import attach, keep

if TYPE_CHECKING:
    from slackwater.sql.bind import Binder

_SIDES = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}


def bind_from(binder: Binder, select: exp.Select, outer: Scope | None) -> tuple[Node, Scope]:
    """The plan and the scope of a select's FROM clause, lateral views included."""
    start = select.args.get("from_")
    if start is None:
        return Values(((),), ()), Scope((), outer)
    groups = _comma_groups(start.this, select.args.get("joins") or [])
    plan, scope = _bind_group(binder, groups[0], outer)
    for group in groups[1:]:
        right, fields = _bind_group(binder, group, outer)
        plan, scope = Join(plan, right, "inner"), scope + fields
    for lateral in select.args.get("laterals") or []:
        plan, scope = _lateral_view(binder, plan, scope, lateral)
    return plan, scope


def _comma_groups(first: Expression, joins: Sequence[exp.Join]) -> list[tuple[Expression, list[exp.Join]]]:
    """`a, b JOIN c` is a and b JOIN c: explicit joins bind tighter than commas."""
    groups: list[tuple[Expression, list[exp.Join]]] = [(first, [])]
    if any(isinstance(join.this, exp.Lateral) for join in joins):
        return [(first, list(joins))]  # LATERAL sees all that stands before it
    for join in joins:
        if not any(join.args.get(word) for word in ("side", "kind", "method", "on", "using", "hint")):
            groups.append((join.this, []))
        else:
            groups[-1][1].append(join)
    return groups


def _bind_group(binder: Binder, group: tuple[Expression, list[exp.Join]], outer: Scope | None) -> tuple[Node, Scope]:
    plan, scope = bind_source(binder, group[0], outer)
    for join in group[1]:
        plan, scope = _bind_join(binder, plan, scope, join)
    return plan, scope


def bind_source(binder: Binder, source: Expression, outer: Scope | None) -> tuple[Node, Scope]:
    """One item of FROM."""
    _refuse_special(source)
    if isinstance(source, exp.Table):
        plan, scope = _bind_table(binder, source, outer)
    elif isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table):
        plan, scope = bind_source(binder, source.this, outer)
        scope = _aliased(source, scope)
    elif isinstance(source, exp.Subquery):
        bound = binder.query(source, outer)
        plan, scope = bound.plan, _offer(bound, source.alias, _alias_columns(source), source, outer)
    elif isinstance(source, exp.Values):
        plan, scope = _bind_values(binder, source, outer)
    else:
        raise Unsupported(f"{_kind_of(source)} in FROM", place=place_of(source), hint="use a table, a view, a subquery or VALUES")
    for join in source.args.get("joins") or []:
        plan, scope = _bind_join(binder, plan, scope, join)
    for lateral in source.args.get("laterals") or []:
        plan, scope = _lateral_view(binder, plan, scope, lateral)
    return plan, scope


def _refuse_special(source: Expression) -> None:
    if source.args.get("sample"):
        raise NonDeterministic("TABLESAMPLE takes other rows each time", place=place_of(source), hint="choose rows by a condition on a key")
    if source.args.get("pivots"):
        raise Unsupported("PIVOT and UNPIVOT", place=place_of(source), hint="write one aggregate with FILTER (WHERE ...) per column")
    if source.args.get("version") or source.args.get("when"):
        raise Unsupported("reading a table as of an earlier version", place=place_of(source))


def _kind_of(source: Expression) -> str:
    words: dict[type[Expression], str] = {exp.Lateral: "a LATERAL subquery", exp.Unnest: "UNNEST"}
    return words.get(type(source), f"a table-valued function ({source.sql(dialect='spark')[:40]})")


def _bind_table(binder: Binder, table: exp.Table, outer: Scope | None) -> tuple[Node, Scope]:
    if not isinstance(table.this, exp.Identifier):
        raise Unsupported(f"{_kind_of(table.this)} in FROM", place=place_of(table), hint="use a table, a view, a subquery or VALUES")
    name = ".".join(part.name for part in table.parts)
    cte = binder.cte(name) if len(table.parts) == 1 else None
    if cte is not None:
        plan, renaming = binder.binding.renamed(cte.plan)
        bound = Bound(plan, cte.names)
        return plan, _offer(bound, table.alias or name, _alias_columns(table), table, outer)
    declared = binder.binding.relations.columns(name)
    if declared is None:
        known = [each.lower() for each in [*binder.binding.relations.names(), *binder.cte_names()]]
        raise QueryError(f'table or view "{name}" does not exist', place=place_of(table.this), hint=did_you_mean(name, known))
    outputs = tuple(binder.binding.fresh(each.name, each.type) for each in declared)
    relation = next((each for each in binder.binding.relations.names() if each.lower() == name.lower()), name)
    scan = Scan(relation, tuple(each.name for each in declared), outputs)
    bound = Bound(scan, tuple(each.name for each in declared))
    return scan, _offer(bound, table.alias or name, _alias_columns(table), table, outer)


def _alias_columns(source: Expression) -> list[exp.Identifier]:
    alias = source.args.get("alias")
    return list(alias.args.get("columns") or []) if isinstance(alias, exp.TableAlias) else []


def _offer(bound: Bound, table: str, renamed: Sequence[exp.Identifier], source: Expression, outer: Scope | None) -> Scope:
    names = tuple(identifier.name for identifier in renamed) or bound.names
    if len(names) != len(bound.names):
        raise QueryError(f"{len(names)} column names for {len(bound.names)} columns", place=place_of(renamed[0]))
    return Scope(tuple(Field(table, name, each) for name, each in zip(names, bound.plan.columns, strict=True)), outer)


def _aliased(source: exp.Subquery, scope: Scope) -> Scope:
    """Brackets around joins may be given a name, which then hides the names inside."""
    if not source.alias:
        return scope
    names = [identifier.name for identifier in _alias_columns(source)] or [field.name for field in scope.fields]
    return replace(
        scope, fields=tuple(replace(field, table=source.alias, name=name) for field, name in zip(scope.fields, names, strict=True))
    )


def _bind_values(binder: Binder, values: exp.Values, outer: Scope | None) -> tuple[Node, Scope]:
    values = _without_stray_alias(values)
    bound = bind_values(binder, values)
    return bound.plan, _offer(bound, values.alias, _alias_columns(values), values, outer)


def bind_values(binder: Binder, values: exp.Values) -> Bound:
    """VALUES as a plan; the rows of a column are brought to one type."""
    values = _without_stray_alias(values)
    binding = binder.binding
    resolver = binder.resolver(Scope()).at(aggregates=False, functions=False, where="VALUES")
    rows = [[resolver.resolve(cell) for cell in (row.expressions if isinstance(row, exp.Tuple) else [row])] for row in values.expressions]
    if any(len(row) != len(rows[0]) for row in rows):
        raise QueryError("the rows of VALUES have different lengths", place=place_of(values))
    if any(cell.find(Nested, Outer) for row in rows for cell in row):
        raise Unsupported("a subquery in VALUES", place=place_of(values), hint="use SELECT ... UNION ALL SELECT ...")
    kinds = [binding.types_of(row) for row in rows]
    types = common_types(
        binding, [list(column_cells) for column_cells in zip(*rows, strict=True)], [list(each) for each in zip(*kinds, strict=True)]
    )
    cast = [
        tuple(
            cell if kind == type_ else exp.cast(cell, type_, dialect="spark")
            for cell, kind, type_ in zip(row, row_kinds, types, strict=True)
        )
        for row, row_kinds in zip(rows, kinds, strict=True)
    ]
    names = tuple(f"col{index + 1}" for index in range(len(types)))
    hints = [identifier.name for identifier in _alias_columns(values)] or names
    outputs = tuple(binding.fresh(hint, type_) for hint, type_ in zip(hints, types, strict=False))
    if len(outputs) != len(types):
        raise QueryError(f"{len(hints)} column names for {len(types)} columns", place=place_of(values))
    return Bound(Values(tuple(cast), outputs), names)


def _without_stray_alias(values: exp.Values) -> exp.Values:
    """`VALUES 1, 2 AS t(x)`: the parser takes `AS t` for an alias of the last cell."""
    last = values.expressions[-1]
    cells = last.expressions if isinstance(last, exp.Tuple) else [last]
    if not cells or not isinstance(cells[-1], exp.Alias):
        return values
    name = cells[-1].args["alias"].copy()
    values = values.copy()
    stray = next(values.expressions[-1].find_all(exp.Alias))
    stray.replace(stray.this)
    values.set("alias", exp.TableAlias(this=name, columns=_alias_columns(values)))
    return values


def _bind_join(binder: Binder, left: Node, scope: Scope, join: exp.Join) -> tuple[Node, Scope]:
    if isinstance(join.this, exp.Lateral):
        return _lateral_join(binder, left, scope, join)
    right, fields = bind_source(binder, join.this, scope.outer)
    kind = _join_kind(join)
    shared = _shared_names(join, scope, fields)
    if shared is not None:
        return _join_using(binder, left, scope, right, fields, kind, shared, join)
    both = scope + fields
    resolver = binder.resolver(both).at(aggregates=False, functions=False, where="a join condition")
    condition = resolver.resolve(join.args["on"]) if join.args.get("on") else None
    plan = _joined(binder, left, right, kind, condition, join)
    return plan, scope if kind in ("semi", "anti") else both


def _join_kind(join: exp.Join) -> str:
    kind = (join.args.get("kind") or "").upper()
    if kind in ("SEMI", "ANTI"):
        return kind.lower()
    if (join.args.get("method") or "").upper() not in ("", "NATURAL"):
        raise Unsupported(f"{join.args['method']} join", place=place_of(join.this))
    return _SIDES[(join.args.get("side") or "").upper()]


def _joined(binder: Binder, left: Node, right: Node, kind: str, condition: Expression | None, join: exp.Join) -> Node:
    if condition is None or condition.find(Nested) is None:
        return Join(right, left, "left", condition) if kind == "right" else Join(left, right, kind, condition)
    if kind == "inner":
        return keep(binder.binding, Join(left, right, "inner"), condition)
    left, right, condition = _attach_to_sides(binder, left, right, kind, condition, join)
    return Join(right, left, "left", condition) if kind == "right" else Join(left, right, kind, condition)


def _attach_to_sides(
    binder: Binder, left: Node, right: Node, kind: str, condition: Expression, join: exp.Join
) -> tuple[Node, Node, Expression]:
    """Subqueries in the condition of an outer join become columns of the side they speak about.

    For the side whose rows are all kept, Spark takes NOT IN for the negation of IN here, and so do we.
    """
    values: dict[Expression, Expression] = {}
    for found in condition.find_all(Nested):
        nested = found.parent if isinstance(found.parent, exp.Not) else found
        names = {reference.name for operand in found.expressions for reference in operand.find_all(exp.Column)}
        plan = binder.binding.subqueries[found.number].plan
        names |= {outer.name for node in plan.walk() for each in node.expressions() for outer in each.find_all(Outer)}
        if names & set(left.names) and names & set(right.names):
            raise Unsupported("a subquery in the condition of an outer join that speaks about both sides", place=place_of(join.this))
        if names & set(left.names):
            left, (value,) = attach(binder.binding, left, [nested], null_aware=kind not in ("left", "full"))
        else:
            right, (value,) = attach(binder.binding, right, [nested], null_aware=kind not in ("right", "full"))
        values[nested] = value
    return left, right, condition.transform(lambda node: bracketed(values[node]) if node in values else node)


def _shared_names(join: exp.Join, left: Scope, right: Scope) -> list[exp.Identifier] | None:
    """The columns that USING names or NATURAL implies; None for a join with ON or without condition."""
    if join.args.get("using"):
        return [identifier if isinstance(identifier, exp.Identifier) else identifier.this for identifier in join.args["using"]]
    if (join.args.get("method") or "").upper() != "NATURAL":
        return None
    names = {field.name.lower() for field in right.fields if not field.hidden}
    return [exp.to_identifier(field.name) for field in left.fields if not field.hidden and field.name.lower() in names]


def _join_using(
    binder: Binder, left: Node, scope: Scope, right: Node, fields: Scope, kind: str, shared: Sequence[exp.Identifier], join: exp.Join
) -> tuple[Node, Scope]:
    pairs = [(_one(scope, identifier), _one(fields, identifier)) for identifier in shared]
    condition = conjunction(exp.EQ(this=column(a.column.name), expression=column(b.column.name)) for a, b in pairs)
    plan = _joined(binder, left, right, kind, condition, join)
    if kind in ("semi", "anti"):
        first = {a.column.name for a, _ in pairs}
        return plan, replace(scope, fields=tuple(sorted(scope.fields, key=lambda field: field.column.name not in first)))
    merged = [Field("", a.name, (b if kind == "right" else a).column) for a, b in pairs]
    if kind == "full":
        values = [exp.Coalesce(this=column(a.column.name), expressions=[column(b.column.name)]) for a, b in pairs]
        outputs = binder.binding.outputs([(a.name, value) for (a, _), value in zip(pairs, values, strict=True)])
        plan = Project(plan, passed(plan.columns) + outputs)
        merged = [Field("", a.name, output.column) for (a, _), output in zip(pairs, outputs, strict=True)]
    hidden = {field.column.name for pair in pairs for field in pair}
    rest = tuple(replace(field, hidden=field.hidden or field.column.name in hidden) for field in (scope + fields).fields)
    kept = tuple(field for field in rest if field.table or not field.hidden)
    return plan, Scope(tuple(merged) + kept, scope.outer)


def _one(scope: Scope, identifier: exp.Identifier) -> Field:
    found = [field for field in scope.fields if not field.hidden and field.name.lower() == identifier.name.lower()]
    reference = exp.Column(this=identifier.copy())
    if not found:
        raise scope.unknown(reference, [identifier.name])
    if len({field.column.name for field in found}) > 1:
        scope.find(reference, [identifier.name])
    return found[0]


def _lateral_join(binder: Binder, left: Node, scope: Scope, join: exp.Join) -> tuple[Node, Scope]:
    """A subquery or generator in FROM that sees what stands before it: joined by the conditions that mention the row it is for."""
    lateral, kind = join.this, _join_kind(join)
    if kind not in ("inner", "left") or join.args.get("using"):
        raise Unsupported(f"a {kind} join with LATERAL", place=place_of(lateral), hint="use an inner or a left join with ON")
    if generator_kind(lateral.this) is not None:
        if kind == "left" or join.args.get("on") not in (None, exp.true()):
            raise Unsupported("a generator in LATERAL with LEFT or ON", place=place_of(lateral), hint="use LATERAL VIEW OUTER")
        return _generated(binder, left, scope, lateral, False)
    if not isinstance(lateral.this, exp.Subquery):
        raise Unsupported(f"{_kind_of(lateral.this)} in LATERAL", place=place_of(lateral), hint="use a subquery, explode or inline")
    bound = binder.query(lateral.this, scope)
    fields = _offer(bound, lateral.alias, _alias_columns(lateral), lateral, scope.outer)
    resolver = binder.resolver(scope + fields).at(aggregates=False, functions=False, where="a join condition")
    conditions = conjuncts(resolver.resolve(join.args["on"])) if join.args.get("on") else []
    if any(condition.find(Nested) for condition in conditions):
        raise Unsupported("a subquery in the condition of a LATERAL join", place=place_of(lateral))
    found = correlate(binder.binding, left, bound.plan)
    plan, names = join_with(binder.binding, left, kind, Correlated(found.plan, (*found.conditions, *conditions), None))
    shown = tuple(replace(field, column=Column(names[field.column.name], field.column.type)) for field in fields.fields)
    return plan, replace(scope, fields=scope.fields + shown)


def _lateral_view(binder: Binder, plan: Node, scope: Scope, lateral: exp.Lateral) -> tuple[Node, Scope]:
    return _generated(binder, plan, scope, lateral, bool(lateral.args.get("outer")))


def _generated(binder: Binder, plan: Node, scope: Scope, lateral: exp.Lateral, outer: bool) -> tuple[Node, Scope]:
    resolver = binder.resolver(scope).at(aggregates=False, functions=False, where="LATERAL VIEW")
    call = resolver.resolve(lateral.this)
    plan, (call,) = attach(binder.binding, plan, [call])
    made = generate(binder.binding, plan, call, lateral.this, outer)
    plan, columns = _named_columns(binder, made.plan, made.columns)
    written = [identifier.name for identifier in _alias_columns(lateral)] or [name for name, _, _ in made.columns]
    if len(written) != len(columns):
        raise QueryError(f"{len(written)} column names for {len(columns)} columns", place=place_of(lateral))
    fields = tuple(Field(lateral.alias, name, each) for name, each in zip(written, columns, strict=True))
    return plan, replace(scope, fields=scope.fields + fields)


def _named_columns(binder: Binder, plan: Node, offered: Sequence[tuple[str, Expression, str]]) -> tuple[Node, list[Column]]:
    """The offered values as columns: most are already, the fields of a struct are not."""
    if all(isinstance(value, exp.Column) for _, value, _ in offered):
        return plan, [Column(value.name, type_) for _, value, type_ in offered]
    outputs = tuple(Output(binder.binding.fresh(name, type_), value) for name, value, type_ in offered)
    return Project(plan, passed(plan.columns) + outputs), [output.column for output in outputs]
