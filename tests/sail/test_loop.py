"""Views are answered when their triggers are due: by the clock, by rows, by markers; after a restart, too."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater import Session
from slackwater.errors import QueryError, Unsupported, WarehouseError
from slackwater.run import loop as loops
from slackwater.run.loop import Loop
from slackwater.run.progress import Answered
from tests.batch import talking_to
from tests.clock import Clock


@pytest.fixture
def db(sail_db: Session, clock: Clock) -> Session:
    sail_db.sql("CREATE TABLE orders (id BIGINT, region STRING, amount INT, PRIMARY KEY (id))")
    sail_db.insert("orders", [(1, "EU", 10), (2, "US", 5)])
    return sail_db


@pytest.fixture
def loop(db: Session, clock: Clock) -> Loop:
    return Loop(db._warehouse, clock)


def create(db: Session, name: str, options: str, text: str = "SELECT region, sum(amount) AS total FROM orders GROUP BY region") -> None:
    db.sql(f"CREATE MATERIALIZED VIEW {name} WITH ({options}) AS {text}")


def totals(db: Session, view: str) -> dict[str, int]:
    return dict(db.sql(f"SELECT region, total FROM {view}"))


def goals(db: Session, view: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = db.sql(f"DESCRIBE GOALS {view}").to_arrow().to_pylist()
    return found


def test_an_answer_moves_when_its_trigger_is_due_and_not_before(db: Session, loop: Loop, clock: Clock) -> None:
    create(db, "totals", "trigger = 'every 10 minutes', goal = 'within 5 seconds'")
    db.insert("orders", [(3, "EU", 1)])
    clock.now += 599
    assert loop.turn() == 1.0
    assert totals(db, "totals") == {"EU": 10, "US": 5} and not goals(db)
    clock.now += 2
    assert loop.turn() == 599.0
    assert totals(db, "totals") == {"EU": 11, "US": 5}
    [line] = goals(db)
    assert (line["view"], line["trigger"], line["goal"]) == ("totals", "every 10 minutes", "within 5 seconds")
    assert (line["latency"], line["goal met"], line["how"]) == (1.0, "met", "incremental")


def test_where_nothing_is_new_an_answer_is_there_already(db: Session, loop: Loop, clock: Clock) -> None:
    create(db, "totals", "trigger = 'every 10 minutes'")
    before = db._warehouse.catalog.snapshot().number
    clock.now += 601
    assert loop.turn() == 599.0
    assert db._warehouse.catalog.snapshot().number == before and not goals(db)


def test_a_loop_that_was_away_answers_once_and_says_how_late(db: Session, loop: Loop, clock: Clock) -> None:
    create(db, "totals", "trigger = 'every 10 minutes', goal = 'within 5 seconds'")
    db.insert("orders", [(3, "EU", 1)])
    clock.now += 3601
    loop.turn()
    assert [(line["latency"], line["goal met"]) for line in goals(db)] == [(3001.0, "missed")]
    later = Loop(db._warehouse, clock)  # which knows nothing but the catalog
    db.insert("orders", [(4, "EU", 1)])
    clock.now += 2
    later.turn()
    assert totals(db, "totals") == {"EU": 11, "US": 5}  # it was answered for all that was missed: the next time is to come
    clock.now += 600
    later.turn()
    assert totals(db, "totals") == {"EU": 12, "US": 5}


def test_rows_make_an_answer_due(db: Session, loop: Loop) -> None:
    create(db, "totals", "trigger = 'every 3 rows'")
    db.insert("orders", [(3, "EU", 1), (4, "EU", 1)])
    assert loop.turn() == math.inf and totals(db, "totals")["EU"] == 10
    db.sql("DELETE FROM orders WHERE id = 2")
    loop.turn()
    assert totals(db, "totals") == {"EU": 12}


def test_rows_count_through_views_that_are_read(db: Session, loop: Loop) -> None:
    create(db, "totals", "trigger = 'manual'")
    create(db, "best", "trigger = 'every 2 rows'", "SELECT 'all' AS region, max(total) AS total FROM totals")
    db.insert("orders", [(3, "EU", 1), (4, "EU", 1)])
    loop.turn()
    assert totals(db, "best") == {"all": 12}


def test_a_marker_says_that_data_are_complete(db: Session, loop: Loop, clock: Clock) -> None:
    create(db, "totals", "trigger = 'marker loaded', goal = 'within 1 minute'")
    assert "no view waits" in db.sql("MARK laoded").message
    db.insert("orders", [(3, "EU", 1)])
    clock.now += 10
    assert loop.turn() == math.inf and totals(db, "totals")["EU"] == 10
    assert 'view "totals" will answer' in db.sql("MARK Loaded").message
    clock.now += 3
    loop.turn()
    assert totals(db, "totals")["EU"] == 11
    assert [(line["latency"], line["goal met"]) for line in goals(db, "totals")] == [(3.0, "met")]
    db.insert("orders", [(4, "EU", 1)])
    clock.now += 100
    Loop(db._warehouse, clock).turn()
    assert totals(db, "totals")["EU"] == 11  # it was set once


def test_the_view_whose_time_runs_out_first_comes_first(db: Session, loop: Loop, clock: Clock) -> None:
    seen: list[object] = []
    for name, goal in (("a_slow", "batch"), ("b_soon", "within 2 seconds"), ("c_later", "within 1 minute")):
        create(db, name, f"trigger = 'every minute', goal = '{goal}'")
    db.insert("orders", [(3, "EU", 1)])
    db.on_progress(seen.append)
    clock.now += 61
    loop.turn()
    assert [event.view for event in seen if isinstance(event, Answered)] == ["b_soon", "c_later", "a_slow"]


def test_what_is_wanted_eagerly_is_worked_off_before_it_is_due(db: Session, loop: Loop, clock: Clock) -> None:
    create(db, "totals", "trigger = 'every hour', goal = 'eager'")
    db.insert("orders", [(3, "EU", 1)])
    clock.now += 1
    loop.turn()
    paths = {row["path"]: row["batches behind"] for row in db.sql("SHOW PATHS").to_arrow().to_pylist()}
    assert set(paths.values()) == {0}
    assert totals(db, "totals")["EU"] == 10  # the answer is that of the last trigger
    clock.now += 3600
    loop.turn()
    assert totals(db, "totals")["EU"] == 11
    assert [line["how"] for line in goals(db)] == ["incremental"]


def test_a_view_that_fails_is_told_and_others_are_answered(db: Session, loop: Loop, clock: Clock) -> None:
    create(db, "fails", "trigger = 'every 1 rows'", "SELECT region, 100 DIV amount AS total FROM orders")
    create(db, "totals", "trigger = 'every 1 rows'")
    db.insert("orders", [(3, "EU", 0)])
    assert loop.turn() == loops.AGAIN  # which ends, although its rows are still there
    assert totals(db, "totals") == {"EU": 10, "US": 5} and len(totals(db, "fails")) == 2
    [line] = goals(db, "fails")
    assert line["goal met"] == "failed" and line["reason"]
    db.sql("DELETE FROM orders WHERE id = 3")
    db.insert("orders", [(4, "EU", 4)])
    clock.now += loops.AGAIN
    loop.turn()
    assert sorted(db.sql("SELECT total FROM fails")) == [(10,), (20,), (25,)]


def test_a_goal_can_be_changed_and_a_new_trigger_counts_from_then_on(db: Session, loop: Loop, clock: Clock) -> None:
    create(db, "totals", "trigger = 'manual'")
    clock.now += 3600
    db.insert("orders", [(3, "EU", 1)])
    assert loop.turn() == math.inf
    assert "goal = 'within 1 minute'" in db.sql("ALTER VIEW totals SET (trigger = 'every hour', goal = 'within 1 minute')").message
    assert loop.turn() == 3600.0 and totals(db, "totals")["EU"] == 10
    facts = [(row["name"], row["value"]) for row in db.sql("DESCRIBE totals").to_arrow().to_pylist() if row["what"] == "option"]
    assert facts == [("trigger", "every hour"), ("goal", "within 1 minute")]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("ALTER VIEW totals SET (trigger = 'hourly')", "there is no trigger 'hourly'"),
        ("ALTER VIEW totals SET (goal = 'soon')", "there is no goal 'soon'"),
        ("ALTER VIEW totals SET (speed = 'high')", 'unknown option "speed"'),
        ("ALTER VIEW totals RENAME TO sums", "only options of a view can be altered"),
        ("ALTER VIEW nothing SET (goal = 'batch')", 'table or view "nothing" does not exist'),
        ("ALTER VIEW orders SET (goal = 'batch')", '"orders" is a table'),
        ("ALTER TABLE orders ADD COLUMN a INT", "ALTER TABLE is not supported"),
        ("MARK", "expected"),
        ("CREATE MATERIALIZED VIEW v WITH (goal = 'within 5') AS SELECT 1 AS a", "names no time"),
        ("DESCRIBE GOALS orders", '"orders" is a table'),
    ],
)
def test_what_cannot_be_meant_is_refused(db: Session, statement: str, problem: str) -> None:
    create(db, "totals", "trigger = 'manual'")
    with pytest.raises((QueryError, Unsupported), match=problem):
        db.sql(statement)


def test_the_place_of_a_wrong_option_is_shown(db: Session) -> None:
    with pytest.raises(QueryError) as caught:
        create(db, "totals", "trigger = 'hourly'")
    assert "^^^^^^^^" in str(caught.value) and "every 10 minutes" in str(caught.value)


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert what()


@pytest.fixture
def plain(sail_db: Session) -> Iterator[Session]:
    """By the real clock."""
    sail_db.sql("CREATE TABLE orders (id BIGINT, region STRING, amount INT, PRIMARY KEY (id))")
    create(sail_db, "totals", "trigger = 'every 100 rows', goal = 'within 1 minute'")
    yield sail_db


def test_views_are_answered_while_rows_arrive_from_many_threads(plain: Session) -> None:
    def insert(first: int) -> None:
        for number in range(first, 400, 4):
            plain.insert("orders", [(number, "EU", 1)])

    with plain.running():
        threads = [threading.Thread(target=insert, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_for(lambda: totals(plain, "totals").get("EU", 0) > 300)
    seen = totals(plain, "totals")["EU"]
    assert len(goals(plain)) <= 4 and {line["goal met"] for line in goals(plain)} == {"met"}
    plain.insert("orders", [(number, "EU", 1) for number in range(1000, 1200)])
    assert totals(plain, "totals")["EU"] == seen  # nobody watches any more


def test_a_loop_ends_with_its_session(sail_session: Any, tmp_path: Path) -> None:
    with talking_to("sail"):
        db = slackwater.connect(tmp_path / "warehouse", engine=sail_session)
        db.sql("CREATE TABLE orders (id BIGINT, region STRING, amount INT)")
        create(db, "totals", "trigger = 'every row'")
        db.running().start()
        db.insert("orders", [(1, "EU", 1)])
        db.close()
    assert not any(thread.name == "slackwater-loop" for thread in threading.enumerate())


def test_who_only_reads_cannot_answer(plain: Session, sail_session: Any, tmp_path: Path) -> None:
    place = plain._warehouse.files.root
    with slackwater.connect(place, engine=sail_session, read_only=True) as reader, pytest.raises(WarehouseError, match="only reads"):
        reader.running()


def test_the_right_to_write_can_be_lent_and_taken_back(sail_session: Any, tmp_path: Path) -> None:
    with talking_to("sail"), slackwater.connect(tmp_path / "w", engine=sail_session, folding="refresh") as db:
        db.sql("CREATE TABLE orders (id BIGINT, region STRING, amount INT)")
        create(db, "totals", "trigger = 'every row'")
        db._warehouse.lend()
        with slackwater.connect(tmp_path / "w", engine=sail_session, folding="refresh") as loader:
            loader.insert("orders", [(1, "EU", 1)])
            with pytest.raises(WarehouseError, match="being written by"), db._warehouse.back(wait=0.0):
                pass
        assert not db._warehouse.writable
        Loop(db._warehouse, right=lambda: db._warehouse.back(wait=0.0)).turn()
        assert not db._warehouse.writable
        assert totals(db, "totals") == {"EU": 1}
        with slackwater.connect(tmp_path / "w", engine=sail_session, folding="refresh") as loader:
            loader.insert("orders", [(2, "EU", 1)])
