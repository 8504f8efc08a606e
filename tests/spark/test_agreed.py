"""Sail beside Spark: what `agreed` takes to Sail comes back as Spark would have given it, or does not come back at all."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp, parse_one

from slackwater.delta.rows import identity
from slackwater.errors import QueryError
from slackwater.plan import Aggregate, Column, Filter, Generate, Join, Limit, Node, Output, Project, Scan, Union, Values, column, render
from slackwater.plan.agreed import Differs, agreed
from slackwater.plan.nodes import Expression
from slackwater.run.sail_faults import joined_by_hash
from slackwater.spark import TAKEN, Engine
from slackwater.spark.arrow import arrow_schema
from slackwater.spark.start import start
from tests.batch import talking_to

T = TypeVar("T")

TYPES = {
    "id": "int", "flag": "boolean", "other": "boolean", "i1": "tinyint", "i2": "smallint", "i4": "int", "i8": "bigint",
    "n5": "decimal(5,2)", "n18": "decimal(18,4)", "n28": "decimal(28,0)", "n38": "decimal(38,2)", "p38": "decimal(38,10)",
    "whole": "decimal(38,0)", "part": "decimal(38,38)", "s": "string", "t": "string", "day": "date", "later": "date",
}  # fmt: skip
COLUMNS = tuple(Column(name, type_) for name, type_ in TYPES.items())


def row(
    id: int, flags: Sequence[bool | None], ints: Sequence[int | None], decimals: Sequence[str | None], words: Sequence[str | None],
    days: Sequence[str | None],
) -> tuple[object, ...]:  # fmt: skip
    exact = [None if each is None else Decimal(each) for each in decimals]
    return (id, *flags, *ints, *exact, *words, *(None if each is None else dt.date.fromisoformat(each) for each in days))


NULL = (None,) * 7
TINY = "0." + "0" * 37 + "1"
MILD = (
    row(1, (True, True), (1, 2, 3, 4), ("1.25", "2.5", "3", "4.75", "0.0000000005", "6", TINY), ("a", "b"), ("2024-02-29", "2023-03-01")),
    row(2, (False, True), (0, 0, 0, 0), ("0", "0", "0", "0", "0", "0", "0"), ("", " "), ("1970-01-01", "1969-12-31")),
    row(3, (True, False), (-1, -2, -3, -4), ("-1.25", "-0.0001", "-3", "-0.01", "-0.0000000001", "-7", "-0.5"), ("ä✓😀x", "a😀"),
        ("1582-10-04", "1582-10-15")),
    row(4, (None, None), NULL[:4], NULL, NULL[:2], NULL[:2]),
    row(5, (None, False), (7, None, 7, None), (None, "7", None, "7", None, "7", None), (None, "a\nb"), (None, "2000-02-29")),
    row(6, (False, None), (None, 5, None, 7), ("5", None, "5", None, "5", None, "0.1"), ("a%b_c", None), ("1900-02-28", None)),
    row(7, (False, False), (11, 11, 11, 11), ("12", "12", "12", "12", "12", "12", "0.12"), ("it's \"a\" \\ b", "ß"),
        ("0001-01-01", "9999-12-31")),
)  # fmt: skip
LONG = (row(1, NULL[:2], NULL[:4], (*NULL[:3], "123456789012345678901234567890123456.78", *NULL[:3]), NULL[:2], NULL[:2]),)
LOWEST, HIGHEST = 20, 21
MOST = ("999.99", "9" * 14 + ".9999", "9" * 28, "9" * 36 + ".99", "9" * 28 + "." + "9" * 10, "9" * 38, "0." + "9" * 38)
NASTY = (
    *MILD,
    row(LOWEST, (False, False), (-(2**7), -(2**15), -(2**31), -(2**63)), [f"-{each}" for each in MOST], ("\0", "\uffff"),
        ("0001-01-01", "0001-01-02")),
    row(HIGHEST, (True, True), (2**7 - 1, 2**15 - 1, 2**31 - 1, 2**63 - 1), MOST, ("\U0010ffff", "e\u0301"),
        ("9999-12-31", "9999-12-30")),
)  # fmt: skip
# Columns of one value, which Sail takes from the footer, and of one value and NULL.
ALIKE = (NASTY[-1], (HIGHEST + 1, *NASTY[-1][1:]))
OR_NULL = (MILD[2], (8, *MILD[2][1:]), MILD[3])


@dataclass(frozen=True)
class Both:
    """Spark, Sail beside it, and the same rows on both: `mild`, `nasty`, one `long` and `none`."""

    spark: Engine
    sail: Engine

    def types(self, expressions: Sequence[Expression]) -> list[str]:
        return self.spark.types(expressions, COLUMNS)

    def by_spark(self, plan: Node) -> pa.Table | None:
        """What Spark gives; None if it fails."""
        try:
            return self.spark.arrow(render(plan, self.spark.prefix)).cast(arrow_schema(plan.columns))
        except QueryError:
            return None

    def by_sail(self, plan: Node) -> pa.Table | None:
        """What a flush would take from Sail."""
        return self.sail.exactly(render(joined_by_hash(agreed(plan)), self.sail.prefix), plan.columns, TAKEN)


@pytest.fixture(scope="module")
def both(spark_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    with talking_to("spark"):
        spark = start("local[2]")
        sail = spark.beside
        assert sail is not None and sail.is_sail
        for name, rows in (("mild", MILD), ("nasty", NASTY), ("alike", ALIKE), ("or_null", OR_NULL), ("long", LONG), ("none", ())):
            file = str(tmp_path_factory.mktemp("rows") / f"{name}.parquet")
            schema = arrow_schema(COLUMNS)
            arrays = [pa.array([each[place] for each in rows], field.type) for place, field in enumerate(schema)]
            pq.write_table(pa.table(arrays, schema=schema), file, row_group_size=3)
            ddl = ", ".join(f"{c.name} {c.type}" for c in COLUMNS)
            for engine in (spark, sail):
                engine.name_frame(name, engine.spark.read.schema(ddl).parquet(file))
        yield Both(spark, sail)
        spark.stop()


def scan(relation: str = "nasty", suffix: str = "") -> Scan:
    return Scan(relation, tuple(TYPES), tuple(Column(name + suffix, type_) for name, type_ in TYPES.items()))


def parsed(text: str) -> Expression:
    """Spark SQL with the plan's columns in it."""
    return parse_one(text, dialect="spark").transform(lambda node: column(node.name) if isinstance(node, exp.Column) else node)


