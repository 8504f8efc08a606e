"""Sail beside Spark, in refreshes: who runs them, and what happens when Sail fails or is killed."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slackwater
from slackwater.errors import QueryError, WarehouseError
from slackwater.plan import Column
from slackwater.spark import TAKEN, Engine
from slackwater.trace import Files
from tests.batch import talking_to


@pytest.fixture
def db(spark_session: Any, tmp_path: Path) -> Iterator[slackwater.Session]:
    """A fresh warehouse on the same Spark, with Sail beside it."""
    with talking_to("spark"), slackwater.connect(tmp_path / "beside", engine="local[2]", folding="refresh") as db:
        yield db


@dataclass
class Spy:
    """What Sail was asked for, and what it gave."""

    given: list[pa.Table | None]

    @property
    def answered(self) -> int:
        return sum(rows is not None for rows in self.given)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    spy, exactly = Spy([]), Engine.exactly

    def spied(self: Engine, statement: str, columns: Sequence[Column], most: int = TAKEN) -> pa.Table | None:
        assert self.is_sail
        spy.given.append(exactly(self, statement, columns, most))
        return spy.given[-1]

    monkeypatch.setattr(Engine, "exactly", spied)
    return spy


def orders_by_region(db: slackwater.Session) -> None:
    db.sql("CREATE TABLE orders (id INT, customer INT, amount DECIMAL(12,2), day DATE)")
    db.sql("CREATE TABLE customers (id INT, region STRING)")
    db.sql("INSERT INTO customers VALUES (1, 'EU'), (2, 'US'), (3, NULL), (4, 'ä')")
    db.sql("INSERT INTO orders VALUES (1, 1, 10.25, DATE '2024-02-29'), (2, 2, -5, NULL), (3, 3, NULL, DATE '1969-12-31')")
    db.sql("""
        CREATE MATERIALIZED VIEW v WITH (trigger = 'manual') AS
        SELECT c.region, count(*) AS n, sum(o.amount) AS total, max(o.day) AS last, sum(o.id) AS ids
        FROM orders o JOIN customers c ON o.customer = c.id WHERE o.id <> 99 GROUP BY c.region
    """)


def change_orders(db: slackwater.Session) -> None:
    db.sql("INSERT INTO orders VALUES (4, 1, 0.75, DATE '2024-03-01'), (5, 4, 7, DATE '1582-10-04'), (99, 1, 1, NULL)")
    db.sql("DELETE FROM orders WHERE id = 2")


CHANGED = [
    ("EU", 2, Decimal("11.00"), dt.date(2024, 3, 1), 5),
    (None, 1, None, dt.date(1969, 12, 31), 3),
    ("ä", 1, Decimal("7.00"), dt.date(1582, 10, 4), 5),
]


def answer(db: slackwater.Session) -> list[tuple[object, ...]]:
    return sorted(db.sql("SELECT * FROM v"), key=repr)


@pytest.mark.xdist_group("spark")
def test_a_small_refresh_runs_no_job_of_spark(db: slackwater.Session, spy: Spy) -> None:
    orders_by_region(db)
    db.sql("REFRESH VIEW v")
    change_orders(db)
    asked, before = spy.answered, jobs(db)
    db.sql("REFRESH VIEW v")
    assert jobs(db) == before
    assert spy.answered > asked and None not in spy.given
    assert answer(db) == sorted(CHANGED, key=repr) == sorted(db.recompute("v"), key=repr)
    assert "run by sail" in str(db.sql("DESCRIBE HISTORY v").to_arrow().to_pylist()[0]["paths"])


def jobs(db: slackwater.Session) -> int:
    """How many Spark has run so far."""
    return len(db.spark.sparkContext.statusTracker().getJobIdsForGroup(None))


@pytest.mark.xdist_group("spark")
def test_a_large_refresh_is_written_by_sail(db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.run.written.FEW", -1)
    orders_by_region(db)
    db.sql("REFRESH VIEW v")
    for _ in range(2):
        change_orders(db)
        before = jobs(db)
        db.sql("REFRESH VIEW v")
        assert jobs(db) == before
        assert "run by sail" in str(db.sql("DESCRIBE HISTORY v").to_arrow().to_pylist()[0]["paths"])
        assert answer(db) == sorted(db.recompute("v"), key=repr)
        db.sql("INSERT INTO orders VALUES (2, 2, -5, NULL)")
    db.sql("REFRESH VIEW v")
    db.sql("INSERT INTO orders VALUES (99, 1, 1, NULL)")
    db.sql("REFRESH VIEW v")  # which has nothing to write
    assert answer(db) == sorted(db.recompute("v"), key=repr)


@pytest.mark.xdist_group("spark")
def test_of_a_large_refresh_that_sail_fails_at_nothing_stays(db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.run.written.FEW", -1)
    orders_by_region(db)
    db.sql("REFRESH VIEW v")
    change_orders(db)
    beside, write = db._warehouse.engine.beside, Engine.write
    assert beside is not None
    asked = []

    def failing(self: Engine, statement: str, directory: str, files: Files, columns: Sequence[Column]) -> None:
        write(self, statement, directory, files, columns)
        if self is beside:
            asked.append(statement)
            raise QueryError("Sail has failed, when all was written")

    monkeypatch.setattr(Engine, "write", failing)
    db.sql("REFRESH VIEW v")
    assert asked and answer(db) == sorted(CHANGED, key=repr)
    assert not list(db._warehouse.files.root.rglob("*-by-sail*"))


@pytest.mark.xdist_group("spark")
def test_what_may_differ_is_left_to_spark(db: slackwater.Session, spy: Spy) -> None:
    db.sql("CREATE TABLE t (g STRING, x DOUBLE)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT g, max(x / 3) AS third FROM t GROUP BY g")
    db.sql("INSERT INTO t VALUES ('a', 1), ('a', 2), (NULL, -1)")
    assert answer(db) == sorted([("a", 2 / 3), (None, -1 / 3)], key=repr)
    assert spy.given == []


@pytest.mark.xdist_group("spark")
def test_explain_says_who_runs_a_path_and_why(db: slackwater.Session) -> None:
    orders_by_region(db)
    assert "  run by   sail, where it fits" in str(db.sql("EXPLAIN PATHS VIEW v"))
    told = str(
        db.sql(
            "EXPLAIN PATHS SELECT customer, 100.00 * sum(amount) / sum(amount) AS share FROM orders GROUP BY customer ORDER BY 2 LIMIT 1"
        )
    )
    assert "run by   sail, where it fits" in told and "run by   spark: sail may differ in a quotient" in told


@pytest.mark.xdist_group("spark")
def test_when_sail_fails_spark_answers(db: slackwater.Session, spy: Spy, monkeypatch: pytest.MonkeyPatch) -> None:
    orders_by_region(db)
    db.sql("REFRESH VIEW v")
    change_orders(db)
    beside = db._warehouse.engine.beside
    assert beside is not None

    def failing(statement: str, **options: object) -> pa.Table:
        raise QueryError("Sail has failed")

    monkeypatch.setattr(beside, "arrow", failing)
    asked = len(spy.given)
    db.sql("REFRESH VIEW v")
    assert len(spy.given) > asked and set(spy.given[asked:]) == {None}
    assert answer(db) == sorted(CHANGED, key=repr)
    monkeypatch.undo()
    db.sql("UPDATE orders SET amount = 1 WHERE id = 1")
    db.sql("REFRESH VIEW v")
    assert answer(db) == sorted(db.recompute("v"), key=repr)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("type_", ["BIGINT", "DECIMAL(38,2)"])
def test_a_sum_that_overflows_is_told_as_by_spark_alone(type_: str, db: slackwater.Session, spark_db: slackwater.Session, spy: Spy) -> None:
    """The view keeps its last answer, and goes on when the row is gone."""
    largest = "9223372036854775807" if type_ == "BIGINT" else "9" * 36 + ".99"
    told = {}
    for name, each in (("beside", db), ("alone", spark_db)):
        each.sql(f"CREATE TABLE t (id INT, g STRING, n {type_})")
        each.sql("CREATE MATERIALIZED VIEW v WITH (trigger = 'manual') AS SELECT g, sum(n) AS total FROM t GROUP BY g")
        each.sql(f"INSERT INTO t VALUES (1, 'a', {largest}), (2, 'b', 5)")
        each.sql("REFRESH VIEW v")
        before = answer(each)
        each.sql("INSERT INTO t VALUES (3, 'a', 1), (4, 'b', 1)")
        failed = outcome(each)
        assert "overflow" in failed or "cannot be represented" in failed
        assert answer(each) == before
        state = {line["name"]: line["value"] for line in each.sql("DESCRIBE VIEW v").to_arrow().to_pylist()}["state"]
        each.sql("DELETE FROM t WHERE id = 3")
        gone_on = outcome(each)
        assert answer(each) == sorted(each.recompute("v"), key=repr) != before
        told[name] = (before, failed, state, gone_on, answer(each))
    assert told["beside"] == told["alone"]
    assert None in spy.given and spy.answered > 1


def outcome(db: slackwater.Session) -> str:
    """What a refresh says, in either way."""
    try:
        return str(list(db.sql("REFRESH VIEW v")))
    except QueryError as problem:
        return problem.message


@pytest.mark.xdist_group("spark")
def test_sums_and_averages_of_one_column_keep_apart(db: slackwater.Session, spy: Spy) -> None:
    """Sail takes sum(a) and sum(CAST(a AS ...)) for one."""
    db.sql("CREATE TABLE t (g STRING, a INT, n DECIMAL(38,2), s STRING)")
    db.sql("""
        CREATE MATERIALIZED VIEW v AS
        SELECT g, sum(a) AS s, avg(a) AS m, sum(CAST(a AS BIGINT)) AS b, sum(CAST(a AS DECIMAL(20,0))) AS d, count(DISTINCT a) AS n,
            sum(n) AS l, min(s) AS first, max(s) AS last, sum(CASE WHEN s NOT LIKE 'a%' THEN 1 ELSE 0 END) AS others
        FROM t GROUP BY g
    """)
    for rows in ("(NULL, 1, 1, 'a'), ('x', 2147483647, 2, 'b'), ('x', 1, NULL, 'ab')", "('x', 5, -1, 'ä'), (NULL, NULL, NULL, NULL)"):
        db.sql(f"INSERT INTO t VALUES {rows}")
        assert answer(db) == sorted(db.recompute("v"), key=repr)
    db.sql("DELETE FROM t WHERE a = 1")
    assert answer(db) == sorted(db.recompute("v"), key=repr)


def test_nobody_else_runs_flushes_beside_the_engine(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match='"duckdb" cannot run flushes beside the engine'):
        slackwater.connect(tmp_path / "beside", engine="sail", beside="duckdb")


def servers(of: int | None = None) -> list[int]:
    """The processes of Sail that a process, this one if none is named, has started."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == (of or os.getpid()) and b"sail_server.py" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
    return found


