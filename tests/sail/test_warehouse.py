"""A warehouse outlives its processes: it is opened again, survives a crash at any moment, and is read by others while it is written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import slackwater
from slackwater.errors import SlackwaterError, WarehouseError

PREPARE = (
    "CREATE TABLE orders (id BIGINT, region STRING, amount INT, PRIMARY KEY (id))",
    "CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS total FROM orders GROUP BY region",
    "INSERT INTO orders VALUES (1, 'EU', 10), (2, 'US', 5)",
    "REFRESH VIEW totals",
)


def prepare(path: Path) -> None:
    with slackwater.connect(path, engine="sail") as db:
        for text in PREPARE:
            db.sql(text)


def totals(db: slackwater.Session) -> dict[object, object]:
    return {region: total for region, total in db.sql("SELECT region, total FROM totals")}


def files(path: Path) -> set[str]:
    """The data files, relative to the warehouse."""
    return {str(file.relative_to(path)) for file in path.rglob("*.parquet")}


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120)


def test_a_warehouse_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    prepare(tmp_path)
    with slackwater.connect(tmp_path, engine="sail") as db:
        assert totals(db) == {"EU": 10, "US": 5}
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
    with slackwater.connect(tmp_path, engine="sail") as db:
        # What the last session left undone is done now.
        assert totals(db) == {"EU": 11, "US": 5}
        db.sql("DELETE FROM orders WHERE id = 1")
        assert totals(db) == {"EU": 1, "US": 5}


def test_keys_are_remembered_over_sessions(tmp_path: Path) -> None:
    prepare(tmp_path)
    with slackwater.connect(tmp_path, engine="sail") as db, pytest.raises(SlackwaterError):
        db.sql("INSERT INTO orders VALUES (1, 'EU', 10)")


# The process ends with its files written and before the commit that would make them real.
CRASH = """
    import os, signal, sys
    import slackwater
    from slackwater.catalog.catalog import Catalog

    path, statement = sys.argv[1:]
    db = slackwater.connect(path, engine="sail")
    Catalog.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    db.sql(statement)
"""


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
def test_a_crash_before_the_commit_leaves_nothing(statement: str, tmp_path: Path) -> None:
    prepare(tmp_path)
    before = files(tmp_path)
    assert python(CRASH, tmp_path, statement).returncode == -signal.SIGKILL
    with slackwater.connect(tmp_path, engine="sail") as db:
        assert files(tmp_path) == before
        assert totals(db) == {"EU": 10, "US": 5}
        assert [row[0] for row in db.sql("SHOW TABLES")] == ["orders"]
        assert [row[0] for row in db.sql("SHOW VIEWS")] == ["totals"]
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}


def test_a_crash_in_a_refresh_leaves_the_old_answer_and_the_next_refresh_succeeds(tmp_path: Path) -> None:
    prepare(tmp_path)
    with slackwater.connect(tmp_path, engine="sail") as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
    before = files(tmp_path)
    assert python(CRASH, tmp_path, "REFRESH VIEW totals").returncode == -signal.SIGKILL
    assert files(tmp_path) > before
    with slackwater.connect(tmp_path, engine="sail") as db:
        assert files(tmp_path) == before
        assert totals(db) == {"EU": 11, "US": 5}


def test_the_lease_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    prepare(tmp_path)
    assert python(CRASH, tmp_path, "DELETE FROM orders").returncode == -signal.SIGKILL
    with slackwater.connect(tmp_path, engine="sail") as db:
        db.sql("DELETE FROM orders")
        assert totals(db) == {}


READ = """
    import sys
    import slackwater

    with slackwater.connect(sys.argv[1], engine="sail", read_only=True) as db:
        print(sorted(db.sql("SELECT region, total FROM totals")))
"""


def test_others_read_while_one_writes(tmp_path: Path) -> None:
    prepare(tmp_path)
    with slackwater.connect(tmp_path, engine="sail") as db:
        assert python(READ, tmp_path).stdout.splitlines()[-1:] == ["[('EU', 10), ('US', 5)]"]
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        db.sql("REFRESH ALL")
        assert python(READ, tmp_path).stdout.splitlines()[-1:] == ["[('EU', 11), ('US', 5)]"]
        db.sql("INSERT INTO orders VALUES (4, 'EU', 1)")
        assert totals(db) == {"EU": 12, "US": 5}


def test_a_reader_sees_each_commit_of_the_writer(tmp_path: Path) -> None:
    prepare(tmp_path)
    with slackwater.connect(tmp_path, engine="sail") as db, slackwater.connect(tmp_path, engine="sail", read_only=True) as reader:
        assert totals(reader) == {"EU": 10, "US": 5}
        db.sql("UPDATE orders SET amount = 100 WHERE id = 2")
        db.sql("REFRESH ALL")
        assert totals(reader) == {"EU": 10, "US": 100}
        assert len(reader.sql("SELECT * FROM orders")) == 2


def test_a_reader_may_not_write(tmp_path: Path) -> None:
    prepare(tmp_path)
    with slackwater.connect(tmp_path, engine="sail", read_only=True) as reader:
        for text in ("DELETE FROM orders", "REFRESH ALL", "CREATE TABLE t (a INT)", "DROP VIEW totals"):
            with pytest.raises(WarehouseError, match="read"):
                reader.sql(text)


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    prepare(tmp_path)
    with slackwater.connect(tmp_path, engine="sail"):
        with pytest.raises(WarehouseError, match=str(os.getpid())) as caught:
            slackwater.connect(tmp_path, engine="sail")
        assert "read_only" in str(caught.value.hint)
    with slackwater.connect(tmp_path, engine="sail") as db:
        assert len(db.sql("SELECT * FROM orders")) == 2


def test_reading_a_warehouse_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="no warehouse"):
        slackwater.connect(tmp_path / "missing", engine="sail", read_only=True)


def test_a_closed_session_says_so(tmp_path: Path) -> None:
    db = slackwater.connect(tmp_path, engine="sail")
    db.close()
    db.close()
    with pytest.raises(SlackwaterError, match="closed"):
        db.sql("SHOW TABLES")
