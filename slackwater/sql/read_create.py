"""CREATE TABLE, CREATE STREAM, CREATE SAMPLE and CREATE VIEW."""

from __future__ import annotations

from slackwater.errors import QueryError, did_you_mean
from slackwater.sql import column_types
from slackwater.sql.clauses import check_distinct, unsupported, with_options
from slackwater.sql.cursor import Cursor
from slackwater.sql.kinds import ColumnDef, CreateSample, CreateStream, CreateTable, CreateView
from slackwater.sql.pieces import Piece
from slackwater.sql.sampling import number_of_rows
from slackwater.sql.syntax import is_readable


def create(cursor: Cursor) -> CreateTable | CreateStream | CreateSample | CreateView:
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR", "REPLACE")
    if cursor.accept("MATERIALIZED"):
        cursor.expect("VIEW")
        return create_view(cursor, or_replace)
    if cursor.accept("TABLE"):
        return create_table(cursor, or_replace)
    if cursor.accept("VIEW"):
        return create_view(cursor, or_replace, materialized=False)
    if cursor.sees("STREAM") or cursor.sees("FOREIGN", "TABLE"):
        return create_stream(cursor, or_replace)
    if cursor.accept("SAMPLE"):
        return create_sample(cursor, or_replace)
    start, word = cursor.start, cursor.word()
    if word in ("TEMPORARY", "TEMP", "GLOBAL"):
        raise unsupported(cursor, start, "views that are not kept are not supported", "write CREATE MATERIALIZED VIEW, or a WITH clause")
    if word in ("INDEX", "FUNCTION", "SCHEMA", "DATABASE", "EXTERNAL", "SEQUENCE"):
        raise unsupported(cursor, start, f"CREATE {word} is not supported", "a warehouse holds tables and materialized views")
    kinds = ["table", "stream", "sample", "materialized", "view"]
    raise cursor.error("expected TABLE, STREAM, SAMPLE or MATERIALIZED VIEW", did_you_mean(word, kinds))


def create_view(cursor: Cursor, or_replace: bool, materialized: bool = True) -> CreateView:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = _new_name(cursor, "the view")
    columns = cursor.names("a column") if cursor.sees("(") else None
    check_distinct(cursor, columns or ())
    options = with_options(cursor)
    cursor.expect("AS")
    query = cursor.query()
    return CreateView(cursor.text, name, query, options, or_replace, if_not_exists, columns, materialized)


def create_stream(cursor: Cursor, or_replace: bool) -> CreateStream:
    is_foreign = cursor.accept("FOREIGN", "TABLE") or not cursor.accept("STREAM")
    if or_replace:
        raise unsupported(cursor, 0, "a stream is not replaced", "drop the views that read it, drop it, and create it again")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = _new_name(cursor, "the stream")
    columns: list[ColumnDef] = []
    key: list[Piece] = []
    cursor.listed(lambda: _column_or_constraint(cursor, columns, key))
    if key:
        hint = "leave it out: rows of a stream are not looked for by a key"
        raise QueryError("a stream has no primary key", text=cursor.text, place=key[0].place, hint=hint)
    if is_foreign:
        cursor.expect("SERVER")
        server = cursor.name("the server")
        if server.lower() != "stream":
            raise unsupported(cursor, server.place.start, f'there is no server "{server}"', "write SERVER stream")
    options = with_options(cursor)
    if cursor.sees("AS"):
        raise unsupported(cursor, cursor.start, "a stream begins without rows", "create it, and then INSERT INTO it")
    check_distinct(cursor, [column.name for column in columns])
    return cursor.finish(CreateStream(cursor.text, name, tuple(columns), if_not_exists, options))


def create_sample(cursor: Cursor, or_replace: bool) -> CreateSample:
    if or_replace:
        raise unsupported(cursor, 0, "a sample is not replaced", "drop it, and create it again")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = _new_name(cursor, "the sample")
    cursor.expect("ON")
    source = cursor.name("a table or stream")
    cursor.expect("SIZE")
    size = number_of_rows(cursor)
    cursor.accept("ROWS")
    options = with_options(cursor)
    return cursor.finish(CreateSample(cursor.text, name, source, size, if_not_exists, options))