def stored(expressions: Sequence[Expression], types: Sequence[str], below: Node) -> Project:
    """Values as a flush writes them: of the types that Spark has found."""
    listed = zip(expressions, types, strict=True)
    outputs = (
        Output(Column(f"c{place}", type_), exp.cast(each.copy(), type_, dialect="spark")) for place, (each, type_) in enumerate(listed)
    )
    return Project(below, (Output(Column("id", "int"), column("id")), *outputs))


def comparable(table: pa.Table) -> list[tuple[object, ...]]:
    """Rows that can be compared and sorted. Dates as days: Python knows none after 9999."""
    days = [c.cast(pa.int32()) if pa.types.is_date(c.type) else c for c in table.columns]
    return sorted(zip(*(c.to_pylist() for c in days), strict=True), key=repr)


def assert_same(spark: pa.Table, sail: pa.Table, about: object) -> None:
    assert sail.schema == spark.schema, about
    assert comparable(sail) == comparable(spark), about


def assert_agreed(both: Both, texts: Sequence[str], relation: str) -> None:
    """Spark and Sail give the same for each expression, and both give something."""
    expressions = [parsed(text) for text in texts]
    types = both.types(expressions)
    plan = stored(expressions, types, scan(relation))
    spark, sail = both.by_spark(plan), both.by_sail(plan)
    assert spark is not None
    if sail is None:
        failed = [
            t for t, e, type_ in zip(texts, expressions, types, strict=True) if both.by_sail(stored([e], [type_], scan(relation))) is None
        ]
        raise AssertionError(f"Sail gives nothing for {failed or 'all of them at once'}")
    pairs = zip(texts, types, spark.sort_by("id").columns[1:], sail.sort_by("id").columns[1:], strict=True)
    wrong = {text: (type_, here.to_pylist(), there.to_pylist()) for text, type_, here, there in pairs if not here.equals(there)}
    assert not wrong


