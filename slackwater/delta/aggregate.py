"""The change of GROUP BY and DISTINCT.

    merge       touched groups = groups of ΔR
                new(g) = old(g) + partials(added(R)) - partials(removed(R))
    recompute   new(g) = γ(new(R) restricted to touched groups)

and in both cases the change is new(g) - old(g), where old(g) is what this path wrote before. Merging never looks at the input again; it
needs partials that add up under what happened (see partials.py). Otherwise the touched groups are computed anew, and only they.

Identity: the group's columns. Without columns there is always exactly one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from slackwater.delta.difference import OLD_PREFIX, difference, emit, prefixed
from slackwater.delta.partials import ADDS, RECOMPUTES, ROWS, how_far, is_longest
from slackwater.delta.rows import ID, NEW, TOUCHED, Change, Rows, identity, keep_outputs
from slackwater.delta.touched import restrict, touched_keys
from slackwater.plan import Aggregate, Column, Join, Node, Output, Project, column, columns_in
from slackwater.plan.nodes import Expression

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation

WEIGHT = "_w"
MANY = 100_000  # groups from which on it pays to look for those that moved before anything else


def first(node: Aggregate, derive: Derivation) -> Rows:
    """All groups, computed from all there is."""
    return _identified(node.with_inputs(derive.at(node.input, NEW, named=False).plan), node)


def flush(node: Aggregate, own: Rows, derive: Derivation) -> Node | None:
    delta = derive.change(node.input, named=False)
    if delta is None:
        return None
    if not merges(node, delta):
        return _recompute(node, own, delta, derive)
    return _merge(node, own, delta, narrow=derive.size(own.plan) > MANY)


def merges(node: Aggregate, delta: Change) -> bool:
    """Whether partials can take in this change."""
    reach = {how_far(measure) for measure in node.measures}
    return RECOMPUTES not in reach and (delta.arrives is True or reach <= {ADDS}) and (not node.keys or ROWS in node.names)


def gains(node: Aggregate, delta: Change) -> Rows:
    """The groups that moved, with the partials of what moved alone."""
    return _identified(_partials(node, delta), node)


def _merge(node: Aggregate, own: Rows, delta: Change, narrow: bool) -> Node:
    """`narrow`: of many groups, first find those that moved, so that nothing is done to the others but look at their names."""
    moved = gains(node, delta)
    names = node.names
    assert moved.id is not None
    if narrow:
        own = _named(own, Project(moved.plan, (Output(Column(f"{TOUCHED}id", "string"), column(moved.id)),)))
    plan = Join(moved.plan, prefixed(own, names), "left", exp.EQ(this=column(moved.id), expression=column(OLD_PREFIX + ID)))
    values: dict[str, Expression] = {key: column(key) for key in node.keys}
    values |= {measure.name: _sum_of_both(measure) for measure in node.measures}
    alive = exp.GT(this=values[ROWS].copy(), expression=exp.Literal.number(0)) if node.keys else exp.true()
    return emit(plan, node.columns, column(moved.id), values, alive)


def _sum_of_both(measure: Output) -> Expression:
    """The old partial and the change's, put together."""
    name = measure.name
    function = measure.expression
    if isinstance(function, exp.Min | exp.Max):
        kind = exp.Least if isinstance(function, exp.Min) else exp.Greatest  # both pass over NULLs
        return kind(this=column(OLD_PREFIX + name), expressions=[column(name)])
    zero = exp.cast(exp.Literal.number(0), measure.column.type, dialect="spark")
    total = exp.Add(this=exp.func("coalesce", column(OLD_PREFIX + name), zero), expression=exp.func("coalesce", column(name), zero.copy()))
    return exp.cast(total, measure.column.type, dialect="spark")


def _partials(node: Aggregate, delta: Change) -> Node:
    """The partials of the change alone; what leaves counts negative."""
    if delta.arrives:
        return node.with_inputs(delta.rows.plan)
    used = {name for measure in node.measures for name in columns_in(measure.expression)} | set(node.keys)
    weight = Output(Column(WEIGHT, "int"), delta.told(exp.Literal.number(1), exp.Literal.number(-1)))
    kept = keep_outputs(delta.rows.plan, [name for name in node.input.names if name in used])
    return Aggregate(Project(delta.rows.plan, (*kept, weight)), node.keys, tuple(Output(m.column, _weighted(m)) for m in node.measures))


def _weighted(measure: Output) -> Expression:
    function, weight = measure.expression, column(WEIGHT)
    argument = function.this
    if isinstance(function, exp.Count):
        if isinstance(argument, exp.Star):
            return exp.Sum(this=weight)
        there = exp.not_(exp.Is(this=exp.paren(argument.copy()), expression=exp.null()))
        return exp.Sum(this=exp.If(this=there, true=weight, false=exp.Literal.number(0)))
    value = exp.cast(argument, "bigint") if measure.column.type == "bigint" else argument.copy()
    arrives = exp.GT(this=weight, expression=exp.Literal.number(0))
    return exp.Sum(this=exp.If(this=arrives, true=value, false=_negative(value, measure.column.type)))


def _negative(value: Expression, total: str) -> Expression:
    """What leaves a sum of type `total`. Of a decimal of more than 34 digits Spark would round the negative."""
    if not is_longest(total):
        return exp.Neg(this=exp.paren(value.copy()))
    return exp.Sub(this=exp.cast(exp.Literal.number(0), total, dialect="spark"), expression=exp.paren(value.copy()))


def _recompute(node: Aggregate, own: Rows, delta: Change, derive: Derivation) -> Node:
    plan = derive.at(node.input, NEW, named=False).plan
    old = own
    if node.keys:
        touched = touched_keys(delta.rows.plan, node.keys, TOUCHED)
        plan = restrict(plan, node.keys, touched)
        old = _of_groups(own, touched)
    new = _identified(node.with_inputs(plan), node)
    return difference(old, new, node.names)


def _of_groups(own: Rows, touched: Node) -> Rows:
    """What this path wrote for the touched groups."""
    return _named(own, Project(touched, (Output(Column(f"{TOUCHED}id", "string"), group_identity(touched.columns)),)))


def _named(own: Rows, ids: Node) -> Rows:
    assert own.id is not None
    return Rows(Join(own.plan, ids, "semi", exp.EQ(this=column(own.id), expression=column(f"{TOUCHED}id"))), own.id)


def _identified(groups: Node, node: Aggregate) -> Rows:
    outputs = keep_outputs(groups, node.names)
    return Rows(Project(groups, (*outputs, Output(Column(ID, "string"), group_identity(node.columns[: len(node.keys)])))), ID)


def group_identity(keys: tuple[Column, ...]) -> Expression:
    """A group's identity, from the columns it is named by."""
    return identity(*(_hashable(key) for key in keys)) if keys else exp.Literal.string("all")


# How to write times into that text: to the last digit, which is not the default, and alike in all time zones.
TIME = "yyyy-MM-dd HH:mm:ss.SSSSSS"
AS_TEXT = [exp.Literal.string(word) for word in ("timestampFormat", TIME, "timestampNTZFormat", TIME, "timeZone", "UTC")]


def _hashable(key: Column) -> Expression:
    if not key.type.startswith(("array", "struct", "map")):
        return column(key.name)
    # The hash passes over NULLs inside a value, too: [1, NULL] and [NULL, 1] would be one. Their text is not.
    named = exp.Anonymous(this="named_struct", expressions=[exp.Literal.string("v"), column(key.name)])
    return exp.Anonymous(this="to_json", expressions=[named, exp.Anonymous(this="map", expressions=AS_TEXT)])
