"""INSERT, UPDATE, DELETE and COPY."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from slackwater.errors import QueryError, Unsupported
from slackwater.sql.clauses import alias, assignments, check_distinct, unsupported, with_options
from slackwater.sql.cursor import QUERY_WORDS, Cursor
from slackwater.sql.kinds import Copy, Delete, Insert, Update
from slackwater.sql.pieces import Piece

FORMATS: tuple[Literal["csv", "json", "parquet"], ...] = ("csv", "json", "parquet")
EXTENSIONS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}


def insert(cursor: Cursor) -> Insert:
    cursor.expect("INSERT")
    or_replace = cursor.accept("OR", "REPLACE")
    if cursor.sees("OVERWRITE"):
        raise unsupported(cursor, cursor.start, "INSERT OVERWRITE is not supported", "write DELETE FROM the table, then INSERT INTO it")
    cursor.expect("INTO")
    cursor.accept("TABLE")
    table = cursor.name("the table")
    columns = None
    if cursor.sees("(") and cursor.word(1) not in QUERY_WORDS:
        columns = cursor.names("a column")
        check_distinct(cursor, columns)
    if cursor.sees("BY", "NAME"):
        raise unsupported(cursor, cursor.start, "INSERT ... BY NAME is not supported", "list the columns: INSERT INTO t (a, b) SELECT ...")
    if cursor.word() not in QUERY_WORDS:
        raise cursor.error("expected VALUES or a query")
    return Insert(cursor.text, table, columns, cursor.query(), or_replace)


def update(cursor: Cursor) -> Update:
    cursor.expect("UPDATE")
    table = cursor.name("the table")
    called = alias(cursor)
    cursor.expect("SET")
    set_to = assignments(cursor, (table, called), "WHERE", "FROM")
    if cursor.sees("FROM"):
        raise unsupported(cursor, cursor.start, "UPDATE ... FROM is not supported", "write MERGE INTO ... USING ...")
    where = cursor.expression() if cursor.accept("WHERE") else None
    return cursor.finish(Update(cursor.text, table, called, set_to, where))


def delete(cursor: Cursor) -> Delete:
    cursor.expect("DELETE", "FROM")
    table = cursor.name("the table")
    called = alias(cursor)
    if cursor.sees("USING"):
        raise unsupported(cursor, cursor.start, "DELETE ... USING is not supported", "write WHERE key IN (SELECT ...), or MERGE INTO ...")
    where = cursor.expression() if cursor.accept("WHERE") else None
    return cursor.finish(Delete(cursor.text, table, called, where))


def copy(cursor: Cursor) -> Copy:
    cursor.expect("COPY")
    cursor.accept("INTO")
    table = cursor.name("the table")
    columns = cursor.names("a column") if cursor.sees("(") else None
    check_distinct(cursor, columns or ())
    if cursor.sees("TO"):
        raise unsupported(cursor, cursor.start, "COPY ... TO is not supported", "SELECT the rows and write to_arrow() or to_pandas()")
    cursor.expect("FROM")
    path = cursor.string("the file's path")
    named = cursor.name("a format") if cursor.accept("FORMAT") else None
    options = dict(with_options(cursor))
    in_options = options.pop("format", None)
    form = _file_format(cursor, path, named if named is not None else in_options)
    return cursor.finish(Copy(cursor.text, table, columns, path, form, options))


def _file_format(cursor: Cursor, path: Piece, named: str | None) -> Literal["csv", "json", "parquet"]:
    if named is None:
        suffixes = [suffix.lower() for suffix in PurePosixPath(path).suffixes]
        if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst", ".xz"):
            suffixes.pop()
        named = EXTENSIONS.get(suffixes[-1] if suffixes else "")
        if named is None:
            hint = "add FORMAT csv, json or parquet"
            raise QueryError("the path does not tell the file's format", text=cursor.text, place=path.place, hint=hint)
    for known in FORMATS:
        if named.lower() == known:
            return known
    place = named.place if isinstance(named, Piece) else path.place
    raise Unsupported(f'format "{named}" is not supported', text=cursor.text, place=place, hint="csv, json and parquet are")
