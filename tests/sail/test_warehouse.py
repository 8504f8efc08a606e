"""A warehouse outlives its processes: it is opened again, survives a crash at any moment, and is read by others while it is written.

All of it with both stores, a file in the warehouse and a PostgreSQL server.
"""

from __future__ import annotations

import ast
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater.catalog import Catalog
from slackwater.errors import SlackwaterError, WarehouseError
from tests.place import PREPARE, Place, prepared, totals


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, sail_session: Any, tmp_path: Path) -> Place:
    """A warehouse with two orders and their totals, closed."""
    store = request.getfixturevalue("postgres").new_store() if request.param == "postgres" else None
    return prepared(tmp_path / "warehouse", store, sail_session)


def test_a_warehouse_is_there_when_it_is_opened_again(place: Place) -> None:
    with place.connect() as db:
        assert totals(db) == {"EU": 10, "US": 5}
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
    with place.connect() as db:
        # What the last session left undone is done now.
        assert totals(db) == {"EU": 11, "US": 5}
        db.sql("DELETE FROM orders WHERE id = 1")
        assert totals(db) == {"EU": 1, "US": 5}


def test_keys_are_remembered_over_sessions(place: Place) -> None:
    with place.connect() as db, pytest.raises(SlackwaterError):
        db.sql("INSERT INTO orders VALUES (1, 'EU', 10)")


def test_a_history_does_not_grow_without_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.catalog.catalog.STEPS_KEPT", 4)
    monkeypatch.setattr("slackwater.catalog.catalog.LINES_KEPT", 3)
    with place.connect() as db:
        for number in range(3, 20):
            db.insert("orders", [(number, "EU", 1)])
        lines = db.sql("DESCRIBE HISTORY orders").to_arrow().to_pylist()
        assert 3 <= len(lines) <= 3 + 4
        assert list(db.sql("DESCRIBE HISTORY totals"))  # what others did is no reason
        assert totals(db) == {"EU": 27, "US": 5}


# The process ends with its files written and before a commit that would make them real: the first one, or one after.
CRASH = """
    import os, signal
    from slackwater.catalog.catalog import Catalog

    statement, spared = sys.argv[3], int(sys.argv[4])
    db = connect()
    commit = Catalog.commit

    def commit_or_die(*arguments):
        global spared
        spared -= 1
        if spared < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return commit(*arguments)

    Catalog.commit = commit_or_die
    db.sql(statement)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def crash(place: Place, statement: str, spared: int = 0) -> None:
    assert place.python(CRASH, statement, spared).returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("INSERT INTO orders VALUES (3, 'EU', 1)", "sqlite"),
        ("UPDATE orders SET amount = 0", "sqlite"),
        pytest.param("UPDATE orders SET amount = 0", "postgres", marks=pytest.mark.postgres),
        ("DELETE FROM orders", "sqlite"),
        ("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders", "sqlite"),
        ("CREATE TABLE copied AS SELECT * FROM orders", "sqlite"),
        ("DROP VIEW totals", "sqlite"),
    ],
    indirect=["place"],
)
def test_a_crash_before_the_commit_leaves_nothing(statement: str, place: Place) -> None:
    before = place.files
    crash(place, statement)
    with place.connect() as db:
        assert place.files == before
        assert totals(db) == {"EU": 10, "US": 5}
        assert [row[0] for row in db.sql("SHOW TABLES")] == ["orders"]
        assert [row[0] for row in db.sql("SHOW VIEWS")] == ["totals"]
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}


def test_a_table_made_by_a_query_is_there_with_all_its_rows_or_not_at_all(place: Place) -> None:
    crash(place, "CREATE TABLE copied AS SELECT * FROM orders", spared=1)
    with place.connect() as db:
        if "copied" in [row[0] for row in db.sql("SHOW TABLES")]:
            assert len(db.sql("SELECT * FROM copied")) == 2


def test_an_interruption_right_after_the_commit_loses_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Catalog.commit

    def interrupted(*arguments: Any) -> None:
        commit(*arguments)
        raise KeyboardInterrupt

    with place.connect() as db:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(Catalog, "commit", interrupted)
            db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}
    with place.connect() as db:
        assert len(db.sql("SELECT * FROM orders")) == 3


def test_a_crash_in_a_refresh_leaves_the_old_answer_and_the_next_refresh_succeeds(place: Place) -> None:
    with place.connect() as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
    before = place.files
    crash(place, "REFRESH VIEW totals")
    assert place.files > before
    with place.connect() as db:
        assert place.files == before
        assert totals(db) == {"EU": 11, "US": 5}


def test_the_lease_of_a_dead_process_is_taken_over(place: Place) -> None:
    crash(place, "DELETE FROM orders")
    with place.connect() as db:
        db.sql("DELETE FROM orders")
        assert totals(db) == {}


READ = """
    with connect(read_only=True) as db:
        print(sorted(db.sql("SELECT region, total FROM totals")))
