"""A warehouse whose catalog is on a PostgreSQL server: what happens when the server, the way to it, or another process goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import slackwater
from slackwater.catalog import Catalog, Unsettled, catalog, lease, store_named
from slackwater.catalog.transfer import TABLES
from slackwater.cli.main import main
from slackwater.errors import WarehouseError
from slackwater.run import refresh
from slackwater.run.backup import backup
from slackwater.run.check import check
from slackwater.run.copying import files_named
from slackwater.run.fold import fold_all
from slackwater.run.restore import restore
from slackwater.run.warehouse import Warehouse
from slackwater.trace import Damaged
from tests.place import Place, prepared, totals
from tests.postgres import Server, Wire
from tests.sail.test_docs import Reader, blocks_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(postgres: Server, sail_session: Any, tmp_path: Path) -> Place:
    return prepared(tmp_path / "warehouse", postgres.new_store(), sail_session)


@pytest.fixture
def wire(postgres: Server) -> Iterator[Wire]:
    wire = Wire(postgres)
    yield wire
    wire.close()


@pytest.fixture
def remote(wire: Wire, sail_session: Any, tmp_path: Path) -> Place:
    """A warehouse whose store is reached over TCP, with a password."""
    return prepared(tmp_path / "warehouse", wire.store, sail_session)


# The server goes away


def test_a_session_goes_on_when_the_server_is_back(place: Place, postgres: Server) -> None:
    with place.connect() as db:
        before = place.files
        postgres.stop(signal.SIGQUIT)
        try:
            for text in ("SELECT * FROM orders", "INSERT INTO orders VALUES (3, 'EU', 1)"):
                with pytest.raises(WarehouseError, match="cannot reach the store"):
                    db.sql(text)
        finally:
            postgres.start()
        assert place.files == before
        assert totals(db) == {"EU": 10, "US": 5}
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}


def test_a_server_that_was_started_anew_in_between_is_not_noticed(place: Place, postgres: Server) -> None:
    with place.connect() as db:
        postgres.stop()
        postgres.start()
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}


def test_an_unreachable_store_is_named_without_the_password(remote: Place, wire: Wire) -> None:
    with remote.connect() as db:
        wire.close()
        with pytest.raises(WarehouseError, match=f"127.0.0.1:{wire.port}/postgres") as lost:
            db.sql("SHOW TABLES")
        with pytest.raises(WarehouseError, match=f"127.0.0.1:{wire.port}/postgres") as never:
            remote.connect()
        for caught in (lost, never):
            assert "secret" not in str(caught.value) and caught.value.hint
        wire.open()
        assert len(db.sql("SHOW TABLES")) == 1


def test_a_session_can_be_closed_while_the_store_is_away(remote: Place, wire: Wire) -> None:
    db = remote.connect()
    wire.close()
    db.close()
    wire.open()


def test_the_lease_outlives_an_outage(place: Place, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEWED_EVERY", 0.1)
    monkeypatch.setattr(lease, "RETRIED_EVERY", 0.1)
    with place.connect() as db:
        store = db._warehouse.catalog.store

        def expires() -> float:
            with store.reading() as at:
                return float(at.execute("SELECT expires FROM lease").fetchone()[0])

        postgres.stop()
        time.sleep(0.5)
        postgres.start()
        before = expires()
        time.sleep(1.0)
        assert expires() > before


# The connection is lost while a step is committed


def test_a_commit_that_arrived_counts_though_the_answer_was_lost(remote: Place, wire: Wire) -> None:
    with remote.connect() as db:
        wire.cut_commit(delivered=True)
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert wire.cuts == 1
        assert totals(db) == {"EU": 11, "US": 5}
    with remote.connect() as db:
        assert len(db.sql("SELECT * FROM orders")) == 3


def test_a_commit_that_never_arrived_leaves_nothing(remote: Place, wire: Wire) -> None:
    with remote.connect() as db:
        before = remote.files
        wire.cut_commit(delivered=False)
        with pytest.raises(WarehouseError, match="lost the store") as caught:
            db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert wire.cuts == 1 and not isinstance(caught.value, Unsettled) and "run it again" in str(caught.value.hint)
        assert remote.files == before
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}


@pytest.mark.parametrize("delivered", [True, False])
def test_a_commit_of_which_nothing_is_known_removes_no_file(
    remote: Place, wire: Wire, delivered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "PATIENCE", 0.5)
    with remote.connect() as db:
        before = remote.files
        wire.cut_commit(delivered, reopened=False)
        with pytest.raises(Unsettled, match="not known"):
            db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert remote.files > before
        wire.open()
        assert totals(db) == {"EU": 11 if delivered else 10, "US": 5}
        db.sql("INSERT INTO orders VALUES (4, 'EU', 1)")
    with remote.connect() as db:
        assert totals(db) == {"EU": 12 if delivered else 11, "US": 5}


def test_a_change_that_was_made_is_told_so_though_the_store_is_gone_right_after(remote: Place, wire: Wire) -> None:
    class Cutting:
        def due(self, stale: Sequence[str]) -> list[str]:
            wire.close()
            return list(stale)

    with remote.connect(schedule=Cutting()) as db:
        assert "1 row inserted" in str(db.sql("INSERT INTO orders VALUES (3, 'EU', 1)"))
        wire.open()
        assert totals(db) == {"EU": 11, "US": 5}


def test_a_refresh_that_was_made_is_told_so_though_the_store_is_gone_before_the_fold(
    remote: Place, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_and_fold(warehouse: Warehouse) -> int:
        wire.close()
        return fold_all(warehouse)

    monkeypatch.setattr(refresh, "fold_all", cut_and_fold)
    with remote.connect(folding="refresh") as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert "1 rows added, 1 removed" in db.sql("REFRESH ALL").message
        wire.open()
        monkeypatch.undo()
        assert totals(db) == {"EU": 11, "US": 5}
        assert "nothing new" in db.sql("REFRESH ALL").message


# Another process takes over

HOLD = """
    from slackwater.catalog import lease

    lease.LASTS, lease.RENEWED_EVERY = 6.0, 1.0
    if sys.argv[3]:
        lease._machine = lambda: sys.argv[3]
    db = connect()
    print("holding", flush=True)
    sys.stdin.readline()
    try:
        db.sql("INSERT INTO orders VALUES (30, 'EU', 1000)")
        print("inserted", flush=True)
    except slackwater.WarehouseError as problem:
        print(problem.message, flush=True)
