"""A bound plan, rendered and run, gives the rows of the query it was bound from: before the rewrites and after them.

The queries stand in `bind_queries.sql`, one a line, over small tables full of NULLs and duplicates. What to compare with is the engine
running the query itself; an equal query (`= ...` on the next line) where Spark does not take it; or, where Sail cannot run it or answers
wrongly, the rows that Spark 4.1 answered (`bind_answers.json`).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import Row

from slackwater.plan.nodes import Column, Expression, Node
from slackwater.plan.render import quote, render, sql
from slackwater.rewrite import rewrite
from slackwater.spark.failures import asked_again, translated
from slackwater.sql.bind import bind

HERE = Path(__file__).parent
ANSWERS: dict[str, list[Any]] = json.loads((HERE / "bind_answers.json").read_text())

TABLES: dict[str, tuple[str, Sequence[Any]]] = {
    "t": (
        "a int, b int, c string",
        [(1, 10, "x"), (1, 10, "x"), (1, 20, "y"), (2, 20, None), (2, None, "x"), (None, 30, "z"), (None,) * 3, (3, 5, "y")],
    ),
    "s": (
        "a int, d int, c string",
        [(1, 10, "x"), (1, 15, "q"), (2, 20, "y"), (None, 10, "x"), (4, None, None), (4, None, None), (1, 10, "x")],
    ),
    "u": ("k int, v int", [(1, 1), (2, 4), (3, None), (5, 5)]),
    "n": (
        "k int, arr array<int>, m map<string,int>, st struct<x:int,y:struct<z:string>>, sts array<struct<p:int,q:string>>",
        [
            (1, [1, 2, None], {"a": 1, "b": 2}, Row(x=1, y=Row(z="zz")), [Row(p=1, q="a"), Row(p=2, q="b")]),
            (2, [], {}, Row(x=2, y=Row(z=None)), []),
            (3, None, None, None, None),
        ],
    ),
    "e": ("a int, b int", []),
}


class Case(NamedTuple):
    query: str
    equal_to: str | None


def cases() -> list[Case]:
    """The queries of the file, each with the equal query that follows it, if one does."""
    found: list[Case] = []
    for line in (HERE / "bind_queries.sql").read_text().splitlines():
        if line.startswith("  = "):
            found[-1] = Case(found[-1].query, line.removeprefix("  = "))
        elif line and not line.startswith("--"):
            found.append(Case(line, None))
    return found


class Engine:
    """The tables in a Sail session, as relations and as the one who knows types."""

    tables = tuple(TABLES)

    def __init__(self, session: Any) -> None:
        self.session = session

    def columns(self, name: str) -> tuple[Column, ...] | None:
        if name.lower() not in self.tables:
            return None
        return tuple(Column(field.name, field.dataType.simpleString()) for field in self.session.table(name.lower()).schema)

    def names(self) -> list[str]:
        return list(self.tables)

    def types(self, expressions: Sequence[Expression], columns: Sequence[Column]) -> list[str]:
        inner = ", ".join(f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in columns) or "1 AS nothing"
        outer = ", ".join(f"{sql(expression)} AS c{index}" for index, expression in enumerate(expressions))
        return [field.dataType.simpleString() for field in self.session.sql(f"SELECT {outer} FROM (SELECT {inner})").schema]

    @asked_again
    def name(self, name: str, rows: Sequence[Any], schema: str) -> None:
        with translated(name):
            self.session.createDataFrame(rows, schema).createOrReplaceTempView(name)

    @asked_again
    def collect(self, text: str) -> list[Any]:
        with translated(text):
            found: list[Any] = self.session.sql(text).collect()
        return found

    def rows(self, text: str) -> Counter[str]:
        """The answer as a bag."""
        return Counter(json.dumps([plain(value) for value in row]) for row in self.collect(text))


def plain(value: Any) -> Any:
    """A value that compares as the engine meant it: floats to nine digits, dates and decimals as text."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.9g}")
    if isinstance(value, dict):
        return sorted([plain(key), plain(item)] for key, item in value.items())
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


@pytest.fixture(scope="module")
def sail_spark(sail_session: Any) -> Iterator[Engine]:
    """The tables on Sail, under their bare names."""
    engine = Engine(sail_session)
    for name, (schema, rows) in TABLES.items():
        engine.name(name, rows, schema)
    yield engine
    for name in TABLES:
        sail_session.catalog.dropTempView(name)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.query[:80])
def test_a_bound_plan_answers_as_its_query(sail_spark: Engine, case: Case) -> None:
    bound = bind(case.query, sail_spark, sail_spark)
    if case.query in ANSWERS:
        expected = Counter(json.dumps(plain(row)) for row in ANSWERS[case.query])
    else:
        expected = sail_spark.rows(case.equal_to or case.query)
    for plan in (bound.plan, rewrite(bound.plan)):
        assert sail_spark.rows(render(plan)) == expected
        assert types(sail_spark, plan) == [column.type for column in plan.columns]


def test_the_same_words_in_two_selects_are_two_subqueries(sail_spark: Engine) -> None:
    one = "(WITH w AS (SELECT {} AS a) SELECT (SELECT max(a) FROM w) AS m)"
    for _ in range(100):  # whether a SELECT that is gone is taken for another one is a matter of luck
        text = render(bind(f"SELECT * FROM {one.format(1)} x, {one.format(2)} y", sail_spark, sail_spark).plan)
        assert "1 AS a_" in text and "2 AS a_" in text


def types(engine: Engine, plan: Node) -> list[str]:
    return [field.dataType.simpleString() for field in engine.session.sql(render(plan)).schema]


def test_a_second_row_of_a_scalar_subquery_is_an_error(sail_spark: Engine) -> None:
    for query in ("select a, (select d from s where s.a = t.a) from t", "select (select d from s) from t"):
        plan = rewrite(bind(query, sail_spark, sail_spark).plan)
        with pytest.raises(Exception, match="more than one row"):
            sail_spark.rows(render(plan))
