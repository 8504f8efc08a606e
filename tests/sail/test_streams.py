"""Streams and the views over them: every row that came is counted once, however old, and the ring keeps no more than it should."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater import Session
from slackwater.errors import Busy, QueryError, SlackwaterError, Unsupported
from slackwater.run import streams
from slackwater.run.check import check
from slackwater.run.loop import Loop
from slackwater.spark import Engine


@pytest.fixture
def db(sail_db: Session) -> Session:
    sail_db.sql("CREATE TABLE stations (id INT, name STRING, PRIMARY KEY (id))")
    sail_db.insert("stations", [(1, "paint"), (2, "doors"), (3, "seats")])
    sail_db.sql("CREATE STREAM used (part STRING, station INT, amount INT) WITH (capacity = '100 rows', quiet = '0 seconds')")
    return sail_db


def came(count: int, first: int = 0) -> list[tuple[Any, ...]]:
    return [(f"part {n % 5}", n % 4, n) for n in range(first, first + count)]


def ring(db: Session) -> int:
    return int(list(db.sql("SHOW STREAMS"))[0][1])


PARTS = "SELECT part, count(*) AS n, sum(amount) AS amount, min(amount) AS least, max(amount) AS most FROM used GROUP BY part"


def test_a_view_counts_all_rows_that_ever_came_and_the_ring_keeps_the_newest(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SHARE", 0.4)
    assert "it sees what comes to used from now on" in db.sql(f"CREATE VIEW parts AS {PARTS}").message
    everything: list[tuple[Any, ...]] = []
    for number in range(30):
        rows = came(20, 20 * number)
        db.insert("used", rows)
        everything += rows
        if number % 7 == 0:
            db.sql("VACUUM")
        if number % 4 == 0:
            check_parts(db, everything)
        assert min(100, len(everything)) <= ring(db) <= 140  # what it should keep, an eighth of that, and what waits to be taken
    check_parts(db, everything)
    assert sorted(row[2] for row in db.sql("SELECT * FROM used"))[-100:] == list(range(500, 600))


def check_parts(db: Session, rows: list[tuple[Any, ...]]) -> None:
    found = {part: tuple(rest) for part, *rest in db.sql("SELECT * FROM parts")}
    amounts: dict[str, list[int]] = {}
    for part, _, amount in rows:
        amounts.setdefault(part, []).append(amount)
    assert found == {part: (len(each), sum(each), min(each), max(each)) for part, each in amounts.items()}


def test_a_view_sees_nothing_that_came_before_it(db: Session) -> None:
    db.insert("used", came(10))
    db.sql(f"CREATE VIEW parts AS {PARTS}")
    db.sql("CREATE VIEW total AS SELECT count(*) AS n, sum(amount) AS amount FROM used")
    assert not list(db.sql("SELECT * FROM parts")) and list(db.sql("SELECT * FROM total")) == [(0, None)]
    db.insert("used", came(3, 100))
    assert list(db.sql("SELECT * FROM total")) == [(3, 303)]
    check_parts(db, came(3, 100))


def test_a_table_below_the_groups_is_read_once_and_one_above_as_it_changes(db: Session) -> None:
    message = db.sql(
        "CREATE VIEW below AS SELECT name, count(*) AS n FROM used JOIN stations ON station = id GROUP BY name"
    ).message  # the stream on either side
    assert "it sees what comes to used from now on, and stations as it is now" in message
    message = db.sql("""
        CREATE VIEW above AS SELECT name, n FROM stations JOIN (SELECT station, count(*) AS n FROM used GROUP BY station) ON station = id
    """).message
    assert "stations" not in message
    db.insert("used", came(8))
    assert sorted(db.sql("SELECT * FROM below")) == sorted(db.sql("SELECT * FROM above")) == [("doors", 2), ("paint", 2), ("seats", 2)]
    db.sql("UPDATE stations SET name = 'wheels' WHERE id = 3")
    db.insert("stations", [(0, "body")])
    db.insert("used", came(8))
    assert sorted(db.sql("SELECT * FROM below")) == [("doors", 4), ("paint", 4), ("seats", 4)]
    assert sorted(db.sql("SELECT * FROM above")) == [("body", 4), ("doors", 4), ("paint", 4), ("wheels", 4)]


def test_streams_are_joined_once_they_are_grouped(db: Session) -> None:
    db.sql("CREATE FOREIGN TABLE sent (part STRING, amount INT) SERVER stream")
    db.sql("""
        CREATE VIEW missing AS WITH used_up AS (SELECT part, sum(amount) AS amount FROM used GROUP BY part),
            brought AS (SELECT part, sum(amount) AS amount FROM sent GROUP BY part)
        SELECT u.part, u.amount - coalesce(b.amount, 0) AS amount FROM used_up u LEFT JOIN brought b ON u.part = b.part
        WHERE u.amount > coalesce(b.amount, 0) ORDER BY amount DESC LIMIT 2
    """)
    db.insert("used", [("a", 1, 5), ("b", 1, 7), ("c", 2, 1)])
    assert sorted(db.sql("SELECT * FROM missing")) == [("a", 5), ("b", 7)]
    db.insert("sent", [("b", 7), ("a", 1)])
    db.insert("used", [("d", 1, 3)])
    assert sorted(db.sql("SELECT * FROM missing")) == [("a", 4), ("d", 3)]


def test_views_read_views_over_streams(db: Session) -> None:
    db.sql(f"CREATE VIEW parts AS {PARTS}")
    db.sql("CREATE MATERIALIZED VIEW busy AS SELECT count(*) AS parts, max(n) AS most FROM parts WHERE n > 2")
    db.insert("used", came(14))
    assert list(db.sql("SELECT * FROM busy")) == [(4, 3)]
    db.insert("used", came(14))
    assert list(db.sql("SELECT * FROM busy")) == [(5, 6)]


def test_rows_come_by_every_door(db: Session, tmp_path: Any) -> None:
    db.sql("CREATE VIEW total AS SELECT count(*) AS n, sum(amount) AS amount FROM used")
    (tmp_path / "used.csv").write_text("part,station,amount\na,1,10\nb,2,20\n")
    db.sql(f"COPY used FROM '{tmp_path}/used.csv'")
    db.sql("INSERT INTO used SELECT name, id, 100 * id FROM stations")
    db.sql("INSERT INTO used VALUES ('c', 1, 1000)")
    assert list(db.sql("SELECT * FROM total")) == [(6, 1630)]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT * FROM used", 'the rows of stream "used" would be kept one by one'),
        ("SELECT part FROM used ORDER BY amount LIMIT 3", 'the rows of stream "used" are ordered and limited before they are grouped'),
        ("SELECT part, rank() OVER (ORDER BY amount) AS r FROM used", "given to window functions before they are grouped"),
        ("SELECT count(*) AS n FROM used a JOIN used b ON a.part = b.part", 'stream "used" is joined with itself before both are grouped'),
        ("SELECT count(*) AS n FROM used a JOIN (SELECT part, count(*) AS m FROM used GROUP BY part) b ON a.part = b.part",
         "is joined with groups of a stream before it is grouped itself"),
        ("SELECT name, count(part) AS n FROM stations LEFT JOIN used ON station = id GROUP BY name", "rows without a partner in stream"),
        ("SELECT count(*) AS n FROM stations WHERE id NOT IN (SELECT station FROM used)", "rows without a partner in stream"),
        ("SELECT count(DISTINCT part) AS n FROM used", "nothing can be kept that later rows could be added to"),
        ("SELECT part, percentile(amount, 0.5) AS p FROM used GROUP BY part", "nothing can be kept that later rows could be added to"),
    ],
)  # fmt: skip
def test_what_would_need_rows_that_have_passed_is_refused(db: Session, query: str, problem: str) -> None:
    with pytest.raises(Unsupported) as caught:
        db.sql(f"CREATE VIEW v AS {query}")
    assert problem in str(caught.value) and "used" in str(caught.value).split("\n", 1)[1] and caught.value.hint
    assert not list(db.sql("SHOW VIEWS"))


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("CREATE STREAM s (a INT) WITH (capacity = 'plenty')", "'plenty' is no capacity"),
        ("CREATE STREAM s (a INT) WITH (capacity = '0 rows')", "'0 rows' is no capacity"),
        ("CREATE STREAM s (a INT, PRIMARY KEY (a))", "a stream has no primary key"),
        ("CREATE STREAM used (a INT)", 'there is already a stream called "used"'),
        ("CREATE FOREIGN TABLE s (a INT) SERVER elsewhere", 'there is no server "elsewhere"'),
        ("CREATE VIEW v AS SELECT id, count(*) AS n FROM stations GROUP BY id", "there is no stream in this one"),
        ("UPDATE used SET amount = 1", "append-only"),
        ("DELETE FROM used", "append-only"),
        ("DROP TABLE used", '"used" is a stream'),
        ("INSERT INTO used VALUES ('a', 'x', 1)", ""),
        ("INSERT INTO used VALUES ('a', 1)", ""),
    ],
)
def test_nonsense_is_refused_and_nothing_else_is_touched(db: Session, statement: str, problem: str) -> None:
    db.sql("CREATE VIEW total AS SELECT count(*) AS n FROM used")
    db.insert("used", came(2))
    with pytest.raises(SlackwaterError) as caught:
        db.sql(statement)
    assert problem in str(caught.value)
    assert list(db.sql("SELECT * FROM total")) == [(2,)]


def test_a_row_that_is_larger_than_the_ring_is_refused_by_every_door(db: Session, tmp_path: Path) -> None:
    large = "x" * 3000
    (tmp_path / "posts.csv").write_text(f"word\nc\n{large}\n")
    db.sql("CREATE STREAM posts (word STRING) WITH (capacity = '2 KB', quiet = '0 seconds')")
    db.sql("CREATE VIEW total AS SELECT count(*) AS n FROM posts")
    db.insert("posts", [("a",)] * 3000)
    doors: list[Callable[[], object]] = [
        lambda: db.insert("posts", [("b",), (large,), ("c",)]),
        lambda: db.insert("posts", [("b",)] * 5000 + [(large,)]),
        lambda: db.sql(f"INSERT INTO posts VALUES ('b'), ('{large}')"),
        lambda: db.sql("INSERT INTO posts SELECT repeat(name, 1000) FROM stations"),
        lambda: db.sql(f"COPY posts FROM '{tmp_path}/posts.csv'"),
    ]
    for door in doors:
        with pytest.raises(QueryError, match=r'a row of \d+ bytes is larger than all that stream "posts" keeps, 2 KB') as caught:
            door()
        assert caught.value.hint and "larger capacity" in caught.value.hint
    db.insert("posts", [("d",)])
    db.sql("INSERT INTO posts SELECT repeat(name, 10) FROM stations")
    assert list(db.sql("SELECT * FROM total")) == [(3004,)]


def test_what_streams_there_are_is_shown(db: Session) -> None:
    assert list(db.sql("SHOW TABLES"))[0][0] == "stations" and len(list(db.sql("SHOW TABLES"))) == 1
    db.sql("CREATE VIEW total AS SELECT count(*) AS n FROM used")
    db.insert("used", came(7))
    assert list(db.sql("SHOW STREAMS")) == [("used", 7, 7, "100 rows", "total")]
    list(db.sql("SELECT * FROM total"))
    assert list(db.sql("SHOW STREAMS")) == [("used", 7, 0, "100 rows", "total")]
    with pytest.raises(QueryError, match="cannot be computed from scratch"):
        db.recompute("total")
    with pytest.raises(QueryError, match="is read by"):
        db.sql("DROP STREAM used")
    db.sql("DROP VIEW total")
    db.sql("DROP STREAM used")
    assert not list(db.sql("SHOW STREAMS"))


def test_an_answer_may_be_a_little_old_where_that_is_said(db: Session) -> None:
    db.sql("CREATE VIEW total AS SELECT count(*) AS n FROM used")
    db.insert("used", came(3))
    assert list(db.sql("SELECT n FROM total WITH (staleness = '1 hour')")) == [(0,)]
    assert list(db.sql("SELECT n FROM total")) == [(3,)]
    db.insert("used", came(3))
    assert list(db.sql("WITH t AS (SELECT n FROM total) SELECT n FROM t WITH (staleness = '1 hour')")) == [(3,)]
    assert list(db.sql("SELECT n FROM total WITH (staleness = '0.000001 seconds')")) == [(6,)]
    for wrong in ("staleness = 'old'", "staleness = '1 hour', x = 1"):
        with pytest.raises(QueryError):
            db.sql(f"SELECT n FROM total WITH ({wrong})")


def test_a_view_that_is_suspended_misses_nothing(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SHARE", 0.05)
    db.sql("CREATE VIEW total AS SELECT count(*) AS n FROM used")
    db.sql("CREATE VIEW other AS SELECT count(*) AS n FROM used")
    db.insert("used", came(10))
    assert list(db.sql("SELECT * FROM total")) == [(10,)]
    assert "suspended" in db.sql("ALTER VIEW total SUSPEND").message
    for _ in range(20):
        db.insert("used", came(20))
    assert list(db.sql("SELECT * FROM total")) == [(10,)] and list(db.sql("SELECT * FROM other")) == [(410,)]
    assert ring(db) >= 400 and [row[2] for row in db.sql("SHOW VIEWS")] == ["suspended", "up to date"]
    with pytest.raises(QueryError, match="is suspended"):
        db.sql("REFRESH VIEW total")
    db.sql("REFRESH ALL")
    assert "resumed" in db.sql("ALTER VIEW total RESUME").message
    assert list(db.sql("SELECT * FROM total")) == [(410,)]
    db.insert("used", came(20))
    assert ring(db) <= 140


def test_a_view_over_a_stream_has_a_trigger_and_a_goal_like_any_other(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SHARE", 0.05)
    text = "SELECT name, count(*) AS n FROM used JOIN stations ON station = id GROUP BY name"
    db.sql(f"CREATE VIEW counted WITH (trigger = 'every 300 rows', goal = 'within 5 seconds') AS {text}")
    db.sql("CREATE VIEW total AS SELECT count(*) AS n FROM used")
    loop = Loop(db._warehouse)
    loop.turn()
    for _ in range(14):  # more than the ring holds
        db.insert("used", came(20))
        loop.turn()
    assert not list(db.sql("SELECT * FROM counted")) and list(db.sql("SELECT * FROM total")) == [(280,)]
    db.insert("used", came(20))
    loop.turn()
    assert sorted(db.sql("SELECT * FROM counted")) == [("doors", 75), ("paint", 75), ("seats", 75)]
    assert len(list(db.sql("DESCRIBE GOALS counted"))) == 1
    db.insert("used", came(20))
    assert ring(db) <= 140
    told = db.sql("EXPLAIN PACES VIEW counted").message
    assert "counted/1" in told or "counted/2" in told


def test_paths_over_streams_are_explained(db: Session) -> None:
    text = "SELECT name, max(amount) AS most FROM used JOIN stations ON station = id GROUP BY name"
    paths = db.sql(f"EXPLAIN PATHS CREATE VIEW v AS {text}").message
    assert "kept as it was when the view was created" in paths and "when rows leave" not in paths
    delta = db.sql(f"EXPLAIN DELTA CREATE VIEW v AS {text}").message
    assert "used@added" in delta and "used@kept" not in delta and "used@removed" not in delta
    db.sql(f"CREATE VIEW v AS {text}")
    for what in ("PLAN", "PATHS", "DELTA", "SPARK", "TRADEOFF"):
        assert db.sql(f"EXPLAIN {what} VIEW v").message


def test_a_row_that_a_view_fails_at_stops_that_view_alone(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SHARE", 0.05)
    db.sql("CREATE VIEW shares AS SELECT sum(100 DIV amount) AS shares FROM used")
    db.sql("CREATE VIEW total AS SELECT count(*) AS n FROM used")
    db.insert("used", came(10, 1))
    assert list(db.sql("SELECT shares FROM shares")) == [(sum(100 // n for n in range(1, 11)),)]
    db.insert("used", came(10))  # with a zero
    for _ in range(10):
        db.insert("used", came(20, 1))
    assert list(db.sql("SELECT * FROM total")) == [(220,)]
    found = db.sql("SELECT shares FROM shares")
    assert list(found) == [(sum(100 // n for n in range(1, 11)),)] and "shows its last good answer" in found.message
    assert ring(db) == 210  # it may not be let go of what a view has not taken
    db.sql("CREATE OR REPLACE VIEW shares AS SELECT sum(100 DIV amount) AS shares FROM used WHERE amount > 0")
    db.insert("used", came(10))
    assert list(db.sql("SELECT shares FROM shares")) == [(sum(100 // n for n in range(1, 10)),)]
    assert ring(db) <= 140


def post(db: Session) -> None:
    """Five rows, one after the other."""
    for number in range(5):
        time.sleep(0.1)
        db.insert("posts", [(2, number)])


def test_a_query_reads_a_stream_until_it_is_quiet(db: Session) -> None:
    db.sql("CREATE STREAM posts (uid INT, score INT) WITH (quiet = '0.3 seconds')")
    db.insert("posts", [(1, 10)])
    with ThreadPoolExecutor(1) as pool:
        posting = pool.submit(post, db)
        found = list(db.sql("SELECT name, count(*) AS n FROM posts JOIN stations ON uid = id GROUP BY name ORDER BY name"))
        posting.result()
    assert found == [("doors", 5), ("paint", 1)]


def test_a_query_that_is_overtaken_says_so(db: Session) -> None:
    db.sql("CREATE STREAM posts (uid INT, score INT) WITH (quiet = '1 second', capacity = '2 rows')")
    db.insert("posts", [(1, 10)])
    with ThreadPoolExecutor(1) as pool:
        posting = pool.submit(post, db)
        with pytest.raises(QueryError, match='rows of stream "posts" have left its ring'):
            db.sql("SELECT count(*) AS n FROM posts")
        posting.result()
    assert list(db.sql("SELECT count(*) AS n FROM posts")) == [(2,)]


@pytest.mark.parametrize("seed", range(3))
def test_views_are_right_at_any_time(db: Session, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a table that keeps all rows: whatever is inserted, read, folded, created and dropped in between."""
    luck = random.Random(seed)
    monkeypatch.setattr(streams, "SHARE", luck.choice([0.01, 0.15, 10.0]))
    db.sql("CREATE TABLE kept (part STRING, station INT, amount INT, number INT)")
    texts = [
        "SELECT part, count(*) AS n, sum(amount) AS amount, max(station) AS s FROM {} WHERE amount % 3 > 0 GROUP BY part",
        "SELECT name, avg(amount) AS a FROM {} LEFT JOIN stations ON station = id GROUP BY name",
        "SELECT n, count(*) AS parts FROM (SELECT part, station, count(*) AS n FROM {} GROUP BY part, station) GROUP BY n",
        "SELECT sum(amount) AS s FROM (SELECT amount FROM {} UNION ALL SELECT id FROM stations)",
    ]
    since: dict[str, tuple[str, int]] = {}
    number = 0
    for turn in range(40):
        what = luck.random()
        if what < 0.15 or not since:
            name = f"v{turn}"
            text = luck.choice(texts)
            db.sql(f"CREATE VIEW {name} AS {text.format('used')}")
            since[name] = text, number
        elif what < 0.2:
            db.sql(f"DROP VIEW {(name := luck.choice(list(since)))}")
            del since[name]
        elif what < 0.7:
            rows = [(f"p{luck.randrange(4)}", luck.choice([None, 1, 2, 3, 9]), luck.randrange(50)) for _ in range(luck.randrange(1, 30))]
            db.insert("used", rows)
            db.insert("kept", [(*row, number + n) for n, row in enumerate(rows)])
            number += len(rows)
        elif what < 0.75:
            db.sql("VACUUM")
        else:
            name = luck.choice(list(since))
            text, first = since[name]
            wanted = db.sql(text.format(f"(SELECT part, station, amount FROM kept WHERE number >= {first})"))
            assert sorted(map(repr, db.sql(f"SELECT * FROM {name}"))) == sorted(map(repr, wanted)), (seed, turn, text)


