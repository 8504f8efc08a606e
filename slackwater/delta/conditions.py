"""What a filter wants of a column, where that can be told from the filter's text alone.

    l_shipdate >= DATE '1994-01-01' AND p_brand = 'Brand#23'        days from then on, and one word

Anything else that a filter asks for is left to the engine: what is wanted here may be more than what passes, never less.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from sqlglot import exp

from slackwater.delta.spans import FIRST, KINDS, LAST, Spans, Words
from slackwater.plan import Filter
from slackwater.plan.nodes import Expression, conjuncts

Wanted = Mapping[str, Spans | Words]  # by column: rows with another value do not matter

_EPOCH = datetime.date(1970, 1, 1)
_FLIPPED: dict[type[Expression], type[Expression]] = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE, exp.EQ: exp.EQ}
_UNDERSTOOD = {"this", "expression", "expressions", "low", "high"}  # of what a condition may consist
_SAFE_DAY = 28  # up to here every month has the day


def conditions(node: Filter) -> Wanted:
    """What the filter lets pass, column by column."""
    types = {column.name: column.type for column in node.input.columns}
    found: Wanted = {}
    for condition in conjuncts(node.condition):
        wanted = _wanted(condition, types)
        if wanted is not None:
            found = both(found, dict([wanted]))
    return found


def both(some: Wanted, others: Wanted) -> dict[str, Spans | Words]:
    """What is wanted by both."""
    found = dict(some)
    for name, wanted in others.items():
        before = found.get(name)
        if isinstance(before, Spans) and isinstance(wanted, Spans):
            found[name] = before & wanted
        elif before is None or isinstance(wanted, Spans):
            found[name] = wanted  # of two conditions on words, the first: to leave one out is to want more
    return found


def _wanted(condition: Expression, types: Mapping[str, str]) -> tuple[str, Spans | Words] | None:
    if not {name for name, value in condition.args.items() if value} <= _UNDERSTOOD:
        return None  # NOT LIKE, for one, is a LIKE that is negated
    if isinstance(condition, exp.Between):
        low = _compared(exp.GTE, condition.this, condition.args["low"], types)
        high = _compared(exp.LTE, condition.this, condition.args["high"], types)
        if low is None or high is None or not isinstance(low[1], Spans) or not isinstance(high[1], Spans):
            return None
        return low[0], low[1] & high[1]
    if isinstance(condition, exp.In) and condition.expressions:
        each = [_compared(exp.EQ, condition.this, value, types) for value in condition.expressions]
        return _any([one for one in each if one is not None]) if None not in each else None
    if isinstance(condition, exp.Like):
        return _prefix(condition.this, condition.expression, types)
    if type(condition) in _FLIPPED:
        left, right = condition.this, condition.expression
        return _compared(type(condition), left, right, types) or _compared(_FLIPPED[type(condition)], right, left, types)
    return None


def _compared(how: type[Expression], name: Expression, value: Expression, types: Mapping[str, str]) -> tuple[str, Spans | Words] | None:
    """What is wanted of a column that is compared with a constant."""
    if not isinstance(name, exp.Column):
        return None
    type_ = types.get(name.name, "")
    if type_ == "string":
        is_word = how is exp.EQ and isinstance(value, exp.Literal) and value.is_string
        return (name.name, Words(frozenset([value.this]))) if is_word else None
    number = {"number": _number, "date": _day}[KINDS[type_]](value) if type_ in KINDS else None
    if number is None or not FIRST < number < LAST:
        return None
    bounds: dict[type[Expression], tuple[int, int]] = {
        exp.EQ: (number, number),
        exp.GTE: (number, LAST),
        exp.GT: (number + 1, LAST),
        exp.LTE: (FIRST, number),
        exp.LT: (FIRST, number - 1),
    }
    return name.name, Spans((bounds[how],))


def _any(wanted: list[tuple[str, Spans | Words]]) -> tuple[str, Spans | Words] | None:
    """What is wanted by at least one of them, all about one column."""
    name, found = wanted[0]
    for _, each in wanted[1:]:
        if isinstance(found, Spans) and isinstance(each, Spans):
            found = found | each
        elif isinstance(found, Words) and isinstance(each, Words):
            found = Words(found.words | each.words)
    return name, found


def _prefix(name: Expression, pattern: Expression, types: Mapping[str, str]) -> tuple[str, Words] | None:
    """What a pattern wants that says how a word begins."""
    if not isinstance(name, exp.Column) or types.get(name.name) != "string" or not isinstance(pattern, exp.Literal):
        return None
    start = pattern.this.removesuffix("%")
    is_plain = pattern.is_string and start != pattern.this and not set(start) & set("%_\\")
    return (name.name, Words(frozenset([start]), are_prefixes=True)) if is_plain else None


def _number(value: Expression) -> int | None:
    if isinstance(value, exp.Neg):
        number = _number(value.this)
        return None if number is None else -number
    return int(value.this) if isinstance(value, exp.Literal) and value.is_int else None


def _day(value: Expression) -> int | None:
    date = _date(value)
    return None if date is None else (date - _EPOCH).days


def _date(value: Expression) -> datetime.date | None:
    """A constant date: a literal, or one that is so many days, months or years from another."""
    if isinstance(value, exp.Paren):
        return _date(value.this)
    if isinstance(value, exp.Cast) and value.to.this == exp.DataType.Type.DATE:
        return _date(value.this)
    if isinstance(value, exp.Literal) and value.is_string and len(value.this) == len("2000-01-01"):
        try:
            return datetime.date.fromisoformat(value.this)
        except ValueError:
            return None
    if isinstance(value, exp.Add | exp.Sub) and isinstance(value.expression, exp.Interval):
        start, number, unit = _date(value.this), _whole(value.expression.this), value.expression.args.get("unit")
        if start is not None and number is not None and unit is not None:
            return _moved(start, number if isinstance(value, exp.Add) else -number, unit.name.upper().removesuffix("S"))
    return None


def _whole(value: Expression | None) -> int | None:
    """The number of an interval, which is written as a number or as a word."""
    try:
        return int(value.this) if isinstance(value, exp.Literal) else None
    except ValueError:
        return None


def _moved(date: datetime.date, number: int, unit: str) -> datetime.date | None:
    try:
        if unit == "DAY":
            return date + datetime.timedelta(number)
        if unit in ("MONTH", "YEAR") and date.day <= _SAFE_DAY:
            months = date.year * 12 + date.month - 1 + number * (12 if unit == "YEAR" else 1)
            return date.replace(year=months // 12, month=months % 12 + 1)
    except (ValueError, OverflowError):
        pass
    return None
