"""The judge itself: bags, rounding, NaN, and values that a case file can hold."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.cases import parse, write
from tests.oracle import check_equal, check_top, difference, without_limit
from tests.values import NAN, arrow_type, read_value, rows_of, sql_literal, write_value


def test_equal_bags_do_not_differ_whatever_their_order() -> None:
    assert not difference([(1, "a"), (2, None), (1, "a")], [(2, None), (1, "a"), (1, "a")])


def test_a_missing_copy_is_a_difference() -> None:
    found = difference([(1,)], [(1,), (1,)])
    assert found.missing == ((1,),) and found.surplus == ()


def test_floats_may_differ_by_rounding_only() -> None:
    assert not difference([(0.1 + 0.2,)], [(0.3,)])
    assert difference([(0.3001,)], [(0.3,)])
    assert not difference([((0.1 + 0.2, None),)], [((0.3, None),)])


def test_decimals_and_integers_must_be_exact() -> None:
    assert difference([(Decimal("0.10"),)], [(Decimal("0.11"),)])
    assert difference([(10**12,)], [(10**12 + 1,)])


def test_nan_equals_nan_and_minus_zero_equals_zero() -> None:
    table = pa.table({"a": [float("nan"), -0.0]})
    assert not difference(rows_of(table), [(NAN,), (0.0,)])


def test_a_different_type_is_a_difference() -> None:
    with pytest.raises(AssertionError, match="columns are"):
        check_equal(pa.table({"a": pa.array([1], pa.int32())}), pa.table({"a": pa.array([1], pa.int64())}), "v")


def test_a_limit_with_ties_is_judged_by_its_keys_and_by_what_it_may_show() -> None:
    types = [pa.int32(), pa.int32()]
    unlimited = [(1, 5), (2, 5), (3, 4)]
    check_top([(2, 5)], [(1, 5)], unlimited, [1], types, "v")
    with pytest.raises(AssertionError, match="sort keys"):
        check_top([(3, 4)], [(1, 5)], unlimited, [1], types, "v")
    with pytest.raises(AssertionError, match="without its limit"):
        check_top([(9, 5)], [(1, 5)], unlimited, [1], types, "v")
    assert without_limit("SELECT a FROM t ORDER BY a LIMIT 2 OFFSET 1") == "SELECT a FROM t ORDER BY a"


VALUES = [
    ("int", -3),
    ("string", ""),
    ("string", "null"),
    ("string", "it's | a # b"),
    ("string", "plain"),
    ("boolean", True),
    ("double", NAN),
    ("double", float("-inf")),
    ("decimal(12,2)", Decimal("1.50")),
    ("date", dt.date(2024, 2, 29)),
    ("timestamp", dt.datetime(2024, 1, 1, 10, 0, 0, 1)),
    ("array<string>", ("a, b", None, "'")),
    ("struct<x: int, y: array<int>>", (1, (2, None))),
    ("map<string, int>", (("a", 1), ("b", None))),
    ("binary", b"\x00\xff"),
    ("int", None),
    ("array<int>", ()),
]


@pytest.mark.parametrize(("type_", "value"), VALUES)
def test_a_value_is_read_as_it_was_written(type_: str, value: Any) -> None:
    arrow = arrow_type(type_)
    assert read_value(write_value(value, arrow), arrow) in (value, *([NAN] if value is NAN else []))


def test_a_literal_has_the_type_of_its_column() -> None:
    assert sql_literal(None, "bigint") == "CAST(NULL AS bigint)"
    assert sql_literal(1, "bigint") == "CAST('1' AS bigint)"
    assert sql_literal("it's", "string") == "'it\\'s'"
    assert sql_literal((1, None), "array<int>") == "CAST(array(1, NULL) AS array<int>)"


def test_a_case_file_that_makes_no_sense_says_which_line() -> None:
    with pytest.raises(ValueError, match="not a line of a case file: tabel"):
        parse("tabel t(a int)")
    with pytest.raises(ValueError, match="2 cells for 1 columns: 1 | 2"):
        parse("table t(a int)\nview v: SELECT a FROM t\nstep\n  + 1 | 2\n")
    with pytest.raises(ValueError, match="which of l, r"):
        parse("table l(a int)\ntable r(a int)\nview v: SELECT a FROM l\nstep\n  + 1\n")


def test_variants_of_steps_survive_a_rewrite() -> None:
    text = (
        "# title: t\ntable t(a int, b decimal(5,2), primary key (a))\nview v: SELECT a\n  FROM t\nview w: SELECT b FROM t\n"
        "step\n  + 1 | 2.00\n  clear\n----\n  v + 1\n  w + 2.00\n"
        "step unread\n  - 1 | 2.00\nstep refresh v\n  ~ 1 | 2.00 -> 1 | null\n----\n  - 1\n"
    )
    assert write(parse(text)) == text
