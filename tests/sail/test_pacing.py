"""Paths are flushed before a trigger as often as a plan says, and the answer at the trigger is that of a batch, whatever it says."""

from __future__ import annotations

import random
from typing import Any

import pytest

from slackwater import Session
from slackwater.errors import QueryError
from slackwater.pace.planners import Planner, is_allowed
from slackwater.pace.simulate import STEPS, Paces, Simulation
from slackwater.run.loop import Loop
from slackwater.run.progress import Working
from tests.clock import Clock
from tests.oracle import check_equal

BEST = "SELECT region, max(total) AS best FROM (SELECT region, day, sum(amount) AS total FROM sales GROUP BY region, day) GROUP BY region"
NAMED = "SELECT names.name, count(*) AS n FROM sales LEFT JOIN names ON sales.region = names.region GROUP BY names.name"


@pytest.fixture
def db(sail_db: Session, clock: Clock) -> Session:
    sail_db.sql("CREATE TABLE sales (id BIGINT, region STRING, day INT, amount INT, PRIMARY KEY (id))")
    sail_db.sql("CREATE TABLE names (region STRING, name STRING, PRIMARY KEY (region))")
    sail_db.insert("sales", [(n, f"region {n % 7}", n % 5, n) for n in range(100)])
    sail_db.insert("names", [(f"region {n}", f"name {n}") for n in range(5)])
    return sail_db


def paced(*paces: int) -> Planner:
    return lambda simulation, most: paces


def create(db: Session, name: str, options: str, text: str) -> str:
    return db.sql(f"CREATE MATERIALIZED VIEW {name} WITH ({options}) AS {text}").message


def sell(db: Session, first: int, many: int = 10) -> None:
    db.insert("sales", [(n, f"region {n % 7}", n % 5, n) for n in range(first, first + many)])


def flushes(db: Session, view: str = "best") -> list[str]:
    """The paths that were flushed before a trigger, in order."""
    lines = reversed(db._warehouse.catalog.history(view))
    return [choice.partition(" ")[0] for line in lines if line.action == "flush" for choice in line.choices]