"""


def hold(place: Place, machine: str = "") -> subprocess.Popen[str]:
    """A process that holds the lease."""
    process = place.start(HOLD, machine)
    assert process.stdout is not None and process.stdout.readline() == "holding\n"
    return process


def test_a_writer_that_was_asleep_too_long_finds_itself_replaced(place: Place) -> None:
    with hold(place) as sleeper:
        sleeper.send_signal(signal.SIGSTOP)
        try:
            with place.connect(wait=60) as db:
                sleeper.send_signal(signal.SIGCONT)
                db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
                before = place.files
                said, _ = sleeper.communicate("\n", timeout=60)
                assert said == "another process has taken over this warehouse\n"
                assert place.files == before
                assert totals(db) == {"EU": 11, "US": 5}
        finally:
            sleeper.kill()


def test_the_lease_of_a_machine_that_died_is_taken_when_it_has_expired(place: Place) -> None:
    with hold(place, machine="elsewhere") as holder:
        holder.kill()
        holder.wait()
        with pytest.raises(WarehouseError, match=str(holder.pid)):
            place.connect()
        with place.connect(wait=60) as db:
            assert totals(db) == {"EU": 10, "US": 5}


def test_a_live_process_of_another_machine_is_not_taken_for_dead(place: Place) -> None:
    with hold(place, machine="elsewhere") as holder:
        time.sleep(7)
        with pytest.raises(WarehouseError, match=str(holder.pid)):
            place.connect()
        said, _ = holder.communicate("\n", timeout=60)
        assert said == "inserted\n"


TAKE_TURNS = """
    for turn in range(3):
        with connect(wait=100) as db:
            db.sql("INSERT INTO orders SELECT max(id) + 1, ?, 1 FROM orders", [sys.argv[3]])
            db.sql("REFRESH ALL")
