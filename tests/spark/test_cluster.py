"""Machines are lost while they work: that costs a retry and no row. The cluster is real, and so are the kills."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater.errors import SlackwaterError, WarehouseError
from tests.cluster import WORKERS, Cluster

ROWS = 120_000
TASKS = 8
HASHED = reduce(lambda text, _: f"sha2({text}, 512)", range(10), "max(text)")  # takes a while
TEXT = f"SELECT id, {HASHED} AS text, count(*) AS n FROM t GROUP BY id"


@pytest.fixture
def db(cluster: Cluster, spark_db: slackwater.Session) -> slackwater.Session:
    """A warehouse with both executors at work."""
    spark_db.sql("CREATE TABLE t (id BIGINT, text STRING)")
    spark_db.sql(f"CREATE MATERIALIZED VIEW v WITH (trigger = 'manual') AS {TEXT}")
    _wait(lambda: len(cluster.executors()) == WORKERS)
    return spark_db


def rows_from(db: slackwater.Session, first: int, hashed: str = "1") -> Any:
    """Rows that take the executors as long as they are `hashed` times; the driver never sees them."""
    text = f"aggregate(sequence(1, {hashed}), CAST(id AS STRING), (text, turn) -> sha2(text, 512)) AS text"
    return db.spark.range(first, first + ROWS, 1, TASKS).selectExpr("id", text)


def warehouse_of(db: slackwater.Session) -> Path:
    return db._warehouse.files.root


def check_rows_of_one_insert(db: slackwater.Session) -> None:
    """Every row once, under an identity of its own."""
    assert list(db.sql("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM t")) == [(ROWS, ROWS, 0, ROWS - 1)]
    files = [str(warehouse_of(db) / file.path) for file in db._warehouse.catalog.snapshot().files]
    assert db.spark.read.parquet(*files).select("_id").distinct().count() == ROWS


class Under:
    """A statement under way in a thread of its own."""

    def __init__(self, statement: Callable[[], object]) -> None:
        self.problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(statement,), daemon=True)
        self._thread.start()

    def _run(self, statement: Callable[[], object]) -> None:
        try:
            statement()
        except BaseException as problem:
            self.problem = problem

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait_for_attempts(self, root: Path) -> None:
        """Until a task has begun to write."""
        _wait(lambda: not self.running or found(root, "traces/*/*/_temporary/**/*.parquet"))
        assert self.running, f"it ended before anything could be killed: {self.problem}"
        # What tasks have written so far has no name that anybody would look for.
        writing = [attempts.parent for attempts in found(root, "traces/*/*/_temporary")]
        assert not [file for directory in writing for file in found(directory, "_side=*/*")]

    def result(self) -> None:
        self._thread.join()
        if self.problem is not None:
            raise self.problem


def found(root: Path, pattern: str) -> list[Path]:
    """What is there; nothing if folders go while we look."""
    with contextlib.suppress(FileNotFoundError):
        return list(root.glob(pattern))
    return []


def check_nothing_is_left(db: slackwater.Session) -> None:
    """The files that are there are those that the catalog names, and no attempt is among them."""
    root = warehouse_of(db)
    named = {file.path for file in db._warehouse.catalog.snapshot().files}
    assert {str(file.relative_to(root)) for file in root.rglob("*.parquet")} == named
    assert not list(root.rglob("_temporary"))


def check_is_batch(db: slackwater.Session, rows: int) -> None:
    """The view is what its text gives over the table; compared where the rows are."""
    view, batch = db.sql("SELECT * FROM v").to_spark(), db.recompute("v").to_spark()
    assert view.count() == rows
    weighed = view.selectExpr("*", "1 AS weight").unionAll(batch.selectExpr("*", "-1 AS weight")).groupBy(view.columns).sum("weight")
    assert weighed.where("`sum(weight)` <> 0").count() == 0


def test_both_executors_compute(db: slackwater.Session, cluster: Cluster) -> None:
    process = "java_method('java.lang.ProcessHandle', 'current') AS process"
    processes = db.spark.range(0, 100_000, 1, TASKS).selectExpr(process).distinct().collect()
    assert {int(row.process) for row in processes} == set(cluster.executors())


def test_the_driver_is_sent_only_what_was_asked_for(db: slackwater.Session) -> None:
    db.insert("t", rows_from(db, 0))
    db.sql("UPDATE t SET text = upper(text) WHERE id % 2 = 0")
    db.sql("INSERT INTO t SELECT * FROM t")
    db.sql("REFRESH VIEW v")
    shown = str(db.sql("SELECT * FROM v ORDER BY id")).splitlines()
    assert len(shown) == 23 and shown[2].startswith("0 ") and shown[-1] == "... more rows"
    check_is_batch(db, ROWS)
    with pytest.raises(SlackwaterError, match="maxResultSize"):  # so all of that was done without fetching the rows
        db.sql("SELECT * FROM v").to_arrow()


@pytest.mark.parametrize("lost", [1, WORKERS])
def test_an_insert_outlives_its_executors(db: slackwater.Session, cluster: Cluster, lost: int) -> None:
    insert = Under(lambda: db.insert("t", rows_from(db, 0, "50")))
    insert.wait_for_attempts(warehouse_of(db))
    cluster.kill(lost)
    insert.result()
    check_rows_of_one_insert(db)
    check_nothing_is_left(db)


@pytest.mark.parametrize("lost", [1, WORKERS])
def test_a_flush_outlives_its_executors(db: slackwater.Session, cluster: Cluster, lost: int) -> None:
    db.insert("t", rows_from(db, 0))
    db.sql("REFRESH VIEW v")
    db.insert("t", rows_from(db, ROWS // 2))
    db.sql("DELETE FROM t WHERE id % 5 = 0")
    refresh = Under(lambda: db.sql("REFRESH VIEW v"))
    refresh.wait_for_attempts(warehouse_of(db))
    cluster.kill(lost)
    refresh.result()
    check_is_batch(db, rows=ROWS * 6 // 5)  # one and a half times as many ids, without every fifth


def test_a_statement_whose_executors_keep_dying_fails_and_leaves_nothing(db: slackwater.Session, cluster: Cluster) -> None:
    db.sql("INSERT INTO t VALUES (-1, 'stays')")
    insert = Under(lambda: db.insert("t", rows_from(db, 0, "50")))
    insert.wait_for_attempts(warehouse_of(db))
    lost: set[str] = set()
    while insert.running:
        # Not before they write: a master gives up an application whose executors never come to anything.
        begun = {file.parts[-3] for file in found(warehouse_of(db), "traces/t/*/_temporary/0/_temporary/attempt_*/_side=*/*.parquet")}
        if not begun <= lost:
            lost |= begun
            cluster.kill()
        time.sleep(0.02)
    with pytest.raises(SlackwaterError, match="aborted|lost|Executor"):
        insert.result()
    assert list(db.sql("SELECT * FROM t")) == [(-1, "stays")]
    check_nothing_is_left(db)
    db.insert("t", rows_from(db, 0))
    db.sql("REFRESH VIEW v")
    check_is_batch(db, rows=ROWS + 1)


def test_rows_that_a_machine_wrote_to_its_own_disk_are_missed(db: slackwater.Session, cluster: Cluster) -> None:
    if not cluster.has_unshared:
        pytest.skip("this system does not let us give a process a disk of its own")
    with slackwater.connect(cluster.unshared / "warehouse", engine=db.spark) as unshared:
        unshared.sql("CREATE TABLE t (id BIGINT, text STRING)")
        with pytest.raises(WarehouseError, match=f"the cluster wrote {ROWS} rows, and [0-9]+ are in the warehouse"):
            unshared.insert("t", rows_from(unshared, 0))
        assert list(unshared.sql("SELECT * FROM t")) == []
        check_nothing_is_left(unshared)


def _wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not until():
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.02)
