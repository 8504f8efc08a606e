"""Folding changes files, not rows: beside changes, refreshes and reads, and when it loses a race with them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater import Session
from slackwater.errors import QueryError
from slackwater.run import folding
from slackwater.run.fold import commit_fold, due, write_fold
from slackwater.run.warehouse import Step
from slackwater.trace import Files, Range, Trace

SETUP = (
    "CREATE TABLE orders (id BIGINT, region STRING, amount DOUBLE)",
    "CREATE MATERIALIZED VIEW totals AS SELECT region, count(*) AS n, max(amount) AS most FROM orders GROUP BY region",
)


@pytest.fixture
def db(tmp_path: Path, sail_session: Any) -> Iterator[Session]:
    """A table and a view of it, in a warehouse that folds nothing by itself."""
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session, folding="off") as db:
        for text in SETUP:
            db.sql(text)
        yield db


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread neither waits nor rests."""
    monkeypatch.setattr(folding, "PAUSE", 0.0)
    monkeypatch.setattr(folding, "SHARE", 1.0)


def insert(db: Session, count: int, first: int = 0) -> None:
    for id in range(first, first + count):
        db.insert("orders", [(id, f"region {id % 3}", float("nan") if id == 4 else id)])


def now(db: Session, name: str = "orders") -> Trace:
    return db._warehouse.catalog.snapshot().traces[name]


def folders(db: Session) -> int:
    return len(list((db._warehouse.files.root / "traces" / "orders").iterdir()))


def check(db: Session) -> None:
    db.sql("REFRESH ALL")
    assert sorted(map(str, db.sql("SELECT * FROM totals"))) == sorted(map(str, db.recompute("totals")))