"""


def test_others_read_while_one_writes(place: Place) -> None:
    with place.connect() as db:
        assert place.python(READ).stdout.splitlines()[-1:] == ["[('EU', 10), ('US', 5)]"]
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        db.sql("REFRESH ALL")
        assert place.python(READ).stdout.splitlines()[-1:] == ["[('EU', 11), ('US', 5)]"]
        db.sql("INSERT INTO orders VALUES (4, 'EU', 1)")
        assert totals(db) == {"EU": 12, "US": 5}


def test_a_reader_sees_each_commit_of_the_writer(place: Place) -> None:
    with place.connect() as db, place.connect(engine="sail", read_only=True) as reader:
        assert totals(reader) == {"EU": 10, "US": 5}
        db.sql("UPDATE orders SET amount = 100 WHERE id = 2")
        db.sql("REFRESH ALL")
        assert totals(reader) == {"EU": 10, "US": 100}
        assert len(reader.sql("SELECT * FROM orders")) == 2


def test_a_long_session_forgets_names_of_what_it_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every version that is read gets a name in the engine: they must not pile up, and none that is needed may be missing."""
    monkeypatch.setattr("slackwater.spark.engine.MOST_NAMES", 12)
    with place.connect() as db:
        for id in range(10, 18):
            db.sql("INSERT INTO orders VALUES (?, 'EU', 1)", [id])
            assert totals(db) == {"EU": id + 1, "US": 5}
        names = [name for name in db._warehouse.engine._registered if "@" in name]
        assert 0 < len(names) <= 12


def test_two_warehouses_on_one_session_keep_apart(place: Place, tmp_path: Path) -> None:
    """They have relations of the same names at the same versions."""
    with (
        place.connect() as one,
        slackwater.connect(tmp_path / "other", engine=place.engine, schedule="eager") as other,
    ):
        for text in PREPARE:
            other.sql(text.replace("10", "1000"))
        for _ in range(2):
            assert (totals(one), totals(other)) == ({"EU": 10, "US": 5}, {"EU": 1000, "US": 5})
        for db, amount in ((one, 1), (other, 2), (one, 3)):
            db.sql("UPDATE orders SET amount = amount + ?", [amount])
        assert (totals(one), totals(other)) == ({"EU": 14, "US": 9}, {"EU": 1002, "US": 7})


def test_a_reader_may_not_write(place: Place) -> None:
    with place.connect(read_only=True) as reader:
        for text in ("DELETE FROM orders", "REFRESH ALL", "CREATE TABLE t (a INT)", "DROP VIEW totals"):
            with pytest.raises(WarehouseError, match="read"):
                reader.sql(text)


def test_a_second_writer_is_told_who_the_first_is(place: Place) -> None:
    with place.connect():
        with pytest.raises(WarehouseError, match=str(os.getpid())) as caught:
            place.connect()
        assert "read_only" in str(caught.value.hint)
    with place.connect() as db:
        assert len(db.sql("SELECT * FROM orders")) == 2


def test_a_writer_that_was_taken_over_commits_nothing(place: Place) -> None:
    with place.connect() as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        with db._warehouse.catalog.store.writing() as store:
            store.execute("UPDATE lease SET holder = 'another'")
        under_way = place.path / "traces" / "orders" / "another's step" / "part-0.parquet"
        under_way.parent.mkdir()
        under_way.touch()
        before = place.files
        for text in ("INSERT INTO orders VALUES (4, 'EU', 1)", "REFRESH ALL", "DROP VIEW totals", "VACUUM"):
            with pytest.raises(WarehouseError, match="taken over") as caught:
                db.sql(text)
            assert "connect again" in str(caught.value.hint)
        assert place.files == before
        assert len(db.sql("SELECT * FROM orders")) == 3
        with db._warehouse.catalog.store.writing() as store:
            store.execute("UPDATE lease SET expires = 0")
    with place.connect() as db:
        assert totals(db) == {"EU": 11, "US": 5}


# A reader that asks again and again while amounts move between the two regions: their sum stays the same.
WATCH = """
    import time

    with connect(read_only=True) as db:
        print("ready", flush=True)
        seen = set()
        until = time.monotonic() + 60
        while len(seen) < 4 and time.monotonic() < until:
            (answer,) = db.sql("SELECT sum(total) AS total, max(total) AS most, (SELECT sum(amount) FROM orders) AS amount FROM totals")
            seen.add(tuple(map(int, answer)))
        print(sorted(seen))
"""


def test_readers_see_only_whole_steps(place: Place) -> None:
    with place.connect(schedule="eager") as db, place.start(WATCH) as reader:
        assert reader.stdout is not None
        while reader.stdout.readline().strip() != "ready":
            assert reader.poll() is None
        while reader.poll() is None:
            db.sql("UPDATE orders SET amount = amount + CASE id WHEN 1 THEN 1 ELSE -1 END")
        seen = ast.literal_eval(reader.stdout.read().splitlines()[-1])
    assert {(total, amount) for total, _, amount in seen} == {(15, 15)}
    assert len(seen) == 4


def test_reading_a_warehouse_that_is_not_there(place: Place) -> None:
    missing = place.path / "missing"
    store = place.store and f"{place.store}_missing"
    with pytest.raises(WarehouseError, match="no warehouse"):
        slackwater.connect(missing, engine=place.engine, store=store, read_only=True)


def test_a_closed_session_says_so(place: Place) -> None:
    db = place.connect()
    db.close()
    db.close()
    with pytest.raises(SlackwaterError, match="closed"):
        db.sql("SHOW TABLES")