def _new_name(cursor: Cursor, what: str) -> Piece:
    """The name of something that queries will read: not a bare word that they could not read it by."""
    is_bare = cursor.word() != ""
    name = cursor.name(what)
    if is_bare and not is_readable(name):
        hint = f"choose another name, or write `{name}` in backticks, here and wherever it is read"
        raise QueryError(f'"{name}" is a word of SQL', text=cursor.text, place=name.place, hint=hint)
    return name


def create_table(cursor: Cursor, or_replace: bool) -> CreateTable:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = _new_name(cursor, "the table")
    columns: list[ColumnDef] = []
    key: list[Piece] = []
    if cursor.sees("("):
        cursor.listed(lambda: _column_or_constraint(cursor, columns, key))
    _refuse_spark_clauses(cursor)
    options = with_options(cursor)
    query = cursor.query() if cursor.accept("AS") else None
    if not columns and query is None:
        raise cursor.error("expected the columns, as in (id BIGINT, name STRING), or AS and a query")
    check_distinct(cursor, [column.name for column in columns])
    checked = _with_key(cursor, columns, key)
    return cursor.finish(CreateTable(cursor.text, name, checked, tuple(key), query, if_not_exists, or_replace, options))


def _column_or_constraint(cursor: Cursor, columns: list[ColumnDef], key: list[Piece]) -> None:
    if cursor.accept("CONSTRAINT"):
        cursor.name("the constraint")
    if cursor.accept("PRIMARY"):
        cursor.expect("KEY")
        _take_key(cursor, key, cursor.names("a column"))
        return
    if cursor.word() in ("FOREIGN", "UNIQUE", "CHECK") and (cursor.word(1) in ("(", "KEY")):
        raise unsupported(cursor, cursor.start, f"{cursor.word()} constraints are not supported", "PRIMARY KEY and NOT NULL are")
    name = cursor.name("a column")
    kind = column_types.read_type(cursor.text, cursor.start)
    cursor.skip_to(kind.place.end)
    nullable = _column_constraints(cursor, name, key)
    columns.append(ColumnDef(name, kind, nullable))


def _column_constraints(cursor: Cursor, name: Piece, key: list[Piece]) -> bool:
    nullable = True
    while cursor.word() not in (",", ")", ""):
        if cursor.accept("NOT", "NULL"):
            nullable = False
        elif cursor.accept("PRIMARY", "KEY"):
            _take_key(cursor, key, (name,))
        elif cursor.accept("COMMENT"):
            cursor.string("the comment")
        elif cursor.word() in ("DEFAULT", "GENERATED", "UNIQUE", "CHECK", "REFERENCES"):
            raise unsupported(cursor, cursor.start, f"{cursor.word()} is not supported", "PRIMARY KEY and NOT NULL are")
        elif not cursor.accept("NULL"):
            raise cursor.error("expected a comma or the end of the columns")
    return nullable


def _take_key(cursor: Cursor, key: list[Piece], names: tuple[Piece, ...]) -> None:
    if key:
        hint = "write PRIMARY KEY (a, b) for a key of two columns"
        raise QueryError("a table has one primary key", text=cursor.text, place=names[0].place, hint=hint)
    check_distinct(cursor, names)
    key.extend(names)


def _with_key(cursor: Cursor, columns: list[ColumnDef], key: list[Piece]) -> tuple[ColumnDef, ...]:
    """The columns, those of the key not nullable."""
    known = {column.name.lower() for column in columns}
    for name in key:
        if columns and name.lower() not in known:
            message = f'column "{name}" of the primary key does not exist'
            raise QueryError(message, text=cursor.text, place=name.place, hint=did_you_mean(name, known))
    in_key = {name.lower() for name in key}
    return tuple(ColumnDef(column.name, column.type, column.nullable and column.name.lower() not in in_key) for column in columns)


def _refuse_spark_clauses(cursor: Cursor) -> None:
    hints = {
        "USING": "leave it out: the warehouse decides how rows are kept",
        "PARTITIONED": "leave it out: the warehouse decides how rows are kept",
        "CLUSTERED": "leave it out: the warehouse decides how rows are kept",
        "LOCATION": "leave it out: the warehouse decides where rows are kept",
        "OPTIONS": "write WITH (key = value)",
        "TBLPROPERTIES": "write WITH (key = value)",
        "LIKE": "write AS SELECT * FROM ... WHERE false",
    }
    if cursor.word() in hints:
        raise unsupported(cursor, cursor.start, f"{cursor.word()} is not supported", hints[cursor.word()])