def goals(db: Session, view: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = db.sql(f"DESCRIBE GOALS {view}").to_arrow().to_pylist()
    return found


def check(db: Session, view: str) -> None:
    check_equal(db.sql(f"SELECT * FROM {view}").to_arrow(), db.recompute(view).to_arrow(), view)


def test_a_path_is_flushed_when_its_share_has_come(db: Session, clock: Clock) -> None:
    create(db, "best", "trigger = 'every 10 minutes', goal = 'final work 0.5', expect = '40 rows'", BEST)
    before = db.sql("SELECT * FROM best").to_arrow()
    loop = Loop(db._warehouse, clock, planner=paced(4, 2))
    seen = []
    for quarter in range(3):
        clock.now += 150
        sell(db, 100 + 10 * quarter)
        loop.turn()
        seen.append(flushes(db))
    assert seen == [["best/1"], ["best/1", "best/1", "best/2"], ["best/1", "best/1", "best/2", "best/1"]]
    check_equal(db.sql("SELECT * FROM best").to_arrow(), before, "the answer of the last trigger")
    clock.now += 150
    loop.turn()
    check(db, "best")
    [line] = goals(db)
    assert (
        line["expected"] is not None and line["before"] >= 0 and line["beyond batch"] is not None and line["goal met"] in ("met", "missed")
    )
    assert flushes(db) == seen[-1]


def test_by_rows_the_share_is_known(db: Session, clock: Clock) -> None:
    create(db, "best", "trigger = 'every 40 rows', goal = 'within 5 seconds'", BEST)
    loop = Loop(db._warehouse, clock, planner=paced(4, 1))
    for first in range(100, 130, 5):
        sell(db, first, 5)
        loop.turn()
    assert flushes(db) == ["best/1"] * 3
    sell(db, 130)
    loop.turn()
    check(db, "best")
    assert [line["goal met"] for line in goals(db)] == ["met"]


def test_where_nothing_arrives_nothing_is_done(db: Session, clock: Clock) -> None:
    create(db, "best", "trigger = 'every 10 minutes', goal = 'final work 0.5'", BEST)
    before = db._warehouse.catalog.snapshot().number
    loop = Loop(db._warehouse, clock, planner=paced(100, 100))
    for _ in range(5):
        clock.now += 60
        loop.turn()
    assert db._warehouse.catalog.snapshot().number == before


def test_another_view_is_not_late_for_it(db: Session, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    create(db, "best", "trigger = 'every 10 minutes', goal = 'final work 0.5', expect = '10 rows'", BEST)
    create(db, "named", "trigger = 'every minute', goal = 'within 5 seconds'", NAMED)
    monkeypatch.setattr("slackwater.run.paces.Plan.takes", lambda plan, path: 20.0)
    loop = Loop(db._warehouse, clock, planner=paced(2, 2))
    clock.now += 50
    sell(db, 100, 100)
    loop.turn()
    assert flushes(db) == []  # it would take 20 seconds, and in 15 the other one must be there
    clock.now += 11
    loop.turn()
    check(db, "named")
    assert flushes(db) == ["best/1", "best/2"]


def test_a_view_that_is_late_in_any_case_holds_up_nobody(db: Session, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    create(db, "best", "trigger = 'every 10 minutes', goal = 'final work 0.5', expect = '10 rows'", BEST)
    create(db, "named", "trigger = 'every minute', goal = 'within 0.001 seconds'", NAMED)
    monkeypatch.setattr("slackwater.run.paces.Plan.takes", lambda plan, path: 20.0)
    loop = Loop(db._warehouse, clock, planner=paced(2, 2))
    clock.now += 50
    sell(db, 100, 100)
    loop.pacer.due(db._warehouse.catalog.snapshot().view("named"), clock.now, clock.now + 10, 1, db._warehouse.catalog.snapshot())
    loop.turn()
    assert flushes(db) == ["best/1", "best/2"]


def test_what_a_view_reads_is_paced_with_it(db: Session, clock: Clock) -> None:
    create(db, "days", "trigger = 'manual'", "SELECT region, day, sum(amount) AS total FROM sales GROUP BY region, day")
    text = "SELECT region, max(total) AS best FROM days GROUP BY region"
    create(db, "best", "trigger = 'every 20 rows', goal = 'within 5 seconds'", text)
    loop = Loop(db._warehouse, clock, planner=paced(2, 2))
    sell(db, 100)
    loop.turn()
    assert flushes(db, "days") == ["days/1"] and flushes(db) == ["best/1"]
    sell(db, 110)
    loop.turn()
    check(db, "best")


def test_a_burst_is_planned_for(db: Session, clock: Clock) -> None:
    plans: list[float] = []

    def noting(simulation: Simulation, most: float) -> Paces:
        if most:  # not the question what the least is
            plans.append(sum(table.moving for table in simulation.tables.values()))
        return (4, 4)

    create(db, "best", "trigger = 'every 10 minutes', goal = 'final work 0.5', expect = '100 rows'", BEST)
    loop = Loop(db._warehouse, clock, planner=noting)
    clock.now += 60
    sell(db, 100)
    loop.turn()
    assert plans == [100.0] and flushes(db) == []
    clock.now += 60
    sell(db, 110, 200)
    loop.turn()
    assert plans == [100.0, pytest.approx(290.0)] and flushes(db) == ["best/1", "best/2"]  # 210 of them are there, and 80 to come


def test_a_goal_out_of_reach_is_told_at_once(db: Session, clock: Clock) -> None:
    told = create(db, "best", "trigger = 'every 10 minutes', goal = 'final work 0.01'", BEST)
    assert "is expected to miss its goal 'final work 0.01': the best that it can have is 'batch'" in told  # which is as cheap as a flush
    told = create(db, "more", "trigger = 'every 10 minutes', goal = 'final work 0.0001', expect = '100000000 rows'", BEST)
    assert "is expected to miss its goal 'final work 0.0001': the best that it can have is 'final work 0." in told
    assert "expected to miss" not in create(db, "named", "trigger = 'every 10 minutes', goal = 'within 1 hour'", NAMED)
    assert "the best that it can have is 'within 0." in db.sql("ALTER VIEW named SET (goal = 'within 0.001 seconds')").message
    heard: list[object] = []
    db.on_progress(heard.append)
    loop = Loop(db._warehouse, clock)
    for _ in range(3):
        clock.now += 60
        sell(db, int(clock.now))
        loop.turn()
    assert sum(isinstance(event, Working) and "best is expected to miss" in event.what for event in heard) == 1


def test_paces_are_explained(db: Session) -> None:
    create(db, "best", "trigger = 'every 10 minutes', goal = 'final work 0.2'", BEST)
    told = db.sql("EXPLAIN PACES VIEW best").message
    for part in (
        "goal 'final work 0.2', trigger 'every 10 minutes'",
        "best/1",
        "best/2",
        "in one batch",
        "with one pace for all",
        "planned in",
    ):
        assert part in told
    create(db, "named", "trigger = 'manual'", NAMED)
    assert "all work may wait" in db.sql("EXPLAIN PACES VIEW named").message
    with pytest.raises(QueryError, match="expected VIEW and a name"):
        db.sql(f"EXPLAIN PACES {BEST}")
    with pytest.raises(QueryError, match="names no number of rows"):
        db.sql("ALTER VIEW best SET (expect = 'many')")


def anyhow(luck: random.Random) -> Planner:
    """Any paces that are allowed."""

    def plan(simulation: Simulation, most: float) -> Paces:
        while True:
            paces = tuple(luck.choice(STEPS[:8]) for _ in simulation.paths)
            if is_allowed(simulation, paces):
                return paces

    return plan


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_a_batch_whatever_is_planned(db: Session, clock: Clock, seed: int) -> None:
    luck = random.Random(seed)
    triggers = ["every 10 minutes", "every 7 minutes", "every 30 rows", "marker loaded"]
    ends = ["final work 0.1", "within 5 seconds", "eager", "batch", "within 1 hour"]
    create(db, "days", "trigger = 'manual'", "SELECT region, day, sum(amount) AS total FROM sales GROUP BY region, day")
    texts = {"best": BEST, "named": NAMED, "top": "SELECT region, total FROM days ORDER BY total DESC, region LIMIT 3"}
    for name, text in texts.items():
        create(db, name, f"trigger = '{luck.choice(triggers)}', goal = '{luck.choice(ends)}'", text)
    loop = Loop(db._warehouse, clock, planner=anyhow(luck))
    answered = 0
    number = 1000
    for _ in range(20):
        clock.now += luck.choice([5, 60, 200])
        many = luck.choice([0, 1, 5, 60])
        if many:
            sell(db, number, many)
            number += many
        if luck.random() < 0.3:
            db.sql(f"DELETE FROM sales WHERE id % {luck.randint(3, 9)} = 0")
        if luck.random() < 0.2:
            db.sql(f"INSERT OR REPLACE INTO names VALUES ('region {luck.randint(0, 6)}', 'name {number}')")
        if luck.random() < 0.2:
            db.sql("MARK loaded")
        if luck.random() < 0.1:
            db.sql(f"ALTER VIEW {luck.choice(list(texts))} SET (goal = '{luck.choice(ends)}')")
        if luck.random() < 0.2:
            loop = Loop(db._warehouse, clock, planner=anyhow(luck))  # as after a restart
        loop.turn()
        for line in goals(db)[: len(goals(db)) - answered]:
            check(db, line["view"])
        answered = len(goals(db))
    assert answered


def test_what_cannot_be_flushed_early_is_told_and_the_answer_stays(db: Session, clock: Clock) -> None:
    create(db, "shares", "trigger = 'every 20 rows', goal = 'final work 0.5'", "SELECT id, 100 DIV amount AS share FROM sales WHERE id > 0")
    told: list[str] = []
    db.on_progress(lambda event: told.append(str(event)) if isinstance(event, Working) else None)
    before = db.sql("SELECT * FROM shares").to_arrow()
    loop = Loop(db._warehouse, clock, planner=paced(4))
    db.insert("sales", [(100 + n, "region 1", 1, 0) for n in range(10)])
    loop.turn()
    assert [each for each in told if "shares could not be flushed before it was asked for" in each]
    check_equal(db.sql("SELECT * FROM shares").to_arrow(), before, "the last answer")
    db.sql("UPDATE sales SET amount = 5 WHERE amount = 0 AND id > 0")
    loop.turn()
    check(db, "shares")
