"""On which plans engines agree, and how what may overflow is written for another one."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from slackwater.delta.rows import identity
from slackwater.plan import (
    Aggregate,
    Column,
    Few,
    Filter,
    Generate,
    Join,
    Limit,
    Node,
    Output,
    Project,
    Scan,
    Union,
    Values,
    Window,
    column,
)
from slackwater.plan.agreed import Differs, agreed
from slackwater.plan.nodes import Expression
from slackwater.plan.render import render, sql

TYPES = {
    "flag": "boolean", "i1": "tinyint", "i2": "smallint", "i4": "int", "i8": "bigint", "n": "decimal(12,2)", "n18": "decimal(18,4)",
    "n19": "decimal(19,2)", "n28": "decimal(28,2)", "n29": "decimal(29,2)", "n38": "decimal(38,2)", "s": "string", "day": "date",
}  # fmt: skip
TABLE = Scan("t", tuple(TYPES), tuple(Column(name, type_) for name, type_ in TYPES.items()))


def parsed(text: str) -> Expression:
    """Spark SQL with the plan's columns in it."""
    return parse_one(text, dialect="spark").transform(lambda node: column(node.name) if isinstance(node, exp.Column) else node)


def projected(told: Expression | str, type_: str = "unknown", below: Node = TABLE) -> Project:
    return Project(below, (Output(Column("c", type_), parsed(told) if isinstance(told, str) else told),))


def written(text: str) -> str:
    """An expression as the other engine gets it."""
    plan = agreed(projected(text))
    assert isinstance(plan, Project)
    return sql(plan.outputs[0].expression).replace("`", "")


def measured(text: str) -> str:
    """A call of an aggregate function as the other engine gets it."""
    plan = agreed(Aggregate(TABLE, ("s",), (Output(Column("m", "unknown"), parsed(text)),)))
    assert isinstance(plan, Aggregate)
    return sql(plan.measures[0].expression).replace("`", "")


def scanned(type_: str) -> Scan:
    return Scan("t", ("c",), (Column("c", type_),))


@pytest.mark.parametrize("type_", [*sorted(set(TYPES.values())), "decimal(5, 2)"])
def test_columns_of_exact_types_are_agreed_on(type_: str) -> None:
    assert agreed(scanned(type_)) == scanned(type_)


@pytest.mark.parametrize(
    "type_", "double float timestamp timestamp_ntz binary array<int> struct<a:int> map<int,int> varchar(3) void decimal interval".split()
)
def test_columns_of_other_types_are_not(type_: str) -> None:
    with pytest.raises(Differs, match="a column of type"):
        agreed(scanned(type_))


def test_a_collation_is_not_agreed_on() -> None:
    with pytest.raises(Differs):
        agreed(scanned("string collate utf8_lcase"))


@pytest.mark.parametrize(
    "text",
    [
        "flag AND NOT flag OR flag", "flag AND NULL", "i4 = i8", "n < i4", "n <= n38", "s <> 'a'", "i4 IS NULL", "i4 BETWEEN 1 AND 2.5",
        "i4 IN (1, -2)", "day IN (CAST('2024-01-01' AS DATE))", "s LIKE 'a_%'", "CASE WHEN flag THEN 1 ELSE i8 END", "IF(flag, s, 'a')",
        "COALESCE(i4, 0)", "LEAST(i4, n)", "GREATEST(s, 'a')", "CAST(i4 AS BIGINT)", "CAST(i4 AS STRING)", "CAST(i4 AS DECIMAL(10, 0))",
        "CAST(n AS DECIMAL(14, 4))", "CAST(NULL AS DATE)", "SUBSTRING(s, 1, 2)", "YEAR(day)", "MONTH(day)", "DAYOFMONTH(day)",
        "EXTRACT(YEAR FROM day)", "day + INTERVAL '1' MONTH", "day - INTERVAL '3' DAY", "XXHASH64(i4, s, n18, flag, day)", "-5", "-2.50",
        "i4 IS NOT DISTINCT FROM 3", "i4 IS DISTINCT FROM i8",
    ],
)  # fmt: skip
def test_what_is_agreed_on_is_left_as_it_is(text: str) -> None:
    assert written(text) == sql(parsed(text)).replace("`", "")


