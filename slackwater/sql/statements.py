"""Text -> statement.

Our own statements are read word by word, here. What is a query or an expression stays the user's text: sqlglot only checks that it can
be parsed, so that a syntax error is found before anything has happened and points at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import Literal

from slackwater.errors import Place, QueryError, SlackwaterError, Unsupported, did_you_mean
from slackwater.sql import column_types, syntax
from slackwater.sql.cursor import QUERY_WORDS, Cursor
from slackwater.sql.kinds import (
    Assignment,
    ColumnDef,
    Copy,
    CreateTable,
    CreateView,
    Delete,
    Describe,
    Drop,
    Explain,
    Insert,
    Merge,
    MergeClause,
    Options,
    Refresh,
    Select,
    Show,
    Statement,
    Update,
)
from slackwater.sql.parameters import substitute
from slackwater.sql.pieces import Piece, is_complete, split
from slackwater.sql.relations import Relation, relations_in, rename_relations

__all__ = [
    "Assignment", "ColumnDef", "Copy", "CreateTable", "CreateView", "Delete", "Describe", "Drop", "Explain", "Insert", "Merge",
    "MergeClause", "Options", "Piece", "Refresh", "Relation", "Select", "Show", "Statement", "Update",
    "is_complete", "parse", "relations_in", "rename_relations", "split", "substitute",
]  # fmt: skip


def parse(text: str) -> Statement:
    """The one statement that `text` holds."""
    pieces = split(text)
    if not pieces:
        raise QueryError("there is no statement", text=text, hint="write one, such as SHOW TABLES")
    if len(pieces) > 1:
        raise QueryError("expected one statement", text=text, place=pieces[1].place, hint="run the statements one by one")
    # Cut behind, not before: places still refer to the text as it was given.
    cursor = Cursor(text[: pieces[0].place.end])
    first = cursor.word()
    if first in QUERY_WORDS:
        return Select(cursor.text, cursor.query())
    reader = READERS.get(first)
    if reader is None:
        raise _unknown_statement(cursor)
    return reader(cursor)


def create(cursor: Cursor) -> CreateTable | CreateView:
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR", "REPLACE")
    if cursor.accept("MATERIALIZED"):
        cursor.expect("VIEW")
        return create_view(cursor, or_replace)
    if cursor.accept("TABLE"):
        return create_table(cursor, or_replace)
    start, word = cursor.start, cursor.word()
    if word in ("VIEW", "TEMPORARY", "TEMP", "GLOBAL"):
        raise _unsupported(cursor, start, "views that are not kept are not supported", "write CREATE MATERIALIZED VIEW, or a WITH clause")
    if word == "STREAM":
        raise _unsupported(cursor, start, "streams are not supported", "write CREATE TABLE ... WITH (append_only = true)")
    if word in ("INDEX", "FUNCTION", "SCHEMA", "DATABASE", "EXTERNAL", "SEQUENCE"):
        raise _unsupported(cursor, start, f"CREATE {word} is not supported", "a warehouse holds tables and materialized views")
    raise cursor.error("expected TABLE or MATERIALIZED VIEW", did_you_mean(word, ["table", "materialized", "view"]))


def create_view(cursor: Cursor, or_replace: bool) -> CreateView:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name("the view")
    columns = cursor.names("a column") if cursor.sees("(") else None
    _check_distinct(cursor, columns or ())
    options = with_options(cursor)
    cursor.expect("AS")
    query = cursor.query()
    return CreateView(cursor.text, name, query, options, or_replace, if_not_exists, columns)


def create_table(cursor: Cursor, or_replace: bool) -> CreateTable:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name("the table")
    columns: list[ColumnDef] = []
    key: list[Piece] = []
    if cursor.sees("("):
        cursor.listed(lambda: _column_or_constraint(cursor, columns, key))
    _refuse_spark_clauses(cursor)
    options = with_options(cursor)
    query = cursor.query() if cursor.accept("AS") else None
    if not columns and query is None:
        raise cursor.error("expected the columns, as in (id BIGINT, name STRING), or AS and a query")
    _check_distinct(cursor, [column.name for column in columns])
    checked = _with_key(cursor, columns, key)
    return cursor.finish(CreateTable(cursor.text, name, checked, tuple(key), query, if_not_exists, or_replace, options))


def insert(cursor: Cursor) -> Insert:
    cursor.expect("INSERT")
    or_replace = cursor.accept("OR", "REPLACE")
    if cursor.sees("OVERWRITE"):
        raise _unsupported(cursor, cursor.start, "INSERT OVERWRITE is not supported", "write DELETE FROM the table, then INSERT INTO it")
    cursor.expect("INTO")
    cursor.accept("TABLE")
    table = cursor.name("the table")
    columns = None
    if cursor.sees("(") and cursor.word(1) not in QUERY_WORDS:
        columns = cursor.names("a column")
        _check_distinct(cursor, columns)
    if cursor.sees("BY", "NAME"):
        raise _unsupported(cursor, cursor.start, "INSERT ... BY NAME is not supported", "list the columns: INSERT INTO t (a, b) SELECT ...")
    if cursor.word() not in QUERY_WORDS:
        raise cursor.error("expected VALUES or a query")
    return Insert(cursor.text, table, columns, cursor.query(), or_replace)


def update(cursor: Cursor) -> Update:
    cursor.expect("UPDATE")
    table = cursor.name("the table")
    alias = _alias(cursor)
    cursor.expect("SET")
    assignments = _assignments(cursor, (table, alias), "WHERE", "FROM")
    if cursor.sees("FROM"):
        raise _unsupported(cursor, cursor.start, "UPDATE ... FROM is not supported", "write MERGE INTO ... USING ...")
    where = cursor.expression() if cursor.accept("WHERE") else None
    return cursor.finish(Update(cursor.text, table, alias, assignments, where))


def delete(cursor: Cursor) -> Delete:
    cursor.expect("DELETE", "FROM")
    table = cursor.name("the table")
    alias = _alias(cursor)
    if cursor.sees("USING"):
        raise _unsupported(cursor, cursor.start, "DELETE ... USING is not supported", "write WHERE key IN (SELECT ...), or MERGE INTO ...")
    where = cursor.expression() if cursor.accept("WHERE") else None
    return cursor.finish(Delete(cursor.text, table, alias, where))


def merge(cursor: Cursor) -> Merge:
    cursor.expect("MERGE", "INTO")
    target = cursor.name("the table")
    target_alias = _alias(cursor)
    cursor.expect("USING")
    source = _merge_source(cursor)
    source_alias = _alias(cursor)
    if cursor.sees("("):
        raise _unsupported(
            cursor, cursor.start, "column names behind the source are not supported", "name the columns in the source: SELECT a AS id"
        )
    cursor.expect("ON")
    on = cursor.expression("WHEN")
    clauses: list[MergeClause] = []
    while not cursor.done:
        start = cursor.start
        clauses.append(_merge_clause(cursor, (target, target_alias)))
        _check_reachable(cursor, clauses, start)
    if not clauses:
        raise cursor.error("expected WHEN MATCHED or WHEN NOT MATCHED")
    return Merge(cursor.text, target, target_alias, source, source_alias, on, tuple(clauses))


def copy(cursor: Cursor) -> Copy:
    cursor.expect("COPY")
    cursor.accept("INTO")
    table = cursor.name("the table")
    columns = cursor.names("a column") if cursor.sees("(") else None
    _check_distinct(cursor, columns or ())
    if cursor.sees("TO"):
        raise _unsupported(cursor, cursor.start, "COPY ... TO is not supported", "SELECT the rows and write to_arrow() or to_pandas()")
    cursor.expect("FROM")
    path = cursor.string("the file's path")
    named = cursor.name("a format") if cursor.accept("FORMAT") else None
    options = dict(with_options(cursor))
    in_options = options.pop("format", None)
    form = _file_format(cursor, path, named if named is not None else in_options)
    return cursor.finish(Copy(cursor.text, table, columns, path, form, options))


def drop(cursor: Cursor) -> Drop:
    cursor.expect("DROP")
    cursor.accept("MATERIALIZED")
    if cursor.word() not in ("TABLE", "VIEW"):
        raise cursor.error("expected TABLE or VIEW", did_you_mean(cursor.word(), ["table", "view"]))
    kind: Literal["table", "view"] = "table" if cursor.accept("TABLE") else "view"
    cursor.accept("VIEW")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name(f"the {kind}")
    if cursor.sees("CASCADE") or cursor.sees("PURGE"):
        raise _unsupported(cursor, cursor.start, f"DROP ... {cursor.word()} is not supported", "drop the views that read it first")
    return cursor.finish(Drop(cursor.text, kind, name, if_exists))


def refresh(cursor: Cursor) -> Refresh:
    cursor.expect("REFRESH")
    if cursor.accept("ALL"):
        return cursor.finish(Refresh(cursor.text))
    cursor.accept("MATERIALIZED")
    if not cursor.accept("VIEW"):
        raise cursor.error("expected VIEW and a name, or ALL")
    return cursor.finish(Refresh(cursor.text, cursor.name("the view")))


def show(cursor: Cursor) -> Show:
    cursor.expect("SHOW")
    cursor.accept("MATERIALIZED")
    if cursor.accept("TABLES"):
        return cursor.finish(Show(cursor.text, "tables"))
    if cursor.accept("VIEWS"):
        return cursor.finish(Show(cursor.text, "views"))
    if cursor.accept("PATHS"):
        return cursor.finish(Show(cursor.text, "paths"))
    near = did_you_mean(cursor.word(), ["tables", "views", "paths"])
    hint = "write DESCRIBE and its name" if cursor.word() in ("COLUMNS", "CREATE") else near
    raise cursor.error("expected TABLES, VIEWS or PATHS", hint)


def describe(cursor: Cursor) -> Describe:
    cursor.at += 1  # DESCRIBE or DESC
    history = cursor.accept("HISTORY")
    if cursor.word() in ("TABLE", "VIEW", "EXTENDED", "FORMATTED"):
        cursor.at += 1
    if history and cursor.done:
        return Describe(cursor.text, None, True)
    return cursor.finish(Describe(cursor.text, cursor.name("a table or view"), history))


def explain(cursor: Cursor) -> Explain:
    cursor.expect("EXPLAIN")
    what: Literal["plan", "delta", "paths", "spark"] = "plan"
    if cursor.accept("DELTA"):
        what = "delta"
    elif cursor.accept("PATHS"):
        what = "paths"
    elif cursor.accept("SPARK"):
        what = "spark"
    else:
        cursor.accept("PLAN")
    if cursor.sees("MATERIALIZED", "VIEW") or cursor.sees("VIEW"):
        cursor.accept("MATERIALIZED")
        cursor.accept("VIEW")
        return cursor.finish(Explain(cursor.text, what, cursor.name("the view")))
    if cursor.sees("CREATE"):
        made = create(cursor)
        if isinstance(made, CreateTable):
            raise _unsupported(cursor, 0, "only views and queries can be explained", "write EXPLAIN and the query")
        return Explain(cursor.text, what, None, made.query, made)
    if cursor.word() in ("EXTENDED", "FORMATTED", "CODEGEN", "COST", "ANALYZE"):
        message = f"EXPLAIN {cursor.word()} is not supported"
        raise _unsupported(cursor, cursor.start, message, "write EXPLAIN SPARK for the engine's own plan")
    if cursor.word() not in QUERY_WORDS:
        near = did_you_mean(cursor.word(), ["delta", "paths", "plan", "spark", "view"])
        raise cursor.error("expected VIEW and a name, a query, or CREATE MATERIALIZED VIEW", near)
    return Explain(cursor.text, what, None, cursor.query())


def with_options(cursor: Cursor) -> Options:
    """WITH (key = value, ...): values as text, `true` and `false` in lower case."""
    if not cursor.accept("WITH"):
        return {}
    options: dict[str, str] = {}
    cursor.listed(lambda: _option(cursor, options))
    return options


READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": create,
    "INSERT": insert,
    "UPDATE": update,
    "DELETE": delete,
    "MERGE": merge,
    "COPY": copy,
    "DROP": drop,
    "REFRESH": refresh,
    "SHOW": show,
    "DESCRIBE": describe,
    "DESC": describe,
    "EXPLAIN": explain,
}

# What other databases have, and what to write here.
ELSEWHERE = {
    "TRUNCATE": "write DELETE FROM and the table's name",
    "ALTER": "create a new table AS SELECT from the old one, or CREATE OR REPLACE the view",
    "REPLACE": "write INSERT OR REPLACE INTO",
    "UPSERT": "write INSERT OR REPLACE INTO, or MERGE INTO",
    "SET": "settings are given when connecting, and WITH (...) at CREATE",
    "USE": "a warehouse has one namespace",
    "BEGIN": "every statement is a transaction of its own",
    "START": "every statement is a transaction of its own",
    "COMMIT": "every statement is a transaction of its own",
    "ROLLBACK": "every statement is a transaction of its own",
    "ANALYZE": "statistics are kept without being asked for",
    "CACHE": "a materialized view keeps the result of a query",
    "LOAD": "write COPY table FROM 'path'",
}


def _unknown_statement(cursor: Cursor) -> SlackwaterError:
    word = cursor.word()
    if word in ELSEWHERE:
        return Unsupported(f"{word} is not supported", text=cursor.text, place=cursor.place(), hint=ELSEWHERE[word])
    known = [*READERS, *(word for word in QUERY_WORDS if word != "(")]
    return cursor.error("no statement begins like this", did_you_mean(word, [keyword.lower() for keyword in known]))


def _column_or_constraint(cursor: Cursor, columns: list[ColumnDef], key: list[Piece]) -> None:
    if cursor.accept("CONSTRAINT"):
        cursor.name("the constraint")
    if cursor.accept("PRIMARY"):
        cursor.expect("KEY")
        _take_key(cursor, key, cursor.names("a column"))
        return
    if cursor.word() in ("FOREIGN", "UNIQUE", "CHECK") and (cursor.word(1) in ("(", "KEY")):
        raise _unsupported(cursor, cursor.start, f"{cursor.word()} constraints are not supported", "PRIMARY KEY and NOT NULL are")
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
            raise _unsupported(cursor, cursor.start, f"{cursor.word()} is not supported", "PRIMARY KEY and NOT NULL are")
        elif not cursor.accept("NULL"):
            raise cursor.error("expected a comma or the end of the columns")
    return nullable


def _take_key(cursor: Cursor, key: list[Piece], names: tuple[Piece, ...]) -> None:
    if key:
        hint = "write PRIMARY KEY (a, b) for a key of two columns"
        raise QueryError("a table has one primary key", text=cursor.text, place=names[0].place, hint=hint)
    _check_distinct(cursor, names)
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
        raise _unsupported(cursor, cursor.start, f"{cursor.word()} is not supported", hints[cursor.word()])


def _option(cursor: Cursor, options: dict[str, str]) -> None:
    if cursor.token is not None and cursor.token.kind == "string":
        key = cursor.string("an option")
    else:
        key = cursor.name("an option")
    if key.lower() in options:
        raise QueryError(f'option "{key}" is given twice', text=cursor.text, place=key.place)
    cursor.expect("=")
    options[key.lower()] = _option_value(cursor)


def _option_value(cursor: Cursor) -> str:
    if cursor.token is not None and cursor.token.kind == "string":
        return cursor.string("a value")
    value = cursor.until(",")
    if not value:
        raise cursor.error("expected a value")
    return value.lower() if value.upper() in ("TRUE", "FALSE") else value


def _alias(cursor: Cursor) -> Piece | None:
    if cursor.accept("AS") or cursor.sees_name():
        return cursor.name("the alias")
    return None


def _assignments(cursor: Cursor, qualifiers: tuple[Piece | None, Piece | None], *ends: str) -> tuple[Assignment, ...]:
    found = [_assignment(cursor, qualifiers, *ends)]
    while cursor.accept(","):
        found.append(_assignment(cursor, qualifiers, *ends))
    _check_distinct(cursor, [column for column, _ in found], "is set twice")
    return tuple(found)


def _assignment(cursor: Cursor, qualifiers: tuple[Piece | None, Piece | None], *ends: str) -> Assignment:
    start = cursor.start
    qualifier = cursor.qualifier()
    if qualifier is not None and qualifier.lower() not in {name.lower() for name in qualifiers if name is not None}:
        raise _unsupported(cursor, start, "setting a field of a column is not supported", "set the whole column, with named_struct(...)")
    column = cursor.name("a column")
    cursor.expect("=")
    return column, cursor.expression(",", *ends)


def _merge_source(cursor: Cursor) -> Piece:
    if not cursor.sees("("):
        return cursor.name("the source")
    start = cursor.start
    cursor.at += 1
    inner = cursor.until()
    if not inner:
        raise cursor.error("expected a query")
    cursor.expect(")")
    syntax.check_query(inner, cursor.text)
    return Piece(cursor.text[start : cursor.end], start)


def _merge_clause(cursor: Cursor, qualifiers: tuple[Piece | None, Piece | None]) -> MergeClause:
    cursor.expect("WHEN")
    kind: Literal["matched", "not_matched", "not_matched_by_source"] = "matched"
    if cursor.accept("NOT"):
        kind = "not_matched"
    cursor.expect("MATCHED")
    if kind == "not_matched" and cursor.accept("BY"):
        if cursor.accept("SOURCE"):
            kind = "not_matched_by_source"
        else:
            cursor.expect("TARGET")
    condition = cursor.expression("THEN") if cursor.accept("AND") else None
    cursor.expect("THEN")
    if kind == "not_matched":
        return _merge_insert(cursor, condition)
    if cursor.accept("DELETE"):
        return MergeClause(kind, "delete", condition)
    if not cursor.accept("UPDATE"):
        raise cursor.error("expected UPDATE or DELETE")
    cursor.expect("SET")
    if kind == "matched" and cursor.accept("*"):
        return MergeClause(kind, "update", condition, star=True)
    return MergeClause(kind, "update", condition, assignments=_assignments(cursor, qualifiers, "WHEN"))


def _merge_insert(cursor: Cursor, condition: Piece | None) -> MergeClause:
    if not cursor.accept("INSERT"):
        raise cursor.error("expected INSERT")
    if cursor.accept("*"):
        return MergeClause("not_matched", "insert", condition, star=True)
    columns = cursor.names("a column") if cursor.sees("(") else ()
    _check_distinct(cursor, columns)
    cursor.expect("VALUES")
    start = cursor.start
    values = cursor.listed(lambda: cursor.expression(","))
    if columns and len(columns) != len(values):
        message = f"the clause lists {len(columns)} columns, but {len(values)} values"
        raise QueryError(message, text=cursor.text, place=Place(start, cursor.end))
    return MergeClause("not_matched", "insert", condition, columns=columns, values=values)


def _check_reachable(cursor: Cursor, clauses: list[MergeClause], start: int) -> None:
    """Only the last clause of a kind may do without a condition: those behind it would never apply."""
    last = clauses[-1]
    if any(clause.kind == last.kind and clause.condition is None for clause in clauses[:-1]):
        place = Place(start, cursor.end)
        hint = "give the clause before it a condition: WHEN ... AND condition THEN"
        raise QueryError("this clause never applies: one before it has no condition", text=cursor.text, place=place, hint=hint)


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


FORMATS: tuple[Literal["csv", "json", "parquet"], ...] = ("csv", "json", "parquet")
EXTENSIONS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}


def _check_distinct(cursor: Cursor, names: Iterable[Piece], problem: str = "is given twice") -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise QueryError(f'column "{name}" {problem}', text=cursor.text, place=name.place)
        seen.add(name.lower())


def _unsupported(cursor: Cursor, start: int, message: str, hint: str) -> Unsupported:
    place = Place(start, cursor.place().end if cursor.start == start else cursor.end)
    return Unsupported(message, text=cursor.text, place=place, hint=hint)
