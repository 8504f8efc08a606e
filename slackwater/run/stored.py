"""Answers that are there as they are asked for: some columns of a view, or of a table, whose rows this process reads without the engine.

To hand the engine a query over rows that are there takes longer than to read them. So who asks for a view itself, or for some of its
columns, and for nothing else, gets what its paths keep, in the view's own order. What has to be computed the engine does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from slackwater.catalog import Snapshot, Table
from slackwater.errors import SlackwaterError
from slackwater.plan import Node, Project, Scan
from slackwater.run.compiled import compiled
from slackwater.run.warehouse import Warehouse
from slackwater.spark.arrow import arrow_schema
from slackwater.sql.sampling import samplings_in
from slackwater.sql.syntax import tree_of
from slackwater.trace import Trace

MOST = 1_000_000  # rows that are looked at
ORDERED = frozenset("tinyint smallint int bigint string boolean date decimal".split())  # alike by Arrow and by engines
PLAIN = ORDERED | frozenset(("float", "double"))  # types that all have alike


class Kept(NamedTuple):
    """A column of a trace. `counted`: another, which counts the values that are summed up in it; where there are none, the sum is NULL."""

    column: str
    counted: str | None = None


class Key(NamedTuple):
    """What rows are ordered by."""

    kept: Kept
    descends: bool
    nulls_first: bool


@dataclass(frozen=True)
class Stored:
    """The columns of a trace, at a version, that are an answer, what they are called in it, and its order."""

    trace: Trace
    version: int
    columns: tuple[Kept, ...]
    names: tuple[str, ...]
    order: tuple[Key, ...] = ()

    def rows(self, warehouse: Warehouse) -> pa.Table:
        types = {column.name: column for column in self.trace.columns}
        needed = dict.fromkeys(name for kept in (*self.columns, *(key.kept for key in self.order)) for name in kept if name is not None)
        rows = warehouse.files.rows_as(self.trace.at(self.version), arrow_schema(tuple(types[name] for name in needed)))
        shown = pa.table([_shown(rows, kept) for kept in self.columns], names=list(self.names))
        return shown.take(_ordered(rows, self.order)) if self.order else shown


def stored(query: str, snapshot: Snapshot, warehouse: Warehouse) -> Stored | None:
    """Where the answer of a query is stored; None if it is to be computed."""
    named = _columns_of_one_relation(query)
    if named is None:
        return None
    relation = snapshot.relations.get(named[0].lower())
    if relation is None:
        return None
    order: tuple[exp.Ordered, ...] = ()
    if isinstance(relation, Table):
        trace, kept = snapshot.traces[relation.name.lower()], {column.name.lower(): Kept(column.name) for column in relation.columns}
        version = trace.version
    else:
        form = compiled(relation.name, snapshot, warehouse)
        if relation.answer is None or len(form.buffers) != 1:
            return None
        trace, version = snapshot.traces[form.buffers[0]], relation.answer.buffers[form.buffers[0]]
        kept, order = {name.lower(): column for name, column in _columns_kept(form.answer).items()}, form.order
    shown = [(column.name, column.name) for column in relation.columns] if named[1] is None else named[1]
    columns = tuple(kept.get(name.lower(), Kept("")) for name, _ in shown)
    keys = tuple(_key(each, kept) for each in order)
    types = {column.name: column.type.partition("(")[0] for column in trace.columns}
    if not all(types.get(name) in PLAIN for name, _ in columns) or not all(types.get(key.kept.column) in ORDERED for key in keys):
        return None
    return None if trace.at(version).rows > MOST else Stored(trace, version, columns, tuple(called for _, called in shown), keys)


def _key(ordered: exp.Ordered, kept: Mapping[str, Kept]) -> Key:
    by = kept.get(ordered.this.name.lower()) if isinstance(ordered.this, exp.Column) else None
    return Key(by or Kept(""), bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first")))


def _ordered(rows: pa.Table, order: Sequence[Key]) -> pa.Array:
    """The places of rows, in an order. Arrow has all NULLs at one end, whatever they are ordered by; so these are keys of their own."""
    columns, by = list[pa.ChunkedArray](), list[tuple[str, str]]()
    for key in order:
        values = _shown(rows, key.kept)
        for column, descends in ((values.is_null(), key.nulls_first), (values, key.descends)):
            by.append((str(len(columns)), "descending" if descends else "ascending"))
            columns.append(column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column)
    return pc.sort_indices(pa.table(columns, names=[name for name, _ in by]), sort_keys=by)


def _columns_of_one_relation(query: str) -> tuple[str, list[tuple[str, str]] | None] | None:
    """The relation that a query reads, and which of its columns under which names, None for all; if that is all that it says."""
    try:
        tree = tree_of(query)
    except SlackwaterError:
        return None
    if (
        samplings_in(query)
        or not isinstance(tree, exp.Select)
        or any(tree.args[arg] for arg in tree.args if arg not in ("from_", "expressions"))
    ):
        return None
    table = tree.args["from_"].this if tree.args.get("from_") else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    if _says_more(table, "this", "alias") or table.alias_column_names:
        return None
    if len(tree.expressions) == 1 and type(tree.expressions[0]) is exp.Star and not _says_more(tree.expressions[0]):
        return table.name, None
    shown = []
    for each in tree.expressions:
        column = each.this if isinstance(each, exp.Alias) else each
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star) or column.args.get("db"):
            return None
        if column.table.lower() not in ("", (table.alias or table.name).lower()):
            return None
        shown.append((column.name, each.alias if isinstance(each, exp.Alias) else column.name))
    return table.name, shown


def _says_more(tree: exp.Expr, *than: str) -> bool:
    """Whether there is anything in a part of a query but these."""
    return any(value for arg, value in tree.args.items() if arg not in than)


def _columns_kept(answer: Node) -> dict[str, Kept]:
    """By column of an answer, what a trace keeps of it; only of those that are as they are kept."""
    if isinstance(answer, Scan):
        return {name: Kept(source) for name, source in zip(answer.names, answer.source, strict=True)}
    if not isinstance(answer, Project):
        return {}
    below = _columns_kept(answer.input)
    found = {output.name: _kept(output.expression, below) for output in answer.outputs}
    return {name: kept for name, kept in found.items() if kept is not None}


def _kept(expression: exp.Expr, below: dict[str, Kept]) -> Kept | None:
    if isinstance(expression, exp.Column):
        return below.get(expression.name)
    if not isinstance(expression, exp.Case) or _says_more(expression, "ifs") or len(expression.args["ifs"]) != 1:
        return None
    case = expression.args["ifs"][0]  # CASE WHEN counted > 0 THEN summed END
    condition, value = case.this, case.args["true"]
    if not isinstance(condition, exp.GT) or condition.expression != exp.Literal.number(0) or not isinstance(condition.this, exp.Column):
        return None
    counted, summed = below.get(condition.this.name), below.get(value.name) if isinstance(value, exp.Column) else None
    return Kept(summed.column, counted.column) if counted and summed and not (counted.counted or summed.counted) else None


def _shown(rows: pa.Table, kept: Kept) -> pa.ChunkedArray:
    values = rows[kept.column]
    return values if kept.counted is None else pc.if_else(pc.greater(rows[kept.counted], 0), values, None)