SCALARS = """
    flag AND other; flag OR other; NOT flag; flag AND NULL; flag OR NULL; NOT (flag AND other) OR flag
    flag = other; flag <> true; flag < other; flag IS NULL; flag IS NOT NULL; flag <=> other; flag IS DISTINCT FROM other
    i1 = i2; i1 < i8; i4 <=> i8; i8 IS DISTINCT FROM i4; i4 >= 2.5; n5 = i4; n5 < n18; n38 > i8; whole > n28; part < 0.5; NULL = i4
    s = t; s < t; s > 'a'; s <=> t; s <> ''; s = 'ä✓😀x'; s = 'it\\'s "a" \\\\ b'; t = 'a\nb'; t = 'a\\nb'; s > '\\u00e4'
    day < later; day >= DATE '1970-01-01'; day = DATE '2024-02-29'; day <=> later; day = CAST('1582-10-04' AS DATE)
    i4 IN (3, -3, 2147483647); i4 NOT IN (3, -3); i1 IN (1, 2.5, 300); i8 IN (1L, -9223372036854775807); n5 IN (1.25, 12)
    s IN ('a', '', 'ä✓😀x'); s NOT IN ('a', ''); day IN (DATE '2024-02-29', DATE '0001-01-01')
    i4 BETWEEN -3 AND 3; i4 NOT BETWEEN -3 AND 3; n5 BETWEEN i1 AND 12.5; s BETWEEN 'a' AND 'b'; day NOT BETWEEN later AND later
    s LIKE 'a%'; s NOT LIKE 'a%'; NOT s LIKE 'a%'; s LIKE '%'; s LIKE ''; s LIKE '_'; t LIKE 'a_b'; t LIKE 'a%b'; s LIKE '__%x'; t LIKE 'a_'
    s LIKE '%.%'; s LIKE 'ä%'; s LIKE '%"a"%'; s NOT LIKE '____'; s LIKE 'A%'; s LIKE '(a|b)'; s LIKE '_%_'
    CASE WHEN flag THEN i1 WHEN other THEN i8 END; CASE WHEN flag THEN 1 ELSE i1 END; CASE WHEN flag THEN n5 ELSE i4 END
    CASE WHEN s LIKE 'a%' THEN s ELSE 'none' END; CASE WHEN flag IS NULL THEN NULL ELSE day END
    if(flag, i1, i2); if(flag, NULL, n18); coalesce(i1, i2, i4); coalesce(n5, i8, 0); coalesce(s, t, ''); coalesce(day, later)
    least(i1, i2, i4); greatest(i1, i2, 5); least(n5, n18); greatest(s, t); least(s, t, 'b'); greatest(day, later); least(flag, other)
    greatest(i1, 2.5); least(n5, NULL); coalesce(NULL, i2)
    CAST(i1 AS BIGINT); CAST(i4 AS STRING); CAST(i8 AS STRING); CAST(i1 AS DECIMAL(3,0)); CAST(i8 AS DECIMAL(20,0)); CAST(n5 AS DECIMAL(10,4))
    CAST(n5 AS DECIMAL(38,2)); CAST(NULL AS DATE); CAST(n18 AS DECIMAL(38,4)); CAST(s AS STRING); CAST(i2 AS DECIMAL(38,10))
    -n5; -n18; -n28; -1; -2.5; n5 + n5; n5 - n18; n5 + i8; n5 + 1; 1 - n5; n28 + n28; n28 - 1.5
    n5 * n5; n5 * n18; n5 * i4; n5 * 2; n5 * (1 - n5) * (1 + n5); i4 * 1.5; n18 * n18
    (1 - n5) * n18 + 0.05; - (n5 - n18); -(-n5); n5 - (n18 - n5); n5 - n18 - n5
    CASE WHEN i4 > 0 THEN n5 / i4 END; CASE WHEN i8 > 0 THEN CAST(n5 AS DECIMAL(25,2)) / i8 END; CASE WHEN n5 <> 0 THEN n5 / n5 END; CASE WHEN i2 <> 0 THEN n18 / i2 END
    CAST(CASE WHEN i8 <> 0 THEN CAST(n5 AS DECIMAL(25,2)) / i8 END AS DECIMAL(19,6)); CAST(n18 AS DECIMAL(16,1)); CAST(n5 AS DECIMAL(4,0)); CAST(part AS DECIMAL(9,3))
    substring(s, 1, 1); substring(s, 2, 2); substring(s, 1, 0); substring(s, 3, 99); substring(s, 99, 1); substring(t, 2, 1)
    year(day); month(day); day(day); dayofmonth(later); extract(YEAR FROM day); extract(MONTH FROM later); extract(DAY FROM later)
    later + INTERVAL 1 DAY; day - INTERVAL '1' MONTH; day + INTERVAL 12 MONTH; later + INTERVAL '1' YEAR; day - INTERVAL 4 YEAR
    later + INTERVAL '-3' DAY; DATE '2024-01-31' + INTERVAL 1 MONTH; DATE '2024-02-29' + INTERVAL 1 YEAR; day + INTERVAL 1 MONTH < later
    1; 2147483647; 2147483648; 9223372036854775808; 0.5; 1.50; .5; 12345678901234567890.123; 'x'; true; DATE '1582-10-10'; 0; 00.10
"""  # noqa: E501


