"""Change tables.

Each statement is one step: it writes the rows that arrive and the rows that leave, checks the table's constraints over what it wrote, and
commits. A check that fails leaves nothing behind. An update removes one identity and adds another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.catalog import Done, Table
from slackwater.delta import ADDED, ID, REMOVED, SIDE
from slackwater.errors import QueryError, SlackwaterError, did_you_mean
from slackwater.plan.render import quote
from slackwater.run.reading import define_trace, readable
from slackwater.run.refresh import run_schedule
from slackwater.run.rows import read_files, to_arrow
from slackwater.run.warehouse import Step, Warehouse
from slackwater.spark.arrow import arrow_schema
from slackwater.sql import Piece
from slackwater.sql.kinds import Copy, Delete, Insert, Merge, MergeClause, Update
from slackwater.trace import VERSION, Batch, Reading



@dataclass(frozen=True)
class Changed:
    """What a statement did to a table."""

    added: int
    removed: int


def insert_rows(name: str, data: Any, warehouse: Warehouse, statement: str = "insert") -> Changed:
    """Rows from Python."""
    if type(data).__module__.startswith("pyspark."):
        return _insert_frame(name, data, warehouse, statement)

    def write(step: Step, table: Table) -> int:
        return _write_arrow(step, table, [to_arrow(data, arrow_schema(table.columns))])

    return _change(name, warehouse, statement, "insert", write)


def insert(statement: Insert, warehouse: Warehouse) -> Changed:
    """INSERT [OR REPLACE] INTO t VALUES ... | SELECT ..."""

    def write(step: Step, table: Table) -> int:
        query = readable(statement.query, step.before, warehouse)
        return _write_query(step, table, query, _named(table, statement.columns, statement.text), statement.or_replace)

    return _change(statement.table, warehouse, statement.text, "insert", write)


def copy(statement: Copy, warehouse: Warehouse) -> Changed:
    """COPY t FROM 'file': all of it or nothing."""

    def write(step: Step, table: Table) -> int:
        names = _named(table, statement.columns, statement.text) or [c.name for c in table.columns]
        wanted = arrow_schema(tuple(c for c in table.columns if c.name in names))
        wanted = pa.schema([wanted.field(name) for name in names])
        whole = arrow_schema(table.columns)
        pieces = read_files(statement.path, statement.format, dict(statement.options), wanted)
        return _write_arrow(step, table, (to_arrow(piece, whole) for piece in pieces))

    return _change(statement.table, warehouse, statement.text, "copy", write)


def update(statement: Update, warehouse: Warehouse) -> Changed:
    """UPDATE t SET c = e WHERE p"""

    def write(step: Step, table: Table) -> int:
        _refuse_append_only(table, "update")
        alias = statement.alias or statement.table
        set_to = _assigned(table, statement.assignments, step, statement.text)
        news = [f"CAST({set_to.get(c.name, f'{quote(alias)}.{quote(c.name)}')} AS {c.type}) AS new_{i}" for i, c in enumerate(table.columns)]
        olds = [f"{quote(alias)}.{quote(c.name)} AS old_{i}" for i, c in enumerate(table.columns)]
        rows = f"SELECT 'update' AS action, {quote(alias)}.{ID}, {', '.join(news + olds)} FROM {quote(_head(step, table))} AS {quote(alias)}"
        if statement.where is not None:
            rows += f" WHERE {readable(statement.where, step.before, warehouse)}"
        return _write_actions(step, table, rows)

    return _change(statement.table, warehouse, statement.text, "update", write)


def delete(statement: Delete, warehouse: Warehouse) -> Changed:
    """DELETE FROM t WHERE p"""

    def write(step: Step, table: Table) -> int:
        _refuse_append_only(table, "delete")
        alias = statement.alias or statement.table
        columns = ", ".join(f"{quote(alias)}.{quote(c.name)}" for c in table.columns)
        version = f"CAST({step.next_version(table.name.lower())} AS BIGINT) AS {VERSION}"
        rows = f"SELECT '{REMOVED}' AS {SIDE}, {quote(alias)}.{ID}, {columns}, {version} FROM {quote(_head(step, table))} AS {quote(alias)}"
        if statement.where is not None:
            rows += f" WHERE {readable(statement.where, step.before, warehouse)}"
        warehouse.engine.write(rows, step.directory(table.name.lower()))
        return table.next_id

    return _change(statement.table, warehouse, statement.text, "delete", write)


def merge(statement: Merge, warehouse: Warehouse) -> Changed:
    """MERGE INTO t USING s ON p WHEN ..."""

    def write(step: Step, table: Table) -> int:
        target, source = statement.target_alias or statement.target, statement.source_alias or statement.source
        if any(clause.action != "insert" for clause in statement.clauses):
            _refuse_append_only(table, "merge")
        query = statement.source if statement.source.startswith("(") else f"(SELECT * FROM {quote(statement.source)})"
        marked = f"(SELECT *, true AS sw_source FROM {readable(query, step.before, warehouse)} AS {quote(source)})"
        action = _merge_action(statement.clauses, target, lambda text: readable(text, step.before, warehouse))
        news = []
        for i, c in enumerate(table.columns):
            news.append(f"CAST({_merge_value(statement, table, c.name, target, source, step)} AS {c.type}) AS new_{i}")
        olds = [f"{quote(target)}.{quote(c.name)} AS old_{i}" for i, c in enumerate(table.columns)]
        on = readable(statement.on, step.before, warehouse)
        joined = f"SELECT {action} AS clause, {quote(target)}.{ID}, {', '.join(news + olds)} FROM {quote(_head(step, table))} AS {quote(target)} FULL JOIN {marked} AS {quote(source)} ON {on}"
        kinds = " ".join(f"WHEN {i} THEN '{clause.action}'" for i, clause in enumerate(statement.clauses, start=1))
        columns = ", ".join(f"new_{i}, old_{i}" for i in range(len(table.columns)))
        rows = f"SELECT CASE clause {kinds} END AS action, {ID}, {columns} FROM ({joined}) WHERE clause > 0"
        twice = f"SELECT {ID} FROM ({rows}) WHERE action <> 'insert' GROUP BY {ID} HAVING count(*) > 1 LIMIT 1"
        if warehouse.engine.arrow(twice).num_rows:
            raise QueryError("two source rows match one row of the target", hint="make the source unique on the columns of ON")
        return _write_actions(step, table, rows)

    return _change(statement.target, warehouse, statement.text, "merge", write)


def _change(name: str, warehouse: Warehouse, statement: str, action: str, write: Callable[[Step, Table], int]) -> Changed:
    """One step on one table: `write` writes its files and returns the table's next identity."""
    began = time.time()
    with warehouse.writing:
        step = Step(warehouse)
        table = step.before.table(name)
        key = table.name.lower()
        try:
            next_id = write(step, table)
            directory = warehouse.files.batch_directory(key, step.id)
            batch = step.take(key, directory)
            added, removed = (batch.added_rows, batch.removed_rows) if batch else (0, 0)
            if batch is not None:
                if batch.added:
                    _check_rows(step, table, batch)
                step.changes.put(replace(table, next_id=next_id))
                step.done([Done(action, table.name, statement, began, round(time.time() - began, 3), None, added, removed, step=step.id)])
                step.commit()
        except BaseException:
            step.abandon()
            raise
        if batch is not None:
            run_schedule(warehouse)
        return Changed(added, removed)


