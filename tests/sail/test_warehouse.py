"""A warehouse outlives its processes: it is opened again, survives a crash at any moment, and is read by others while it is written.

All of it with both stores, a file in the warehouse and a PostgreSQL server.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater.errors import SlackwaterError, WarehouseError

PREPARE = (
    "CREATE TABLE orders (id BIGINT, region STRING, amount INT, PRIMARY KEY (id))",
    "CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS total FROM orders GROUP BY region",
    "INSERT INTO orders VALUES (1, 'EU', 10), (2, 'US', 5)",
    "REFRESH VIEW totals",
)


@dataclass(frozen=True)
class Place:
    """Where a warehouse is."""

    path: Path
    store: str | None
    engine: Any

    def connect(self, **options: Any) -> slackwater.Session:
        return slackwater.connect(self.path, **{"engine": self.engine, "store": self.store, **options})

    @property
    def files(self) -> set[str]:
        """The data files, relative to the warehouse."""
        return {str(file.relative_to(self.path)) for file in self.path.rglob("*.parquet")}

    def python(self, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run code in a process of its own, with a function `connect` that opens the warehouse there."""
        command = [sys.executable, "-c", CONNECT + textwrap.dedent(code), str(self.path), self.store or "", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120)


CONNECT = """
import sys
import slackwater

def connect(**options):
    return slackwater.connect(sys.argv[1], engine="sail", store=sys.argv[2] or None, **options)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, sail_session: Any, tmp_path: Path) -> Place:
    """A warehouse with two orders and their totals, closed."""
    store = None
    if request.param == "postgres":
        store = f"{request.getfixturevalue('postgres').url}&schema=w_{uuid.uuid4().hex}"
    made = Place(tmp_path / "warehouse", store, sail_session)
    with made.connect() as db:
        for text in PREPARE:
            db.sql(text)
    return made


def totals(db: slackwater.Session) -> dict[object, object]:
    return dict(db.sql("SELECT region, total FROM totals"))


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
    "statement",
    [
        "INSERT INTO orders VALUES (3, 'EU', 1)",
        "UPDATE orders SET amount = 0",
        "DELETE FROM orders",
        "CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders",
        "CREATE TABLE copied AS SELECT * FROM orders",
        "DROP VIEW totals",
    ],
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
