"""What is acknowledged stays: damage is found and named, and a warehouse can be checked, copied while it is in use, and brought back."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater.catalog import Catalog, Changes, Lease, Snapshot
from slackwater.catalog.catalog import FORMAT
from slackwater.cli.main import main
from slackwater.errors import WarehouseError
from slackwater.run import warehouse
from slackwater.run.backup import backup
from slackwater.trace import Damaged

ROOT = Path(__file__).parents[2]
MANY = 5000  # rows: more than go along with a statement, so that the engine reads their files


@pytest.fixture(scope="module")
def made(sail_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with many orders, a few regions and a view over each, closed."""
    path = tmp_path_factory.mktemp("made") / "warehouse"
    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("CREATE TABLE orders (id BIGINT, region STRING, amount BIGINT)")
        db.sql("CREATE TABLE regions (name STRING)")
        db.insert("orders", [(i, f"region {i % 7}", i) for i in range(MANY)])
        db.insert("regions", [("EU",), ("US",)])
        db.sql("CREATE MATERIALIZED VIEW totals AS SELECT id % 3000 AS third, sum(amount) AS total FROM orders GROUP BY id % 3000")
        db.sql("CREATE MATERIALIZED VIEW named AS SELECT count(*) AS n FROM regions")
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A warehouse like that for each test."""
    return Path(shutil.copytree(made, tmp_path / "warehouse"))


def only_file(path: Path, trace: str) -> Path:
    (found,) = (path / "traces" / trace).rglob("*.parquet")
    return found


def flip_a_byte(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def flip_the_footer(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-3] ^= 0xFF
    file.write_bytes(data)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def empty(file: Path) -> None:
    file.write_bytes(b"")


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (flip_the_footer, "checksum"),
    (cut_short, "bytes"),
    (empty, "has 0 bytes"),
    (Path.unlink, "missing"),
]


def test_all_that_a_step_wrote_is_synced_before_its_commit(path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, commit, synced = os.fsync, Catalog.commit, set[str]()

    def seen_fsync(file: int) -> None:
        fsync(file)
        synced.add(os.readlink(f"/proc/self/fd/{file}"))

    def checked_commit(catalog: Catalog, step: str, changes: Changes, before: Snapshot, lease: Lease) -> Snapshot:
        for trace, batch in changes.batches:
            for file in (path / "traces" / trace.replace("/", "%2F") / batch.step).rglob("*"):
                assert {str(above) for above in (file, *file.parents) if path in above.parents} <= synced
        return commit(catalog, step, changes, before, lease)

    monkeypatch.setattr(os, "fsync", seen_fsync)
    monkeypatch.setattr(Catalog, "commit", checked_commit)
    with slackwater.connect(path, engine=sail_session) as db:
        db.insert("orders", [(1, "EU", 1)])
        db.sql("UPDATE regions SET name = 'Asia'")
        db.sql("CREATE TABLE more AS SELECT * FROM orders")
        db.sql("REFRESH ALL")
    assert synced


@pytest.mark.parametrize(("do_damage", "told"), DAMAGES)
def test_a_damaged_file_is_named_when_it_is_read(do_damage: Callable[[Path], None], told: str, path: Path, sail_session: Any) -> None:
    damaged = {trace.partition("%")[0]: only_file(path, trace) for trace in ("orders", "totals%2F1", "regions")}
    for file in damaged.values():
        do_damage(file)
    with slackwater.connect(path, engine=sail_session) as db:
        for relation, file in (*damaged.items(), *damaged.items()):
            with pytest.raises(Damaged, match=told) as caught:
                db.sql(f"SELECT * FROM {relation}").to_arrow()
            assert str(file.relative_to(path)) in caught.value.message
            assert f'of "{relation}"' in caught.value.message
            assert "slackwater check" in str(caught.value.hint) and "slackwater restore" in str(caught.value.hint)


@pytest.mark.parametrize("do_damage", [flip_the_footer, Path.unlink])
def test_the_other_views_go_on(do_damage: Callable[[Path], None], path: Path, sail_session: Any) -> None:
    do_damage(only_file(path, "totals%2F1"))
    with slackwater.connect(path, engine=sail_session, folding="refresh") as db:
        db.insert("orders", [(1, "EU", 1)])
        db.insert("regions", [("Asia",)])
        assert "named: 1 rows added" in db.sql("REFRESH ALL").message
        for _ in range(8):  # until there is something to fold
            db.insert("regions", [("Asia",)])
            assert "named: 1 rows added" in db.sql("REFRESH ALL").message
        assert list(db.sql("SELECT n FROM named")) == [(11,)]
        with pytest.raises(WarehouseError, match="totals"):
            list(db.sql("SELECT * FROM totals"))


def test_a_file_that_vanishes_while_it_is_in_use_is_not_taken_for_empty(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        asked = db.sql("SELECT count(*) FROM orders")
        again = db.sql("SELECT count(*) FROM totals")
        only_file(path, "orders").unlink()
        with pytest.raises(Damaged, match="missing"):
            list(asked)
        assert list(again) == [(3000,)]


def test_a_damaged_view_can_be_created_again(path: Path, sail_session: Any) -> None:
    only_file(path, "totals%2F1").unlink()
    with slackwater.connect(path, engine=sail_session) as db:
        text = "SELECT id % 3000 AS third, sum(amount) AS total FROM orders GROUP BY id % 3000"
        db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW totals AS {text}")
        assert len(db.sql("SELECT * FROM totals")) == 3000


@pytest.mark.parametrize("rows", [10, MANY])
def test_a_fold_does_not_make_damage_look_sound(rows: int, path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session, folding="refresh") as db:
        db.sql("CREATE TABLE more (a BIGINT)")
        db.insert("more", [(i,) for i in range(rows)])
        file = only_file(path, "more")
        flip_a_byte(file)
        for _ in range(9):
            db.insert("more", [(1,)])
        db.sql("REFRESH ALL")
        assert file.exists()
        assert len(list((path / "traces" / "more").iterdir())) == 10


# slackwater check


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def cli(*arguments: object) -> Done:
    """A command; none of these starts an engine."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    return Done(code, out.getvalue(), errors.getvalue())