def listed(texts: str) -> list[str]:
    return [part.strip() for line in texts.split("\n    ") for part in line.split(";") if part.strip()]


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("relation", ["nasty", "alike", "or_null", "none"])
def test_expressions_give_on_sail_what_they_give_on_spark(both: Both, relation: str) -> None:
    assert_agreed(both, listed(SCALARS), relation)


OVERFLOWING = """
    i1 + i1; i4 + i4; i8 + i8; i1 * i1; i8 * i8; i4 - i8; n38 + n38; whole + whole; n38 * 2; n28 * n28; n38 * n5 * 1.500000
    CAST(n5 AS DECIMAL(3,2)); CAST(n18 AS DECIMAL(5,4)); CAST(n38 AS DECIMAL(10,2)); CAST(whole AS DECIMAL(37,0))
"""


@pytest.mark.xdist_group("spark")
def test_what_fails_on_spark_fails_on_sail(both: Both) -> None:
    """Row by row where numbers are at their limits. Where they are not, both give the same."""
    texts = listed(OVERFLOWING)
    assert_agreed(both, [text for text in texts if "CAST(n5" not in text and "CAST(n18" not in text], "mild")  # 12 has two digits
    failed = 0
    for text in texts:
        for number in (LOWEST, HIGHEST):
            told = parsed(text)
            below = Filter(scan(), parsed(f"id = {number}"))
            plan = stored([told], both.types([told]), below)
            spark, sail = both.by_spark(plan), both.by_sail(plan)
            failed += spark is None
            assert sail is None or spark is not None, (text, number)
            if sail is not None:
                assert_same(spark, sail, (text, number))
    assert failed > len(texts)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    ("text", "number"), [("-i1", LOWEST), ("-i2", LOWEST), ("-i4", LOWEST), ("-i8", LOWEST), ("i8 - 1", LOWEST), ("i8 + 1", HIGHEST)]
)
def test_the_last_number_has_no_next(both: Both, text: str, number: int) -> None:
    told = parsed(text)
    alone = stored([told], both.types([told]), Filter(scan(), parsed(f"id = {number}")))
    assert both.by_spark(alone) is None and both.by_sail(alone) is None
    assert_agreed(both, [text], "mild")


def is_agreed(both: Both, text: str) -> bool:
    told = parsed(text)
    return is_agreed_as(told, *both.types([told]))


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("p38 + p38 < 0", "mild"),  # Spark's sum of two decimal(38,10) is a decimal(38,9)
        ("p38 - (-p38) < 0", "mild"),
        ("day + INTERVAL '0 12' DAY TO HOUR > day", "nasty"),  # a timestamp
        ("day + INTERVAL '0 12:00:00' DAY TO SECOND > day", "nasty"),
        ("xxhash64(-2147483648)", "nasty"),  # an INT, though 2147483648 is none
        ("substring(s, 2147483648, 1)", "nasty"),  # fails on Spark
        ("i8 + 1 > 0", "nasty"),  # fails on Spark; Sail compares what was not cast back
        ("i4 + i4 IN (1, 2)", "nasty"),
        ("CAST(n38 AS DECIMAL(5,2)) = 1.25", "nasty"),
        ("-n38", "long"),  # Spark keeps 34 digits
        ("-whole", "nasty"),  # and fails
    ],
)
def test_what_sail_sees_differently_is_not_agreed_to(both: Both, text: str, relation: str) -> None:
    if is_agreed(both, text):
        told = parsed(text)
        plan = stored([told], both.types([told]), scan(relation))
        spark, sail = both.by_spark(plan), both.by_sail(plan)
        assert sail is None or spark is not None, "Spark fails"
        if sail is not None:
            assert_same(spark, sail, text)


