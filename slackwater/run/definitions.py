"""Create tables and streams, drop whatever there is, and set markers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from slackwater.catalog import Done, Stream, Table
from slackwater.errors import QueryError
from slackwater.plan import Column
from slackwater.run.change import write_query
from slackwater.run.constraints import check_rows
from slackwater.run.defining import Allowed, already, check_options, drop_traces, listed, listed_views, plain
from slackwater.run.reading import readable
from slackwater.run.refresh import refresh_on_read
from slackwater.run.warehouse import Step, Warehouse
from slackwater.spark.arrow import arrow_type
from slackwater.sql import Piece
from slackwater.sql.kinds import CreateStream, CreateTable, Drop, Mark
from slackwater.stream import QUIET, USUAL, capacity_named, quiet_named
from slackwater.trace import Trace

TABLE_OPTIONS: Mapping[str, Allowed] = {"append_only": ("true", "false")}
STREAM_OPTIONS: Mapping[str, Allowed] = {"capacity": capacity_named, "quiet": quiet_named, "busy": quiet_named}


def create_table(statement: CreateTable, warehouse: Warehouse) -> str:
    """CREATE TABLE t (...) [AS SELECT ...]"""
    check_options(statement.options, TABLE_OPTIONS, statement.text)
    began = time.time()
    with warehouse.writing:
        if statement.query is not None:
            refresh_on_read(statement.query, warehouse)
        step = Step(warehouse)
        if (
            message := already(statement.name, "table", step.before, statement.if_not_exists, statement.or_replace, statement.text)
        ) is not None:
            return message
        if statement.or_replace:
            _drop_in(step, statement.name, warehouse)
        columns = tuple(Column(str(c.name), str(c.type)) for c in statement.columns)
        if not columns and statement.query is not None:
            columns = warehouse.engine.columns_of(readable(statement.query, step.before, warehouse))
        _check_columns(columns, statement)
        required = tuple(str(c.name) for c in statement.columns if not c.nullable)
        table = Table(str(statement.name), columns, _key(statement, columns), required, plain(statement.options))
        step.create_trace(Trace(table.name.lower(), columns, "bigint"))
        try:
            rows = 0
            if statement.query is not None:
                table, rows = _fill(table, statement.query, step)
            step.changes.put(table)
            step.done([Done("create table", table.name, statement.text, began, round(time.time() - began, 3), added=rows, step=step.id)])
            step.commit()
        except BaseException:
            step.abandon()
            raise
        return f"table {table.name} created" + (f" with {rows} rows" if statement.query is not None else "")


def create_stream(statement: CreateStream, warehouse: Warehouse) -> str:
    """CREATE STREAM s (...)"""
    check_options(statement.options, STREAM_OPTIONS, statement.text)
    with warehouse.writing:
        step = Step(warehouse)
        if (message := already(statement.name, "stream", step.before, statement.if_not_exists, False, statement.text)) is not None:
            return message
        columns = tuple(Column(str(c.name), str(c.type)) for c in statement.columns)
        _check_columns(columns, statement)
        required = tuple(str(c.name) for c in statement.columns if not c.nullable)
        stream = Stream(str(statement.name), columns, (), required, {"capacity": USUAL, "quiet": QUIET, **plain(statement.options)})
        step.create_trace(Trace(stream.name.lower(), columns, "bigint"))
        step.changes.put(stream)
        step.done([Done("create stream", stream.name, statement.text, time.time(), 0.0, step=step.id)])
        step.commit()
        return f"stream {stream.name} created, which keeps {stream.options['capacity']}"


def mark(statement: Mark, warehouse: Warehouse) -> str:
    """MARK m: what views wait for that have it for a trigger."""
    with warehouse.writing:
        step, name = Step(warehouse), statement.name.lower()
        step.changes.markers[name] = time.time()
        step.done([Done("mark", name, statement.text, time.time(), 0.0, step=step.id)])
        step.commit()
        waiting = [view.name for view in step.before.views if view.trigger.marker == name]
        return f"marked {name}: {listed_views(waiting)} will answer" if waiting else f"marked {name}, which no view waits for"


def drop(statement: Drop, warehouse: Warehouse) -> str:
    """DROP TABLE | STREAM | SAMPLE | VIEW name"""
    with warehouse.writing:
        step = Step(warehouse)
        relation = step.before.relations.get(statement.name.lower())
        if relation is None:
            if statement.if_exists:
                return f"there is no {statement.kind} {statement.name}"
            step.before.relation(statement.name)
            raise AssertionError
        kind = relation.kind
        if kind != statement.kind:
            raise QueryError(
                f'"{relation.name}" is a {kind}',
                text=statement.text,
                place=statement.name.place,
                hint=f"DROP {kind.upper()} {relation.name}",
            )
        _drop_in(step, relation.name, warehouse)
        step.done([Done(f"drop {kind}", relation.name, statement.text, time.time(), 0.0, step=step.id)])
        step.commit()
        return f"{kind} {relation.name} dropped"


def _drop_in(step: Step, name: str, warehouse: Warehouse) -> None:
    readers = step.before.readers(name)
    if readers:
        raise QueryError(f'"{name}" is read by {listed_views(readers)}', hint="drop those views first")
    samples = [sample.name for sample in step.before.samples_of(name)]
    if samples:
        raise QueryError(f'"{name}" is sampled by "{listed(samples)}"', hint=f"DROP SAMPLE {samples[0]}")
    if name.lower() in step.before.relations:
        drop_traces(step, name)
        step.changes.drop(name)


def _check_columns(columns: tuple[Column, ...], statement: CreateTable | CreateStream) -> None:
    if not columns:
        raise QueryError("it needs a column", text=statement.text, place=statement.name.place)
    seen = set()
    for c in columns:
        if c.name.startswith("_") or c.name.startswith("sw_"):
            raise QueryError(f'column "{c.name}": names that begin with "_" or "sw_" are kept for the warehouse', text=statement.text)
        if c.name.lower() in seen:
            raise QueryError(f'two columns are called "{c.name}"', text=statement.text)
        seen.add(c.name.lower())
        arrow_type(c.type)


def _key(statement: CreateTable, columns: tuple[Column, ...]) -> tuple[str, ...]:
    known = {c.name.lower(): c.name for c in columns}
    for piece in statement.primary_key:
        if piece.lower() not in known:
            raise QueryError(f'the primary key names "{piece}", which is not a column', text=statement.text, place=piece.place)
    return tuple(known[piece.lower()] for piece in statement.primary_key)


def _fill(table: Table, query: Piece, step: Step) -> tuple[Table, int]:
    """The rows of CREATE TABLE ... AS, in the step that creates the table."""
    key = table.name.lower()
    next_id = write_query(step, table, readable(query, step.before, step.warehouse), None)
    batch = step.take(key, step.warehouse.files.batch_directory(key, step.id))
    if batch is None:
        return table, 0
    check_rows(step, table, batch)
    return replace(table, next_id=next_id), batch.added_rows
