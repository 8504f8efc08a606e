"""What filters want of columns: never less than what passes, and where constants tell it, no more."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from sqlglot import parse_one

from slackwater.delta.conditions import Wanted, both, conditions
from slackwater.delta.spans import FIRST, LAST, Spans, Words
from slackwater.plan import Column, Filter, Scan
from slackwater.trace.spans import matching

TYPES = {"n": "bigint", "day": "date", "word": "string", "price": "decimal(5,2)", "folded": "string collate utf8_lcase"}
TABLE = Scan("t", tuple(TYPES), tuple(Column(name, type) for name, type in TYPES.items()))


def wanted_by(text: str) -> Wanted:
    return conditions(Filter(TABLE, parse_one(text, dialect="spark")))


def days(text: str) -> int:
    return (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("n = 3", {"n": Spans(((3, 3),))}),
        ("3 < n AND n <= 7", {"n": Spans(((4, 7),))}),
        ("n BETWEEN -2 AND 7", {"n": Spans(((-2, 7),))}),
        ("n IN (1, 2, 9)", {"n": Spans(((1, 2), (9, 9)))}),
        ("n >= 5 AND n > price", {"n": Spans(((5, LAST),))}),
        ("day < DATE '1995-01-01' + INTERVAL 3 MONTH", {"day": Spans(((FIRST, days("1995-03-31")),))}),
        ("day >= DATE '1996-01-01' - INTERVAL '1' YEAR", {"day": Spans(((days("1995-01-01"), LAST),))}),
        ("day = '1995-06-17'", {"day": Spans(((days("1995-06-17"),) * 2,))}),
        ("word = 'a' AND n = 1", {"word": Words(frozenset("a")), "n": Spans(((1, 1),))}),
        ("word IN ('a', 'b')", {"word": Words(frozenset("ab"))}),
        ("word LIKE 'PROMO%'", {"word": Words(frozenset(["PROMO"]), are_prefixes=True)}),
    ],
)
def test_constants_tell_what_is_wanted(text: str, wanted: Wanted) -> None:
    assert wanted_by(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "n = 3 OR day = DATE '1995-01-01'",
        "NOT n = 3",
        "n <> 3",
        "n <=> 3",
        "n = 3.5",
        "n = '3'",
        "n IN (1, price)",
        "n BETWEEN 1 AND price",
        "n + 1 = 3",
        "n > 9223372036854775807",
        "price = 3",
        "day = '95-01-01'",
        "day < DATE '1995-01-31' + INTERVAL 1 MONTH",
        "day < DATE '1995-01-01' + INTERVAL 1 WEEK",
        "day < TIMESTAMP '1995-01-01 10:00:00'",
        "word < 'b'",
        "folded = 'a'",
        "word LIKE '%a'",
        "word NOT LIKE 'a%'",
        "n NOT IN (1, 2)",
        "n NOT BETWEEN 1 AND 2",
        "word LIKE ANY ('a%', 'b%')",
        "word LIKE 'a_b%'",
        "word LIKE 'a!%%' ESCAPE '!'",
        "word ILIKE 'a%'",
        "upper(word) = 'A'",
    ],
)
def test_what_constants_do_not_tell_is_left_to_the_engine(text: str) -> None:
    assert wanted_by(text) == {}


def test_of_two_conditions_on_words_one_is_enough() -> None:
    first, second = wanted_by("word LIKE 'a%'"), wanted_by("word = 'b'")
    assert both(first, second) == first


def test_rows_match_that_a_filter_lets_pass() -> None:
    rows = pa.table(
        {
            "n": pa.array([1, 5, None, 9], pa.int32()),
            "day": pa.array([dt.date(1995, 1, 1), None, dt.date(1996, 1, 1), dt.date(1997, 1, 1)]),
            "word": ["PROMO A", "promo", None, "PROMO B"],
        }
    )

    def left(wanted: Wanted) -> list[int | None]:
        found: list[int | None] = matching(rows, wanted)["n"].to_pylist()
        return found

    assert left(wanted_by("n BETWEEN 2 AND 9")) == [5, 9]
    assert left({"n": Spans(((1, 9),), nulls=True, known=pa.array([1, 9]).buffers()[1].to_pybytes()[:16])}) == [1, None, 9]
    assert left({"n": Spans(((9, 9),), nulls=True)}) == [None, 9]
    assert left({"n": Spans(())}) == []
    assert left(wanted_by("day >= DATE '1996-01-01'")) == [None, 9]
    assert left(wanted_by("word LIKE 'PROMO%'")) == [1, 9]
    assert left(wanted_by("word IN ('promo', 'x')")) == [5]
    assert left({"elsewhere": Spans(())}) == [1, 5, None, 9]  # a column that was not read