def _write_arrow(step: Step, table: Table, pieces: Iterable[pa.Table]) -> int:
    """Rows that are already here, streamed into one durable file."""
    key, next_id = table.name.lower(), table.next_id
    parts = []
    for piece in pieces:
        ids = pa.array(np.arange(next_id, next_id + piece.num_rows, dtype=np.int64))
        versions = pa.array(np.full(piece.num_rows, step.next_version(key), dtype=np.int64))
        parts.append(piece.append_column(ID, ids).append_column(VERSION, versions))
        next_id += piece.num_rows
    if parts:
        step.warehouse.files.write_arrow(pa.concat_tables(parts), step.directory(key))
    return next_id


def _write_query(step: Step, table: Table, query: str, names: Sequence[str] | None, or_replace: bool = False) -> int:
    """Rows that a query gives. With `or_replace`, rows of the same key leave."""
    engine = step.warehouse.engine
    given = engine.columns_of(query)
    wanted = list(names) if names is not None else [c.name for c in table.columns]
    if len(given) != len(wanted):
        raise QueryError(f"the query gives {len(given)} columns, {len(wanted)} are to be filled", hint=", ".join(wanted))
    position = {name: i for i, name in enumerate(wanted)}
    listed = ", ".join(f"g{i}" for i in range(len(given)))
    news = [
        f"CAST({f'g{position[c.name]}' if c.name in position else 'NULL'} AS {c.type}) AS {quote(c.name)}" for c in table.columns
    ]
    rows = f"SELECT {', '.join(news)} FROM (\n{query}\n) AS given({listed})"
    version = f"CAST({step.next_version(table.name.lower())} AS BIGINT) AS {VERSION}"
    columns = ", ".join(quote(c.name) for c in table.columns)
    added = f"SELECT '{ADDED}' AS {SIDE}, {table.next_id} + monotonically_increasing_id() AS {ID}, {columns}, {version} FROM ({rows})"
    if or_replace:
        if not table.primary_key:
            raise QueryError(f'"{table.name}" has no primary key to replace by', hint="use INSERT INTO, or create it with PRIMARY KEY (...)")
        on = " AND ".join(f"old.{quote(key)} = new.{quote(key)}" for key in table.primary_key)
        listed_old = ", ".join(f"old.{quote(c.name)}" for c in table.columns)
        head = quote(_head(step, table))
        added += f"\nUNION ALL SELECT '{REMOVED}', old.{ID}, {listed_old}, {version} FROM {head} AS old LEFT SEMI JOIN ({rows}) AS new ON {on}"
    directory = step.directory(table.name.lower())
    engine.write(added, directory)
    return _next_id(step, directory, table.next_id)


