"""A warehouse in S3 and in HDFS, on real servers: what holds on a disk holds there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.fs import FileSelector, FileType

import slackwater
from slackwater.cli.main import main
from slackwater.errors import WarehouseError
from slackwater.run import warehouse as warehouses
from slackwater.run.backup import backup
from slackwater.trace import Damaged
from tests.batch import open_engine, open_spark, talking_to
from tests.place import PREPARE, Place, totals
from tests.places.servers import HDFS, S3, missing, spark_settings
from tests.postgres import Server

pytestmark = pytest.mark.places
MANY = 300_000


@dataclass(frozen=True)
class Elsewhere:
    """A warehouse on a server, with its store, its engine, and a look at its files past our code."""

    server: S3 | HDFS
    url: str
    store: str
    engine: Any

    def connect(self, **options: Any) -> slackwater.Session:
        return slackwater.connect(**{"warehouse": self.url, "engine": self.engine, "store": self.store, "folding": "off", **options})

    def in_a_process(self, code: str, *arguments: object) -> Any:
        """Code that runs in a process of its own, with a Sail of its own."""
        return Place(self.url, self.store, None).start(code, *arguments)  # type: ignore[arg-type]

    @property
    def files(self) -> dict[str, int]:
        """All files with their sizes, relative to the warehouse."""
        at = self.server.at(self.url)
        found = self.server.files().get_file_info(FileSelector(at, recursive=True, allow_not_found=True))
        return {each.path.removeprefix(f"{at}/"): each.size for each in found if each.type == FileType.File}

    @property
    def data(self) -> list[str]:
        return sorted(path for path in self.files if path.endswith(".parquet"))

    def read(self, path: str) -> bytes:
        with self.server.files().open_input_file(self.server.at(f"{self.url}/{path}")) as file:
            found: bytes = file.read()
        return found

    def write(self, path: str, data: bytes) -> None:
        with self.server.files().open_output_stream(self.server.at(f"{self.url}/{path}")) as file:
            file.write(data)

    def delete(self, path: str) -> None:
        self.server.files().delete_file(self.server.at(f"{self.url}/{path}"))


@pytest.fixture(scope="module", params=["s3", "hdfs"])
def server(request: pytest.FixtureRequest) -> Iterator[S3 | HDFS]:
    if (why := missing(request.param)) is not None:
        pytest.skip(why)
    server: S3 | HDFS = S3() if request.param == "s3" else HDFS()
    with pytest.MonkeyPatch.context() as environment:
        for name, value in server.settings.items():
            environment.setenv(name, value)
        environment.setenv("AWS_ALLOW_HTTP", "true")  # as `connect(engine="sail")` sets it
        yield server
    server.remove()


@pytest.fixture(scope="module")
def sail(server: S3 | HDFS) -> Iterator[Any]:
    with open_engine("sail") as session:
        yield session


@pytest.fixture
def place(server: S3 | HDFS, sail: Any, postgres: Server) -> Elsewhere:
    return Elsewhere(server, server.new(), postgres.new_store(), sail)


@pytest.fixture
def prepared(place: Elsewhere) -> Elsewhere:
    """Two orders and their totals, closed."""
    with place.connect() as db:
        for text in PREPARE:
            db.sql(text)
    return place


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers get no time: what is retired can go."""
    monkeypatch.setattr(warehouses, "GRACE", -1.0)


# The whole of a life


@pytest.fixture(params=["sail", "spark"])
def alive(request: pytest.FixtureRequest, server: S3 | HDFS, sail: Any, postgres: Server) -> Iterator[Elsewhere]:
    """A new warehouse, on either engine. Spark comes after Sail, and goes when it has had its turn."""
    if request.param == "sail":
        yield Elsewhere(server, server.new(), postgres.new_store(), sail)
        return
    if (why := missing("jars")) is not None:
        pytest.skip(why)
    with talking_to("spark"):
        session = open_spark(extra=spark_settings())
        yield Elsewhere(server, server.new(), postgres.new_store(), session)
        session.stop()