HASHED = [name for name, type_ in TYPES.items() if not type_.startswith("decimal(28") and not type_.startswith("decimal(38")]


@pytest.mark.xdist_group("spark")
def test_identities_are_the_same(both: Both) -> None:
    """Of every type that is agreed to, of NULL, of none, of several parts and of what is computed."""
    parts: list[list[Expression | None]] = [[column(name)] for name in HASHED]
    parts += [[], [None], [None, column("s")], [exp.null()], [column(name) for name in HASHED], [column("i1"), None, column("i8")]]
    computed = "n5 + 1; i1 + 1; CASE WHEN flag THEN 1 ELSE i1 END; coalesce(i2, i8); least(n5, 3.5); n5 * i1; n5 - i4; if(flag, NULL, i1)"
    computed += (
        "; substring(s, 1, 2); year(day); day + INTERVAL 1 MONTH; s LIKE 'a%'; 5; 5000000000; 1.50; CAST(i4 AS STRING); i1 IN (1, 2)"
    )
    computed += (
        "; -5; -n5; -1.5; CAST(i2 AS DECIMAL(10,2)); DATE '2024-01-01'; true; ''; greatest(i1, i2, 5); 0.05; coalesce(n5, 0); i2 * i1"
    )
    parts += [[exp.paren(parsed(text))] for text in computed.split("; ")]
    expressions = [identity(*each) for each in parts]
    hashes = [exp.Anonymous(this="xxhash64", expressions=[part for part in each if part is not None]) for each in parts if any(each)]
    # Where neither of `i1 + 1` and so on overflows.
    for relation in ("mild", "nasty"):
        fine = [each for each in (*expressions, *hashes) if relation == "mild" or not each.find(exp.Add, exp.Mul)]
        plan = stored(fine, both.types(fine), scan(relation))
        spark, sail = both.by_spark(plan), both.by_sail(plan)
        assert spark is not None and sail is not None
        wrong = [fine[place].sql() for place in range(len(fine)) if not same_column(spark, sail, f"c{place}")]
        assert not wrong


def same_column(spark: pa.Table, sail: pa.Table, name: str) -> bool:
    return bool(spark.sort_by("id").column(name).equals(sail.sort_by("id").column(name)))


MEASURES = """
    count(*); count(1); count(NULL); count(i4); count(flag); count(DISTINCT s); count(DISTINCT flag); count(DISTINCT day)
    min(s); max(s); min(t); max(t); min(flag); max(other); min(day); max(later); min(i1); max(i8); min(n38); max(part); min(whole)
    sum(i1); sum(i2); sum(i4); sum(i8); sum(n5); sum(n18); sum(n28); sum(n5 * n5); sum(n5 * (1 - n18)); max(s LIKE 'a%'); sum(n5 + i4)
    sum(CASE WHEN flag THEN 1 ELSE 0 END); sum(CASE WHEN flag THEN n5 END); sum(if(flag, i8, 0)); max(CAST(i4 AS STRING))
    count(n5 + n18); count(DISTINCT n38)
"""
LONG_SUMS = "\n    sum(n38); sum(p38); sum(whole); sum(part); sum(i4 * 2); count(DISTINCT i1 + i2)"


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    ("relation", "keys", "texts"),
    [
        ("nasty", "", MEASURES),
        ("or_null", "", MEASURES),
        ("or_null", "s", MEASURES),
        ("nasty", "flag", MEASURES),
        ("mild", "flag other", MEASURES + LONG_SUMS),
        ("mild", "", MEASURES + LONG_SUMS),
        ("none", "", MEASURES + LONG_SUMS),
        ("none", "s", MEASURES + LONG_SUMS),
        ("nasty", "s", ""),
        ("nasty", " ".join(TYPES), ""),
        ("nasty", " ".join(TYPES), MEASURES),
    ],
)
def test_aggregates_give_on_sail_what_they_give_on_spark(both: Both, relation: str, keys: str, texts: str) -> None:
    plan = aggregate(both, scan(relation), keys.split(), listed(texts))
    spark, sail = both.by_spark(plan), both.by_sail(plan)
    assert spark is not None and sail is not None
    assert_same(spark, sail, texts)


