"""INSERT, COPY, UPDATE, DELETE: each is one step on one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slackwater.catalog import Table
from slackwater.delta import ID, REMOVED, SIDE
from slackwater.errors import QueryError, did_you_mean
from slackwater.plan.render import quote
from slackwater.run.arrivals import FEW, FEW_BYTES, Arrival, insert_few
from slackwater.run.arriving import Arriving
from slackwater.run.change import Changed, change_table, head, write_actions, write_arrow, write_query
from slackwater.run.constraints import named_columns, refuse_append_only, table_column
from slackwater.run.expressions import checked
from slackwater.run.reading import readable
from slackwater.run.rows import fitted, is_few, read_files, to_arrow
from slackwater.run.streams import wait_until_quiet
from slackwater.run.warehouse import Step, Warehouse
from slackwater.spark.arrow import arrow_schema
from slackwater.sql import Piece
from slackwater.sql.kinds import Copy, Delete, Insert, Update
from slackwater.sql.literals import literal_rows


def insert_rows(name: str, data: Any, warehouse: Warehouse, statement: str = "insert") -> Changed:
    """Rows from Python."""
    if type(data).__module__.startswith("pyspark."):
        return _insert_frame(name, data, warehouse, statement)
    if is_few(data, FEW):
        table = warehouse.catalog.known.relations.get(name.lower())
        if not isinstance(table, Table):
            table = warehouse.catalog.snapshot().table(name)
        rows = pa.concat_tables(to_arrow(data, arrow_schema(table.columns)))
        # The first is quickly known, and counts all of a large table that the rows are cut from.
        if rows.get_total_buffer_size() <= FEW_BYTES or rows.nbytes <= FEW_BYTES:
            return insert_few(Arrival(table, rows, statement), warehouse)
    arriving = Arriving()

    def write(step: Step, table: Table) -> int:
        return write_arrow(step, table, arriving.passing(to_arrow(data, arrow_schema(table.columns)), step, table))

    return change_table(name, warehouse, statement, "insert", write, arriving=arriving)


def insert(statement: Insert, warehouse: Warehouse) -> Changed:
    """INSERT [OR REPLACE] INTO t VALUES ... | SELECT ..."""
    if not statement.or_replace and (rows := _literal_rows(statement, warehouse)) is not None:
        return insert_rows(statement.table, rows, warehouse, statement.text)

    wait_until_quiet(statement.query, warehouse)

    def write(step: Step, table: Table) -> int:
        query = readable(statement.query, step.before, warehouse)
        return write_query(step, table, query, named_columns(table, statement.columns, statement.text), statement.or_replace)

    return change_table(statement.table, warehouse, statement.text, "insert", write, [statement.query])


def copy(statement: Copy, warehouse: Warehouse) -> Changed:
    """COPY t FROM 'file': all of it or nothing."""
    arriving = Arriving()

    def write(step: Step, table: Table) -> int:
        names = named_columns(table, statement.columns, statement.text) or [c.name for c in table.columns]
        wanted = arrow_schema(tuple(c for c in table.columns if c.name in names))
        wanted = pa.schema([wanted.field(name) for name in names])
        whole = arrow_schema(table.columns)
        pieces = read_files(statement.path, statement.format, dict(statement.options), wanted)
        return write_arrow(step, table, arriving.passing((fitted(piece, whole) for piece in pieces), step, table))

    return change_table(statement.table, warehouse, statement.text, "copy", write, arriving=arriving)


def update(statement: Update, warehouse: Warehouse) -> Changed:
    """UPDATE t SET c = e WHERE p"""

    def write(step: Step, table: Table) -> int:
        refuse_append_only(table, "update")
        alias = statement.alias or statement.table
        set_to = assigned(table, statement.assignments, step, statement.text)
        news = [
            f"CAST({set_to.get(c.name, f'{quote(alias)}.{quote(c.name)}')} AS {c.type}) AS new_{i}" for i, c in enumerate(table.columns)
        ]
        olds = [f"{quote(alias)}.{quote(c.name)} AS old_{i}" for i, c in enumerate(table.columns)]
        rows = f"SELECT 'update' AS action, {quote(alias)}.{ID}, {', '.join(news + olds)} FROM {quote(head(step, table))} AS {quote(alias)}"
        if statement.where is not None:
            rows += f" WHERE {readable(statement.where, step.before, warehouse)}"
        with checked([*(value for _, value in statement.assignments), statement.where], f"{quote(table.name)} AS {quote(alias)}", step):
            return write_actions(step, table, rows)

    read = _texts(statement.where, *(value for _, value in statement.assignments))
    columns = {column.lower() for column, _ in statement.assignments}
    return change_table(statement.table, warehouse, statement.text, "update", write, read, assigned=columns)


def delete(statement: Delete, warehouse: Warehouse) -> Changed:
    """DELETE FROM t WHERE p"""

    def write(step: Step, table: Table) -> int:
        refuse_append_only(table, "delete")
        alias = statement.alias or statement.table
        columns = ", ".join(f"{quote(alias)}.{quote(c.name)}" for c in table.columns)
        version = step.version_column(table.name.lower())
        rows = f"SELECT '{REMOVED}' AS {SIDE}, {quote(alias)}.{ID}, {columns}, {version} FROM {quote(head(step, table))} AS {quote(alias)}"
        if statement.where is not None:
            rows += f" WHERE {readable(statement.where, step.before, warehouse)}"
        with checked([statement.where], f"{quote(table.name)} AS {quote(alias)}", step):
            warehouse.engine.write(rows, step.directory(table.name.lower()), warehouse.files, table.columns)
        return table.next_id

    return change_table(statement.table, warehouse, statement.text, "delete", write, _texts(statement.where))


def _literal_rows(statement: Insert, warehouse: Warehouse) -> list[dict[str, Any]] | None:
    """The rows of an INSERT that spells them out; None if the engine has to compute them, or to say what is wrong."""
    table = warehouse.catalog.known.relations.get(statement.table.lower())
    if not isinstance(table, Table):
        return None
    names = named_columns(table, statement.columns, statement.text) or [c.name for c in table.columns]
    types = {c.name: c.type for c in table.columns}
    rows = literal_rows(statement.query, [types[name] for name in names])
    return None if rows is None else [dict(zip(names, row, strict=True)) for row in rows]


def _insert_frame(name: str, frame: Any, warehouse: Warehouse, statement: str) -> Changed:
    def write(step: Step, table: Table) -> int:
        given = warehouse.engine.name_frame("sw_given", frame)
        known = {c.name.lower(): c.name for c in table.columns}
        for column in frame.columns:
            if column.lower() not in known:
                raise QueryError(f'the table has no column "{column}"', hint=did_you_mean(column, known))
        return write_query(step, table, f"SELECT * FROM {quote(given)}", [known[column.lower()] for column in frame.columns])

    return change_table(name, warehouse, statement, "insert", write)


def assigned(table: Table, assignments: Sequence[tuple[Piece, Piece]], step: Step, text: str) -> dict[str, str]:
    return {table_column(table, column, text): f"({readable(value, step.before, step.warehouse)})" for column, value in assignments}


def _texts(*pieces: Piece | None) -> list[str]:
    return [piece for piece in pieces if piece is not None]
