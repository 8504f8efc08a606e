"""Rows that come in: many at once, and few from many threads. What is acknowledged is there, and what is wrong is told to who sent it."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slackwater
from slackwater.catalog import Catalog, Changes, Lease, Snapshot
from slackwater.catalog.lease import LeaseLost
from slackwater.delta.conditions import Wanted
from slackwater.errors import QueryError, SlackwaterError, WarehouseError
from slackwater.run import keys
from slackwater.run.group import Group
from slackwater.run.progress import FlushStarted
from slackwater.spark import Engine
from slackwater.trace import Files, Reading, disk, write
from tests.place import Place

ORDERS = "CREATE TABLE orders (id BIGINT, region STRING NOT NULL, amount DECIMAL(12,2), PRIMARY KEY (id))"
EVENTS = "CREATE TABLE events (id BIGINT, text STRING)"
THREADS = 8


@pytest.fixture
def db(sail_db: slackwater.Session) -> slackwater.Session:
    sail_db.sql(ORDERS)
    sail_db.sql(EVENTS)
    return sail_db


def in_threads(*works: Callable[[], object]) -> list[BaseException]:
    """Run them at the same time; what they raised."""
    problems: list[BaseException] = []
    ready = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        try:
            ready.wait(30)
            work()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    return problems


def ids(db: slackwater.Session, table: str) -> list[int]:
    return [row[0] for row in db.sql(f"SELECT id FROM {table} ORDER BY id")]


def batches(db: slackwater.Session, table: str) -> int:
    return len(db._warehouse.catalog.snapshot().traces[table].batches)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that the engine is asked to run."""
    asked: list[str] = []
    arrow, written = Engine.arrow, Engine.write

    def seen_arrow(engine: Engine, statement: str, *others: Any, **named: Any) -> pa.Table:
        asked.append(statement)
        return arrow(engine, statement, *others, **named)

    def seen_write(engine: Engine, statement: str, *others: Any) -> None:
        asked.append(statement)
        written(engine, statement, *others)

    monkeypatch.setattr(Engine, "arrow", seen_arrow)
    monkeypatch.setattr(Engine, "write", seen_write)
    return asked


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever leads waits until all eight threads have asked."""
    lead = Group._lead

    def patient(group: Group[Any], do: Any) -> None:
        with group._room:
            group._room.wait_for(lambda: len(group._waiting) >= THREADS, 30)
        lead(group, do)

    ask = Group.ask

    def seen(group: Group[Any], asked: Any, *how: Any) -> None:
        group._expected = THREADS  # so that the last to ask wakes who leads
        ask(group, asked, *how)

    monkeypatch.setattr(Group, "_lead", patient)
    monkeypatch.setattr(Group, "ask", seen)


# Few rows from many threads.


@pytest.mark.parametrize("table", ["orders", "events"])
def test_eight_threads_insert_and_nothing_is_lost(table: str, db: slackwater.Session, statements: list[str]) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n, sum(id) AS total FROM {table}")
    rest = ["EU", 1] if table == "orders" else ["text"]
    statements.clear()

    def work(first: int) -> None:
        for number in range(first, 400, THREADS):
            assert str(db.insert(table, [(number, *rest)])) == "1 row inserted"

    assert not in_threads(*(lambda first=first: work(first) for first in range(THREADS)))
    assert not statements, "no insert needs the engine"
    assert batches(db, table) < 400, "some inserts shared a commit"
    assert ids(db, table) == list(range(400))
    assert list(db.sql("SELECT n, total FROM counted")) == [(400, sum(range(400)))]


def test_statements_of_literals_are_inserted_together_too(db: slackwater.Session, statements: list[str], together: None) -> None:
    assert not in_threads(*(lambda n=n: db.sql("INSERT INTO orders VALUES (?, 'EU', 12.5)", [n]) for n in range(THREADS)))
    assert not statements
    assert batches(db, "orders") == 1
    assert ids(db, "orders") == list(range(THREADS))
    (line,) = [row for row in db.sql("DESCRIBE HISTORY orders").to_arrow().to_pylist() if row["action"] == "insert"]
    assert (line["statement"], line["added"]) == ("8 inserts together", 8)


def test_few_rows_of_a_large_table_are_inserted_together(db: slackwater.Session, together: None) -> None:
    large = many(200_000)
    assert not in_threads(*(lambda first=first: db.insert("events", large.slice(first, 5)) for first in range(0, 40, 5)))
    assert batches(db, "events") == 1 and ids(db, "events") == list(range(40))


def test_few_rows_that_are_wide_are_a_step_of_their_own(db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Group, "ask", lambda *_: pytest.fail("they wait for others"))
    db.insert("events", pa.table({"id": range(40), "text": ["x" * (1 << 20)] * 40}))
    assert list(db.sql("SELECT count(*), min(length(text)) FROM events")) == [(40, 1 << 20)]


def test_rows_for_several_tables_share_a_commit(db: slackwater.Session, together: None) -> None:
    steps = db._warehouse.catalog.snapshot().number
    works = [lambda n=n: db.insert("orders", [(n, "EU", n)]) if n % 2 else db.insert("events", [(n, "x")]) for n in range(THREADS)]
    assert not in_threads(*works)
    assert db._warehouse.catalog.snapshot().number == steps + 1
    assert ids(db, "orders") == [1, 3, 5, 7]
    assert ids(db, "events") == [0, 2, 4, 6]


def test_a_bad_row_fails_its_own_insert_and_no_other(db: slackwater.Session, together: None) -> None:
    db.sql("INSERT INTO orders SELECT 1, 'EU', 10")
    good = [lambda n=n: db.insert("orders", [(n, "EU", 1)]) for n in (10, 11, 12, 13, 14)]
    bad = [
        lambda: db.insert("orders", [(20, None, 1)]),
        lambda: db.insert("orders", [(1, "US", 1)]),
        lambda: db.insert("orders", [(30, "EU", 1), (30, "EU", 2)]),
    ]
    problems = in_threads(*good, *bad)
    assert all(isinstance(problem, QueryError) for problem in problems)
    assert sorted(problem.message.split(",")[0] for problem in problems if isinstance(problem, SlackwaterError)) == [
        'column "region" of table "orders" may not be NULL',
        'table "orders" already has',
        'table "orders" already has',
    ]
    assert ids(db, "orders") == [1, 10, 11, 12, 13, 14]


def test_a_row_of_the_wrong_type_never_joins_a_group(db: slackwater.Session) -> None:
    works = [lambda n=n: db.insert("events", [(n if n % 2 else "no number", "x")]) for n in range(THREADS)]
    problems = in_threads(*works)
    assert len(problems) == 4 and all("does not fit column" in str(problem) for problem in problems)
    assert ids(db, "events") == [1, 3, 5, 7]


def test_of_several_that_insert_one_key_one_succeeds(db: slackwater.Session, together: None) -> None:
    problems = in_threads(*(lambda n=n: db.insert("orders", [(7, f"region {n}", n)]) for n in range(THREADS)))
    assert len(problems) == THREADS - 1
    assert all(isinstance(problem, QueryError) and "(id) = (7)" in problem.message for problem in problems)
    assert ids(db, "orders") == [7]


def test_racing_keys_are_never_there_twice(db: slackwater.Session) -> None:
    def work() -> None:
        for number in range(25):
            try:
                db.insert("orders", [(number, "EU", 1)])
            except QueryError:
                refused.append(number)

    refused: list[int] = []
    assert not in_threads(*[work] * 4)
    assert ids(db, "orders") == list(range(25))
    assert sorted(refused) == sorted([*range(25)] * 3)


def test_each_thread_finds_its_rows_in_the_order_in_which_it_sent_them(db: slackwater.Session) -> None:
    def work(name: str) -> None:
        for number in range(30):
            db.insert("events", [(number, name)])

    assert not in_threads(*(lambda name=name: work(name) for name in "abcdefgh"))
    trace = db._warehouse.catalog.snapshot().traces["events"]
    rows = db._warehouse.files.rows(trace.at(trace.version)).sort_by("_id").to_pylist()
    assert len({row["_id"] for row in rows}) == 240
    for name in "abcdefgh":
        assert [row["id"] for row in rows if row["text"] == name] == list(range(30))


def test_an_acknowledged_row_is_in_the_next_answer(db: slackwater.Session) -> None:
    db.sql("CREATE MATERIALIZED VIEW seen AS SELECT text, count(*) AS n FROM events GROUP BY text")

    def work(name: str) -> None:
        for number in range(1, 6):
            db.insert("events", [(number, name)])
            assert list(db.sql(f"SELECT n FROM seen WHERE text = '{name}'")) == [(number,)]

    assert not in_threads(*(lambda name=name: work(name) for name in "abc"))


def test_an_eager_schedule_runs_once_for_a_group(db: slackwater.Session, together: None) -> None:
    db.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM events")
    db.schedule = "eager"
    flushes: list[object] = []
    db.on_progress(lambda event: flushes.append(event) if isinstance(event, FlushStarted) else None)
    assert not in_threads(*(lambda n=n: db.insert("events", [(n, "x")]) for n in range(THREADS)))
    assert len(flushes) == 1
    assert list(db.sql("SELECT n FROM counted")) == [(THREADS,)]


def test_a_listener_that_inserts_is_told_that_it_cannot(db: slackwater.Session) -> None:
    db.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM events")
    db.schedule = "eager"
    told: list[str] = []

    def listen(event: object) -> None:
        if isinstance(event, FlushStarted):
            with pytest.raises(QueryError) as refused:
                db.insert("events", [(2, "from a listener")])
            told.append(refused.value.message)

    db.on_progress(listen)
    db.insert("events", [(1, "x")])
    assert told == ["rows cannot be inserted in the middle of an insert"]
    assert list(db.sql("SELECT n FROM counted")) == [(1,)]


def test_a_thousand_single_inserts_leave_few_files_after_a_refresh(db: slackwater.Session) -> None:
    db.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders")

    def work(first: int) -> None:
        for number in range(first, 1000, THREADS):
            db.insert("orders", [(number, "EU", number)])

    assert not in_threads(*(lambda first=first: work(first) for first in range(THREADS)))
    db.sql("REFRESH VIEW counted")
    assert len(db._warehouse.catalog.snapshot().traces["orders"].files) <= 8
    assert list(db.sql("SELECT n FROM counted")) == [(1000,)]
    with pytest.raises(QueryError, match="already has"):
        db.insert("orders", [(999, "EU", 1)])


def test_a_key_is_looked_for_only_in_files_that_may_hold_it(db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    db.sql("CREATE TABLE pairs (a INT, b INT, PRIMARY KEY (a, b))")
    for first in (0, 100):
        db.sql(f"INSERT INTO pairs SELECT CAST({first} + id AS INT), CAST(7 * id AS INT) FROM range(10)")
    looked: list[int] = []
    fewer = Files.fewer

    def noted(files: Files, reading: Reading, wanted: Wanted) -> Reading:
        found = fewer(files, reading, wanted)
        looked.append(len(found.files))
        return found

    monkeypatch.setattr(Files, "fewer", noted)
    db.sql("INSERT INTO pairs SELECT CAST(200 + id AS INT), CAST(7 * id AS INT) FROM range(2)")  # beyond all
    db.sql("INSERT INTO pairs SELECT CAST(105 + id AS INT), CAST(id AS INT) FROM range(2)")  # among those of one file
    for query in ("SELECT 3, 21", "SELECT 50 + 50, 0"):
        with pytest.raises(QueryError, match="already has"):
            db.sql(f"INSERT INTO pairs SELECT CAST(a AS INT), CAST(b AS INT) FROM ({query}) AS given(a, b)")
    assert looked == [0, 1, 1, 1]
    assert db.sql("SELECT count(*) AS n FROM pairs").to_arrow()["n"].to_pylist() == [24]


# When something goes wrong.


def test_a_failed_commit_reaches_all_and_keeps_nothing(db: slackwater.Session, together: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(catalog: Catalog, step: str, changes: Changes, before: Snapshot, lease: Lease) -> Snapshot:
        raise LeaseLost("another process has taken over this warehouse")

    with monkeypatch.context() as patched:
        patched.setattr(Catalog, "commit", lost)
        problems = in_threads(*(lambda n=n: db.insert("orders", [(n, "EU", 1)]) for n in range(THREADS)))
    assert [type(problem) for problem in problems] == [LeaseLost] * THREADS
    assert ids(db, "orders") == []
    assert not list(db._warehouse.files.root.rglob("*.parquet"))
    assert not in_threads(*(lambda n=n: db.insert("orders", [(n, "EU", 1)]) for n in range(THREADS)))
    assert ids(db, "orders") == list(range(THREADS)), "the keys of what was not committed are free"


def test_a_full_disk_reaches_all_and_work_goes_on_afterwards(
    db: slackwater.Session, together: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(disk, "open", full, raising=False)
        problems = in_threads(*(lambda n=n: db.insert("events", [(n, "x")]) for n in range(THREADS)))
    assert len(problems) == THREADS
    assert all(isinstance(problem, WarehouseError) and "no space left" in problem.message for problem in problems)
    assert not in_threads(*(lambda n=n: db.insert("events", [(n, "x")]) for n in range(THREADS)))
    assert ids(db, "events") == list(range(THREADS))


def test_what_was_acknowledged_is_there_after_the_process_was_killed(tmp_path: Path, sail_session: Any) -> None:
    place = Place(tmp_path / "warehouse", None, sail_session)
    with place.connect() as db:
        db.sql(ORDERS)
    code = """
        import os, signal, threading

        db, lock, said = connect(), threading.Lock(), 0

        def work(first):
            global said
            for number in range(first, 10**6, 8):
                db.insert("orders", [(number, "EU", 1)])
                with lock:
                    os.write(1, f"{number}\\n".encode())
                    said += 1
                    if said == 200:
                        os.kill(os.getpid(), signal.SIGKILL)

        threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    acknowledged = [int(line) for line in place.python(code).stdout.split()]
    assert len(acknowledged) == 200
    with place.connect() as db:
        found = ids(db, "orders")
        assert set(acknowledged) <= set(found)
        assert len(found) == len(set(found))
        assert len(found) <= 200 + THREADS


