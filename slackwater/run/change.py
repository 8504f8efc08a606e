"""One step on one table: write the rows that arrive and those that leave, check them, commit.

A check that fails leaves nothing behind. An update removes one identity and adds another.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from slackwater.catalog import Done, Table
from slackwater.delta import ADDED, ID, REMOVED, SIDE
from slackwater.errors import QueryError, WarehouseError
from slackwater.plan.render import quote
from slackwater.run.arriving import Arriving
from slackwater.run.constraints import check_rows
from slackwater.run.group import busy
from slackwater.run.progress import Working
from slackwater.run.reading import define_trace
from slackwater.run.refresh import refresh_on_read, run_schedule
from slackwater.run.streams import streams_moved
from slackwater.run.warehouse import Step, Warehouse
from slackwater.spark.left import TASK
from slackwater.trace import VERSION


@dataclass(frozen=True)
class Changed:
    """What a statement did to a table."""

    added: int
    removed: int


def change_table(
    name: str,
    warehouse: Warehouse,
    statement: str,
    action: str,
    write: Callable[[Step, Table], int],
    reads: Sequence[str] = (),
    arriving: Arriving | None = None,
    assigned: Collection[str] | None = None,
) -> Changed:
    """One step on one table: `write` writes its files and returns the table's next identity. `reads` are texts that name relations.

    Rows that are `arriving` have been looked at on their way; at all others the engine looks, where columns were `assigned` at those.
    """
    began = time.time()
    with in_turn(name, warehouse):
        for text in reads:
            refresh_on_read(text, warehouse)
        step = Step(warehouse)
        table = step.before.table(name)
        key = table.name.lower()
        try:
            next_id = write(step, table)
            directory = warehouse.files.batch_directory(key, step.id)
            batch = step.take(key, directory)
            added, removed = (batch.added_rows, batch.removed_rows) if batch else (0, 0)
            if batch is not None:
                if batch.added and arriving is not None:
                    arriving.check(step, table, batch)
                elif batch.added:
                    check_rows(step, table, batch, assigned)
                step.changes.put(replace(table, next_id=next_id))
                step.done([Done(action, table.name, statement, began, round(time.time() - began, 3), None, added, removed, step=step.id)])
                step.commit()
        except BaseException:
            step.abandon()
            raise
        if batch is not None:
            if arriving is not None:
                arriving.committed(batch)
            run_what_is_due(warehouse)
        return Changed(added, removed)


@contextmanager
def in_turn(name: str, warehouse: Warehouse) -> Iterator[None]:
    """The right to write, for one step on a table; within the time that it gives."""
    table = warehouse.catalog.known.relations.get(name.lower())
    patience = table.busy if isinstance(table, Table) else math.inf
    if not warehouse.writing.acquire(timeout=-1 if math.isinf(patience) else patience):
        raise busy("others write")
    try:
        yield
    finally:
        warehouse.writing.release()


def run_what_is_due(warehouse: Warehouse) -> None:
    """What the schedule wants after a change."""
    try:
        run_schedule(warehouse)
        streams_moved(warehouse)
    except WarehouseError as problem:
        # The change is real and must not look as if it were not, or it is made twice. The next refresh does what is left to do.
        warehouse.tell(Working(problem.message))


def write_arrow(step: Step, table: Table, pieces: Iterable[pa.Table]) -> int:
    """Rows that are here, or are on their way, numbered as they come."""
    key, next_id = table.name.lower(), table.next_id
    version = step.next_version(key)

    def one_after_another() -> Iterator[pa.Table]:
        nonlocal next_id
        for piece in pieces:
            next_id += piece.num_rows
            yield numbered(piece, next_id - piece.num_rows, version)

    step.warehouse.files.write_arrow(one_after_another(), step.directory(key))
    return next_id


def numbered(rows: pa.Table, first_id: int, version: int) -> pa.Table:
    """Rows of a table with their numbers, and the version of their batch."""
    ids = pa.array(np.arange(first_id, first_id + rows.num_rows, dtype=np.int64))
    return rows.append_column(ID, ids).append_column(VERSION, pa.repeat(pa.scalar(version, pa.int64()), rows.num_rows))


def write_query(step: Step, table: Table, query: str, names: Sequence[str] | None, or_replace: bool = False) -> int:
    """Rows that a query gives. With `or_replace`, rows of the same key leave."""
    engine = step.warehouse.engine
    given = engine.columns_of(query)
    wanted = list(names) if names is not None else [c.name for c in table.columns]
    if len(given) != len(wanted):
        raise QueryError(f"the query gives {len(given)} columns, {len(wanted)} are to be filled", hint=", ".join(wanted))
    position = {name: i for i, name in enumerate(wanted)}
    listed = ", ".join(f"g{i}" for i in range(len(given)))
    news = [f"CAST({f'g{position[c.name]}' if c.name in position else 'NULL'} AS {c.type}) AS {quote(c.name)}" for c in table.columns]
    rows = f"SELECT {', '.join(news)} FROM (\n{query}\n) AS given({listed})"
    version = step.version_column(table.name.lower())
    columns = ", ".join(quote(c.name) for c in table.columns)
    added = (
        f"SELECT '{ADDED}' AS {SIDE}, {_first_id(step, table)} + monotonically_increasing_id() AS {ID}, {columns}, {version} FROM ({rows})"
    )
    if or_replace:
        if not table.primary_key:
            raise QueryError(
                f'"{table.name}" has no primary key to replace by', hint="use INSERT INTO, or create it with PRIMARY KEY (...)"
            )
        on = " AND ".join(f"old.{quote(key)} = new.{quote(key)}" for key in table.primary_key)
        listed_old = ", ".join(f"old.{quote(c.name)}" for c in table.columns)
        old_rows = quote(head(step, table))
        removed = f"SELECT '{REMOVED}', old.{ID}, {listed_old}, {version} FROM {old_rows} AS old LEFT SEMI JOIN ({rows}) AS new ON {on}"
        added += f"\nUNION ALL {removed}"
    directory = step.directory(table.name.lower())
    engine.write(added, directory, step.warehouse.files, table.columns)
    return _next_id(step, directory, table.next_id)


def write_actions(step: Step, table: Table, rows: str) -> int:
    """Rows with an action, an identity, old and new values: what they remove and what they add."""
    sides = f"SELECT * FROM ({rows}) AS acted LATERAL VIEW explode(array('{REMOVED}', '{ADDED}')) sides AS side"
    shown = f"(side = '{REMOVED}' AND action <> 'insert') OR (side = '{ADDED}' AND action <> 'delete')"
    values = ", ".join(f"CASE side WHEN '{REMOVED}' THEN old_{i} ELSE new_{i} END AS {quote(c.name)}" for i, c in enumerate(table.columns))
    version = step.version_column(table.name.lower())
    id = f"CASE side WHEN '{REMOVED}' THEN {ID} ELSE {_first_id(step, table)} + monotonically_increasing_id() END AS {ID}"
    directory = step.directory(table.name.lower())
    statement = f"SELECT side AS {SIDE}, {id}, {values}, {version} FROM ({sides}) WHERE {shown}"
    step.warehouse.engine.write(statement, directory, step.warehouse.files, table.columns)
    return _next_id(step, directory, table.next_id)


def _first_id(step: Step, table: Table) -> str:
    """From where on an engine numbers rows. Each of its tasks takes as many numbers as it may need: so none lies far from all others."""
    return step.warehouse.engine.number("sw first id", -(-table.next_id >> TASK) << TASK)


def _next_id(step: Step, directory: str, before: int) -> int:
    """One past the largest identity that was given."""
    files = step.warehouse.files.written(directory)[0]
    return max((file.ids[1] + 1 for file in files if file.ids is not None), default=before)


def head(step: Step, table: Table) -> str:
    trace = step.traces[table.name.lower()]
    return define_trace(trace, trace.version, step.warehouse, hidden=True)
