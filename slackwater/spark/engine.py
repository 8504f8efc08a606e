"""The engine: runs statements, reads and writes batches. Everything here is public API that Spark Connect has too.

One class serves them all: Spark in this process, a session that was given, a master or Connect URL, and Sail.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from slackwater.delta import ID
from slackwater.errors import QueryError, SlackwaterError, Unsupported
from slackwater.plan import Column
from slackwater.plan.nodes import Expression
from slackwater.plan.render import quote, sql
from slackwater.spark import left
from slackwater.spark.arrow import arrow_schema
from slackwater.spark.failures import asked_again, reading_files, translated, writing_files
from slackwater.spark.parquet import read_parquet, sail_uri, write_by_sail, write_parquet
from slackwater.spark.read_by import ReadBy, names_in
from slackwater.trace import VERSION, File, Files, Reading, Trace, place_at
from slackwater.trace.write import write_rows

FEW = 64
# Up to here the rows of a reading go along with the statement. Spark runs a job for every file scan below a broadcast, and what
# follows from rows that it can see it computes while it plans: a change that a filter leaves nothing of costs nothing.
HANDFUL = 10_000
HANDFUL_BYTES = 4 << 20
TAKEN = 1_000_000  # rows that a statement may give to this process
MANY = 5_000_000  # of rows that have left: up to here their numbers are taken into this process
RESULTS = "spark.driver.maxResultSize"  # beyond which Spark refuses to give a query's rows to this process
GONE = "_gone"  # what the identity of a row that has left is called where it is looked for
MOST_WRITTEN = 100  # tables of rows that are here, for an engine that reads them from files
MOST_NAMES = 1000  # that the session keeps for us: every version that was read has one, and a session may last for months


# Of the settings that a user may change in a session, those that change what a query gives.
MEANING = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.caseSensitive")


class Engine:
    """A Spark session, and the names under which it knows what we read."""

    _numbers = itertools.count(1)

    def __init__(self, spark: SparkSession, kind: str, stop: Callable[[], None]) -> None:
        self.spark = spark
        self.kind = kind
        self.start_beside: Callable[[], Engine] | None = None
        self._beside: Engine | None = None
        self.is_fit: Callable[[], bool] = lambda: True
        # Before every name that we give: warehouses that share a session must not read each other's relations.
        self.prefix = "" if (number := next(self._numbers)) == 1 else f"{number}:"
        self._stop = stop
        self._is_ours = kind in ("sail", "spark")
        self._settings: tuple[str | None, ...] | None = None
        self._registered: dict[str, object] = {}
        self._read_by = ReadBy()
        self._failed: set[str] = set()
        self._types: dict[tuple[str, ...], list[str]] = {}
        self._written: deque[str] = deque()  # for an engine that reads rows from files, oldest first
        self._lock = threading.RLock()
        self.is_sail = self._takes_names_as_they_are()
        self.sees_sizes = not self.is_sail  # of what it joins
        # Whether other machines than this one may read and write our files.
        self.is_spread = not self.is_sail and not self.spark.conf.get("spark.master", "local").startswith("local")

    @property
    def is_elsewhere(self) -> bool:
        """Whether others than this process and its children do the work."""
        return self.is_spread or self.kind == "connect"

    @property
    def may_have_one_beside(self) -> bool:
        """Whether another engine can read what this one would, for less: a Spark on this machine, which is started without a server."""
        return not self.is_sail and not self.is_elsewhere

    @property
    def has_one_beside(self) -> bool:
        """Whether there is an engine beside this one, or will be when it is asked for."""
        return self.start_beside is not None

    @property
    def beside(self) -> Engine | None:
        """An engine for what is small and what both agree on, started when it is asked for. None: there is none, or it does not start."""
        with self._lock:
            if self._beside is not None and not self._beside.is_fit():
                self._beside.stop()
                self._beside = None
            if self._beside is None and self.start_beside is not None:
                try:
                    self._beside = self.start_beside()
                except Exception:  # whatever it is that Sail, or the way to it, fails at: Spark is enough
                    self.start_beside = None
            return self._beside

    @property
    def takes_hints(self) -> bool:
        """Whether a statement may say how to join."""
        return not self.is_sail

    def stop(self) -> None:
        """Forget our names; end the session if we started it. A session on a server of its own takes its names with it."""
        for directory in self._written:
            shutil.rmtree(directory, ignore_errors=True)
        if self._beside is not None:
            self._beside.stop()
        if self.kind not in ("sail", "connect"):
            with contextlib.suppress(Exception):
                for name in self._registered:
                    self.spark.catalog.dropTempView(name)
        with contextlib.suppress(ConnectionError):  # it has ended already
            self._stop()

    # What a statement means.

    def types(self, expressions: Sequence[Expression], columns: Sequence[Column]) -> list[str]:
        """The types of expressions over columns, as the engine's own analysis has them."""
        texts = [sql(expression) for expression in expressions]
        key = (*texts, "|", *(f"{c.name} {c.type}" for c in columns))
        if key not in self._types:
            source = ", ".join(f"CAST(NULL AS {c.type}) AS {quote(c.name)}" for c in columns) or "1 AS nothing"
            selected = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
            self._types[key] = [column.type for column in self.columns_of(f"SELECT {selected} FROM (SELECT {source})")]
        return self._types[key]

    @asked_again
    def columns_of(self, statement: str) -> tuple[Column, ...]:
        """The columns of a query, without running it."""
        with self._running(statement):
            schema = self.spark.sql(statement).schema
        return tuple(Column(field.name, field.dataType.simpleString()) for field in schema.fields)

    @asked_again
    def settings(self) -> tuple[str | None, ...]:
        """The settings that have a say in what a query gives. Asked for once, while nobody but us has the session."""
        if self._settings is None or not self._is_ours:
            with translated("settings"):
                self._settings = tuple(self.spark.conf.get(name, None) for name in MEANING)
        return self._settings

    def shared(self) -> Any:
        """The session, for others to do with it as they like."""
        self._is_ours = False
        return self.spark

    # Reading.

    @asked_again
    def register(self, name: str, trace: Trace, reading: Reading, files: Files, hidden: bool) -> str:
        """Give what a reading of a trace gives a name for statements, and return that; with identities and versions when `hidden`."""
        name = self.prefix + name
        columns = (*trace.columns, Column(ID, trace.id_type), Column(VERSION, "bigint"))
        shown = columns if hidden else trace.columns
        with self._lock, translated(name):
            if self._known(name) == (trace.columns, reading, hidden):
                return name
            read: Sequence[File] = ()
            if not reading.files:
                self._name(name, self._nothing(shown))
            elif (rows := self._handful(reading, shown, files)) is not None:
                self._name(name, rows)
            else:
                read = (*reading.files, *reading.without)
                with reading_files(lambda deep: files.check(read, deep), name):
                    remaining = self._remaining(self._parquet(reading.files, columns, files), trace, reading, files)
                    self._name(name, remaining if hidden else remaining.select([quote(c.name) for c in shown]))
            self._registered[name] = (trace.columns, reading, hidden)
            self._read_by.put(name, files, read)
        return name

    def _handful(self, reading: Reading, columns: Sequence[Column], files: Files) -> DataFrame | None:
        """The rows themselves, if they are few. Not for Sail: it reads files as fast, and fails to plan some joins over such rows."""
        if self.is_sail or reading.rows > HANDFUL or reading.bytes > HANDFUL_BYTES:
            return None
        schema = _arrow_schema(tuple(columns))
        if schema is None:
            return None
        rows = files.rows_as(reading, schema)
        # pyspark cannot take a table that has no chunks.
        return self.spark.createDataFrame(rows, _ddl(columns)) if len(rows) else self._nothing(columns)

    def _nothing(self, columns: Sequence[Column]) -> DataFrame:
        empty = ", ".join(f"CAST(NULL AS {c.type}) AS {quote(c.name)}" for c in columns)
        return self.spark.sql(f"SELECT {empty} WHERE false")

    def _remaining(self, rows: DataFrame, trace: Trace, reading: Reading, files: Files) -> DataFrame:
        """The rows whose identity is not among those that the reading leaves out."""
        if not reading.without:
            return rows
        if trace.id_type == "bigint":
            return self._without_numbers(rows, trace, reading.without, files)
        named = (Column(ID, trace.id_type), Column(VERSION, "bigint"))
        few = self._handful(Reading(reading.without), named, files)
        gone = self._parquet(reading.without, named, files) if few is None else few
        gone = gone.toDF(GONE, f"{GONE}{VERSION}")
        order = rows[VERSION] < gone[f"{GONE}{VERSION}"] if reading.later else rows[VERSION] > gone[f"{GONE}{VERSION}"]
        return self._but(rows, gone, (rows[ID] == gone[GONE]) & order, trace)

    def _without_numbers(self, rows: DataFrame, trace: Trace, without: Sequence[File], files: Files) -> DataFrame:
        """Numbers are never given twice, so no version matters."""
        count = sum(file.rows for file in without)
        if count <= FEW:
            # In the statement: a filter instead of a join.
            return rows.where(f"{ID} NOT IN ({', '.join(map(str, np.sort(files.ids(without))))})")
        if count <= MANY and not self.is_sail:
            remaining = left.without(rows, ID, files.ids(without), self.spark)
            if remaining is not None:
                return remaining
        gone = self._parquet(without, (Column(ID, "bigint"),), files).toDF(GONE)
        return self._but(rows, gone, rows[ID] == gone[GONE], trace)

    def _but(self, rows: DataFrame, gone: DataFrame, meet: Any, trace: Trace) -> DataFrame:
        """The rows of a trace, but for those that meet one that is gone."""
        if self.sees_sizes:
            return rows.join(gone, meet, "left_anti")
        # An engine that does not know which side is the small one builds a table of the left one: of all rows, in an anti join.
        shown = (*(c.name for c in trace.columns), ID, VERSION)
        return gone.join(rows, meet, "right").where(f"{GONE} IS NULL").select([quote(name) for name in shown])

    @asked_again
    def define(self, name: str, statement: str) -> str:
        """Give a query a name for later statements, and return that."""
        name = self.prefix + name
        with self._lock, self._running(statement):
            # Engines keep what the names in it stood for when it was defined: of files that were folded since, the old ones.
            meant = (statement, tuple((each, self._registered.get(each)) for each in sorted(names_in(statement))))
            if self._known(name) != meant:
                self._name(name, self.spark.sql(statement))
                self._registered[name] = meant
                self._read_by.put_query(name, statement)
        return name

    def _parquet(self, of: Sequence[Any], columns: Sequence[Column], files: Files) -> DataFrame:
        return self._read([files.full(file) for file in of], columns)

    def _read(self, paths: Sequence[str], columns: Sequence[Column]) -> DataFrame:
        if self.is_sail:
            return self.spark.read.schema(_ddl(columns)).parquet(*map(sail_uri, paths))
        return read_parquet(self.spark, _ddl(columns), paths)

    def _known(self, name: str) -> object:
        """What we gave a name to, if we did; it is now the last to be forgotten."""
        if name in self._registered:
            self._registered[name] = self._registered.pop(name)
        return self._registered.get(name)

    def _name(self, name: str, rows: DataFrame) -> None:
        self._registered[name] = None
        with translated(name):
            rows.createOrReplaceTempView(name if self.is_sail else quote(name))
            while len(self._registered) > MOST_NAMES:
                oldest = next(iter(self._registered))
                del self._registered[oldest]
                self._read_by.forget(oldest)
                self.spark.catalog.dropTempView(oldest)

    def _takes_names_as_they_are(self) -> bool:
        """Spark reads a view's name as SQL, Sail does not."""
        self.spark.sql("SELECT 1 AS one").createOrReplaceTempView("`sw quoted`")
        try:
            return not self.spark.sql("SELECT one FROM `sw quoted`").columns
        except Exception:
            return True

    @asked_again
    def name_keys(self, name: str, keys: np.ndarray, type_: str, files: Files, directory: str) -> str:
        """Give a list of keys, in a column called `key`, a name; `directory` is a place for them, if they need one."""
        number = pa.array(keys, pa.int64())
        rows = pa.table({"key": number.cast(pa.int32()).cast(pa.date32()) if type_ == "date" else number})
        if self.is_sail:
            files.write_arrow(rows, directory)
            return self.name_frame(name, self._parquet(files.written(directory)[0], (Column("key", type_),), files))
        with translated(name):
            return self.name_frame(name, self.spark.createDataFrame(rows))

    @asked_again
    def number(self, name: str, value: int) -> str:
        """A number for a statement, as an expression without its digits: Spark would generate and compile code anew for every other one.

        As an element of an array it is data; any other scalar Spark writes into its code. `name` is that of what brings it.
        """
        if self.is_sail:
            return f"CAST({value} AS BIGINT)"
        with translated(name):
            brought = self.spark.createDataFrame(pa.table({"numbers": [[value]]}), "numbers ARRAY<BIGINT>")
        return f"coalesce(get((SELECT numbers FROM {quote(self.name_frame(name, brought))}), 0), 0)"

    @property
    def orders_by_chance(self) -> bool:
        """Whether the first rows in an order by chance are any rows. Sail draws again what it has compared: they are not (docs/sail.md)."""
        return not self.is_sail

    def chance(self, seed: int | None) -> str:
        """An expression that is another number from 0 to 1 for each row; with a seed the same, as long as it reads the same files."""
        if seed is not None and self.is_sail:  # which begins anew with every thousand rows, and takes files in any order
            hint = "leave REPEATABLE out, or keep what is sampled as a table: CREATE TABLE ... AS SELECT ..."
            raise Unsupported("Sail repeats no sample of what a query computes", hint=hint)
        return "rand()" if seed is None else f"rand({seed})"

    def sampled(self, of: str, rows: int, seed: int | None) -> str:
        """So many rows of a part of a statement that means nothing without the rest."""
        if not self.orders_by_chance:
            hint = "sample the table or the query itself: FROM (SELECT ...) TABLESAMPLE RESERVOIR (1000 ROWS)"
            raise Unsupported("Sail takes no sample of what a WITH clause has named", hint=hint)
        return f"(SELECT * FROM {of} ORDER BY {self.chance(seed)} LIMIT {rows})"

    @asked_again
    def name_frame(self, name: str, rows: Any) -> str:
        """Give a caller's Spark DataFrame a name, and return that."""
        with self._lock:
            self._name(self.prefix + name, rows)
        return self.prefix + name

    @asked_again
    def name_rows(self, name: str, rows: pa.Table, columns: Sequence[Column]) -> str:
        """Give rows that are here a name for the next statements, and return that."""
        if not rows.num_rows:
            return self.name_frame(name, self._nothing(columns))
        with translated(name):
            if self.is_elsewhere or (rows.num_rows <= HANDFUL and not self.is_sail):
                return self.name_frame(name, self.spark.createDataFrame(rows, _ddl(columns)))
            # Spark takes long for many rows; Sail fails to plan some joins over rows that it is given, and reads files as fast.
            directory = tempfile.mkdtemp(prefix="slackwater-")
            self._written.append(directory)
            place = place_at(directory)
            write_rows([rows], directory, place)
            if len(self._written) > MOST_WRITTEN:
                shutil.rmtree(self._written.popleft(), ignore_errors=True)
            return self.name_frame(name, self._read(list(place.below(directory)), columns))

    # Running.

    @asked_again
    def arrow(self, statement: str, frame: DataFrame | None = None, most: int | None = None) -> pa.Table:
        """A query's rows, or the first of them, in this process; of its frame, where there is one: it is analysed once."""
        with self._running(statement):
            rows = self.spark.sql(statement) if frame is None else frame
            return (rows if most is None else rows.limit(most)).toArrow()

    def few(self, statement: str, columns: Sequence[Column]) -> pa.Table | None:
        """The rows of a flush that will give few. None: the engine has to write them.

        Spark plans anew what it writes, sorts it by side, and moves every file twice: for a few rows that is half of a flush.
        """
        schema = _arrow_schema(tuple(columns))
        if self.is_sail or self.is_elsewhere or schema is None or self._gives_without_limit():
            return None
        try:
            return self.arrow(statement).select(schema.names).cast(schema)
        except SlackwaterError as problem:
            if RESULTS in str(problem.__cause__):  # they were not few
                return None
            raise

    def exactly(self, statement: str, columns: Sequence[Column], most: int = TAKEN) -> pa.Table | None:
        """The rows of a flush that another engine would give, too. None if this one fails or has more than `most`: that one has to run it.

        What has failed once is not tried again. And a decimal may have come with more digits than it has room for.
        """
        schema = _arrow_schema(tuple(columns))
        if schema is None or statement in self._failed:
            return None
        try:
            rows = self.arrow(statement, most=most + 1).select(schema.names).cast(schema)
            rows.validate(full=True)
            if len(rows) <= most:
                return rows
            self._failed.add(statement)
        except QueryError:
            self._failed.add(statement)
        except (SlackwaterError, pa.ArrowException):
            pass  # of a file perhaps: the other engine will tell
        return None

    def has_written(self, statement: str, now: str, directory: str, files: Files, columns: Sequence[Column]) -> bool:
        """Whether this engine wrote a flush, `now`, that another one would write alike; if not, nothing of it is there.

        `statement`: as it is every time; what has failed once is not tried again. The files are on this disk. They get to their place when
        all are there: when a statement has failed, a task of it may still be writing.
        """
        if statement in self._failed:
            return False
        place = f"{directory}-by-{self.kind}"
        try:
            self.write(now, place, files, columns)
        except SlackwaterError as problem:
            if isinstance(problem, QueryError):
                self._failed.add(statement)
            files.remove(place)
            return False
        with contextlib.suppress(FileNotFoundError):  # there were no rows
            os.rename(place, directory)
        return True

    def taken(self, statement: str, columns: Sequence[Column], most: int = TAKEN) -> pa.Table | None:
        """The rows of a statement that gives few, in this process. None: it fails, or they are not few."""
        return self.exactly(statement, columns, most) if self.is_sail else self.few(statement, columns)

    def _gives_without_limit(self) -> bool:
        """Whether a session that was given is set to hand over rows until there is no memory left."""
        with translated(RESULTS):
            return str(self.spark.conf.get(RESULTS, "1g")).rstrip("bkmgtpBKMGTP") == "0"

    @asked_again
    def frame(self, statement: str) -> DataFrame:
        """A query that the engine has understood, and not run."""
        with self._running(statement):
            frame = self.spark.sql(statement)
            _ = frame.columns  # over Connect a wrong name is found only now
            return frame

    def _running(self, statement: str) -> AbstractContextManager[None]:
        return reading_files(lambda deep: self._read_by.check(statement, deep), statement)

    def explain(self, statement: str) -> str:
        """The engine's own plan of a query."""
        rows = self.arrow(f"EXPLAIN {statement}").to_pylist()
        return "\n".join(str(value) for row in rows for value in row.values())

    @asked_again
    def write(self, statement: str, directory: str, files: Files, columns: Sequence[Column]) -> None:
        """A flush: its rows as Parquet below `directory`, arrivals and departures in folders of their own. `columns`: the trace's."""
        with writing_files(directory), self._running(statement):
            rows = self.spark.sql(statement)
            if self.is_sail:
                may_hold_nan = any(word in column.type for column in columns for word in ("float", "double"))
                write_by_sail(rows, directory, files, may_hold_nan)
            else:
                write_parquet(rows, directory, files, self.is_spread)


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(f"{quote(c.name)} {c.type}" for c in columns)


@lru_cache(maxsize=1024)
def _arrow_schema(columns: tuple[Column, ...]) -> pa.Schema | None:
    """None if Arrow has no such types."""
    with contextlib.suppress(QueryError):
        return arrow_schema(columns)
    return None
