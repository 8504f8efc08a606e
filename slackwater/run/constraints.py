"""What a table demands of its rows, and of the statements that name its columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa

from slackwater.catalog import Stream, Table
from slackwater.delta import KEPT
from slackwater.delta.conditions import Wanted
from slackwater.errors import QueryError, did_you_mean
from slackwater.plan.render import quote
from slackwater.run.warehouse import Step
from slackwater.sql import Piece
from slackwater.trace import Batch, Files, Reading


def check_here(table: Table, rows: pa.Table) -> None:
    """No NULL where none may be, and no row that is too large, in rows that are here."""
    for column in dict.fromkeys((*table.primary_key, *table.required)):
        if rows.column(column).null_count:
            raise _has_null(table, column)
    if isinstance(table, Stream) and (size := _larger_than(table.capacity.bytes, rows)):
        raise _too_large(table, size)


def _larger_than(limit: float, rows: pa.Table) -> int:
    """The size of a row that is larger than so many bytes; 0 if none is."""
    if rows.nbytes <= limit or rows.num_rows < 2:
        return int(rows.nbytes) if rows.nbytes > limit else 0
    half = rows.num_rows // 2
    return _larger_than(limit, rows.slice(0, half)) or _larger_than(limit, rows.slice(half))


def check_rows(step: Step, table: Table, batch: Batch, assigned: Collection[str] | None = None) -> None:
    """What a table demands of rows that an engine wrote: no NULL where none may be, no key twice, no row that is larger than a stream.

    `assigned`: the only columns that are new.
    """
    if isinstance(table, Stream) and math.isfinite(table.capacity.bytes):
        _check_sizes(step, table, batch)
    required = [c for c in dict.fromkeys((*table.primary_key, *table.required)) if assigned is None or c.lower() in assigned]
    if not required:
        return
    warehouse, key = step.warehouse, table.name.lower()
    trace = step.traces[key]
    name = warehouse.engine.register(f"{key}@arrived", trace, Reading(batch.added), warehouse.files, hidden=False)
    checks = [
        f"SELECT '{column}' AS problem, CAST(NULL AS STRING) AS at FROM {quote(name)} WHERE {quote(column)} IS NULL" for column in required
    ]
    if any(column in required for column in table.primary_key):
        keys = ", ".join(quote(column) for column in table.primary_key)
        shown = "concat_ws(', ', " + ", ".join(f"CAST(k.{quote(column)} AS STRING)" for column in table.primary_key) + ")"
        checks.append(
            f"SELECT '' AS problem, {shown} AS at FROM (SELECT {keys} FROM {quote(name)} GROUP BY {keys} HAVING count(*) > 1) AS k"
        )
        before = warehouse.files.fewer(
            trace.part(KEPT, batch.version - 1, batch.version), _spans(batch, table.primary_key, warehouse.files)
        )
        if before.files:
            rest = warehouse.engine.register(f"{key}@rest", trace, before, warehouse.files, hidden=False)
            on = " AND ".join(f"k.{quote(column)} = r.{quote(column)}" for column in table.primary_key)
            checks.append(f"SELECT '' AS problem, {shown} AS at FROM {quote(name)} AS k LEFT SEMI JOIN {quote(rest)} AS r ON {on}")
    found = warehouse.engine.arrow(" UNION ALL ".join(f"(SELECT * FROM ({check}) LIMIT 1)" for check in checks)).to_pylist()
    for row in found:
        if row["problem"]:
            raise _has_null(table, row["problem"])
        raise QueryError(
            f'table "{table.name}" already has, or would get twice, the key ({", ".join(table.primary_key)}) = ({row["at"]})',
            hint="INSERT OR REPLACE or MERGE change rows that are there",
        )


def _check_sizes(step: Step, stream: Stream, batch: Batch) -> None:
    """Numbers and times are of no account beside the smallest ring; words and what is nested are."""
    words = [c for c in stream.columns if c.type in ("string", "binary") or c.type.startswith(("array", "map", "struct"))]
    if not words:
        return
    engine, trace = step.warehouse.engine, step.traces[stream.name.lower()]
    name = engine.register(f"{trace.name}@arrived", trace, Reading(batch.added), step.warehouse.files, hidden=False)
    sizes = (quote(c.name) if c.type in ("string", "binary") else f"CAST({quote(c.name)} AS STRING)" for c in words)
    whole = " + ".join(f"coalesce(octet_length({size}), 0)" for size in sizes)
    [found] = engine.arrow(f"SELECT CAST(max({whole}) AS BIGINT) AS size FROM {quote(name)}").to_pylist()
    if (found["size"] or 0) > stream.capacity.bytes:
        raise _too_large(stream, found["size"])


def _too_large(stream: Stream, size: int) -> QueryError:
    return QueryError(
        f'a row of {size} bytes is larger than all that stream "{stream.name}" keeps, {stream.options["capacity"]}',
        hint="give the stream a larger capacity, or leave out what makes the row so large",
    )


def _spans(batch: Batch, columns: Sequence[str], files: Files) -> Wanted:
    """Where the values of what arrived lie, as far as footers tell: files that hold none of them have no such key."""
    told = {column: [files.spans(file, column) for file in batch.added] for column in columns}
    found = {column: [each for each in spans if each is not None] for column, spans in told.items()}
    return {column: reduce(or_, spans) for column, spans in found.items() if spans and len(spans) == len(told[column])}


def _has_null(table: Table, column: str) -> QueryError:
    return QueryError(f'column "{column}" of table "{table.name}" may not be NULL')


def named_columns(table: Table, columns: Sequence[Piece] | None, text: str) -> list[str] | None:
    """A column list, in the table's spelling."""
    return None if columns is None else [table_column(table, piece, text) for piece in columns]


def table_column(table: Table, piece: Piece, text: str) -> str:
    known = {c.name.lower(): c.name for c in table.columns}
    if piece.lower() not in known:
        hint = did_you_mean(piece, known)
        raise QueryError(f'column "{piece}" does not exist in table "{table.name}"', text=text, place=piece.place, hint=hint)
    return known[piece.lower()]


def refuse_append_only(table: Table, action: str) -> None:
    if table.append_only:
        raise QueryError(
            f'table "{table.name}" is append-only: {action} is not allowed', hint="create it without append_only to change rows"
        )