def _insert_frame(name: str, frame: Any, warehouse: Warehouse, statement: str) -> Changed:
    def write(step: Step, table: Table) -> int:
        warehouse.engine.name_frame("sw_given", frame)
        known = {c.name.lower(): c.name for c in table.columns}
        for column in frame.columns:
            if column.lower() not in known:
                raise QueryError(f'the table has no column "{column}"', hint=did_you_mean(column, known))
        return _write_query(step, table, "SELECT * FROM sw_given", [known[column.lower()] for column in frame.columns])

    return _change(name, warehouse, statement, "insert", write)


def _write_actions(step: Step, table: Table, rows: str) -> int:
    """Rows with an action, an identity, old and new values: what they remove and what they add."""
    sides = f"SELECT * FROM ({rows}) AS acted LATERAL VIEW explode(array('{REMOVED}', '{ADDED}')) sides AS side"
    shown = f"(side = '{REMOVED}' AND action <> 'insert') OR (side = '{ADDED}' AND action <> 'delete')"
    values = ", ".join(f"CASE side WHEN '{REMOVED}' THEN old_{i} ELSE new_{i} END AS {quote(c.name)}" for i, c in enumerate(table.columns))
    version = f"CAST({step.next_version(table.name.lower())} AS BIGINT) AS {VERSION}"
    id = f"CASE side WHEN '{REMOVED}' THEN {ID} ELSE {table.next_id} + monotonically_increasing_id() END AS {ID}"
    directory = step.directory(table.name.lower())
    step.warehouse.engine.write(f"SELECT side AS {SIDE}, {id}, {values}, {version} FROM ({sides}) WHERE {shown}", directory)
    return _next_id(step, directory, table.next_id)


def _next_id(step: Step, directory: str, before: int) -> int:
    """One past the largest identity that was given, from the files' footers."""
    largest = before - 1
    for file in step.warehouse.files.written(directory)[0]:
        facts = pq.read_metadata(step.warehouse.files.full(file))
        at = facts.schema.names.index(ID)
        for group in range(facts.num_row_groups):
            statistics = facts.row_group(group).column(at).statistics
            if statistics is None or not statistics.has_min_max:
                values = pq.read_table(step.warehouse.files.full(file), columns=[ID]).column(0)
                largest = max(largest, max(values.to_pylist()))
            else:
                largest = max(largest, statistics.max)
    return largest + 1