"""


def test_processes_take_turns(place: Place) -> None:
    with place.start(TAKE_TURNS, "EU") as one, place.start(TAKE_TURNS, "US") as other:
        assert (one.wait(timeout=120), other.wait(timeout=120)) == (0, 0)
    with place.connect() as db:
        assert totals(db) == {"EU": 13, "US": 8}
        assert sorted(id for (id,) in db.sql("SELECT id FROM orders")) == list(range(1, 9))


def test_threads_of_one_session_share_the_store(place: Place) -> None:
    with place.connect() as db:

        def work(number: int) -> None:
            for turn in range(3):
                db.insert("orders", [(100 * number + turn, "EU", 1)])
                assert len(db.sql("SHOW TABLES")) == 1
                assert len(db.sql("DESCRIBE HISTORY")) > turn

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(1, 5)))
        assert totals(db) == {"EU": 22, "US": 5}


# Which folder, which store


def test_a_catalog_is_made_once_however_many_want_it(postgres: Server, tmp_path: Path) -> None:
    url = postgres.new_store()
    stores = [store_named(url, tmp_path) for _ in range(6)]
    together = threading.Barrier(len(stores))

    def make(store: Any) -> None:
        together.wait()
        Catalog(store)

    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(make, stores))
    for store in stores:
        store.close()


def test_a_store_that_is_not_the_warehouses_own_is_refused(place: Place, postgres: Server, tmp_path: Path) -> None:
    before = place.files
    for read_only in (False, True):
        with pytest.raises(WarehouseError, match="elsewhere"):
            place.connect(store=None, read_only=read_only)
        with pytest.raises(WarehouseError, match="no warehouse" if read_only else "another store"):
            place.connect(store=postgres.new_store(), read_only=read_only)
        with pytest.raises(WarehouseError, match="another warehouse"):
            slackwater.connect(tmp_path / "not mounted", engine=place.engine, store=place.store, read_only=read_only)
    slackwater.connect(tmp_path / "local", engine=place.engine).close()
    with pytest.raises(WarehouseError, match="in its folder"):
        slackwater.connect(tmp_path / "local", engine=place.engine, store=postgres.new_store())
    assert place.files == before
    with place.connect() as db:
        assert totals(db) == {"EU": 10, "US": 5}


def test_warehouses_of_one_database_keep_apart(place: Place, postgres: Server, tmp_path: Path) -> None:
    other = prepared(tmp_path / "other", postgres.new_store(), place.engine)
    with place.connect() as one, other.connect() as two:
        one.sql("DELETE FROM orders")
        assert (totals(one), totals(two)) == ({}, {"EU": 10, "US": 5})


def test_a_transaction_is_not_tied_to_a_session_of_the_server(place: Place) -> None:
    """As behind a pooler: nothing is set for a connection, all of it for a transaction."""
    with place.connect() as db:
        store = db._warehouse.catalog.store
        with store.reading() as at:
            assert at.execute("SHOW search_path").fetchone()[0].startswith("w_")
        connection = getattr(store, "_connection")  # noqa: B009
        assert isinstance(connection, psycopg.Connection)
        assert connection.execute("SHOW search_path").fetchone() == ('"$user", public',)


def test_the_page_is_true(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store, reader, answer = postgres.new_store(), Reader(), ""
    try:
        for block in blocks_of((ROOT / "docs/shared-warehouses.md").read_text()):
            if block.mark == "text":
                assert answer.rstrip() == block.text.rstrip()
            elif block.mark == "python":
                answer = reader.python(block.text.replace("postgresql://slackwater@db.example.com/plant", store))
    finally:
        reader.close()


# The terminal


def run(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "slackwater.cli.main", *arguments]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, env=settings)


def test_the_terminal_is_told_the_store(place: Place) -> None:
    where = ("--warehouse", str(place.path))
    asked = ("-e", "SELECT region, total FROM totals ORDER BY region", "--engine", "sail", "--format", "csv")
    assert run("sql", *where, "--store", str(place.store), *asked).stdout == "region,total\nEU,10\nUS,5\n"
    assert run("sql", *where, *asked, environment={"SLACKWATER_STORE": str(place.store)}).stdout == "region,total\nEU,10\nUS,5\n"


def test_the_doctor_looks_at_the_store(place: Place, wire: Wire) -> None:
    options = ("doctor", "--quick", "--warehouse", str(place.path), "--store")
    with place.connect():
        told = run(*options, str(place.store)).stdout
    assert "ok   catalog     2 tables and views at" in told and f"process {os.getpid()}" in told
    assert "give its URL with --store" in run(*options[:-1]).stdout
    store = wire.store
    told = run(*options, store).stdout
    assert "none yet" in told and "nobody is writing" in told
    wire.close()
    told = run(*options, store).stdout
    assert f"fail catalog     cannot reach the store at 127.0.0.1:{wire.port}/postgres" in told and "secret" not in told


def test_check_verifies_the_files_that_the_store_names(place: Place, wire: Wire) -> None:
    assert run("check", str(place.path), "--store", str(place.store)).stdout.startswith("sound    2 files, ")
    with place.connect() as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        db.sql("VACUUM")
        assert run("check", str(place.path), environment={"SLACKWATER_STORE": str(place.store)}).stdout.startswith("sound    3 files, ")
    next(place.path.rglob("*.parquet")).unlink()
    damaged = run("check", str(place.path), "--store", str(place.store))
    assert damaged.returncode == 1 and "is missing" in damaged.stdout
    assert "name its store" in run("check", str(place.path)).stderr
    other = run("check", str(place.path), "--store", wire.store)
    assert other.returncode == 1 and other.stdout == "" and "no warehouse" in other.stderr


def test_without_the_driver_the_way_to_it_is_told(tmp_path: Path) -> None:
    code = "import sys; sys.modules['psycopg'] = None; import slackwater; slackwater.connect(sys.argv[1], store='postgresql://x/y')"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert 'pip install "slackwater[postgres]"' in done.stderr


@pytest.mark.parametrize(
    "url", ["postgresql://a:s3cret@b@c/d", "postgresql://a:12/s3cret@c/d", "postgresql://a:s3cret@c:x/d", "mysql://a:s3cret@c"]
)
def test_a_url_that_cannot_be_read_keeps_its_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(WarehouseError) as caught:
        store_named(url, tmp_path)
    assert "s3cret" not in str(caught.value) and caught.value.hint


# slackwater backup, slackwater restore


def rows(place: Place) -> dict[str, list[Any]]:
    """All that the catalog says, numbers and all."""
    with closing(store_named(place.store, place.path)) as store, store.reading() as db:
        return {table: sorted(map(tuple, db.execute(f"SELECT * FROM {table}"))) for table in TABLES}


def silent(event: object) -> None:
    """Nobody listens."""


def copy_of(place: Place) -> Place:
    """A backup, beside the warehouse."""
    copy = Place(place.path.with_name("copy"), None, place.engine)
    backup(place.path, place.store, copy.path, silent)
    return copy


def restored(copy: Place, path: Path, store: str | None, replace: bool = False) -> Place:
    restore(copy.path, path, store, replace, silent)
    return Place(path, store, copy.engine)


@pytest.mark.parametrize("was_shared", [True, False])
@pytest.mark.parametrize("is_shared", [True, False])
def test_a_backup_is_restored_as_it_was_wherever_its_catalog_is(
    was_shared: bool, is_shared: bool, postgres: Server, sail_session: Any, tmp_path: Path
) -> None:
    place = prepared(tmp_path / "warehouse", postgres.new_store() if was_shared else None, sail_session)
    with place.connect() as db:
        db.sql("CREATE TABLE dropped (id INT)")
        db.sql("CREATE MATERIALIZED VIEW above AS SELECT region FROM totals WHERE total > 5")
        db.sql("DROP TABLE dropped")
    before = rows(place)
    copy = copy_of(place)
    assert rows(copy) == before and copy.files == place.files
    other = restored(copy, tmp_path / "other", postgres.new_store() if is_shared else None)
    assert rows(other) == before and other.files == place.files
    with other.connect() as db:
        assert totals(db) == {"EU": 10, "US": 5}
        db.sql("CREATE TABLE more (id INT)")
        db.sql("INSERT INTO orders VALUES (3, 'US', 1)")
        db.sql("REFRESH ALL")
        assert totals(db) == {"EU": 10, "US": 6} and sorted(db.sql("SELECT * FROM above")) == [("EU",), ("US",)]
        assert [name for name, *_ in db.sql("SHOW TABLES")] == ["orders", "more"]
    after = rows(other)
    for table in ("step", "history"):
        assert after[table][: len(before[table])] == before[table]
        assert [number for number, *_ in after[table]] == list(range(1, len(after[table]) + 1))
    assert not check(other.path, other.store, False, silent).problems
    with place.connect() as db:
        assert totals(db) == {"EU": 10, "US": 5}


WRITE_ON = """
    from slackwater.run import warehouse

    warehouse.GRACE = 0.2
    db = connect(folding="refresh")
    for number in range(10, 1_000_000):
        db.sql("INSERT INTO orders VALUES (?, 'EU', 1), (?, 'US', -1)", [2 * number, 2 * number + 1])
        print(number, flush=True)
        db.sql("REFRESH ALL")