def test_a_read_has_every_insert_that_was_acknowledged_before(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads write, and four read."""
    monkeypatch.setattr(streams, "SHARE", 3.0)
    db.sql("CREATE VIEW total AS SELECT count(*) AS n, sum(amount) AS amount FROM used")
    db.sql("CREATE VIEW parts AS SELECT part, count(*) AS n FROM used GROUP BY part")
    acknowledged, lock, ended = [0], threading.Lock(), threading.Event()

    def write(number: int) -> None:
        luck = random.Random(number)
        for _ in range(25):
            rows = luck.randrange(1, 20)
            db.insert("used", [(f"part {number}", 1, 1)] * rows)
            with lock:
                acknowledged[0] += rows

    def read() -> int:
        reads = 0
        while not ended.is_set():
            before = acknowledged[0]
            [(n, amount)] = db.sql("SELECT * FROM total")
            assert n >= before and (amount or 0) == n
            assert sum(n for _, n in db.sql("SELECT * FROM parts")) >= before
            reads += 1
        return reads

    with ThreadPoolExecutor(12) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        writers = [pool.submit(write, number) for number in range(8)]
        try:
            for writer in writers:
                writer.result()
        finally:
            ended.set()
        assert all(reader.result() for reader in readers)
    assert list(db.sql("SELECT n FROM total")) == [(acknowledged[0],)]
    assert sum(n for _, n in db.sql("SELECT * FROM parts")) == acknowledged[0]


def test_a_new_session_goes_on_where_the_last_one_was(sail_session: Any, tmp_path: Path) -> None:
    for turn in range(4):
        with slackwater.connect(tmp_path / "warehouse", engine=sail_session) as db:
            if turn == 0:
                db.sql("CREATE TABLE stations (id INT, name STRING, PRIMARY KEY (id))")
                db.insert("stations", [(1, "paint")])
                db.sql("CREATE STREAM used (part STRING, station INT) WITH (capacity = '3 rows')")
                db.sql("CREATE VIEW parts AS SELECT name, count(*) AS n FROM used JOIN stations ON station = id GROUP BY name")
            db.sql("UPDATE stations SET name = 'doors'")
            db.insert("used", [("a", 1), ("b", 1), ("c", 2)])
            if turn % 2:
                assert list(db.sql("SELECT * FROM parts")) == [("paint", 2 * turn + 2)]
    assert check(tmp_path / "warehouse", None, False, lambda event: None).problems == ()


@pytest.mark.parametrize("rows", [1, 5000])
def test_a_stream_that_is_too_busy_refuses_an_insert_and_keeps_nothing_of_it(sail_db: Session, rows: int) -> None:
    sail_db.sql("CREATE STREAM clicks (page INT) WITH (busy = '0 seconds', quiet = '0 seconds')")
    sail_db.insert("clicks", [(1,)])
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with sail_db._warehouse.writing:
            held.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(30)
    with pytest.raises(Busy, match="within the time that the stream gives"):
        sail_db.insert("clicks", [(2,)] * rows)
    done.set()
    holder.join()
    sail_db.insert("clicks", [(3,)] * rows)
    assert sorted(set(sail_db.sql("SELECT page FROM clicks"))) == [(1,), (3,)]


def test_views_on_a_stream_ask_once_for_what_their_groups_gain(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.run.sums.MOST", 1000)
    asked: list[str] = []
    arrow = Engine.arrow

    def counted(engine: Engine, text: str, *more: Any, **named: Any) -> Any:
        asked.append(text)
        return arrow(engine, text, *more, **named)

    texts = {
        "parts": PARTS,
        "stations_used": "SELECT station, count(*) AS n FROM used WHERE amount > 3 GROUP BY station",
        "total": "SELECT count(*) AS n, sum(amount) AS amount FROM used",
        "words": "SELECT upper(part) AS part, station, max(amount) AS most FROM used GROUP BY upper(part), station",
    }
    for number, (name, text) in enumerate(texts.items()):
        db.sql(f"CREATE VIEW {name} AS {text}")
        db.insert("used", came(60, 60 * number))  # of which each view has read another part
    for number in range(4):
        before = {name: set(db.sql(f"SELECT * FROM {name}")) for name in texts}
        asked.clear()
        monkeypatch.setattr(Engine, "arrow", counted)
        db.insert("used", came(60, 1000 + 60 * number))
        monkeypatch.setattr(Engine, "arrow", arrow)
        assert len(asked) == 1 and asked[0].count("UNION ALL") == len(texts) - 1
        assert all(set(db.sql(f"SELECT * FROM {name}")) != before[name] for name in texts)
    # The second view has not seen what came before it.
    counts = [sum(row[column] for row in db.sql(f"SELECT * FROM {name}")) for name, column in (("parts", 1), ("total", 0))]
    assert counts == [8 * 60, 6 * 60]


def test_views_that_ask_together_equal_their_queries_over_all_rows(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.run.sums.MOST", 1000)
    db.sql(
        "CREATE STREAM sold (k INT, price DECIMAL(12,2), day DATE, d DOUBLE, word STRING) WITH (capacity = '50 rows', quiet = '0 seconds')"
    )
    db.sql("CREATE TABLE kept (k INT, price DECIMAL(12,2), day DATE, d DOUBLE, word STRING)")
    texts = {
        "a": "SELECT k, sum(price) AS price, avg(price) AS mean, count(*) AS n FROM sold GROUP BY k",
        "b": "SELECT word, min(day) AS first, max(day) AS last, max(word) AS most, sum(d) AS d FROM sold GROUP BY word",
        "c": "SELECT sum(k) AS k, count(word) AS words, min(price) AS least FROM sold WHERE k <> 3",
        "d": "SELECT k % 2 AS odd, word, count(*) AS n FROM sold GROUP BY k % 2, word",
    }
    for name, text in texts.items():
        db.sql(f"CREATE VIEW {name} AS {text}")
    luck = random.Random(5)
    for number in range(12):
        values = ", ".join(
            f"({luck.randrange(5)}, {luck.choice(['NULL', str(luck.randrange(999) / 100)])}, DATE '2024-01-{luck.randrange(1, 28):02}', "
            f"{luck.randrange(9) / 4}D, {luck.choice(['NULL', repr('x'), repr('y')])})"
            for _ in range(30)
        )
        for stream in ("sold", "kept"):
            db.sql(f"INSERT INTO {stream} VALUES {values}")
        if number % 4 == 3:
            for name, text in texts.items():
                found = sorted(map(repr, db.sql(f"SELECT * FROM {name}")))
                assert found == sorted(map(repr, db.sql(text.replace("FROM sold", "FROM kept")))), name