@pytest.mark.parametrize(
    "text",
    [
        # quotients, and what else is rounded
        "i4 / 2", "i4 / i8", "n38 / n38", "n / i8", "n / 2", "n / (n + n)", "i4 % 2", "i4 DIV 2", "round(n)", "sqrt(i4)", "abs(n)",
        # doubles and times
        "1e3", "1.5D", "CAST(i4 AS DOUBLE)", "CAST(day AS TIMESTAMP)", "current_date()", "rand()",
        # engines coerce in ways of their own
        "s = 1", "day = '2024-01-01'", "flag = 1", "coalesce(s, i4)", "CASE WHEN flag THEN s ELSE 1 END", "least(day, s)", "i4 IN ('1')",
        "CAST(s AS INT)", "CAST(s AS DATE)", "CAST(n AS STRING)", "CAST(flag AS STRING)", "CAST(flag AS INT)", "CAST(i8 AS INT)", "day + 1",
        # what one of them knows less well
        "flag IS TRUE", "i4 IN (1, NULL)", "i4 IN (i8, 1)", "s ILIKE 'a'", "s RLIKE 'a'", "upper(s)", "length(s)", "concat(s, s)", "s || s",
        "CASE i4 WHEN 1 THEN 2 END", "nullif(i4, 1)", "hex(i8)", "make_date(1, 1, 1)", "date_add(day, 1)", "day - day", "trunc(day, 'MM')",
        "substring(s, i4, 1)", "substring(s, 1, i4)", "substring(s, 0, 2)", "substring(s, -1, 2)", "substring(s, 1)", "substring(i4, 1, 2)",
        "year(s)", "extract(DOY FROM day)", "extract(WEEK FROM day)", "day + INTERVAL 1 WEEK", "day + INTERVAL i4 DAY", "array(1)",
        "(SELECT 1)",
        # LIKE
        "s LIKE 'a\\\\_%'", "s LIKE 'a!_' ESCAPE '!'", "s LIKE s", "i4 LIKE '1%'", "s LIKE ANY ('a', 'b')",
    ],
)  # fmt: skip
def test_what_may_be_seen_differently_is_refused(text: str) -> None:
    with pytest.raises(Differs):
        agreed(projected(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s NOT LIKE 'a%'", "s NOT LIKE 'a%'"),
        ("NOT s LIKE 'a%'", "NOT s LIKE 'a%'"),
        ("NOT (s NOT LIKE 'a%')", "NOT (s NOT LIKE 'a%')"),
        ("flag OR s NOT LIKE 'a%' AND flag", "flag OR s NOT LIKE 'a%' AND flag"),
        ("CASE WHEN s NOT LIKE 'a%' THEN 1 ELSE 0 END", "CASE WHEN s NOT LIKE 'a%' THEN 1 ELSE 0 END"),
        ("i4 NOT IN (1, 2)", "NOT i4 IN (1, 2)"),
        ("i4 NOT BETWEEN 1 AND 2", "NOT i4 BETWEEN 1 AND 2"),
        ("i4 IS NOT NULL", "NOT i4 IS NULL"),
    ],
)
def test_a_negation_is_never_lost(text: str, expected: str) -> None:
    assert written(text) == expected
    assert expected in render(agreed(Filter(TABLE, parsed(text if text[:4] != "CASE" else f"({text}) = 1")))).replace("`", "")


def test_a_negation_that_is_a_mark_is_kept() -> None:
    """However sqlglot comes to mark it."""
    for kind, parts in (
        (exp.In, {"expressions": [exp.Literal.number(1)]}),
        (exp.Between, {"low": exp.Literal.number(1), "high": exp.Literal.number(2)}),
    ):
        told = agreed(projected(kind(this=column("i4"), negate=True, **parts)))
        assert isinstance(told, Project) and told.outputs[0].expression.args["negate"] is True