"""


def test_a_backup_while_another_process_writes_is_of_one_moment(place: Place, postgres: Server, tmp_path: Path) -> None:
    with place.start(WRITE_ON) as writer:
        try:
            for number in range(4):
                assert writer.stdout is not None
                last = [int(writer.stdout.readline()) for _ in range(2)][-1]
                copy = copy_of(place)
                assert writer.poll() is None
                other = restored(copy, tmp_path / f"restored {number}", postgres.new_store() if number % 2 else None)
                with other.connect() as db:
                    [(count, largest, total)] = db.sql("SELECT count(*), max(id), sum(amount) FROM orders")
                    assert total == 15 and largest >= 2 * last + 1 and count == 2 + largest - 19
                    assert sorted(db.sql("SELECT * FROM totals")) == sorted(db.recompute("totals"))
        finally:
            writer.kill()


def test_a_second_backup_copies_what_is_new(place: Place, tmp_path: Path) -> None:
    copy = copy_of(place)
    with place.connect() as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        told: list[str] = []
        assert backup(place.path, place.store, copy.path, lambda event: told.append(str(event))).new_files == 1
    assert len(told) == 3 and rows(copy) == rows(place) and copy.files == place.files
    with copy.connect(read_only=True) as db:
        assert len(db.sql("SELECT * FROM orders")) == 3


def test_a_backup_is_made_with_the_warehouses_own_store(place: Place, postgres: Server, tmp_path: Path) -> None:
    other = prepared(tmp_path / "other", postgres.new_store(), place.engine)
    for store, told in ((None, "elsewhere"), (other.store, "has another store than"), (postgres.new_store(), "no warehouse")):
        with pytest.raises(WarehouseError, match=told) as caught:
            backup(place.path, store, tmp_path / "copy", silent)
        assert caught.value.hint
    assert not (tmp_path / "copy").exists()


def test_a_restore_takes_the_place_of_nothing(place: Place, postgres: Server, tmp_path: Path) -> None:
    copy, before, files = copy_of(place), rows(place), place.files
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "letter.txt").touch()
    new = postgres.new_store()
    with place.connect() as db:  # also while it is written
        for path, store, replace, told in (
            (tmp_path / "new", place.store, False, "has a warehouse already"),
            (place.path, new, False, "is not empty"),
            (tmp_path / "else", new, False, "is not empty"),
            (place.path, place.store, True, "cannot be replaced"),
            (place.path, None, True, "cannot be replaced"),
            (place.path, None, False, "is elsewhere"),
            (copy.path, new, False, "in its folder"),
        ):
            with pytest.raises(WarehouseError, match=told) as caught:
                restored(copy, path, store, replace)
            assert caught.value.hint
        assert totals(db) == {"EU": 10, "US": 5}
    assert rows(place) == before and place.files == files and not (tmp_path / "new").exists()
    restored(copy, tmp_path / "new", new)


KILLED = """
    import importlib, os, signal
    from pathlib import Path
    from slackwater.run.restore import restore

    def die(*arguments):
        os.kill(os.getpid(), signal.SIGKILL)

    module, _, function = sys.argv[4].rpartition(".")
    if module:
        setattr(importlib.import_module(module), function, die)
    restore(Path(sys.argv[3]), sys.argv[1], sys.argv[2], False, print if module else die)