def test_closing_waits_for_what_was_sent_and_refuses_what_comes_later(tmp_path: Path, sail_session: Any) -> None:
    place = Place(tmp_path / "warehouse", None, sail_session)
    acknowledged: list[int] = []
    begun = threading.Event()
    db = place.connect()
    db.sql(EVENTS)

    def work(first: int) -> None:
        for number in range(first, 10**6, THREADS):
            db.insert("events", [(number, "x")])
            acknowledged.append(number)
            if len(acknowledged) >= 50:
                begun.set()

    def close() -> None:
        begun.wait(60)
        db.close()

    problems = in_threads(*(lambda first=first: work(first) for first in range(THREADS)), close)
    assert [str(problem) for problem in problems] == ["this session is closed\nhint: connect again"] * THREADS
    with place.connect() as again:
        assert ids(again, "events") == sorted(acknowledged)


def test_a_session_that_only_reads_says_so(tmp_path: Path, sail_session: Any) -> None:
    place = Place(tmp_path / "warehouse", None, sail_session)
    with place.connect() as db:
        db.sql(EVENTS)
    with place.connect(read_only=True) as reader, pytest.raises(WarehouseError, match="only reads"):
        reader.insert("events", [(1, "x")])


# Keys.


def test_keys_follow_every_kind_of_change(db: slackwater.Session, tmp_path: Path) -> None:
    def refused(id: int) -> bool:
        try:
            db.insert("orders", [(id, "EU", 1)])
        except QueryError as problem:
            assert f"(id) = ({id})" in problem.message
            return True
        return False

    assert not refused(1)
    assert refused(1)
    db.sql("INSERT INTO orders SELECT 2, 'US', 3.5")
    assert refused(2)
    db.sql("DELETE FROM orders WHERE id = 1")
    assert not refused(1)
    db.sql("UPDATE orders SET id = 3 WHERE id = 2")
    assert refused(3) and not refused(2)
    db.sql(
        "MERGE INTO orders AS o USING (SELECT 4 AS id) AS s ON o.id = s.id WHEN NOT MATCHED THEN INSERT (id, region) VALUES (s.id, 'EU')"
    )
    assert refused(4)
    pq.write_table(pa.table({"id": [5], "region": ["EU"]}), tmp_path / "more.parquet")
    db.sql(f"COPY orders FROM '{tmp_path}/more.parquet'")
    assert refused(5)
    db.insert("orders", pa.table({"id": range(100, 3000), "region": ["EU"] * 2900}))
    assert refused(100) and refused(2999) and not refused(3000)
    db.sql("VACUUM")
    assert refused(3000) and not refused(3001)
    db.sql("DROP TABLE orders")
    db.sql(ORDERS)
    assert not refused(1) and refused(1)