def test_what_a_node_says_beyond_what_is_understood_is_refused() -> None:
    for told in (
        exp.Is(this=column("i4"), expression=exp.null(), negate=True),
        exp.EQ(this=column("i4"), expression=column("i8"), negate=True),
        exp.cast(column("i4"), "bigint").__class__(this=column("i4"), to=exp.DataType.build("bigint"), format=exp.Literal.string("x")),
    ):
        with pytest.raises(Differs):
            agreed(projected(told))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i4 + 1", "COALESCE(CAST((CAST((i4) AS DECIMAL(20, 0)) + CAST((1) AS DECIMAL(20, 0))) AS INT), NULL)"),
        ("i1 - i1", "COALESCE(CAST((CAST((i1) AS DECIMAL(20, 0)) - CAST((i1) AS DECIMAL(20, 0))) AS TINYINT), NULL)"),
        ("i2 + i8", "COALESCE(CAST((CAST((i2) AS DECIMAL(20, 0)) + CAST((i8) AS DECIMAL(20, 0))) AS BIGINT), NULL)"),
        ("i4 * i8", "COALESCE(CAST((CAST((i4) AS DECIMAL(19, 0)) * CAST((i8) AS DECIMAL(19, 0))) AS BIGINT), NULL)"),
        ("-i4", "COALESCE(CAST((-CAST((i4) AS DECIMAL(20, 0))) AS INT), NULL)"),
    ],
)
def test_whole_numbers_are_added_as_decimals_and_cast_back(text: str, expected: str) -> None:
    """The cast fails where they have become too large, also where the number is only compared: hence the coalesce."""
    assert written(text) == expected


def test_whole_numbers_are_cast_back_after_every_step() -> None:
    assert written("i4 + 1 - 1").count("AS INT)") == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n + n", "((n) + (n))"),
        ("n - i4", "((n) - (i4))"),
        ("n * n", "((n) * (n))"),
        ("n * (1 - n)", "((n) * ((((1) - (n)))))"),
        ("-n", "-(n)"),
        ("n - (n - n)", "((n) - ((((n) - (n)))))"),
    ],
)
def test_decimals_with_room_are_computed_as_they_are(text: str, expected: str) -> None:
    assert written(text) == expected


def test_a_sum_of_two_long_decimals_is_watched() -> None:
    told = written("n38 + n38")
    assert told.startswith("CASE WHEN ABS((CAST((n38) AS DOUBLE) + CAST((n38) AS DOUBLE))) >= CAST('9e35' AS DOUBLE) THEN")
    assert "RAISE_ERROR" in told and told.endswith("ELSE ((n38) + (n38)) END")


@pytest.mark.parametrize(("text", "most"), [("n38 + 1", "9e35"), ("n38 - n29", "9e35"), ("n38 + 0.005", "9e34")])
def test_a_sum_of_a_long_decimal_and_another_is_watched(text: str, most: str) -> None:
    assert f">= CAST('{most}' AS DOUBLE) THEN" in written(text)


@pytest.mark.parametrize("text", ["n18 * n19 * n", "n38 * n18 * 0.5", "n18 * n18 * i8", "CAST(n AS DECIMAL(38,10)) + 1"])
def test_what_may_lose_digits_is_refused(text: str) -> None:
    with pytest.raises(Differs, match="may lose digits"):
        agreed(projected(text))


def test_a_long_product_that_keeps_its_digits_is_watched() -> None:
    told = written("n38 * n")
    assert told.startswith("CASE WHEN ABS((CAST((n38) AS DOUBLE) * CAST((n) AS DOUBLE))) >= CAST('9e33' AS DOUBLE) THEN")
    assert "RAISE_ERROR" in told and told.endswith("ELSE ((n38) * (n)) END")


def test_zeros_behind_the_last_digit_do_not_count() -> None:
    assert written("n38 * 1.500000000").endswith("ELSE ((n38) * (1.5)) END")
    with pytest.raises(Differs, match="may lose digits"):
        agreed(projected("n38 * 1.500000001"))


def test_a_decimal_that_may_not_fit_beside_another_is_watched_where_they_are_compared() -> None:
    told = written("CAST(n AS DECIMAL(16,6)) < n38")
    assert told.startswith("CAST(n AS DECIMAL(16, 6)) < CASE WHEN ABS(CAST((n38) AS DOUBLE)) >= CAST('9e31' AS DOUBLE) THEN")


@pytest.mark.parametrize("to", ["DECIMAL(5, 2)", "DECIMAL(3, 2)", "DECIMAL(38, 2)"])
def test_a_cast_that_keeps_the_scale_is_agreed_on_because_it_is_checked(to: str) -> None:
    assert written(f"CAST(n AS {to})") == (f"CAST(n AS {to})" if to == "DECIMAL(38, 2)" else f"COALESCE(CAST((n) AS {to}), NULL)")