"""
MOMENTS = [
    "os.replace",  # the mark of the folder is about to get its name
    "slackwater.run.copying._copy_file",
    "a file is copied",
    "slackwater.run.restore.move_in",
    "slackwater.catalog.transfer.note_pair",  # all is in the store, and nothing committed
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_restore_that_was_killed_leaves_nothing_that_opens_and_can_be_run_again(
    moment: str, place: Place, postgres: Server, tmp_path: Path
) -> None:
    copy = copy_of(place)
    other = Place(tmp_path / "other", postgres.new_store(), place.engine)
    assert other.python(KILLED, copy.path, moment).returncode == -signal.SIGKILL
    if moment != MOMENTS[0]:  # where nothing has begun, there is nothing yet to be told from a new folder
        for read_only in (True, False):
            with pytest.raises(WarehouseError, match="is not restored yet") as caught:
                other.connect(read_only=read_only)
            assert "run it again" in str(caught.value.hint)
    restored(copy, other.path, other.store)
    assert rows(other) == rows(place) and other.files == place.files
    with other.connect() as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}
    assert not [*other.path.rglob("*.new")]


def test_a_restore_that_was_killed_when_all_was_there_is_whole(place: Place, postgres: Server, tmp_path: Path) -> None:
    copy = copy_of(place)
    other = Place(tmp_path / "other", postgres.new_store(), place.engine)
    assert other.python(KILLED, copy.path, "slackwater.run.restore.finish").returncode == -signal.SIGKILL
    with other.connect(read_only=True) as db:
        assert totals(db) == {"EU": 10, "US": 5}
    with pytest.raises(WarehouseError, match="has a warehouse already"):
        restored(copy, other.path, other.store)
    other.connect().close()
    assert set(json.loads((other.path / "store.json").read_text())) == {"warehouse", "store"}


def test_what_a_broken_restore_has_left_counts_only_if_it_is_sound(place: Place, postgres: Server, tmp_path: Path) -> None:
    copy = copy_of(place)
    first, last = (copy.path / file.path for file in files_named(None, copy.path))
    sound = last.read_bytes()
    last.write_bytes(sound[:-1] + b"x")
    other = Place(tmp_path / "other", postgres.new_store(), place.engine)
    with pytest.raises(Damaged, match="checksum"):
        restored(copy, other.path, other.store)
    assert other.files == {str(first.relative_to(copy.path))}
    last.write_bytes(sound)
    left = other.path / first.relative_to(copy.path)
    left.write_bytes(first.read_bytes()[:-1] + b"x")
    restored(copy, other.path, other.store)
    assert left.read_bytes() == first.read_bytes() and rows(other) == rows(place)
    assert not check(other.path, other.store, False, silent).problems


def test_a_restore_whose_commit_was_not_answered_says_so(place: Place, wire: Wire, tmp_path: Path) -> None:
    copy, other = copy_of(place), Place(tmp_path / "other", wire.store, place.engine)
    wire.cut_commit(delivered=True)
    with pytest.raises(WarehouseError, match="lost the store") as caught:
        restored(copy, other.path, other.store)
    assert wire.cuts == 1 and "run it again" in str(caught.value.hint)
    with other.connect() as db:
        assert totals(db) == {"EU": 10, "US": 5}


def test_the_terminal_makes_and_restores_backups(
    place: Place, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy, other, store = str(tmp_path / "copy"), str(tmp_path / "other"), postgres.new_store()

    def told(*arguments: str, environment: str = "") -> str:
        monkeypatch.setenv("SLACKWATER_STORE", environment)
        failed = main(arguments)
        said = capsys.readouterr()
        return said.err if failed else said.out

    assert "name its store" in told("backup", str(place.path), copy)
    assert "2 files, " in (first := told("backup", str(place.path), copy, environment=str(place.store))) and "of which 2, " in first
    assert "of which 0, " in told("backup", str(place.path), copy, "--store", str(place.store))
    assert told("check", copy, environment=str(place.store)).startswith("sound    2 files, ")
    assert told("restore", copy, other, "--store", store).startswith(f"restored at {other}: 2 files, ")
    assert told("check", other, "--store", store).startswith("sound    2 files, ")
    refused = told("restore", copy, other, "--store", store, "--replace")
    assert "cannot be replaced" in refused and "?schema=" in refused
    # The environment's store is not where a backup goes.
    assert told("restore", copy, f"{other} folder", environment=store).startswith(f"restored at {other} folder: 2 files, ")
    assert told("check", f"{other} folder").startswith("sound    2 files, ")
