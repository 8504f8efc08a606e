"""Views that are answered by the times in rows: whenever a window is complete."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from slackwater import Session
from slackwater.errors import QueryError
from slackwater.run.loop import Loop
from tests.clock import Clock

TEXT = "SELECT date_trunc('HOUR', at) AS hour, count(*) AS n FROM visits GROUP BY 1"


@pytest.fixture
def db(sail_db: Session, clock: Clock) -> Session:
    sail_db.sql("CREATE TABLE visits (id BIGINT, at TIMESTAMP, day DATE, page STRING)")
    return sail_db


@pytest.fixture
def loop(db: Session, clock: Clock) -> Loop:
    return Loop(db._warehouse, clock)


def visit(db: Session, *times: str | None) -> None:
    moments = [None if time is None else datetime.fromisoformat(f"2026-03-01 {time}").replace(tzinfo=UTC) for time in times]
    db.insert("visits", [(number, at, None if at is None else at.date(), "p") for number, at in enumerate(moments)])


def counted(db: Session) -> list[int]:
    return [row[0] for row in db.sql("SELECT n FROM hourly WHERE hour IS NOT NULL ORDER BY hour")]


def answers(db: Session) -> int:
    return len(list(db.sql("DESCRIBE GOALS hourly")))


def test_an_answer_is_due_when_a_row_of_a_later_window_arrives(db: Session, loop: Loop, clock: Clock) -> None:
    visit(db, "09:59")
    db.sql(f"CREATE MATERIALIZED VIEW hourly WITH (trigger = 'every hour of visits.at', goal = 'within 1 minute') AS {TEXT}")
    visit(db, "09:10", None)
    clock.now += 3600
    loop.turn()
    assert counted(db) == [1] and not answers(db)  # time goes by, but not that of the rows
    visit(db, "10:00")
    loop.turn()
    assert counted(db) == [2, 1] and answers(db) == 1
    visit(db, "09:30", "10:59")
    loop.turn()
    assert counted(db) == [2, 1]  # one of a window that was complete, and one of the one that is not
    visit(db, "14:00")
    loop.turn()
    assert counted(db) == [3, 2, 1] and answers(db) == 2
    loop.turn()
    assert answers(db) == 2


def test_what_was_answered_is_known_from_the_catalog(db: Session, loop: Loop, clock: Clock) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW hourly WITH (trigger = 'every hour of visits.at') AS {TEXT}")
    loop.turn()
    visit(db, "09:59")
    loop.turn()
    assert counted(db) == []
    visit(db, "10:30")
    Loop(db._warehouse, clock).turn()
    assert counted(db) == [1, 1]
    later = Loop(db._warehouse, clock)
    visit(db, "10:40")
    later.turn()
    assert counted(db) == [1, 1] and answers(db) == 1
    db.sql("DELETE FROM visits WHERE hour(at) = 10")
    visit(db, "11:00")
    later.turn()
    assert counted(db) == [1, 1] and answers(db) == 2


def test_what_was_refreshed_by_hand_is_not_answered_again(db: Session, loop: Loop) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW hourly WITH (trigger = 'every hour of visits.at') AS {TEXT}")
    visit(db, "09:59")
    loop.turn()
    visit(db, "10:30")
    db.sql("REFRESH VIEW hourly")
    loop.turn()
    assert counted(db) == [1, 1] and not answers(db)
    visit(db, "10:31")
    loop.turn()
    assert counted(db) == [1, 1]


def test_days_may_be_dates_and_of_a_table_below_another_view(db: Session, loop: Loop) -> None:
    db.sql("CREATE MATERIALIZED VIEW days WITH (trigger = 'manual') AS SELECT day AS hour, count(*) AS n FROM visits GROUP BY day")
    db.sql("CREATE MATERIALIZED VIEW hourly WITH (trigger = 'every day of Visits.DAY') AS SELECT * FROM days")
    for day in (1, 2):
        db.insert("visits", [(day, None, date(2026, 3, day), "p")])
        loop.turn()
    assert counted(db) == [1, 1]


def test_rows_without_a_time_are_of_no_window(db: Session, loop: Loop) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW hourly WITH (trigger = 'every hour of visits.at') AS {TEXT}")
    visit(db, None)  # a file whose footer tells no times
    loop.turn()
    assert not answers(db)
    visit(db, "08:00", None, "09:00")
    loop.turn()
    assert counted(db) == [1, 1] and answers(db) == 1


def test_a_damaged_file_keeps_no_other_view_waiting(db: Session, loop: Loop) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW hourly WITH (trigger = 'every hour of visits.at') AS {TEXT}")
    db.sql("CREATE TABLE others (id BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW counted WITH (trigger = 'every 1 rows') AS SELECT count(*) AS n FROM others")
    told: list[str] = []
    db.on_progress(lambda event: told.append(str(event)))
    visit(db, "08:00")
    [file] = db._warehouse.catalog.snapshot().traces["visits"].files
    (db._warehouse.files.root / file.path).write_bytes(b"nonsense")
    db.insert("others", [(1,)])
    loop.turn()
    assert list(db.sql("SELECT n FROM counted")) == [(1,)]
    assert [each for each in told if "when hourly is due cannot be told" in each]


@pytest.mark.parametrize(
    ("trigger", "problem", "hint"),
    [
        ("every hour of orders.at", "a table that the view does not read", "it reads visits"),
        ("every hour of visits.when", 'no time of "visits"', "columns of times are at, day"),
        ("every hour of visits.page", 'no time of "visits"', "columns of times are at, day"),
    ],
)
def test_a_trigger_by_times_that_are_not_there_is_refused(db: Session, trigger: str, problem: str, hint: str) -> None:
    with pytest.raises(QueryError, match=problem) as refused:
        db.sql(f"CREATE MATERIALIZED VIEW hourly WITH (trigger = '{trigger}') AS {TEXT}")
    assert refused.value.hint == hint
    db.sql(f"CREATE MATERIALIZED VIEW hourly AS {TEXT}")
    with pytest.raises(QueryError, match=problem):
        db.sql(f"ALTER VIEW hourly SET (trigger = '{trigger}')")