def aggregate(both: Both, below: Node, keys: Sequence[str], texts: Sequence[str]) -> Node:
    measures = [parsed(text) for text in texts]
    types = both.types(measures) if measures else []
    outputs = tuple(Output(Column(f"m{place}", type_), each) for place, (each, type_) in enumerate(zip(measures, types, strict=True)))
    return as_told(Aggregate(below, tuple(keys), outputs))


def as_told(plan: Node, names: Sequence[str] = ()) -> Node:
    """Columns of a plan as a flush writes them."""
    kept = [c for c in plan.columns if not names or c.name in names]
    return Project(plan, tuple(Output(Column(f"{c.name} out", c.type), exp.cast(column(c.name), c.type, dialect="spark")) for c in kept))


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("text", ["sum(i8)", "sum(whole)", "sum(n38)", "sum(p38)", "sum(part)"])
def test_a_sum_that_overflows_fails_on_both(both: Both, text: str) -> None:
    """Of the largest number twice."""
    largest = Filter(scan(), parsed(f"id = {HIGHEST}"))
    twice = Union((largest, Filter(scan("nasty", "2"), parsed(f"id2 = {HIGHEST}"))), tuple(Column(c.name, c.type) for c in COLUMNS))
    plan = aggregate(both, twice, (), [text])
    assert both.by_spark(plan) is None and both.by_sail(plan) is None


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("kind", ["inner", "left", "full", "semi", "anti"])
def test_joins_give_on_sail_what_they_give_on_spark(both: Both, kind: str) -> None:
    """By what is equal, by what is not distinct, by both and by neither; and what a filter above makes of it."""
    conditions = [
        "i4 = i4_",
        "i4 <=> i4_",
        "i4 = i4_ AND flag <=> flag_",
        "flag <=> flag_ AND i4 < i4_",
        "n5 <=> n18_",
        "flag IS NULL AND i4 <=> i4_",
    ]
    for condition in conditions:
        joined = Join(scan(), scan("mild", "_"), kind, parsed(condition))
        filters = ["flag = flag_", "flag_ IS NULL"] if kind in ("inner", "left", "full") and "<=>" in condition else []
        for plan in (joined, *(Filter(joined, parsed(each)) for each in filters)):
            told = as_told(plan, ("id", "id_", "flag_", "i4"))
            spark, sail = both.by_spark(told), both.by_sail(told)
            assert spark is not None and sail is not None, (kind, condition)
            assert_same(spark, sail, (kind, condition, plan))


@pytest.mark.xdist_group("spark")
def test_other_plans_give_on_sail_what_they_give_on_spark(both: Both) -> None:
    """A union of several types, rows in the text, two rows from one, and the first rows."""
    narrow = Project(scan(), (Output(Column("a", "tinyint"), column("i1")), Output(Column("b", "decimal(5,2)"), column("n5"))))
    wide = Project(scan("nasty", "2"), (Output(Column("c", "bigint"), column("i82")), Output(Column("d", "int"), column("i42"))))
    union = Union((narrow, wide), (Column("a", "bigint"), Column("b", "decimal(12,2)")))
    hashed = Project(
        union, (Output(Column("h", "string"), identity(column("a"), column("b"))), Output(Column("b", "decimal(12,2)"), column("b")))
    )
    rows = tuple((parsed(a), parsed(b)) for a, b in (("1", "'x'"), ("NULL", "'it\\'s'"), ("-2147483647", "NULL"), ("5", "'ä\\\\'")))
    values = Values(rows, (Column("n", "int"), Column("word", "string")))
    known = Project(
        values, (Output(Column("h", "string"), identity(column("n"), column("word"))), Output(Column("w", "string"), column("word")))
    )
    sides = Generate(scan(), parsed("array(true, false)"), Column("place", "int"), (Column("side", "boolean"),))
    plans = [
        as_told(hashed),
        known,
        as_told(sides, ("id", "place", "side")),
        as_told(Filter(sides, parsed("side OR i4 > 0")), ("id", "side")),
    ]
    for name in ("s", "day", "n38", "flag"):
        for order in ("", " DESC", " NULLS LAST", " DESC NULLS FIRST"):
            keys = [*parse_one(f"SELECT 1 ORDER BY {name}{order}, id", dialect="spark").args["order"].expressions]
            plans.append(as_told(Limit(scan(), tuple(keys), 3, 1), ("id", name)))
    for plan in plans:
        spark, sail = both.by_spark(plan), both.by_sail(plan)
        assert spark is not None and sail is not None, render(plan)
        assert_same(spark, sail, render(plan))


