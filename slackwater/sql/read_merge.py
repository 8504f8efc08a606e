"""MERGE INTO."""

from __future__ import annotations

from typing import Literal

from slackwater.errors import Place, QueryError
from slackwater.sql import syntax
from slackwater.sql.clauses import alias, assignments, check_distinct, unsupported
from slackwater.sql.cursor import Cursor
from slackwater.sql.kinds import Merge, MergeClause
from slackwater.sql.pieces import Piece


def merge(cursor: Cursor) -> Merge:
    cursor.expect("MERGE", "INTO")
    target = cursor.name("the table")
    target_alias = alias(cursor)
    cursor.expect("USING")
    source = _merge_source(cursor)
    source_alias = alias(cursor)
    if cursor.sees("("):
        raise unsupported(
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
    return MergeClause(kind, "update", condition, assignments=assignments(cursor, qualifiers, "WHEN"))


def _merge_insert(cursor: Cursor, condition: Piece | None) -> MergeClause:
    if not cursor.accept("INSERT"):
        raise cursor.error("expected INSERT")
    if cursor.accept("*"):
        return MergeClause("not_matched", "insert", condition, star=True)
    columns = cursor.names("a column") if cursor.sees("(") else ()
    check_distinct(cursor, columns)
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
