"""VALUES of plain literals, read without an engine; whatever is not plain is left to it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from slackwater.sql.literals import are_literals, literal_rows

READ: list[tuple[str, list[str], list[tuple[Any, ...]]]] = [
    ("VALUES (1)", ["int"], [(1,)]),
    ("values ( -1 , 'a' ) ,\n(2, NULL)", ["bigint", "string"], [(-1, "a"), (2, None)]),
    ("VALUES (true, False)", ["boolean", "boolean"], [(True, False)]),
    ("VALUES (12.50, 3)", ["decimal(12,2)", "decimal(12,2)"], [(Decimal("12.50"), Decimal("3"))]),
    ("VALUES (0.1, -0, 7)", ["double", "double", "double"], [(0.1, 0.0, 7.0)]),
    ("VALUES (DATE '2024-02-29', '2024-03-01')", ["date", "date"], [(dt.date(2024, 2, 29), dt.date(2024, 3, 1))]),
    ("VALUES ('a, b), (', '$5 \"x\" -- no comment')", ["string", "string"], [("a, b), (", '$5 "x" -- no comment')]),
    ("VALUES (127, -128)", ["tinyint", "tinyint"], [(127, -128)]),
]

LEFT = [
    ("VALUES (1 + 1)", ["int"]),
    ("VALUES (1.5)", ["int"]),
    ("VALUES (128)", ["tinyint"]),
    ("VALUES (1)", ["string"]),
    ("VALUES ('1')", ["int"]),
    ("VALUES ('a''b')", ["string"]),
    ("VALUES ('a' 'b')", ["string"]),
    (r"VALUES ('a\n')", ["string"]),
    ("VALUES ('${x}')", ["string"]),
    ('VALUES ("a")', ["string"]),
    ("VALUES (1e3)", ["double"]),
    ("VALUES (1L)", ["bigint"]),
    ("VALUES (.5)", ["double"]),
    ("VALUES (0.1)", ["float"]),
    ("VALUES (1.255)", ["decimal(12,2)"]),
    ("VALUES (12345678901)", ["decimal(12,2)"]),
    ("VALUES (DATE '2023-02-29')", ["date"]),
    ("VALUES ('2024-1-1')", ["date"]),
    ("VALUES (TIMESTAMP '2024-01-01 00:00:00')", ["timestamp"]),
    ("VALUES (1, 2)", ["int"]),
    ("VALUES (1)", ["int", "int"]),
    ("VALUES (1), (2, 3)", ["int"]),
    ("VALUES (1) LIMIT 1", ["int"]),
    ("VALUES (1) -- one", ["int"]),
    ("VALUES 1, 2", ["int"]),
    ("SELECT 1", ["int"]),
    ("VALUES (nullif(1, 1))", ["int"]),
    ("VALUES (NULLS)", ["int"]),
]


@pytest.mark.parametrize(("query", "types", "rows"), READ, ids=[query for query, _, _ in READ])
def test_plain_literals_are_read(query: str, types: list[str], rows: list[tuple[Any, ...]]) -> None:
    assert are_literals(query)
    found = literal_rows(query, types)
    assert found == rows
    assert [[str(value) for value in row] for row in found] == [[str(value) for value in row] for row in rows]


@pytest.mark.parametrize(("query", "types"), LEFT, ids=[query for query, _ in LEFT])
def test_what_is_not_plain_is_left_to_the_engine(query: str, types: list[str]) -> None:
    assert literal_rows(query, types) is None


def test_many_rows_of_literals_are_recognised_at_once() -> None:
    rows = ", ".join(f"({n}, 'name {n}')" for n in range(20_000))
    assert are_literals(f"VALUES {rows}")
    assert not are_literals(f"VALUES {rows}, (now(), 'x')")
