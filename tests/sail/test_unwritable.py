"""A disk that is full, a folder that cannot be written: a clear error, nothing lost, and work goes on when the cause is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater.errors import WarehouseError
from slackwater.run.check import check
from slackwater.trace import Unwritable
from tests.disks import Disk
from tests.place import prepared, totals
from tests.unwritable import check_that_nothing_is_lost, files, prepare

ROOT = Path(__file__).parents[2]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "disk")
    yield disk
    disk.remove()


@pytest.mark.parametrize("gives_way", ["full", "read only"])
def test_a_session_goes_on_when_the_disk_is_back(gives_way: str, disk: Disk, sail_session: Any) -> None:
    path = disk.folder / "warehouse"
    with slackwater.connect(path, engine=sail_session) as db:
        prepare(db)
        check_that_nothing_is_lost(db, path, disk, gives_way)
    assert check(path, None, False, lambda event: None).problems == ()


def test_a_full_disk_does_not_keep_a_warehouse_from_being_read(disk: Disk, sail_session: Any) -> None:
    place = prepared(disk.folder / "warehouse", None, sail_session)
    with disk.full(but=100_000), place.connect(read_only=True) as db:
        assert totals(db) == {"EU": 10, "US": 5}
    with disk.full():
        for path, read_only in ((place.path, True), (place.path, False), (disk.folder / "other", False)):
            with pytest.raises(WarehouseError) as caught:
                slackwater.connect(path, engine=sail_session, read_only=read_only)
            assert "free some space" in str(caught.value.hint)
    with place.connect() as db:
        assert totals(db) == {"EU": 10, "US": 5}


def test_a_view_is_not_to_blame_for_a_full_disk(disk: Disk, sail_session: Any) -> None:
    """It fails with the statement, and does not show its last answer with an excuse."""
    with slackwater.connect(disk.folder / "warehouse", engine=sail_session) as db:
        prepare(db)
        with disk.full(but=100_000), pytest.raises(Unwritable):
            db.sql("REFRESH ALL")
        assert db.sql("SELECT * FROM names").message == ""


def test_a_change_that_was_made_is_told_so_though_the_disk_is_full_right_after(disk: Disk, sail_session: Any) -> None:
    filled = ExitStack()

    class Filling:
        def due(self, stale: Sequence[str]) -> list[str]:
            filled.enter_context(disk.full(but=30_000))
            return list(stale)

    with slackwater.connect(disk.folder / "warehouse", engine=sail_session, schedule=Filling()) as db, filled:
        db.sql("CREATE TABLE orders (id BIGINT, name STRING)")
        db.sql("CREATE MATERIALIZED VIEW names AS SELECT sha2(name, 512) AS name, count(*) AS orders FROM orders GROUP BY sha2(name, 512)")
        assert "2000 rows inserted" in str(db.insert("orders", [(id, str(id)) for id in range(2000)]))
        with pytest.raises(Unwritable):
            db.sql("SELECT count(*) FROM names")
        filled.close()
        assert list(db.sql("SELECT count(*) FROM names")) == [(2000,)]


LIMITED = """
    import resource, signal, sys
    import slackwater
    from slackwater.trace import Unwritable

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    db = slackwater.connect(sys.argv[1], engine="sail")
    db.sql("CREATE TABLE orders (id BIGINT, name STRING)")
    many = [(i, str(hash(str(i)))) for i in range(50000)]
    for limit in (1 << 17, resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            print(db.insert("orders", many).message)
        except Unwritable as problem:
            print(problem.message.partition(": ")[2], "|", problem.hint.partition(";")[0])
    print(list(db.sql("SELECT count(*) FROM orders")))
"""


def test_a_file_that_is_larger_than_allowed_is_told(tmp_path: Path) -> None:
    """The same without mounting anything: the limit of a process."""
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(tmp_path / "warehouse")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    told = ["file too large | allow this process larger files: ulimit -f", "50000 rows inserted", "[(50000,)]"]
    assert done.stdout.splitlines()[-3:] == told, done.stderr


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path, sail_session: Any) -> None:
    place = prepared(tmp_path / "warehouse", None, sail_session)
    with place.connect() as db:
        db.sql("CREATE TABLE notes AS SELECT 'first' AS text")  # without a key, for which files would have to be read
        folder, away = place.path / "traces" / "notes", place.path / "notes"
        before = files(place.path)
        writes: list[Callable[[], object]] = [
            lambda: db.sql("INSERT INTO notes SELECT upper('second')"),
            lambda: db.insert("notes", [("second",)]),
        ]
        for write in writes:
            os.rename(folder, away)
            folder.touch()
            with pytest.raises(Unwritable, match="not a directory") as caught:
                write()
            assert "a file stands where a folder should be" in str(caught.value.hint)
            folder.unlink()
            os.rename(away, folder)
        assert files(place.path) == before
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}
