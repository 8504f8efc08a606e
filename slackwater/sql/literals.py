"""VALUES of plain literals, whose meaning needs no engine.

Only what means the same whatever is around it is read here: NULL, truth values, whole and decimal numbers, strings without escapes, dates.
All else, and any literal that a column's type does not hold as it is, is left to the engine, which knows how to cast it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

_LITERAL_TEXT = r"""\s*(?:
      (?P<null>   NULL\b )
    | (?P<truth>  (?:TRUE|FALSE)\b )
    | (?P<date>   DATE\s*'\d{4}-\d\d-\d\d' )
    | (?P<number> -?\d{1,18}(?:\.\d{1,9})? (?![\w.]) )
    | (?P<string> '(?:[^'\\$]|\$(?!\{))*' )
    )\s*"""
_LITERAL = re.compile(_LITERAL_TEXT, re.VERBOSE | re.IGNORECASE)
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _LITERAL_TEXT)
_ROW_TEXT = rf"\( {_UNNAMED} (?: , {_UNNAMED} )*+ \)"
_ROWS = re.compile(rf"\s* VALUES \s* {_ROW_TEXT} (?: \s*,\s* {_ROW_TEXT} )*+ \s*", re.VERBOSE | re.IGNORECASE)
_BETWEEN_ROWS = re.compile(r"\)\s*,\s*\(")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WHOLE = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


class NotPlain(Exception):
    """It takes an engine to say what this means."""


def are_literals(query: str) -> bool:
    """Whether a query is nothing but `VALUES` and plain literals."""
    return _ROWS.fullmatch(query) is not None


def literal_rows(query: str, types: Sequence[str]) -> list[tuple[Any, ...]] | None:
    """The rows of `VALUES (...), ...` for columns of these types; None if it takes an engine to say what they are."""
    opening = re.match(r"\s*VALUES\s*\(", query, re.IGNORECASE)
    if opening is None:
        return None
    rows, at = [], opening.end()
    try:
        while True:
            row, at = _row(query, at, types)
            rows.append(row)
            following = _BETWEEN_ROWS.match(query, at)
            if following is None:
                return rows if query[at:].strip() == ")" else None
            at = following.end()
    except NotPlain:
        return None


def _row(query: str, at: int, types: Sequence[str]) -> tuple[tuple[Any, ...], int]:
    values = []
    for number, type in enumerate(types):
        if number:
            if not query.startswith(",", at):
                raise NotPlain
            at += 1
        found = _LITERAL.match(query, at)
        if found is None:
            raise NotPlain
        kind = str(found.lastgroup)
        values.append(_value(kind, found.group(kind), type))
        at = found.end()
    return tuple(values), at


def _value(kind: str, text: str, type: str) -> Any:
    """What a literal is in a column of a type, if that is the literal itself."""
    if kind == "null":
        return None
    if kind == "truth" and type == "boolean":
        return text.upper() == "TRUE"
    if kind == "string" and type == "string":
        return text[1:-1]
    if type == "date" and (kind == "date" or (kind == "string" and _DATE.fullmatch(text[1:-1]))):
        return _date(text.strip("DATEdate \t\r\n'"))
    if kind == "number":
        if type in _WHOLE and "." not in text and -(1 << _WHOLE[type]) <= int(text) < 1 << _WHOLE[type]:
            return int(text)
        if type == "double":
            return float(text) + 0.0  # there is no negative zero among numbers of this kind
        if type.startswith("decimal("):
            return _decimal(Decimal(text), type)
    raise NotPlain


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise NotPlain from None  # the engine says what is wrong with it


def _decimal(number: Decimal, type: str) -> Decimal:
    precision, scale = map(int, type.removeprefix("decimal(").removesuffix(")").split(","))
    whole, _, fraction = f"{abs(number):f}".partition(".")
    if len(fraction) > scale or len(whole) > precision - scale:
        raise NotPlain
    return number
