"""Clauses that several statements share."""

from __future__ import annotations

from collections.abc import Iterable

from slackwater.errors import Place, QueryError, Unsupported
from slackwater.sql.cursor import Cursor
from slackwater.sql.kinds import Assignment, Options
from slackwater.sql.pieces import Piece


def with_options(cursor: Cursor) -> Options:
    """WITH (key = value, ...): values as text, `true` and `false` in lower case."""
    return options(cursor) if cursor.accept("WITH") else {}


def options(cursor: Cursor) -> Options:
    """(key = value, ...)"""
    found: dict[str, str] = {}
    cursor.listed(lambda: _option(cursor, found))
    return found


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


def alias(cursor: Cursor) -> Piece | None:
    if cursor.accept("AS") or cursor.sees_name():
        return cursor.name("the alias")
    return None


def assignments(cursor: Cursor, qualifiers: tuple[Piece | None, Piece | None], *ends: str) -> tuple[Assignment, ...]:
    found = [_assignment(cursor, qualifiers, *ends)]
    while cursor.accept(","):
        found.append(_assignment(cursor, qualifiers, *ends))
    check_distinct(cursor, [column for column, _ in found], "is set twice")
    return tuple(found)


def _assignment(cursor: Cursor, qualifiers: tuple[Piece | None, Piece | None], *ends: str) -> Assignment:
    start = cursor.start
    qualifier = cursor.qualifier()
    if qualifier is not None and qualifier.lower() not in {name.lower() for name in qualifiers if name is not None}:
        raise unsupported(cursor, start, "setting a field of a column is not supported", "set the whole column, with named_struct(...)")
    column = cursor.name("a column")
    cursor.expect("=")
    return column, cursor.expression(",", *ends)


def check_distinct(cursor: Cursor, names: Iterable[Piece], problem: str = "is given twice") -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise QueryError(f'column "{name}" {problem}', text=cursor.text, place=name.place)
        seen.add(name.lower())


def unsupported(cursor: Cursor, start: int, message: str, hint: str) -> Unsupported:
    place = Place(start, cursor.place().end if cursor.start == start else cursor.end)
    return Unsupported(message, text=cursor.text, place=place, hint=hint)