@pytest.mark.parametrize("most", [0, 10**6], ids=["by the engine", "by their codes"])
def test_duplicate_keys_among_many_rows_are_refused(most: int, db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db._warehouse, "keys", keys.KeysOfTables(db._warehouse.files, most))

    def given(first: int, last: int) -> pa.Table:
        numbers = [*range(first, 5000), last]
        return pa.table({"id": numbers, "region": ["EU"] * len(numbers)})

    with pytest.raises(QueryError, match=r"\(id\) = \(77\)"):
        db.insert("orders", given(0, 77))
    db.insert("orders", given(0, 5000))
    with pytest.raises(QueryError, match=r"\(id\) = \(5000\)"):
        db.insert("orders", given(6000 - 1000, 5000))
    with pytest.raises(QueryError, match=r"\(id\) = \(4321\)"):
        db.insert("orders", [(4321, "EU", 1)])
    with pytest.raises(QueryError, match='"region" .* may not be NULL'):
        db.insert("orders", pa.table({"id": range(9000, 19000), "region": ["EU"] * 9999 + [None]}))
    assert ids(db, "orders") == list(range(5001))


KEYS: dict[str, tuple[str, list[Any], list[Any]]] = {
    "strings": ("STRING", ["a", "A", "a ", ""], ["a"]),
    "decimals": ("DECIMAL(10,2)", ["1.10", 1, "-1.10"], [Decimal("1.1")]),
    "dates": ("DATE", ["2024-01-01", "1969-12-31"], [dt.date(1969, 12, 31)]),
    "moments": ("TIMESTAMP", ["2024-01-01T00:00:00", "2024-01-01T00:00:00.000001"], ["2024-01-01T01:00:00+01:00"]),
    "bytes": ("BINARY", [b"", b"\x00"], [b"\x00"]),
    "doubles": ("DOUBLE", [0.0, 1.5, float("nan")], [float("nan")]),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_type_are_equal_as_the_engine_says(kind: str, db: slackwater.Session) -> None:
    type, there, again = KEYS[kind]
    db.sql(f"CREATE TABLE keyed (k {type}, n INT, PRIMARY KEY (k, n))")
    for value in there:
        db.insert("keyed", [(value, 1)])
    for value in again:
        db.insert("keyed", [(value, 2)])
        with pytest.raises(QueryError, match="already has"):
            db.insert("keyed", [(value, 1)])
    assert list(db.sql("SELECT count(*) FROM keyed")) == [(len(there) + len(again),)]


def test_literals_are_what_the_engine_would_make_of_them(db: slackwater.Session) -> None:
    db.sql("CREATE TABLE typed (b BOOLEAN, i INT, l BIGINT, n DECIMAL(12,2), d DOUBLE, x STRING, day DATE)")
    values = [
        "TRUE, -7, 9000000000, 12.5, 0.1, 'plain, ( text', DATE '2024-02-29'",
        "NULL, NULL, NULL, NULL, NULL, NULL, NULL",
        "false, 2147483647, -1, -3, -0, '', '1582-10-15'",
    ]
    for row in values:
        db.sql(f"INSERT INTO typed VALUES ({row})")
    literal = db.sql("SELECT * FROM typed").to_arrow().to_pylist()
    db.sql("DELETE FROM typed")
    for row in values:
        db.sql(f"INSERT INTO typed SELECT * FROM VALUES ({row})")
    computed = db.sql("SELECT * FROM typed").to_arrow().to_pylist()
    assert sorted(map(repr, literal)) == sorted(map(repr, computed))


# Many rows.


def many(count: int, first: int = 0) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table({"id": pa.array(numbers, pa.int64()), "text": [f"row {n}" for n in numbers]})


STREAMS: dict[str, Callable[[], Any]] = {
    "a table": lambda: many(5000),
    "a reader": lambda: pa.RecordBatchReader.from_batches(many(0).schema, many(5000).to_batches(700)),
    "a list of batches": lambda: many(5000).to_batches(700),
    "a generator of batches": lambda: iter(many(5000).to_batches(700)),
    "a generator of tables": lambda: (many(500, first) for first in range(0, 5000, 500)),
    "a generator of rows": lambda: ((n, f"row {n}") for n in range(5000)),
    "dicts": lambda: [{"text": f"row {n}", "ID": n} for n in range(5000)],
}


@pytest.mark.parametrize("form", STREAMS)
def test_many_rows_come_in_whatever_form_they_have(form: str, db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROWS", 900)
    assert str(db.insert("events", STREAMS[form]())) == "5000 rows inserted"
    assert list(db.sql("SELECT count(*), count(DISTINCT id), sum(id), min(text) FROM events")) == [(5000, 5000, sum(range(5000)), "row 0")]
    db.insert("events", [(5000, "next")])
    assert list(db.sql("SELECT count(*), max(id) FROM events")) == [(5001, 5000)]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_copy_streams(form: str, db: slackwater.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROWS", 20_000)
    rows, path = many(200_000), tmp_path / f"many.{form}"
    if form == "parquet":
        pq.write_table(rows, path, row_group_size=30_000)
    elif form == "csv":
        path.write_text("id,text\n" + "".join(f"{row['id']},{row['text']}\n" for row in rows.to_pylist()))
    else:
        path.write_text("".join(f'{{"id": {row["id"]}, "text": "{row["text"]}"}}\n' for row in rows.to_pylist()))
    largest = [0]
    as_before = Files.write_arrow

    def watched(files: Files, given: Any, directory: str, side: str = "added") -> None:
        def seen() -> Iterator[pa.Table]:
            for piece in given:
                largest[0] = max(largest[0], piece.num_rows)
                yield piece

        as_before(files, seen(), directory, side)

    monkeypatch.setattr(Files, "write_arrow", watched)
    db.sql(f"COPY events FROM '{path}'")
    assert 0 < largest[0] < 150_000, "no piece is the whole"
    assert list(db.sql("SELECT count(*), count(DISTINCT id), sum(id) FROM events")) == [(200_000, 200_000, sum(range(200_000)))]


def test_a_bad_piece_late_in_a_stream_leaves_nothing(db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROWS", 900)

    def pieces() -> Iterator[pa.Table]:
        yield from (many(500, first) for first in range(0, 5000, 500))
        yield pa.table({"id": ["no number"], "text": ["x"]})

    with pytest.raises(QueryError, match='column "id"'):
        db.insert("events", pieces())
    assert ids(db, "events") == []
    assert not list(db._warehouse.files.root.rglob("*.parquet"))


def test_the_row_that_does_not_fit_is_named_by_its_number(db: slackwater.Session) -> None:
    with pytest.raises(QueryError, match="row 12346: 'no number' does not fit"):
        db.insert("events", ((n if n != 12345 else "no number", "x") for n in range(20_000)))


def test_batches_and_rows_are_not_mixed(db: slackwater.Session) -> None:
    with pytest.raises(QueryError, match="cannot insert a tuple among Arrow batches"):
        db.insert("events", [many(3), (1, "x")])


def test_a_name_that_is_wrong_is_told_even_if_there_are_no_rows(db: slackwater.Session) -> None:
    with pytest.raises(QueryError, match='no column "txt"'):
        db.insert("events", pa.table({"id": pa.array([], pa.int64()), "txt": pa.array([], pa.string())}))


def test_a_table_with_a_damaged_file_fails_alone(tmp_path: Path, sail_session: Any) -> None:
    place = Place(tmp_path / "warehouse", None, sail_session)
    with place.connect() as db:
        db.sql(ORDERS)
        db.sql(EVENTS)
        db.insert("orders", [(1, "EU", 1)])
    (file,) = place.files
    (place.path / file).write_bytes((place.path / file).read_bytes()[:-5])
    with place.connect() as db:
        with pytest.raises(WarehouseError, match="bytes"):
            db.insert("orders", [(2, "EU", 1)])
        db.insert("events", [(1, "x")])
        assert ids(db, "events") == [1]