@pytest.mark.parametrize("to", ["DECIMAL(12, 1)", "DECIMAL(12, 0)", "DECIMAL(12, 3)", "DECIMAL(38, 37)"])
def test_a_cast_that_rounds_a_decimal_is_checked(to: str) -> None:
    assert written(f"CAST(n AS {to})") == f"COALESCE(CAST((n) AS {to}), NULL)"


@pytest.mark.parametrize("to", ["INT", "BIGINT", "DOUBLE"])
def test_a_cast_of_a_decimal_to_another_kind_of_number_is_refused(to: str) -> None:
    with pytest.raises(Differs):
        agreed(projected(f"CAST(n AS {to})"))


def test_a_quotient_is_written_with_the_places_that_spark_gives_it() -> None:
    assert written("n / i4") == "COALESCE(CAST((CAST((n) AS DECIMAL(38, 10)) / CAST((i4) AS DECIMAL(10, 0))) AS DECIMAL(23, 13)), NULL)"
    assert written("n / n") == "COALESCE(CAST((CAST((n) AS DECIMAL(38, 12)) / CAST((n) AS DECIMAL(12, 2))) AS DECIMAL(27, 15)), NULL)"


@pytest.mark.parametrize(
    ("name", "is_agreed"), [("n18", True), ("n19", False), ("n38", False), ("s", True), ("flag", True), ("i1", True), ("day", True)]
)
def test_identities_of_long_decimals_are_refused(name: str, is_agreed: bool) -> None:
    plan = projected(identity(column("i4"), None, column(name)))
    if is_agreed:
        assert agreed(plan) == plan
    else:
        with pytest.raises(Differs, match="xxhash64"):
            agreed(plan)


def test_what_was_computed_has_the_type_that_it_was_computed_in() -> None:
    """Not the one that the plan tells: a sum of short decimals may be too long to be hashed alike."""
    for text, is_agreed in (("n18", True), ("n18 + n18", False), ("i8", True), ("i8 + n", False), ("CAST(n19 AS DECIMAL(18,2))", True)):
        plan = projected(identity(column("c")), below=projected(text, "decimal(18,4)"))
        if is_agreed:
            agreed(plan)
        else:
            with pytest.raises(Differs, match="xxhash64"):
                agreed(plan)


@pytest.mark.parametrize(
    "text", ["count(*)", "count(1)", "count(s)", "count(DISTINCT s)", "min(s)", "max(day)", "min(flag)", "min(n38)", "sum(n)", "sum(n28)"]
)
def test_aggregates_that_cannot_fail_are_left_as_they_are(text: str) -> None:
    """A decimal of 28 digits has room for the ten that a sum has more."""
    assert measured(text).lower() == text.lower()


def test_a_sum_of_whole_numbers_is_cast_back() -> None:
    assert measured("sum(i4)") == "COALESCE(CAST((SUM(CAST((i4) AS DECIMAL(20, 0)))) AS BIGINT), NULL)"


def test_a_sum_of_long_decimals_is_watched() -> None:
    for name in ("n29", "n38"):
        told = measured(f"sum({name})")
        assert told.startswith(f"CASE WHEN SUM(ABS(CAST(({name}) AS DOUBLE))) >= CAST('9e35' AS DOUBLE) THEN")
        assert "RAISE_ERROR" in told and told.endswith(f"ELSE SUM({name}) END")


@pytest.mark.parametrize(
    "text",
    [
        "avg(i4)", "avg(n)", "count(DISTINCT s, i4)", "count(s, i4)", "sum(DISTINCT i4)", "sum(i4 / 2)", "stddev(i4)", "first(s)",
        "max_by(s, i4)", "collect_list(i4)", "count(*) FILTER (WHERE flag)", "min(s) FILTER (WHERE flag)", "count_if(flag)", "sum(s)",
        "approx_count_distinct(s)", "bool_and(flag)", "sum(day)",
    ],
)  # fmt: skip
def test_other_aggregates_are_refused(text: str) -> None:
    with pytest.raises(Differs):
        measured(text)