def test_views_follow_their_tables_and_space_is_given_back(alive: Elsewhere, at_once: None) -> None:
    with alive.connect() as db:
        for text in PREPARE:
            db.sql(text)
        assert totals(db) == {"EU": 10, "US": 5}
        many = {"id": range(10, 10 + MANY), "region": ["EU", "US", "JP"] * (MANY // 3), "amount": pa.array([1] * MANY, pa.int32())}
        db.insert("orders", pa.table(many))
        for number in range(4):
            db.sql(f"INSERT INTO orders VALUES ({-number - 1}, 'new', {number})")
            db.sql("REFRESH VIEW totals")
        db.sql("UPDATE orders SET amount = 100 WHERE id IN (1, 11)")
        db.sql("DELETE FROM orders WHERE id IN (-1, 12)")
        db.sql("INSERT INTO orders SELECT id - 1000000, 'copied', amount FROM orders WHERE id < 2000")
        db.sql("REFRESH VIEW totals")
        expected = sorted(db.recompute("totals"))
        assert sorted(db.sql("SELECT * FROM totals")) == expected
        db.sql("VACUUM")
        db.sql("VACUUM")  # what the first has retired
        named = {file.path: file.bytes for file in db._warehouse.catalog.snapshot().files}
        assert {path: size for path, size in alive.files.items() if path != "store.json"} == named
        assert sorted(db.sql("SELECT * FROM totals")) == expected
        assert len({path.split("/")[2] for path in named if path.startswith("traces/orders/")}) == 1
    with alive.connect(read_only=True) as db:
        assert sorted(db.sql("SELECT * FROM totals")) == expected
    assert main(["check", alive.url, "--store", alive.store]) == 0


def test_the_doctor_asks_the_server(prepared: Elsewhere, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["doctor", "--quick", "--warehouse", prepared.url, "--store", prepared.store]
    assert main(command) == 0
    assert f"{prepared.url}, 2 batches" in capsys.readouterr().out.replace("\n", "")
    if isinstance(prepared.server, S3):
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        assert main(command) == 1


# What is wrong with a file


def _orders(place: Elsewhere) -> str:
    return next(path for path in place.data if path.startswith("traces/orders/"))


def _named(place: Elsewhere, path: str, what: str) -> None:
    with place.connect(read_only=True) as db:
        with pytest.raises(Damaged, match=f'file {path} of "orders" {what}'):
            db.sql("SELECT sum(amount) FROM orders").to_arrow()
        assert totals(db) == {"EU": 10, "US": 5}


def test_a_missing_file_is_named_and_not_read_as_empty(prepared: Elsewhere, capsys: pytest.CaptureFixture[str]) -> None:
    path = _orders(prepared)
    prepared.delete(path)
    _named(prepared, path, "is missing")
    assert main(["check", prepared.url, "--store", prepared.store]) == 1
    assert f'file {path} of "orders" is missing' in capsys.readouterr().out.replace("\n", "")


def test_a_file_that_was_cut_short_is_named(prepared: Elsewhere) -> None:
    path = _orders(prepared)
    prepared.write(path, prepared.read(path)[:-9])
    _named(prepared, path, r"has \d+ bytes, \d+ were written")


def test_a_file_that_was_changed_is_found_by_its_checksum(prepared: Elsewhere, capsys: pytest.CaptureFixture[str]) -> None:
    path = _orders(prepared)
    data = bytearray(prepared.read(path))
    data[7] ^= 1
    prepared.write(path, bytes(data))
    assert main(["check", prepared.url, "--store", prepared.store]) == 1
    assert "its checksum differs" in capsys.readouterr().out.replace("\n", " ")
    with prepared.connect() as db:
        db.sql("VACUUM")  # which must not make it look sound
        assert _orders(prepared) == path
        with pytest.raises(Damaged, match="its checksum differs"):
            db._warehouse.files.rows(db._warehouse.catalog.snapshot().traces["orders"].at(1))


def test_a_block_that_has_rotted_is_named(prepared: Elsewhere) -> None:
    if isinstance(prepared.server, S3):
        pytest.skip("a disk of HDFS's own")
    path = _orders(prepared)
    blocks = (prepared.server.folder / "data").rglob("blk_*")
    same = [each for each in blocks if each.suffix != ".meta" and each.read_bytes() == prepared.read(path)]
    block = max(same, key=lambda each: each.stat().st_mtime)  # the orders of other tests are the same
    data = bytearray(block.read_bytes())
    data[7] ^= 1
    block.write_bytes(data)
    _named(prepared, path, "cannot be read")
    assert main(["check", prepared.url, "--store", prepared.store]) == 1


# Processes


def test_what_a_killed_writer_left_is_removed_by_the_next(prepared: Elsewhere) -> None:
    before = prepared.files
    code = """
        import time
        from slackwater.run.warehouse import Step

        def wait(step):
            print("written", flush=True)
            time.sleep(600)

        with connect() as db:
            Step.commit = wait
            db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
    """
    with prepared.in_a_process(code) as process:
        assert process.stdout.readline() == "written\n"
        assert len(prepared.files) > len(before)
        process.send_signal(signal.SIGKILL)
    with prepared.connect() as db:
        assert prepared.files == before
        assert totals(db) == {"EU": 10, "US": 5}
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}


def test_a_reader_in_another_process_sees_whole_steps(prepared: Elsewhere) -> None:
    code = """
        with connect(read_only=True) as db:
            print("ready", flush=True)
            seen = set()
            while 30 not in seen:
                [(count, total, shown)] = db.sql('''
                    SELECT count(*), sum(amount), (SELECT sum(total) FROM totals) FROM orders
                ''')
                assert total == 15 and shown == 15, (count, total, shown)
                seen.add(count)
            print(len(seen), flush=True)
    """
    with prepared.connect(folding="background", schedule="eager") as db, prepared.in_a_process(code) as reader:
        assert reader.stdout.readline() == "ready\n"
        for number in range(3, 31):  # each step moves an amount from one order to a new one
            db.sql(
                f"MERGE INTO orders USING (SELECT 1 AS id, -{number} AS more UNION ALL SELECT {number}, {number}) AS moved "
                "ON orders.id = moved.id WHEN MATCHED THEN UPDATE SET amount = amount + more "
                "WHEN NOT MATCHED THEN INSERT (id, region, amount) VALUES (moved.id, 'EU', more)"
            )
        seen, _ = reader.communicate(timeout=120)
        assert reader.returncode == 0 and int(seen) > 1


def test_readers_have_their_minute(prepared: Elsewhere) -> None:
    with prepared.connect() as db:
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        db.sql("REFRESH VIEW totals")
        before = set(prepared.data)
        db.sql("VACUUM")
        assert before < set(prepared.data)
        assert sum(path.endswith("/_retired") for path in prepared.files) == 4
    with prepared.connect() as db:  # the next writer knows since when
        assert before < set(prepared.data)
        assert {since for since, _ in db._warehouse._retired} and all(time.time() - since < 60 for since, _ in db._warehouse._retired)


def test_there_is_one_writer(prepared: Elsewhere) -> None:
    with prepared.connect(), pytest.raises(WarehouseError, match="is being written by"):
        prepared.connect()


# What is told when something is not as it should be


def test_a_catalog_cannot_be_inside(place: Elsewhere) -> None:
    with pytest.raises(WarehouseError, match=f"the catalog cannot be at {place.url}") as caught:
        place.connect(store=None)
    assert "store=" in str(caught.value.hint)


def test_a_store_has_one_warehouse(prepared: Elsewhere, postgres: Server) -> None:
    with pytest.raises(WarehouseError, match="has another store than"):
        prepared.connect(store=postgres.new_store())
    with pytest.raises(WarehouseError, match="has another warehouse than"):
        slackwater.connect(prepared.server.new(), engine=prepared.engine, store=prepared.store)
    with pytest.raises(WarehouseError, match="is elsewhere"):
        prepared.connect(store=None)


def test_nobody_reads_what_is_not_there(place: Elsewhere) -> None:
    with pytest.raises(WarehouseError, match="there is no warehouse at"):
        place.connect(read_only=True)


def test_a_backup_is_on_a_disk_and_restored_anywhere(
    prepared: Elsewhere, postgres: Server, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    copy, other = str(tmp_path / "backup"), replace(prepared, url=prepared.server.new(), store=postgres.new_store())
    assert main(["backup", prepared.url, other.url, "--store", prepared.store]) == 1
    assert f"a backup cannot be at {other.url}" in capsys.readouterr().err.replace("\n", "")
    for copied in (2, 0):
        assert main(["backup", prepared.url, copy, "--store", prepared.store]) == 0
        assert f"of which {copied}, " in capsys.readouterr().out.replace("\n", " ")
    assert main(["check", copy]) == 0
    assert main(["restore", copy, other.url]) == 1  # its catalog cannot be there
    assert main(["restore", copy, other.url, "--store", other.store]) == 0
    assert f"restored at {other.url}: 2 files" in capsys.readouterr().out.replace("\n", "")
    assert other.data == prepared.data
    assert main(["check", other.url, "--store", other.store]) == 0
    assert main(["restore", copy, str(tmp_path / "folder")]) == 0
    for where in ({}, {"warehouse": tmp_path / "folder", "store": None}):
        with other.connect(**where) as db:
            assert totals(db) == {"EU": 10, "US": 5}
            db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
            assert totals(db) == {"EU": 11, "US": 5}
    assert main(["restore", copy, other.url, "--store", postgres.new_store()]) == 1
    assert "is not empty" in capsys.readouterr().err.replace("\n", " ")


def test_what_a_broken_restore_has_left_counts_only_if_it_is_sound(prepared: Elsewhere, postgres: Server, tmp_path: Any) -> None:
    other = replace(prepared, url=prepared.server.new(), store=postgres.new_store())
    assert main(["backup", prepared.url, str(tmp_path / "backup"), "--store", prepared.store]) == 0
    file = tmp_path / "backup" / _orders(prepared)
    sound = file.read_bytes()
    file.write_bytes(bytes([sound[0] ^ 1]) + sound[1:])
    assert main(["restore", str(tmp_path / "backup"), other.url, "--store", other.store]) == 1
    with pytest.raises(WarehouseError, match="is not restored yet"):
        other.connect()
    file.write_bytes(sound)
    assert main(["restore", str(tmp_path / "backup"), other.url, "--store", other.store]) == 0
    assert main(["check", other.url, "--store", other.store]) == 0


KILLED = """
    import os, signal
    from pathlib import Path
    from slackwater.run.restore import restore
    from slackwater.trace.remote import Remote

    put = Remote.put

    def killed(place, path, pieces):
        if not path.endswith(sys.argv[4]):
            return put(place, path, pieces)
        with place.sink(path) as stream:
            stream.write(next(iter(pieces))[:9])
            stream.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    Remote.put = killed
    restore(Path(sys.argv[3]), sys.argv[1], sys.argv[2], False, print)
"""


@pytest.mark.parametrize("at", ["store.json", ".parquet"])
def test_a_restore_that_was_killed_while_it_wrote_can_be_run_again(at: str, prepared: Elsewhere, postgres: Server, tmp_path: Any) -> None:
    other = replace(prepared, url=prepared.server.new(), store=postgres.new_store())
    assert main(["backup", prepared.url, str(tmp_path / "backup"), "--store", prepared.store]) == 0
    with other.in_a_process(KILLED, tmp_path / "backup", at) as process:
        process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert main(["restore", str(tmp_path / "backup"), other.url, "--store", other.store]) == 0
    assert other.data == prepared.data
    assert main(["check", other.url, "--store", other.store]) == 0
    with other.connect() as db:
        assert totals(db) == {"EU": 10, "US": 5}


def test_a_backup_starts_over_when_files_are_folded_away(prepared: Elsewhere, tmp_path: Any, at_once: None) -> None:
    times = 1
    with prepared.connect() as db:

        def fold(event: object) -> None:
            nonlocal times
            if times:
                times -= 1
                for text in ("UPDATE orders SET amount = amount + 1", "REFRESH ALL", "VACUUM", "VACUUM"):
                    db.sql(text)

        backup(prepared.url, prepared.store, tmp_path / "backup", fold)
        assert not times
    assert main(["check", str(tmp_path / "backup")]) == 0


def test_a_backup_says_that_the_server_is_away(prepared: Elsewhere, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["backup", prepared.url, str(tmp_path / "backup"), "--store", prepared.store]
    prepared.server.stop()
    try:
        assert main(command) == 1
        assert f"cannot reach {prepared.url}" in capsys.readouterr().err.replace("\n", "")
    finally:
        prepared.server.start()
    assert main(command) == 0


def test_a_session_goes_on_when_the_server_is_back(prepared: Elsewhere) -> None:
    with prepared.connect() as db:
        prepared.server.stop()
        try:
            began = time.monotonic()
            with pytest.raises(WarehouseError, match=f"cannot (write to|reach) {prepared.url}"):
                db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
            with pytest.raises(WarehouseError, match=f"cannot reach {prepared.url}"):
                db.sql("SELECT sum(amount) AS s FROM orders").to_arrow()
            assert time.monotonic() - began < 2 * prepared.server.away
        finally:
            prepared.server.start()
        assert totals(db) == {"EU": 10, "US": 5}
        db.sql("INSERT INTO orders VALUES (3, 'EU', 1)")
        assert totals(db) == {"EU": 11, "US": 5}


def test_a_bucket_that_is_not_there_is_named(place: Elsewhere) -> None:
    if isinstance(place.server, HDFS):
        pytest.skip("HDFS has no buckets")
    with pytest.raises(WarehouseError, match='there is no bucket "not-there"'):
        slackwater.connect("s3://not-there/w", engine=place.engine, store=place.store)


def test_who_is_not_allowed_in_is_told(place: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    monkeypatch.setenv("HADOOP_USER_NAME", f"stranger-{os.getpid()}")
    with pytest.raises(WarehouseError, match="(access|permission) denied|signature") as caught:
        place.connect()
    assert "credentials" in str(caught.value.hint)
    assert not place.files