class RandomExpressions:
    """Expressions of the kinds that may be agreed to, well typed, over the columns above."""

    WHOLE = ("i1", "i2", "i4", "i8", "0", "1", "-3", "100", "3000000000")
    EXACT = ("n5", "n18", "n28", "n38", "p38", "whole", "part", "0.5", "1.25", "-0.01", "100.000")
    WORD = ("s", "t", "''", "'a'", "'ä✓😀'", "'it\\'s'", "'\\n'", "'%'")
    DAY = ("day", "later", "DATE '2024-02-29'", "DATE '1969-12-31'")
    LIKE = ("a%", "%a%", "_", "%", "", "_%_", "%😀%", "a_b%", "%\n%")

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def any(self, depth: int) -> str:
        return self._one(self.truth, self.whole, self.exact, self.word, self.day)(depth)

    def truth(self, depth: int) -> str:
        if depth == 0:
            return self._one("flag", "other", "true", "flag IS NULL")
        below = depth - 1
        kind = self._one(self.whole, self.exact, self.number, self.word, self.day, self.truth)
        a, b, c = (f"({kind(below)})" for _ in range(3))
        p, q = (f"({self.truth(below)})" for _ in range(2))
        return self._one(
            f"{p} AND {q}", f"{p} OR {q}", f"NOT {p}", f"{a} IS NULL", f"{a} IS NOT NULL",
            f"{a} {self._one('=', '<>', '<', '<=', '>', '>=')} {b}", f"{a} <=> {b}", f"{a} IS DISTINCT FROM {b}",
            f"{a} BETWEEN {b} AND {c}", f"{a} NOT BETWEEN {b} AND {c}", self._listed(),
            f"({self.word(below)}) {self._one('LIKE', 'NOT LIKE')} '{self._one(*self.LIKE)}'", self._either(self.truth, below),
        )  # fmt: skip

    def whole(self, depth: int) -> str:
        if depth == 0:
            return self._one(*self.WHOLE)
        a, b = (f"({self.whole(depth - 1)})" for _ in range(2))
        part = self._one(f"{self._one('year', 'month', 'day')}({self.day(depth - 1)})", f"extract(MONTH FROM {self.day(depth - 1)})")
        either = self._either(self.whole, depth - 1)
        return self._one(f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"- {a}", either, either, part, f"CAST({a} AS BIGINT)")

    def exact(self, depth: int) -> str:
        if depth == 0:
            return self._one(*self.EXACT)
        a, b = f"({self.exact(depth - 1)})", f"({self.number(depth - 1)})"
        a, b = (a, b) if self.random.random() < 0.5 else (b, a)
        either = self._either(self.exact, depth - 1)
        cast = f"CAST({self._one('n5', 'i1', 'i2 + 1', 'n5 * 2')} AS DECIMAL({self._one('10,2', '12,4', '38,2', '5,2', '18,0')}))"
        return self._one(f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"- ({self.exact(depth - 1)})", either, either, cast)

    def number(self, depth: int) -> str:
        return self._one(self.whole, self.exact)(depth)

    def word(self, depth: int) -> str:
        if depth == 0:
            return self._one(*self.WORD)
        part = f"substring({self.word(depth - 1)}, {self._one(1, 2, 3, 9)}, {self._one(0, 1, 2, 99)})"
        return self._one(part, part, self._either(self.word, depth - 1), f"CAST(({self.whole(depth - 1)}) AS STRING)")

    def day(self, depth: int) -> str:
        if depth == 0:
            return self._one(*self.DAY)
        by = f"INTERVAL '{self._one(0, 1, -1, 12, 29, 400)}' {self._one('DAY', 'MONTH', 'YEAR')}"
        return self._one(f"({self.day(depth - 1)}) {self._one('+', '-')} {by}", self._either(self.day, depth - 1))

    def _either(self, kind: Callable[[int], str], depth: int) -> str:
        """One of several values of a kind, now and then NULL."""
        a, b = (kind(depth) if self.random.random() < 0.9 else "NULL" for _ in range(2))
        c, p = kind(depth), self.truth(depth)
        return self._one(
            f"CASE WHEN {p} THEN {a} WHEN {self.truth(depth)} THEN {b} ELSE {c} END", f"CASE WHEN {p} THEN {c} END", f"if({p}, {c}, {b})",
            f"coalesce({a}, {b}, {c})", f"least({a}, {c})", f"greatest({c}, {b})",
        )  # fmt: skip

    def _listed(self) -> str:
        name, values = self._one(
            ("i1", self.WHOLE[4:]), ("i8", self.WHOLE[4:]), ("n5", self.EXACT[7:]), ("s", self.WORD[2:]), ("day", self.DAY[2:])
        )
        return f"{name} {self._one('IN', 'NOT IN')} ({', '.join(self.random.choices(values, k=2))})"

    def _one(self, *choices: T) -> T:
        return self.random.choice(choices)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("seed", [0])
