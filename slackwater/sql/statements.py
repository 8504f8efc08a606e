"""Text -> statement.

Our own statements are read word by word, here and in the `read_` files beside. What is a query or an expression stays the user's text:
sqlglot only checks that it can be parsed, so that a syntax error is found before anything has happened and points at its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from slackwater.errors import QueryError, SlackwaterError, Unsupported, did_you_mean
from slackwater.sql.clauses import options, unsupported, with_options
from slackwater.sql.cursor import QUERY_WORDS, Cursor
from slackwater.sql.kinds import (
    AlterView,
    Assignment,
    ColumnDef,
    Copy,
    CreateSample,
    CreateStream,
    CreateTable,
    CreateView,
    Delete,
    Describe,
    Drop,
    Explain,
    Insert,
    Mark,
    Merge,
    MergeClause,
    Options,
    Refresh,
    Select,
    Show,
    Statement,
    Update,
    Vacuum,
)
from slackwater.sql.parameters import substitute
from slackwater.sql.pieces import Piece, is_complete, split
from slackwater.sql.read_change import copy, delete, insert, update
from slackwater.sql.read_create import create
from slackwater.sql.read_merge import merge
from slackwater.sql.relations import Relation, relations_in, rename_relations

__all__ = [
    "AlterView", "Assignment", "ColumnDef", "Copy", "CreateSample", "CreateStream", "CreateTable", "CreateView", "Delete", "Describe",
    "Drop", "Explain", "Insert", "Mark", "Merge", "MergeClause", "Options", "Piece", "Refresh", "Relation", "Select", "Show", "Statement",
    "Update", "Vacuum", "is_complete", "parse", "relations_in", "rename_relations", "split", "substitute",
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
        return select(cursor)
    reader = READERS.get(first)
    if reader is None:
        raise _unknown_statement(cursor)
    return reader(cursor)


def select(cursor: Cursor) -> Select:
    """A query, and behind it what is said of its answer. No clause of a query begins with WITH and a bracket."""
    words = [token.text.upper() for token in cursor.tokens]
    at = next((number for number in range(len(words) - 3, 0, -1) if words[number : number + 3] == ["WITH", "(", "STALENESS"]), None)
    if at is None:
        return Select(cursor.text, cursor.query())
    query = Cursor(cursor.text[: cursor.tokens[at].place.start].rstrip()).query()
    cursor.at = at
    return cursor.finish(Select(cursor.text, query, with_options(cursor)))


def drop(cursor: Cursor) -> Drop:
    cursor.expect("DROP")
    cursor.accept("MATERIALIZED")
    kind: Literal["table", "stream", "sample", "view"]
    if cursor.accept("TABLE"):
        kind = "table"
    elif cursor.accept("STREAM") or cursor.accept("FOREIGN", "TABLE"):
        kind = "stream"
    elif cursor.accept("SAMPLE"):
        kind = "sample"
    elif cursor.accept("VIEW"):
        kind = "view"
    else:
        raise cursor.error("expected TABLE, STREAM, SAMPLE or VIEW", did_you_mean(cursor.word(), ["table", "stream", "sample", "view"]))
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name(f"the {kind}")
    if cursor.sees("CASCADE") or cursor.sees("PURGE"):
        raise unsupported(cursor, cursor.start, f"DROP ... {cursor.word()} is not supported", "drop the views that read it first")
    return cursor.finish(Drop(cursor.text, kind, name, if_exists))


def alter(cursor: Cursor) -> AlterView:
    cursor.expect("ALTER")
    if cursor.sees("TABLE"):
        raise unsupported(cursor, 0, "ALTER TABLE is not supported", "create a new table AS SELECT from the old one")
    cursor.accept("MATERIALIZED")
    cursor.expect("VIEW")
    name = cursor.name("the view")
    if cursor.sees("SUSPEND") or cursor.sees("RESUME"):
        return cursor.finish(AlterView(cursor.text, name, suspended=cursor.accept("SUSPEND") or not cursor.accept("RESUME")))
    if not cursor.accept("SET"):
        hint = "write SET (goal = 'within 1 minute'), or CREATE OR REPLACE the view to change its query"
        raise unsupported(cursor, cursor.start, "only options of a view can be altered", hint)
    return cursor.finish(AlterView(cursor.text, name, options(cursor)))


def mark(cursor: Cursor) -> Mark:
    cursor.expect("MARK")
    return cursor.finish(Mark(cursor.text, cursor.name("a marker")))


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
    if cursor.accept("STREAMS"):
        return cursor.finish(Show(cursor.text, "streams"))
    if cursor.accept("SAMPLES"):
        return cursor.finish(Show(cursor.text, "samples"))
    if cursor.accept("VIEWS"):
        return cursor.finish(Show(cursor.text, "views"))
    if cursor.accept("PATHS"):
        return cursor.finish(Show(cursor.text, "paths"))
    near = did_you_mean(cursor.word(), ["tables", "streams", "samples", "views", "paths"])
    hint = "write DESCRIBE and its name" if cursor.word() in ("COLUMNS", "CREATE") else near
    raise cursor.error("expected TABLES, STREAMS, SAMPLES, VIEWS or PATHS", hint)


def describe(cursor: Cursor) -> Describe:
    cursor.at += 1  # DESCRIBE or DESC
    history = cursor.accept("HISTORY")
    goals = not history and cursor.accept("GOALS")
    if cursor.word() in ("TABLE", "VIEW", "EXTENDED", "FORMATTED"):
        cursor.at += 1
    if (history or goals) and cursor.done:
        return Describe(cursor.text, None, history, goals)
    return cursor.finish(Describe(cursor.text, cursor.name("a view" if goals else "a table or view"), history, goals))


def explain(cursor: Cursor) -> Explain:
    cursor.expect("EXPLAIN")
    what: Literal["plan", "delta", "paths", "tradeoff", "paces", "spark"] = "plan"
    if cursor.accept("DELTA"):
        what = "delta"
    elif cursor.accept("PATHS"):
        what = "paths"
    elif cursor.accept("TRADEOFF"):
        what = "tradeoff"
    elif cursor.accept("PACES"):
        what = "paces"
    elif cursor.accept("SPARK"):
        what = "spark"
    else:
        cursor.accept("PLAN")
    if cursor.sees("MATERIALIZED", "VIEW") or cursor.sees("VIEW"):
        cursor.accept("MATERIALIZED")
        cursor.accept("VIEW")
        return cursor.finish(Explain(cursor.text, what, cursor.name("the view")))
    if what == "paces":
        raise cursor.error("expected VIEW and a name", "write EXPLAIN TRADEOFF for a query that is no view yet")
    if cursor.sees("CREATE"):
        made = create(cursor)
        if not isinstance(made, CreateView):
            raise unsupported(cursor, 0, "only views and queries can be explained", "write EXPLAIN and the query")
        return Explain(cursor.text, what, None, made.query, made)
    if cursor.word() in ("EXTENDED", "FORMATTED", "CODEGEN", "COST", "ANALYZE"):
        message = f"EXPLAIN {cursor.word()} is not supported"
        raise unsupported(cursor, cursor.start, message, "write EXPLAIN SPARK for the engine's own plan")
    if cursor.word() not in QUERY_WORDS:
        near = did_you_mean(cursor.word(), ["delta", "paces", "paths", "plan", "spark", "tradeoff", "view"])
        raise cursor.error("expected VIEW and a name, a query, or CREATE MATERIALIZED VIEW", near)
    return Explain(cursor.text, what, None, cursor.query())


def vacuum(cursor: Cursor) -> Vacuum:
    cursor.expect("VACUUM")
    if not cursor.done:
        raise unsupported(cursor, cursor.start, "VACUUM of one table is not supported", "write VACUUM alone: it is for the whole warehouse")
    return Vacuum(cursor.text)


READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": create,
    "ALTER": alter,
    "MARK": mark,
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
    "VACUUM": vacuum,
}

# What other databases have, and what to write here.
ELSEWHERE = {
    "TRUNCATE": "write DELETE FROM and the table's name",
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