def until(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def fold_now(db: Session, range: Range) -> bool:
    trace = now(db)
    return commit_fold(trace, range, write_fold(trace, range, db._warehouse), db._warehouse)


# One fold


def test_a_range_is_folded_and_what_is_before_and_after_stays(db: Session) -> None:
    insert(db, 9)
    db.sql("DELETE FROM orders WHERE id IN (1, 5)")
    before = sorted(db.sql("SELECT id, region FROM orders"))
    assert fold_now(db, Range(2, 7))
    assert [batch.version for batch in now(db).batches] == [1, 2, 7, 8, 9, 10]
    assert sorted(db.sql("SELECT id, region FROM orders")) == before
    check(db)


def test_a_range_that_removed_rows_of_older_batches_goes_on_removing_them(db: Session) -> None:
    insert(db, 4)
    db.sql("UPDATE orders SET region = 'new' WHERE id < 2")
    db.sql("DELETE FROM orders WHERE id IN (0, 3)")
    insert(db, 1, first=10)
    assert fold_now(db, Range(3, 7))
    assert sorted(db.sql("SELECT id, region FROM orders")) == [(1, "new"), (2, "region 2"), (10, "region 1")]
    folded = now(db).batches[-1]
    assert (folded.added_rows, folded.removed_rows) == (2, 2)  # what came and went within it is in neither
    check(db)
    assert fold_now(db, Range(0, 7))
    assert (now(db).batches[-1].added_rows, now(db).batches[-1].removed_rows) == (3, 0)
    ids = db._warehouse.files.ids(now(db).files)
    assert now(db).batches[-1].added[0].ids == (min(ids), max(ids))
    check(db)


def test_the_engine_folds_what_is_large_to_the_same_rows(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    insert(db, 6)
    db.sql("UPDATE orders SET region = 'new' WHERE id IN (0, 4)")
    rows = sorted(map(str, db.sql("SELECT * FROM orders")))
    monkeypatch.setattr("slackwater.run.fold.FEW", 1)
    for range in (Range(2, 7), Range(0, 7)):
        assert fold_now(db, range)
        assert sorted(map(str, db.sql("SELECT * FROM orders"))) == rows
        assert now(db).rows == 6
    check(db)


def test_rows_that_come_while_a_fold_is_written_stay(db: Session) -> None:
    insert(db, 6)
    trace, range = now(db), Range(0, 6)
    batch = write_fold(trace, range, db._warehouse)
    db.sql("DELETE FROM orders WHERE id = 3")
    insert(db, 1, first=6)
    assert commit_fold(trace, range, batch, db._warehouse)
    assert [batch.version for batch in now(db).batches] == [6, 7, 8]
    assert sorted(db.sql("SELECT id FROM orders")) == [(0,), (1,), (2,), (4,), (5,), (6,)]
    check(db)


@pytest.mark.parametrize("change", ["DROP VIEW totals; DROP TABLE orders", "VACUUM"])
def test_a_fold_that_comes_too_late_leaves_nothing(db: Session, change: str) -> None:
    insert(db, 6)
    db.sql("REFRESH ALL")
    trace, range = now(db), Range(0, 6)
    batch = write_fold(trace, range, db._warehouse)
    for text in change.split(";"):
        db.sql(text)
    if "DROP" in change:
        db.sql(SETUP[0])  # the same name again, and other rows
        insert(db, 6, first=100)
    rows = sorted(db.sql("SELECT id FROM orders"))
    assert not commit_fold(trace, range, batch, db._warehouse)
    assert not Path(db._warehouse.files.batch_directory("orders", batch.step)).exists()
    assert sorted(db.sql("SELECT id FROM orders")) == rows


def test_a_fold_of_what_a_view_has_come_to_need_leaves_nothing(db: Session) -> None:
    insert(db, 3)
    trace = now(db)
    insert(db, 3, first=3)
    trace, range = now(db), Range(0, 6)
    batch = write_fold(trace, range, db._warehouse)
    # What a refresh at version 3 would have left.
    step = Step(db._warehouse)
    step.changes.cursors["totals/1"] = {"orders": 3}
    step.commit()
    assert not commit_fold(trace, range, batch, db._warehouse)
    assert len(now(db).batches) == 6


def test_a_step_under_way_and_a_fold_both_succeed(db: Session) -> None:
    insert(db, 6)
    trace, range = now(db), Range(0, 6)
    batch = write_fold(trace, range, db._warehouse)
    done: list[bool] = []
    with db._warehouse.writing:
        thread = threading.Thread(target=lambda: done.append(commit_fold(trace, range, batch, db._warehouse)))
        step = Step(db._warehouse)
        thread.start()
        step.changes.put(step.before.table("orders"))
        step.commit()
    thread.join()
    assert done == [True]
    check(db)


# In the background


@pytest.mark.usefixtures("at_once")
def test_small_batches_become_larger_ones_by_themselves(tmp_path: Path, sail_session: Any) -> None:
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session) as db:
        for text in SETUP:
            db.sql(text)
        insert(db, 12)
        until(lambda: not due(now(db), db._warehouse.catalog.snapshot()) and len(now(db).batches) < 8)
        check(db)
        assert len(db.sql("SELECT * FROM orders")) == 12


def test_without_folding_only_vacuum_folds(db: Session) -> None:
    insert(db, 9)
    check(db)
    assert len(now(db).batches) == 9
    db.sql("VACUUM")
    assert len(now(db).batches) == 1


def test_at_a_refresh_means_at_its_end(tmp_path: Path, sail_session: Any) -> None:
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session, folding="refresh") as db:
        for text in SETUP:
            db.sql(text)
        insert(db, 9)
        assert len(now(db).batches) == 9
        db.sql("REFRESH ALL")
        assert len(now(db).batches) == 1


def test_a_session_that_changes_nothing_has_no_thread(tmp_path: Path, sail_session: Any) -> None:
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session) as db:
        assert list(db.sql("SHOW TABLES")) == []
        assert "slackwater-folding" not in [thread.name for thread in threading.enumerate()]
        db.sql(SETUP[0])
        assert "slackwater-folding" in [thread.name for thread in threading.enumerate()]
    assert "slackwater-folding" not in [thread.name for thread in threading.enumerate()]


def test_an_unknown_way_of_folding_is_refused(tmp_path: Path, sail_session: Any) -> None:
    with pytest.raises(QueryError, match='no folding "backgroud"') as caught:
        slackwater.connect(tmp_path / "warehouse", engine=sail_session, folding="backgroud")
    assert "background" in str(caught.value.hint)