@pytest.mark.xdist_group("spark")
def test_a_sail_that_was_killed_is_replaced(db: slackwater.Session, spy: Spy) -> None:
    before = set(servers())
    orders_by_region(db)
    (mine,) = set(servers()) - before
    os.kill(mine, signal.SIGKILL)
    os.waitid(os.P_PID, mine, os.WEXITED | os.WNOWAIT)
    change_orders(db)
    db.sql("REFRESH VIEW v")
    assert spy.given[-1] is not None and answer(db) == sorted(CHANGED, key=repr)


@pytest.mark.xdist_group("spark")
def test_when_sail_is_killed_before_it_is_told_what_to_read_spark_answers(db: slackwater.Session, spy: Spy) -> None:
    before = set(servers())
    orders_by_region(db)
    (mine,) = set(servers()) - before
    beside = db._warehouse.engine.beside
    assert beside is not None
    beside.is_fit = lambda: True  # it was, a moment ago
    os.kill(mine, signal.SIGKILL)
    change_orders(db)
    asked = len(spy.given)
    db.sql("REFRESH VIEW v")
    assert len(spy.given) == asked and answer(db) == sorted(CHANGED, key=repr)


@pytest.mark.xdist_group("spark")
def test_when_sail_is_killed_at_work_spark_answers(db: slackwater.Session, spy: Spy, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(servers())
    orders_by_region(db)
    (mine,) = set(servers()) - before
    beside = db._warehouse.engine.beside
    assert beside is not None
    arrow = beside.arrow

    def killed(statement: str, most: int) -> pa.Table:
        os.kill(mine, signal.SIGKILL)
        return arrow(statement, most=most)

    monkeypatch.setattr(beside, "arrow", killed)
    change_orders(db)
    db.sql("REFRESH VIEW v")
    assert spy.given[-1] is None and answer(db) == sorted(CHANGED, key=repr)


def test_sail_ends_with_whoever_started_it() -> None:
    """However that ends."""
    code = "import sys; from slackwater.spark.start import _beside; engine = _beside(); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None and starter.stdout.readline().strip() == b"ready"
        (sail,) = servers(starter.pid)
        starter.kill()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{sail}").exists():
        assert time.monotonic() < deadline, "Sail has outlived who started it"
        time.sleep(0.1)
