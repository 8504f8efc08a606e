"""The batch side: a case's views computed from scratch by the engine alone, with nothing of slackwater in between.

The tables' rows are kept in Python and handed to the engine as temporary views; a view's text runs over them. This is what writes the
expected blocks of the case files.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa

from slackwater.spark.start import LOCAL_SETTINGS, SAIL_SETTINGS, SETTINGS
from tests.cases import Case, Change, Step, Table
from tests.oracle import difference
from tests.values import Row, arrow_table, rows_of, write_row

Lines = tuple[tuple[str, str], ...]


@contextmanager
def open_engine(name: str) -> Iterator[Any]:
    """A plain engine: Sail in this process, or Spark on two cores."""
    if name == "sail":
        with _open_sail() as session:
            yield session
        return
    session = open_spark()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _open_sail() -> Iterator[Any]:
    os.environ.setdefault("RUST_LOG", "error")
    for name, value in SAIL_SETTINGS.items():
        os.environ.setdefault(name, value)
    from pysail.spark import SparkConnectServer  # type: ignore[import-untyped,unused-ignore]
    from pyspark.sql import SparkSession

    server = SparkConnectServer(port=0)
    server.start(background=True)
    session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").create()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        yield session
    finally:
        session.stop()
        server.stop()


# pyspark asks the environment whether a process talks to a server or to a JVM of its own. Tests do both, one after the other.
REMOTE = "SPARK_CONNECT_MODE_ENABLED"


@contextmanager
def talking_to(engine: str) -> Iterator[None]:
    """Let pyspark know which of the two it is about to deal with."""
    before = os.environ.pop(REMOTE, None)
    if engine in ("sail", "connect"):
        os.environ[REMOTE] = "1"
    try:
        yield
    finally:
        os.environ.pop(REMOTE, None)
        if before is not None:
            os.environ[REMOTE] = before


def open_spark(master: str = "local[2]", extra: Mapping[str, str] | None = None) -> Any:
    """Spark with its driver in this process, set up for many tiny queries."""
    with talking_to("spark"):
        return _open_spark(master, extra or {})


def _open_spark(master: str, extra: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    options = {
        **SETTINGS,
        **LOCAL_SETTINGS,
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.driver.host": "127.0.0.1",
        # A JVM of tests compiles much and runs it once: the second compiler costs more than it gives.
        "spark.driver.extraJavaOptions": SETTINGS["spark.driver.extraJavaOptions"] + " -XX:TieredStopAtLevel=1 -Xss8m",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        **extra,
    }
    builder = SparkSession.builder.master(master).appName("slackwater tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Contents:
    """The rows of a case's tables, as bags."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.rows: dict[str, Counter[Row]] = {table.name: Counter() for table in tables}

    def apply(self, change: Change) -> None:
        """Follow one change; a row that is not there cannot leave."""
        rows = self.rows[change.table]
        if change.kind == "clear":
            rows.clear()
            return
        if change.kind != "+":
            if not rows[change.row]:
                raise ValueError(f"{change.table} has no row {change.row}")
            rows[change.row] -= rows[change.row] if change.kind == "-*" else 1
        if change.kind == "+":
            rows[change.row] += 1
        if change.kind == "~":
            rows[change.new] += 1

    def listed(self, table: str) -> list[Row]:
        return list(self.rows[table].elements())


class Batch:
    """Answers the views of a case after each of its steps."""

    def __init__(self, spark: Any, engine: str) -> None:
        self.spark = spark
        self.engine = engine

    def answer(self, case: Case) -> Case:
        """The case with its blocks computed."""
        contents = Contents(case.tables)
        shown: dict[str, list[Row]] = {view.name: [] for view in case.views}
        steps = []
        for step in case.steps:
            for change in step.changes:
                contents.apply(change)
            steps.append(self._answer_step(case, step, contents, shown))
        return replace(case, steps=tuple(steps))

    def _answer_step(self, case: Case, step: Step, contents: Contents, shown: dict[str, list[Row]]) -> Step:
        blocks = {}
        self.load(case, contents)
        for name in step.reads:
            answer = self.spark.sql(f"SELECT * FROM {name}").toArrow()
            answer = visible(answer, case.ties(name))
            now = rows_of(answer)
            blocks[name] = block(shown[name], now, answer.schema.types)
            shown[name] = now
        return replace(step, blocks=blocks)

    def load(self, case: Case, contents: Contents) -> None:
        """Make the tables and the views known to the engine."""
        for table in case.tables:
            schema = ", ".join(f"{name} {type_}" for name, type_ in table.columns)
            rows = arrow_table(contents.listed(table.name), table.names, table.types)
            # Without rows the schema cannot be taken from Arrow on every engine.
            frame = self.spark.createDataFrame(rows) if rows.num_rows else self.spark.createDataFrame([], schema=schema)
            frame.createOrReplaceTempView(table.name)
        for view in case.views:
            self.spark.sql(view.text).createOrReplaceTempView(view.name)


def visible(answer: pa.Table, ties: Sequence[str]) -> pa.Table:
    """The columns of an answer that a block shows: all, or those that decide a LIMIT with ties."""
    return answer.select(list(ties)) if ties else answer


def block(before: Sequence[Row], after: Sequence[Row], types: Sequence[pa.DataType]) -> Lines:
    """What changed between two answers, as signed lines: first what left, then what came, each sorted."""
    found = difference(after, before)
    gone = sorted(write_row(row, types) for row in found.missing)
    come = sorted(write_row(row, types) for row in found.surplus)
    return tuple([("-", cells) for cells in gone] + [("+", cells) for cells in come])