def test_a_sound_warehouse_is_said_to_be_sound(path: Path) -> None:
    done = cli("check", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sound    4 files, ")


@pytest.mark.parametrize(("do_damage", "told"), [*DAMAGES, (flip_a_byte, "checksum")])
def test_check_names_every_damaged_file(do_damage: Callable[[Path], None], told: str, path: Path) -> None:
    damaged = [only_file(path, trace) for trace in ("orders", "named%2F1")]
    for file in damaged:
        do_damage(file)
    done = cli("check", path)
    assert done.returncode == 1
    for file, relation in zip(damaged, ("orders", "named"), strict=True):
        assert f'damaged  file {file.relative_to(path)} of "{relation}" ' in done.stdout
    assert done.stdout.count(told) >= 2 and "4 files" in done.stdout
    assert cli("check", path, "--fast").returncode == (0 if told == "checksum" else 1)


def test_check_tells_of_orphans_and_of_versions_that_are_lost(path: Path) -> None:
    orphan = path / "traces" / "orders" / "0000000000000-broken"
    orphan.mkdir()
    (orphan / "part-0.parquet").write_bytes(b"half")
    assert "1 batches, 4 bytes, belong to steps under way or broken off" in cli("check", path).stdout
    with contextlib.closing(sqlite3.connect(path / "catalog.db")) as db, db:
        db.execute("UPDATE cursor SET version = 7 WHERE source = 'orders'")
    done = cli("check", path)
    assert done.returncode == 1
    assert 'path "totals/1" has read "orders" up to version 7, which is not there' in done.stdout


def test_a_damaged_catalog_is_not_taken_for_a_new_one(path: Path, sail_session: Any) -> None:
    before = files(path)
    catalog = path / "catalog.db"
    whole = catalog.read_bytes()
    for data, told in ((b"", "gone"), (whole[:4096] + b"\x07" * 8192, "cannot be read"), (None, "gone")):
        if data is None:
            catalog.unlink()
        else:
            catalog.write_bytes(data)
        with pytest.raises(WarehouseError, match=told) as caught:
            slackwater.connect(path, engine=sail_session)
        assert "slackwater restore" in str(caught.value.hint)
        assert cli("check", path).returncode == 1
    assert files(path) == before


def test_another_format_is_recognised_and_left_alone(path: Path, sail_session: Any) -> None:
    with contextlib.closing(sqlite3.connect(path / "catalog.db")) as db, db:
        db.execute("UPDATE meta SET value = '0' WHERE key = 'format'")
        db.execute("DROP TABLE lease")
    for read_only in (True, False):
        with pytest.raises(WarehouseError, match=f"has format 0, this release reads format {FORMAT}") as caught:
            slackwater.connect(path, engine=sail_session, read_only=read_only)
        assert "release that wrote it" in str(caught.value.hint)
    assert "format 0" in cli("check", path).stdout
    assert "format 0" in cli("backup", path, path.parent / "copy").stderr
    with contextlib.closing(sqlite3.connect(path / "catalog.db")) as db:
        assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'lease'").fetchall()


def test_files_from_before_checksums_are_read(path: Path, sail_session: Any) -> None:
    with contextlib.closing(sqlite3.connect(path / "catalog.db")) as store, store:
        for trace, version, added in store.execute("SELECT trace, version, added FROM batch").fetchall():
            older = [{key: value for key, value in file.items() if key != "crc"} for file in json.loads(added)]
            store.execute("UPDATE batch SET added = ? WHERE trace = ? AND version = ?", [json.dumps(older), trace, version])
    with slackwater.connect(path, engine=sail_session) as db:
        assert list(db.sql("SELECT n FROM named")) == [(2,)]
    done = cli("check", path)
    assert done.returncode == 0 and "4 files were written by a release that kept no checksums" in done.stdout
    assert cli("backup", path, path.parent / "copy").returncode == 0


# slackwater backup, slackwater restore


def answers(path: Path, session: Any, read_only: bool = False) -> list[object]:
    with slackwater.connect(path, engine=session, read_only=read_only) as db:
        return [sorted(db.sql(f"SELECT * FROM {name}")) for name in ("orders", "regions", "totals", "named")]


def test_a_backup_is_restored_as_it_was(path: Path, tmp_path: Path, sail_session: Any) -> None:
    before = answers(path, sail_session)
    done = cli("backup", path, tmp_path / "copy")
    assert done.returncode == 0 and "4 files" in done.stdout
    shutil.rmtree(path)
    assert cli("restore", tmp_path / "copy", path).returncode == 0
    assert answers(path, sail_session) == before
    assert cli("check", path).returncode == 0
    with slackwater.connect(path, engine=sail_session) as db:
        db.insert("regions", [("Asia",)])
        assert list(db.sql("SELECT n FROM named")) == [(3,)]


def test_a_backup_can_be_read_but_not_written(path: Path, tmp_path: Path, sail_session: Any) -> None:
    cli("backup", path, tmp_path / "copy")
    assert answers(tmp_path / "copy", sail_session, read_only=True) == answers(path, sail_session)
    with pytest.raises(WarehouseError, match="is a backup"):
        slackwater.connect(tmp_path / "copy", engine=sail_session)


def test_a_second_backup_copies_what_is_new_and_removes_what_is_not_needed(path: Path, tmp_path: Path, sail_session: Any) -> None:
    cli("backup", path, tmp_path / "copy")
    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("DROP VIEW named")
        db.insert("regions", [("Asia",)])
    done = cli("backup", path, tmp_path / "copy")
    assert "of which 1, " in done.stdout
    assert not (tmp_path / "copy" / "traces" / "named%2F1").exists()
    assert cli("check", tmp_path / "copy").stdout.startswith("sound    4 files")


def test_a_restore_does_not_overwrite_unless_told(path: Path, tmp_path: Path, sail_session: Any) -> None:
    cli("backup", path, tmp_path / "copy")
    before = answers(path, sail_session)
    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("DELETE FROM orders")
        refused = cli("restore", tmp_path / "copy", path, "--replace")
        assert refused.returncode == 1 and f"written by process {os.getpid()}" in refused.stderr
    refused = cli("restore", tmp_path / "copy", path)
    assert refused.returncode == 1 and "--replace" in refused.stderr
    file = only_file(tmp_path / "copy", "regions")
    sound = file.read_bytes()
    flip_a_byte(file)
    damaged = cli("restore", tmp_path / "copy", path, "--replace")
    assert damaged.returncode == 1 and "checksum" in damaged.stderr
    assert answers(path, sail_session)[0] == []  # nothing was replaced
    file.write_bytes(sound)
    assert cli("restore", tmp_path / "copy", path, "--replace").returncode == 0
    assert answers(path, sail_session) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy", "warehouse"]


def test_a_backup_does_not_go_where_something_else_is(path: Path, tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "letter.txt").touch()
    for target in (tmp_path / "else", path, path / "below", tmp_path):
        assert cli("backup", path, target).returncode == 1
    assert cli("restore", path, tmp_path / "new").returncode == 1  # a warehouse is not a backup
    assert cli("backup", tmp_path / "none", tmp_path / "copy").returncode == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["else", "warehouse"]


def test_a_damaged_file_does_not_get_into_a_backup(path: Path, tmp_path: Path) -> None:
    flip_a_byte(only_file(path, "orders"))
    done = cli("backup", path, tmp_path / "copy")
    assert done.returncode == 1 and 'of "orders" is not what was written' in done.stderr


INTERRUPTED = """
    import os, signal, sys
    from pathlib import Path
    from slackwater.run.backup import backup

    def die(event):
        if event.number == 4:
            os.kill(os.getpid(), signal.SIGKILL)

    backup(sys.argv[1], None, Path(sys.argv[2]), die)
"""


def test_an_interrupted_backup_leaves_the_one_before(path: Path, tmp_path: Path, sail_session: Any) -> None:
    assert python(INTERRUPTED, path, tmp_path / "copy").returncode == -signal.SIGKILL  # the very first one
    assert cli("backup", path, tmp_path / "copy").returncode == 0
    before = answers(path, sail_session)
    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("DELETE FROM orders WHERE id < 10")
        db.insert("regions", [("Asia",)])
        db.sql("REFRESH ALL")
    assert python(INTERRUPTED, path, tmp_path / "copy").returncode == -signal.SIGKILL
    assert cli("check", tmp_path / "copy").returncode == 0
    assert cli("restore", tmp_path / "copy", tmp_path / "restored").returncode == 0
    assert answers(tmp_path / "restored", sail_session) == before
    assert cli("backup", path, tmp_path / "copy").returncode == 0
    assert answers(tmp_path / "copy", sail_session, read_only=True) == answers(path, sail_session)


BROKEN_OFF = """
    import os, signal, sqlite3, sys

    db = sqlite3.connect(sys.argv[1], isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("PRAGMA cache_size = 1")  # so that pages are written before the transaction ends
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM meta")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)"
    db.execute(f"CREATE TABLE more AS {numbers} SELECT i, hex(i) AS h FROM n")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_backup_goes_on_where_its_catalog_was_being_exchanged(path: Path, tmp_path: Path, sail_session: Any) -> None:
    assert cli("backup", path, tmp_path / "copy").returncode == 0
    assert python(BROKEN_OFF, tmp_path / "copy" / "catalog.db").returncode == -signal.SIGKILL
    assert (tmp_path / "copy" / "catalog.db-journal").stat().st_size
    assert cli("check", tmp_path / "copy").returncode == 0
    assert answers(tmp_path / "copy", sail_session, read_only=True) == answers(path, sail_session)
    assert cli("backup", path, tmp_path / "copy").returncode == 0


# Two rows a step, that cancel each other out; every view is refreshed, and what is folded is removed at once.
WRITER = """
    import sys
    import slackwater
    from slackwater.run import warehouse

    warehouse.GRACE = 0.2
    db = slackwater.connect(sys.argv[1], engine="sail", folding="refresh")
    print("ready", flush=True)
    for number in range(1_000_000):
        db.sql("INSERT INTO orders VALUES (?, 'EU', 1), (?, 'EU', -1)", [number + 10_000, number + 10_000])
        print(number, flush=True)
        db.sql("REFRESH ALL")
"""


def test_a_backup_while_another_process_writes_is_consistent(path: Path, tmp_path: Path, sail_session: Any) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n", writer.communicate()[1]
        for _ in range(4):
            for _ in range(3):
                assert writer.stdout.readline()
            done = cli("backup", path, tmp_path / "copy")
            assert done.returncode == 0, done.stderr
            assert writer.poll() is None
            assert cli("check", path).returncode == 0
            assert cli("check", tmp_path / "copy").returncode == 0
    finally:
        writer.kill()
        acknowledged = writer.communicate()[0].split()
    assert cli("restore", tmp_path / "copy", tmp_path / "restored").returncode == 0
    for place in (tmp_path / "restored", path):  # the copy, and what the writer left when it was killed
        with slackwater.connect(place, engine=sail_session) as db:
            assert sorted(db.sql("SELECT * FROM totals")) == sorted(db.recompute("totals"))
            assert list(db.sql("SELECT sum(amount), count(*) % 2 FROM orders")) == [(sum(range(MANY)), 0)]
    with slackwater.connect(path, engine=sail_session) as db:
        found = {id - 10_000 for (id,) in db.sql("SELECT id FROM orders WHERE id >= 10000")}
        assert {int(number) for number in acknowledged} <= found


def test_a_backup_starts_over_when_files_are_folded_away(
    path: Path, tmp_path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warehouse, "GRACE", 0.0)
    times = 2
    with slackwater.connect(path, engine=sail_session) as db:

        def fold(event: object) -> None:
            nonlocal times
            if times and getattr(event, "number", 0) == 1:
                times -= 1
                for statement in ("UPDATE regions SET name = name || 'x'", "REFRESH ALL", "VACUUM", "VACUUM"):
                    db.sql(statement)

        backup(path, None, tmp_path / "copy", fold)
        assert answers(tmp_path / "copy", sail_session, read_only=True)[1] == [("EUxx",), ("USxx",)]
        times = 100
        db.sql("UPDATE regions SET name = name || 'x'")
        with pytest.raises(WarehouseError, match="folded away faster"):
            backup(path, None, tmp_path / "copy", fold)
        assert answers(tmp_path / "copy", sail_session, read_only=True)[1] == [("EUxx",), ("USxx",)]
    assert cli("check", tmp_path / "copy").returncode == 0


# VACUUM


def test_vacuum_gives_space_back_and_answers_stay(path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        for number in range(3):
            db.sql("UPDATE orders SET amount = amount + 1")
            db.sql("UPDATE regions SET name = name || ?", [str(number)])
        db.sql("REFRESH ALL")
        before, size = [sorted(db.sql(f"SELECT * FROM {name}")) for name in ("orders", "totals", "named")], usage(path)
        message = db.sql("VACUUM").message
        assert "folded" in message and "follow in a minute" in message
        monkeypatch.setattr(warehouse, "GRACE", 0.0)
        assert "given back" in db.sql("VACUUM").message
        assert usage(path) < size / 2
        assert [sorted(db.sql(f"SELECT * FROM {name}")) for name in ("orders", "totals", "named")] == before
        assert "0 traces folded" in db.sql("VACUUM").message
        assert sorted(db.sql("SELECT * FROM totals")) == sorted(db.recompute("totals"))
    assert cli("check", path).returncode == 0


def test_a_view_that_was_read_before_a_fold_is_read_right_after_it(path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "GRACE", 0.0)

    def answers() -> list[object]:
        return [(sorted(db.sql(f"SELECT * FROM {name}")), sorted(db.recompute(name))) for name in ("lengths", "above")]

    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("CREATE MATERIALIZED VIEW lengths AS SELECT name, max(length(name)) AS length FROM regions GROUP BY name")
        db.sql("CREATE MATERIALIZED VIEW above AS SELECT upper(name) AS name, length FROM lengths")
        db.insert("regions", [("Asia",)])
        db.sql("REFRESH ALL")
        before = answers()
        assert not db.sql("VACUUM").message.startswith("0 traces")  # the files that were read are gone
        assert answers() == before


def test_vacuum_keeps_what_a_view_has_not_read_yet(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        for _ in range(3):
            db.sql("UPDATE orders SET amount = amount + 1 WHERE id < 100")
        db.sql("VACUUM")
        db.sql("UPDATE orders SET amount = 0 WHERE id < 50")
        assert sorted(db.sql("SELECT * FROM totals")) == sorted(db.recompute("totals"))


def test_what_was_folded_stays_for_those_who_may_be_reading_it(path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("UPDATE orders SET amount = amount + 1")
        db.sql("REFRESH ALL")
        with slackwater.connect(path, engine=sail_session, read_only=True) as reader:
            asked = reader.sql("SELECT sum(amount) FROM orders")
            db.sql("VACUUM")
            db.sql("DROP VIEW totals")
            assert list(asked) == [(sum(range(MANY)) + MANY,)]
    # The writer has gone; the next one still spares them, for a while.
    before = files(path)
    slackwater.connect(path, engine=sail_session).close()
    assert files(path) == before
    monkeypatch.setattr(warehouse, "GRACE", 0.0)
    slackwater.connect(path, engine=sail_session).close()
    assert files(path) < before
    assert "wait until" not in cli("check", path).stdout


def test_what_a_step_would_have_retired_stays_when_it_fails(path: Path, sail_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise WarehouseError("no")

    monkeypatch.setattr(warehouse, "GRACE", 0.0)
    before, there = answers(path, sail_session), files(path)
    with slackwater.connect(path, engine=sail_session) as db, monkeypatch.context() as patched:
        patched.setattr(Catalog, "commit", refuse)
        for text in ("DROP VIEW totals", "CREATE OR REPLACE MATERIALIZED VIEW named AS SELECT 1 AS n FROM regions"):
            with pytest.raises(WarehouseError, match="no"):
                db.sql(text)
    assert answers(path, sail_session) == before
    assert files(path) == there


def usage(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def files(path: Path) -> set[Path]:
    return set(path.rglob("*.parquet"))


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
