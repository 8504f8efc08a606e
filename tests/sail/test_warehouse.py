"""A warehouse outlives its processes: it is opened again, survives a crash at any moment, and is read by others while it is written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
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


@pytest.fixture
def path(sail_session: Any, tmp_path: Path) -> Path:
    """A warehouse with two orders and their totals, closed."""
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session) as db:
        for text in PREPARE:
            db.sql(text)
    return tmp_path / "warehouse"


def totals(db: slackwater.Session) -> dict[object, object]:
    return dict(db.sql("SELECT region, total FROM totals"))


def files(path: Path) -> set[str]:
    """The data files, relative to the warehouse."""
    return {str(file.relative_to(path)) for file in path.rglob("*.parquet")}


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120)


def test_a_warehouse_is_there_when_it_is_opened_again(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        assert totals(db) == {"EU": 10, "US": 5}
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
    with slackwater.connect(path, engine=sail_session) as db:
        # What the last session left undone is done now.
        assert totals(db) == {"EU": 11, "US": 5}
        db.sql("DELETE FROM orders WHERE id = 1")
        assert totals(db) == {"EU": 1, "US": 5}


def test_keys_are_remembered_over_sessions(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db, pytest.raises(SlackwaterError):
        db.sql("INSERT INTO orders VALUES (1, 'EU', 10)")


# The process ends with its files written and before a commit that would make them real: the first one, or one after.
CRASH = """
    import os, signal, sys
    import slackwater
    from slackwater.catalog.catalog import Catalog

    path, statement, spared = sys.argv[1], sys.argv[2], int(sys.argv[3])
    db = slackwater.connect(path, engine="sail")
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


def crash(path: Path, statement: str, spared: int = 0) -> None:
    assert python(CRASH, path, statement, spared).returncode == -signal.SIGKILL


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
def test_a_crash_before_the_commit_leaves_nothing(statement: str, path: Path, sail_session: Any) -> None:
    before = files(path)
    crash(path, statement)
    with slackwater.connect(path, engine=sail_session) as db:
        assert files(path) == before
        assert totals(db) == {"EU": 10, "US": 5}
        assert [row[0] for row in db.sql("SHOW TABLES")] == ["orders"]
        assert [row[0] for row in db.sql("SHOW VIEWS")] == ["totals"]
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}


def test_a_table_made_by_a_query_is_there_with_all_its_rows_or_not_at_all(path: Path, sail_session: Any) -> None:
    crash(path, "CREATE TABLE copied AS SELECT * FROM orders", spared=1)
    with slackwater.connect(path, engine=sail_session) as db:
        if "copied" in [row[0] for row in db.sql("SHOW TABLES")]:
            assert len(db.sql("SELECT * FROM copied")) == 2


def test_a_crash_in_a_refresh_leaves_the_old_answer_and_the_next_refresh_succeeds(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
    before = files(path)
    crash(path, "REFRESH VIEW totals")
    assert files(path) > before
    with slackwater.connect(path, engine=sail_session) as db:
        assert files(path) == before
        assert totals(db) == {"EU": 11, "US": 5}


def test_the_lease_of_a_dead_process_is_taken_over(path: Path, sail_session: Any) -> None:
    crash(path, "DELETE FROM orders")
    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("DELETE FROM orders")
        assert totals(db) == {}


READ = """
    import sys
    import slackwater

    with slackwater.connect(sys.argv[1], engine="sail", read_only=True) as db:
        print(sorted(db.sql("SELECT region, total FROM totals")))
"""


def test_others_read_while_one_writes(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        assert python(READ, path).stdout.splitlines()[-1:] == ["[('EU', 10), ('US', 5)]"]
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        db.sql("REFRESH ALL")
        assert python(READ, path).stdout.splitlines()[-1:] == ["[('EU', 11), ('US', 5)]"]
        db.sql("INSERT INTO orders VALUES (4, 'EU', 1)")
        assert totals(db) == {"EU": 12, "US": 5}


def test_a_reader_sees_each_commit_of_the_writer(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db, slackwater.connect(path, engine="sail", read_only=True) as reader:
        assert totals(reader) == {"EU": 10, "US": 5}
        db.sql("UPDATE orders SET amount = 100 WHERE id = 2")
        db.sql("REFRESH ALL")
        assert totals(reader) == {"EU": 10, "US": 100}
        assert len(reader.sql("SELECT * FROM orders")) == 2


def test_two_warehouses_on_one_session_keep_apart(path: Path, tmp_path: Path, sail_session: Any) -> None:
    """They have relations of the same names at the same versions."""
    with (
        slackwater.connect(path, engine=sail_session) as one,
        slackwater.connect(tmp_path / "other", engine=sail_session, schedule="eager") as other,
    ):
        for text in PREPARE:
            other.sql(text.replace("10", "1000"))
        for _ in range(2):
            assert (totals(one), totals(other)) == ({"EU": 10, "US": 5}, {"EU": 1000, "US": 5})
        for db, amount in ((one, 1), (other, 2), (one, 3)):
            db.sql("UPDATE orders SET amount = amount + ?", [amount])
        assert (totals(one), totals(other)) == ({"EU": 14, "US": 9}, {"EU": 1002, "US": 7})


def test_a_reader_may_not_write(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session, read_only=True) as reader:
        for text in ("DELETE FROM orders", "REFRESH ALL", "CREATE TABLE t (a INT)", "DROP VIEW totals"):
            with pytest.raises(WarehouseError, match="read"):
                reader.sql(text)


def test_a_second_writer_is_told_who_the_first_is(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session):
        with pytest.raises(WarehouseError, match=str(os.getpid())) as caught:
            slackwater.connect(path, engine=sail_session)
        assert "read_only" in str(caught.value.hint)
    with slackwater.connect(path, engine=sail_session) as db:
        assert len(db.sql("SELECT * FROM orders")) == 2


def test_reading_a_warehouse_that_is_not_there(path: Path, sail_session: Any) -> None:
    with pytest.raises(WarehouseError, match="no warehouse"):
        slackwater.connect(path / "missing", engine=sail_session, read_only=True)


def test_a_closed_session_says_so(path: Path, sail_session: Any) -> None:
    db = slackwater.connect(path, engine=sail_session)
    db.close()
    db.close()
    with pytest.raises(SlackwaterError, match="closed"):
        db.sql("SHOW TABLES")
