"""From old and new rows of the touched keys to the change between them.

    added   = new rows that are not the old row of the same identity
    removed = old rows that are not the new row of the same identity

Both come out of one outer join on the identity, so nothing is computed twice; a row that came out as it was is in neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from slackwater.delta.rows import ADDED, ID, REMOVED, SIDE, Rows, keep_outputs
from slackwater.plan import Column, Filter, Generate, Join, Node, Output, Project, column, conjunction
from slackwater.plan.nodes import Expression

OLD_PREFIX = "old_"


def difference(old: Rows, new: Rows, names: Sequence[str]) -> Node:
    """A flush's rows: side, identity, and the named columns."""
    assert new.id is not None
    before = prefixed(old, names)
    plan = Join(new.plan, before, "full", exp.EQ(this=column(new.id), expression=column(OLD_PREFIX + ID)))
    values = {name: column(name) for name in names}
    return emit(plan, [c for c in new.plan.columns if c.name in set(names)], column(new.id), values, _there(new.id))


def emit(plan: Node, columns: Sequence[Column], id: Expression, values: Mapping[str, Expression], is_new: Expression) -> Node:
    """Each row of `plan` holds an old row (columns with a prefix, identity NULL if there is none) and a new one: give those that differ.

    `values` are the new row's, `id` its identity, `is_new` whether there is one.
    """
    by_name = {c.name: c for c in columns}
    is_old = _there(OLD_PREFIX + ID)
    new_columns = {name: Column(f"new_{name}", by_name[name].type) for name in values}
    both = Project(
        plan,
        (
            Output(Column("is_old", "boolean"), is_old),
            Output(Column("is_new", "boolean"), is_new),
            Output(Column("new__id", "string"), id),
            Output(Column(OLD_PREFIX + ID, "string"), column(OLD_PREFIX + ID)),
            *(Output(new_columns[name], value) for name, value in values.items()),
            *(Output(Column(OLD_PREFIX + name, by_name[name].type), column(OLD_PREFIX + name)) for name in values),
        ),
    )
    # Columns, not a filter: from a filter over so many computed columns Spark infers a constraint for every subset of them.
    differs = _differs(columns)
    compared = Project(
        both,
        (
            *(output for output in keep_outputs(both, both.names) if output.name not in ("is_old", "is_new")),
            Output(Column("leaves", "boolean"), exp.and_(column("is_old"), differs)),
            Output(Column("comes", "boolean"), exp.and_(column("is_new"), differs.copy())),
        ),
    )
    sides = Generate(compared, exp.Array(expressions=[exp.false(), exp.true()]), Column("turn", "int"), (Column("arrives", "boolean"),))
    shown = Filter(sides, _turn("comes", "leaves"))
    side = exp.If(this=column("arrives"), true=exp.Literal.string(ADDED), false=exp.Literal.string(REMOVED))
    outputs = [Output(Column(SIDE, "string"), side), Output(Column(ID, "string"), _turn("new__id", OLD_PREFIX + ID))]
    outputs += [Output(by_name[name], _turn(f"new_{name}", OLD_PREFIX + name)) for name in values]
    return Project(shown, tuple(outputs))


def prefixed(old: Rows, names: Sequence[str]) -> Node:
    """The old rows with their columns under names that the new ones do not have."""
    assert old.id is not None
    known = {c.name: c for c in old.plan.columns}
    return Project(
        old.plan,
        (
            Output(Column(OLD_PREFIX + ID, "string"), column(old.id)),
            *(Output(Column(OLD_PREFIX + name, known[name].type), column(name)) for name in names),
        ),
    )


def _differs(columns: Sequence[Column]) -> Expression:
    both = exp.and_(column("is_old"), column("is_new"))
    if any("map<" in c.type for c in columns):
        return exp.true()  # maps cannot be compared: take every touched row for changed
    same = [exp.NullSafeEQ(this=column(f"new_{c.name}"), expression=column(OLD_PREFIX + c.name)) for c in columns]
    return exp.not_(exp.paren(conjunction([both, *same]) or exp.true()))


def _turn(new: str, old: str) -> Expression:
    return exp.If(this=column("arrives"), true=column(new), false=column(old))


def _there(name: str) -> Expression:
    return exp.not_(exp.Is(this=column(name), expression=exp.null()))