@pytest.mark.usefixtures("at_once")
def test_changes_refreshes_and_reads_go_on_while_folds_run(tmp_path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.trace.ranges.BATCHES", 2)
    wrong: list[object] = []
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session) as db:
        for text in SETUP:
            db.sql(text)
        db.sql("CREATE MATERIALIZED VIEW counted WITH (trigger = 'manual') AS SELECT count(*) AS n FROM orders")
        over = threading.Event()

        def read() -> None:
            while not over.is_set():
                try:
                    # Two rows come and go together.
                    odd = [
                        row for row in db.sql("SELECT n, (SELECT count(*) FROM orders) AS m FROM counted") if row[0] % 2 or row[0] != row[1]
                    ]
                    wrong.extend(odd)
                except Exception as problem:
                    wrong.append(problem)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for number in range(12):
                db.insert("orders", [(number, "EU", 1), (number, "US", 2)])
                if number % 3 == 2:
                    db.sql("DELETE FROM orders WHERE id = ?", [number - 1])
                if number % 2:
                    db.sql("REFRESH ALL")
        finally:
            over.set()
            reader.join()
        assert wrong == []
        until(lambda: not due(now(db), db._warehouse.catalog.snapshot()))
        assert len(now(db).batches) < 16
        check(db)
        assert len(db.sql("SELECT * FROM orders")) == 16


@pytest.mark.usefixtures("at_once")
def test_closing_stops_a_fold_and_leaves_nothing_of_it(tmp_path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    write = Files.write_folded

    def slowly(*arguments: Any) -> None:
        begun.set()
        go_on.wait()
        write(*arguments)

    monkeypatch.setattr(Files, "write_folded", slowly)
    monkeypatch.setattr(folding, "PATIENCE", 0.1)
    db = slackwater.connect(tmp_path / "warehouse", engine=sail_session)
    db.sql(SETUP[0])
    insert(db, 6)
    assert begun.wait(60)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "slackwater-folding"]
    batches = now(db).batches
    db.close()
    go_on.set()
    thread.join(60)
    assert not thread.is_alive() and folders(db) == 6
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session, folding="off") as db:
        assert now(db).batches == batches
        assert len(db.sql("SELECT * FROM orders")) == 6


@pytest.mark.usefixtures("at_once")
def test_a_fold_that_fails_is_tried_again_only_when_something_has_changed(
    tmp_path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fail(*arguments: Any) -> None:
        tried.append(arguments)
        raise OSError("the disk is full")

    def failed() -> int:
        return sum("could not be folded: the disk is full" in each for each in told)

    told: list[str] = []
    monkeypatch.setattr("slackwater.trace.ranges.BATCHES", 6)
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session) as db:
        db.on_progress(lambda event: told.append(str(event)))
        with monkeypatch.context() as patched:
            patched.setattr(Files, "write_folded", fail)
            db.sql(SETUP[0])
            insert(db, 6)
            until(lambda: failed() == 1)
            db.sql("CREATE TABLE other (a INT)")  # leaves the table as it is
            insert(db, 1, first=6)
            until(lambda: failed() == 2)
            assert len(tried) == 2 and folders(db) == 7
            monkeypatch.setattr(folding, "AGAIN", 0.0)
            db.sql("DROP TABLE other")
            until(lambda: failed() > 2)
        db.sql("CREATE TABLE other (a INT)")
        until(lambda: len(now(db).batches) == 1)
        assert len(db.sql("SELECT * FROM orders")) == 7


@pytest.mark.usefixtures("at_once")
def test_vacuum_waits_for_a_fold_and_does_not_take_its_files_for_orphans(
    tmp_path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    sync = Files.sync

    def slowly(files: Files, directories: Any) -> None:
        if threading.current_thread().name == "slackwater-folding":
            begun.set()
            go_on.wait()
        sync(files, directories)

    monkeypatch.setattr(Files, "sync", slowly)
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session) as db:
        db.sql(SETUP[0])
        insert(db, 6)
        assert begun.wait(60)
        vacuum = threading.Thread(target=lambda: db.sql("VACUUM"))
        vacuum.start()
        vacuum.join(0.2)
        assert vacuum.is_alive()
        go_on.set()
        vacuum.join(60)
        assert not vacuum.is_alive() and len(now(db).batches) == 1
        assert len(db.sql("SELECT * FROM orders")) == 6