def test_random_expressions_give_on_sail_what_they_give_on_spark(both: Both, seed: int) -> None:
    """With the hash of each, which tells its type. What is not agreed to is left out."""
    maker = RandomExpressions(seed)
    texts = [text for number in range(160) for text in hashed(maker.any(1 + number % 3))]
    expressions = [parsed(text) for text in texts]
    told = [each for each in zip(texts, expressions, both.types(expressions), strict=True) if is_agreed_as(*each[1:])]
    assert len(told) > 100
    given = compared(both, told, "mild")
    assert given > len(told) * 0.7
    compared(both, told[::6], "nasty")


def hashed(text: str) -> tuple[str, str]:
    return text, f"xxhash64({text})"


def is_agreed_as(told: Expression, type_: str) -> bool:
    try:
        agreed(stored([told], [type_], scan()))
    except Differs:
        return False
    return True


def compared(both: Both, told: Sequence[tuple[str, Expression, str]], relation: str) -> int:
    """How many expressions both give the same for. Halved where one of them fails: if it does so on Spark, it has to on Sail."""
    plan = stored([each for _, each, _ in told], [type_ for _, _, type_ in told], scan(relation))
    spark, sail = both.by_spark(plan), both.by_sail(plan)
    if spark is not None and sail is not None:
        wrong = [text for place, (text, _, _) in enumerate(told) if not same_column(spark, sail, f"c{place}")]
        assert not wrong, relation
        return len(told)
    if len(told) > 1:
        return compared(both, told[: len(told) // 2], relation) + compared(both, told[len(told) // 2 :], relation)
    assert sail is None, ("Spark fails", relation, told[0][0])
    return 0


@pytest.mark.xdist_group("spark")
def test_what_sail_has_failed_at_is_not_tried_again(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    statement, columns = "SELECT CAST(raise_error('no') AS INT) AS n", (Column("n", "int"),)
    asked: list[str] = []
    arrow = both.sail.arrow

    def counted(text: str, most: int) -> pa.Table:
        asked.append(text)
        return arrow(text, most=most)

    monkeypatch.setattr(both.sail, "arrow", counted)
    assert both.sail.exactly(statement, columns, TAKEN) is None and both.sail.exactly(statement, columns, TAKEN) is None
    assert asked == [statement]


@pytest.mark.xdist_group("spark")
def test_more_rows_than_this_process_takes_are_left_to_spark(both: Both) -> None:
    columns = (Column("n", "bigint"),)
    statement = "SELECT n FROM VALUES (1L), (2L), (3L) AS t(n)"
    assert both.sail.exactly(f"{statement} WHERE n > 1", columns, 2) is not None
    assert both.sail.exactly(statement, columns, 2) is None