def _check_rows(step: Step, table: Table, batch: Batch) -> None:
    """The table's constraints over what arrived: no NULL where none may be, no key twice."""
    required = list(dict.fromkeys((*table.primary_key, *table.required)))
    if not required:
        return
    warehouse, key = step.warehouse, table.name.lower()
    trace = step.traces[key]
    name = f"{key}@arrived"
    warehouse.engine.register(name, trace, Reading(batch.added), warehouse.files, hidden=False)
    checks = [f"SELECT '{column}' AS problem, CAST(NULL AS STRING) AS at FROM {quote(name)} WHERE {quote(column)} IS NULL" for column in required]
    if table.primary_key:
        keys = ", ".join(quote(column) for column in table.primary_key)
        shown = "concat_ws(', ', " + ", ".join(f"CAST(k.{quote(column)} AS STRING)" for column in table.primary_key) + ")"
        checks.append(f"SELECT '' AS problem, {shown} AS at FROM (SELECT {keys} FROM {quote(name)} GROUP BY {keys} HAVING count(*) > 1) AS k")
        if len(trace.batches) > 1:
            rest = f"{key}@rest"
            warehouse.engine.register(rest, trace, trace.part("kept", batch.version - 1, batch.version), warehouse.files, hidden=False)
            on = " AND ".join(f"k.{quote(column)} = r.{quote(column)}" for column in table.primary_key)
            checks.append(f"SELECT '' AS problem, {shown} AS at FROM {quote(name)} AS k LEFT SEMI JOIN {quote(rest)} AS r ON {on}")
    found = warehouse.engine.arrow(" UNION ALL ".join(f"(SELECT * FROM ({check}) LIMIT 1)" for check in checks)).to_pylist()
    for row in found:
        if row["problem"]:
            raise QueryError(f'column "{row["problem"]}" of table "{table.name}" may not be NULL')
        raise QueryError(
            f'table "{table.name}" already has, or would get twice, the key ({", ".join(table.primary_key)}) = ({row["at"]})',
            hint="INSERT OR REPLACE or MERGE change rows that are there",
        )


def _head(step: Step, table: Table) -> str:
    trace = step.traces[table.name.lower()]
    return define_trace(trace, trace.version, step.warehouse, hidden=True)


def _named(table: Table, columns: Sequence[Piece] | None, text: str) -> list[str] | None:
    """A column list, in the table's spelling."""
    return None if columns is None else [_column(table, piece, text) for piece in columns]


def _column(table: Table, piece: Piece, text: str) -> str:
    known = {c.name.lower(): c.name for c in table.columns}
    if piece.lower() not in known:
        hint = did_you_mean(piece, known)
        raise QueryError(f'column "{piece}" does not exist in table "{table.name}"', text=text, place=piece.place, hint=hint)
    return known[piece.lower()]


def _assigned(table: Table, assignments: Sequence[tuple[Piece, Piece]], step: Step, text: str) -> dict[str, str]:
    return {_column(table, column, text): f"({readable(value, step.before, step.warehouse)})" for column, value in assignments}


def _merge_action(clauses: Sequence[MergeClause], target: str, read: Callable[[str], str]) -> str:
    """The number of the first clause that fits a pair; 0 for none."""
    here, there = f"{quote(target)}.{ID} IS NOT NULL", "sw_source IS NOT NULL"
    pairs = {
        "matched": f"{here} AND {there}",
        "not_matched": f"{quote(target)}.{ID} IS NULL",
        "not_matched_by_source": f"{here} AND sw_source IS NULL",
    }
    cases = []
    for number, clause in enumerate(clauses, start=1):
        fits = pairs[clause.kind] + (f" AND ({read(clause.condition)})" if clause.condition is not None else "")
        cases.append(f"WHEN {fits} THEN {number}")
    return f"CASE {' '.join(cases)} ELSE 0 END"


def _merge_value(statement: Merge, table: Table, name: str, target: str, source: str, step: Step) -> str:
    """A column's new value, by the clause that fits."""
    cases = []
    action = _merge_action(statement.clauses, target, lambda text: readable(text, step.before, step.warehouse))
    for number, clause in enumerate(statement.clauses, start=1):
        if clause.action == "delete":
            continue
        if clause.star:
            value = f"{quote(source)}.{quote(name)}"
        elif clause.action == "update":
            value = _assigned(table, clause.assignments, step, statement.text).get(name, f"{quote(target)}.{quote(name)}")
        else:
            columns = [_column(table, piece, statement.text) for piece in clause.columns] or [c.name for c in table.columns]
            if len(columns) != len(clause.values):
                raise QueryError(f"{len(clause.values)} values for {len(columns)} columns", text=statement.text)
            values = dict(zip(columns, clause.values, strict=True))
            value = f"({readable(values[name], step.before, step.warehouse)})" if name in values else "NULL"
        cases.append(f"WHEN {number} THEN {value}")
    return f"CASE {action} {' '.join(cases)} END" if cases else "NULL"


def _refuse_append_only(table: Table, action: str) -> None:
    if table.append_only:
        raise SlackwaterError(f'table "{table.name}" is append-only: {action} is not allowed', hint="create it without append_only to change rows")