def test_a_window_is_refused() -> None:
    function = Output(Column("r", "int"), parsed("row_number() OVER (PARTITION BY s ORDER BY i4)"))
    with pytest.raises(Differs, match="WINDOW"):
        agreed(Window(TABLE, ("s",), (function,)))


def test_only_arrays_of_ours_are_exploded() -> None:
    position, element = Column("p", "int"), (Column("e", "boolean"),)
    sides = Generate(TABLE, parsed("array(true, false)"), position, element)
    assert agreed(sides) == sides
    for text in ("array(i4, 1)", "array(flag)", "split(s, ',')", "array(1, 2)", "sequence(1, i4)"):
        with pytest.raises(Differs, match="explode"):
            agreed(Generate(TABLE, parsed(text), position, element))


def test_what_is_refused_anywhere_refuses_the_plan() -> None:
    refused = Filter(TABLE, parsed("i4 / 2 > 1"))
    other = Scan("u", ("k",), (Column("k", "int"),))
    for plan in (
        Project(refused, ()),
        Join(other, refused, "semi", parsed("k = i4")),
        Join(other, TABLE, "left", parsed("k / 2 = i4")),
        Aggregate(refused, ("s",), ()),
        Union((Project(TABLE, (Output(Column("a", "int"), column("i4")),)), projected("i4 % 2")), (Column("a", "int"),)),
        Limit(TABLE, tuple(parse_one("SELECT 1 ORDER BY i4 / 2", dialect="spark").args["order"].expressions), 3),
        Values(((parsed("1 / 2"),),), (Column("a", "int"),)),
        Few(refused),
    ):
        with pytest.raises(Differs):
            agreed(plan)


def test_a_condition_is_a_boolean() -> None:
    with pytest.raises(Differs, match="int as a condition"):
        agreed(Filter(TABLE, column("i4")))


def test_a_union_has_the_type_that_its_branches_have_in_common() -> None:
    def branch(name: str) -> Node:
        return Project(TABLE, (Output(Column(f"{name}_", TYPES[name]), column(name)),))

    def union(a: str, b: str) -> Node:
        return projected(identity(column("u")), below=Union((branch(a), branch(b)), (Column("u", "unknown"),)))

    agreed(union("i4", "i8"))
    agreed(union("n", "n18"))
    for a, b in (("n", "n19"), ("i8", "n"), ("s", "i4"), ("day", "s")):
        with pytest.raises(Differs):
            agreed(union(a, b))


def test_rows_in_the_text_have_the_types_of_their_columns() -> None:
    columns = (Column("a", "int"), Column("b", "string"))
    plan = Values(((parsed("1"), parsed("NULL")), (parsed("-5"), parsed("'x'"))), columns)
    assert agreed(plan) == plan
    for value in ("1.5", "5000000000", "'x'"):
        with pytest.raises(Differs):
            agreed(Values(((parsed(value), parsed("'x'")),), columns))


def test_marks_for_spark_are_taken_off() -> None:
    assert agreed(Few(TABLE)) == TABLE


def test_a_part_that_occurs_twice_stays_one() -> None:
    part = Filter(TABLE, parsed("i4 + 1 > 2"))
    twice = Join(
        Project(part, (Output(Column("a", "int"), column("i4")),)),
        Project(part, (Output(Column("b", "int"), column("i4")),)),
        "full",
        parsed("a = b"),
    )
    told = agreed(twice)
    assert isinstance(told, Join)
    assert told.left.inputs == told.right.inputs
    assert render(told).count("WITH part_1 AS") == 1


@pytest.mark.parametrize(
    "text",
    [
        "CAST(n AS DECIMAL(38,10)) + CAST(n AS DECIMAL(38,10)) > 0",  # to Spark a decimal(38,9)
        "day + INTERVAL '0 12' DAY TO HOUR > day",  # a timestamp
        "day + INTERVAL '0 12:00' DAY TO MINUTE > day",
        "xxhash64(-2147483648)",  # an INT, though 2147483648 is none
        "substring(s, 2147483648, 1)",  # no place that Spark takes
    ],
)
def test_what_sail_is_known_to_see_differently_is_refused(text: str) -> None:
    with pytest.raises(Differs):
        agreed(projected(text))
