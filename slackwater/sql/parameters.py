"""Values in place of `?` and `:name`.

A value becomes the literal that Spark reads as exactly that value, so what is run, explained and remembered is one plain text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

from slackwater.errors import Place, QueryError, did_you_mean
from slackwater.sql.pieces import Piece, scan

Parameters = Sequence[object] | Mapping[str, object]


def substitute(text: str, params: Parameters | None = None) -> str:
    """The text with its parameters replaced by literals."""
    marks = parameters_in(text)
    if isinstance(params, str | bytes) or not isinstance(params, Sequence | Mapping | None):
        raise QueryError(f"parameters are a list or a dict, not {type(params).__name__}", hint="write [value] for a single one")
    if isinstance(params, Mapping):
        values = _by_name(text, marks, params)
    else:
        values = _by_position(text, marks, params or ())
    parts = []
    done = 0
    for mark, value in zip(marks, values, strict=True):
        parts += [text[done : mark.place.start], _literal_at(text, mark, value)]
        done = mark.place.end
    return "".join(parts) + text[done:]


def parameters_in(text: str) -> list[Piece]:
    """The `?` and `:name` of a text, in order."""
    found = []
    # `a:b` reads a field of a variant and `struct<a:int>` is a type: a parameter's colon follows no word, and its name follows at once.
    parts = [(kind, text[place.start : place.end], place) for kind, place in scan(text) if kind != "comment"]
    nothing = ("", "", Place(-1, -1))
    for (_, _, before), (kind, sign, place), (next_kind, word, after) in zip([nothing, *parts], parts, [*parts[1:], nothing], strict=False):
        if kind == "sign" and sign == "?":
            found.append(Piece("?", place.start))
        elif kind == "sign" and sign == ":" and next_kind == "word" and after.start == place.end and not word[0].isdigit():
            touching = before.end == place.start and (text[before.end - 1].isalnum() or text[before.end - 1] in "_`)]:'\"")
            if not touching:
                found.append(Piece(":" + word, place.start))
    return found


def literal(value: object) -> str:
    """A Python value as Spark SQL."""
    if hasattr(value, "item") and not isinstance(value, str | bytes):  # a number of numpy
        value = value.item()
    if value is None or _is_missing_time(value):
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, bytes | bytearray):
        return f"X'{bytes(value).hex().upper()}'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, list | tuple):
        return f"array({', '.join(literal(item) for item in value)})"
    hint = "use None, bool, int, float, Decimal, str, bytes, date, datetime or a list"
    raise QueryError(f"a value of type {type(value).__name__} cannot be a parameter", hint=hint)


def _by_position(text: str, marks: list[Piece], values: Sequence[object]) -> list[object]:
    named = next((mark for mark in marks if mark != "?"), None)
    if named is not None:
        hint = f"give the values as a dict: {{{str(named)[1:]!r}: ...}}"
        raise QueryError(f'parameter "{named}" has no value', text=text, place=named.place, hint=hint)
    message = f"the statement has {_count(len(marks))}, but {_values(len(values))}"
    if len(values) < len(marks):
        raise QueryError(message, text=text, place=marks[len(values)].place)
    if len(values) > len(marks):
        raise QueryError(message, text=text, hint="write ? where a value belongs")
    return list(values)


def _by_name(text: str, marks: list[Piece], values: Mapping[str, object]) -> list[object]:
    found = []
    for mark in marks:
        if mark == "?":
            raise QueryError("parameter ? has no name", text=text, place=mark.place, hint="give the values as a list, or write :name")
        name = mark[1:]
        if name not in values:
            raise QueryError(f'parameter "{mark}" has no value', text=text, place=mark.place, hint=did_you_mean(name, values))
        found.append(values[name])
    unused = [name for name in values if f":{name}" not in marks]
    if unused:
        hint = did_you_mean(unused[0], [mark[1:] for mark in marks]) or f"write :{unused[0]} where the value belongs"
        raise QueryError(f'the statement does not use the parameter "{unused[0]}"', text=text, hint=hint)
    return found


def _literal_at(text: str, mark: Piece, value: object) -> str:
    try:
        if isinstance(value, list | tuple) and _alone_in_list(text, mark):
            if not value:
                raise QueryError("an empty list has nothing to compare with", hint="leave the condition out")
            return ", ".join(literal(item) for item in value)
        return literal(value)
    except QueryError as error:
        raise QueryError(error.message, text=text, place=mark.place, hint=error.hint) from None


def _alone_in_list(text: str, mark: Piece) -> bool:
    """Whether the parameter is the whole list of an `IN (?)`."""
    before = text[: mark.place.start].rstrip()
    after = text[mark.place.end :].lstrip()
    return before.endswith("(") and after.startswith(")") and before[:-1].rstrip().upper().endswith((" IN", ")IN", "\nIN"))


def _integer(value: int) -> str:
    if abs(value) >= 10**38:
        raise QueryError("the number has more than 38 digits", hint="give it as text")
    # In parentheses: `a-?` must not become the comment `a--5`.
    return str(value) if value >= 0 else f"({value})"


def _double(value: float) -> str:
    if math.isnan(value):
        return "CAST('NaN' AS DOUBLE)"
    if math.isinf(value):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    return f"{value!r}D" if math.copysign(1, value) > 0 else f"({value!r}D)"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise QueryError("a decimal has no NaN and no infinity", hint="give a float")
    digits = format(value, "f")
    scale = len(digits.partition(".")[2])
    precision = max(len(digits.replace("-", "").replace(".", "").lstrip("0")), scale, 1)
    if precision > 38:
        raise QueryError("the number has more than 38 digits", hint="give it as text")
    return f"CAST('{digits}' AS DECIMAL({precision},{scale}))"


def _is_missing_time(value: object) -> bool:
    """pandas' NaT is a datetime that is not equal to itself."""
    return isinstance(value, datetime) and not value == value  # noqa: SIM201


def _count(number: int) -> str:
    return f"{number} parameter" + ("" if number == 1 else "s")


def _values(number: int) -> str:
    return "no values were given" if number == 0 else f"{number} value{' was' if number == 1 else 's were'} given"
