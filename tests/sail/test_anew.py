"""A view that is computed anew past the paths in between is what its text gives, and comes back to its paths."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater import Session
from slackwater.catalog import View
from slackwater.errors import QueryError
from slackwater.pace.simulate import Costs
from slackwater.run import refresh
from slackwater.run.anew import Way, anew, choose_for_view, ways_past
from slackwater.run.choice import FULL, INCREMENTAL, chooser_named
from slackwater.run.compile import Compiled
from slackwater.run.compiled import compiled
from slackwater.run.warehouse import Step
from tests.batch import talking_to

TEXT = """
SELECT region, best, (SELECT sum(amount) FROM sales) AS all_of_it
FROM (SELECT region, max(total) AS best FROM (SELECT region, day, sum(amount) AS total FROM sales GROUP BY region, day) GROUP BY region)
WHERE best > (SELECT avg(amount) FROM sales)
"""


@pytest.fixture
def db(sail_db: Session) -> Session:
    sail_db._warehouse.chooser = chooser_named("incremental")
    sail_db.sql("CREATE TABLE sales (id BIGINT, region STRING, day INT, amount INT, PRIMARY KEY (id))")
    sail_db.insert("sales", [(n, "EU" if n % 3 else "US", n % 4, n) for n in range(20)])
    sail_db.sql(f"CREATE MATERIALIZED VIEW best WITH (trigger = 'manual') AS {TEXT}")
    sail_db.sql("CREATE MATERIALIZED VIEW above WITH (trigger = 'manual') AS SELECT count(*) AS n, max(best) AS most FROM best")
    sail_db.sql("REFRESH ALL")
    return sail_db


@pytest.fixture
def going(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """From now on views as a whole go one way."""

    def go(how: str) -> None:
        def choose(step: Step, view: View, form: Compiled, left: Mapping[str, Costs]) -> Way | None:
            way = choose_for_view(step, view, form, left)
            return None if way is None else replace(way, choice=replace(way.choice, how=how))

        monkeypatch.setattr(refresh, "choose_for_view", choose)

    return go


def rows(db: Session) -> list[tuple[Any, ...]]:
    """The view's, which must be those of its text, and the ones above it theirs."""
    answer = sorted(db.sql("SELECT * FROM best"))
    assert answer == sorted(db.sql(TEXT))
    assert list(db.sql("SELECT * FROM above")) == list(db.sql(f"SELECT count(*), max(best) FROM ({TEXT})"))
    return answer


def behind(db: Session) -> list[int]:
    """By path of the view, how many batches it has not read."""
    return [n for view, *_, n in db.sql("SHOW PATHS") if view == "best"]


CHANGES: list[Callable[[Session], object]] = [
    lambda db: db.insert("sales", [(100 + n, "EU", 7, 50 + n) for n in range(5)]),
    lambda db: db.sql("DELETE FROM sales WHERE id % 5 = 0"),
    lambda db: db.sql("UPDATE sales SET amount = amount * 2, day = day + 1 WHERE id % 2 = 0"),
    lambda db: db.sql("DELETE FROM sales WHERE region = 'US'"),
]


def test_the_paths_in_between_stay_behind_and_catch_up(db: Session, going: Callable[[str], None]) -> None:
    going(FULL)
    for change in CHANGES[:3]:
        change(db)
        db.sql("REFRESH ALL")
        rows(db)
    *below, last = behind(db)
    assert sum(below) > 0 and last == 0
    assert db.sql("DESCRIBE HISTORY best").to_arrow()["how"][0].as_py() == "full"
    going(INCREMENTAL)
    CHANGES[3](db)
    db.sql("REFRESH ALL")
    assert len(rows(db)) == 1 and sum(behind(db)) == 0
    db.sql("DELETE FROM sales WHERE id = 7")
    db.sql("REFRESH ALL")
    rows(db)


def test_paths_that_are_far_behind_keep_nothing_and_hold_up_no_fold(db: Session, going: Callable[[str], None]) -> None:
    def kept() -> list[int]:
        return [n for view, *_, n, _ in db.sql("SHOW PATHS") if view == "best"]

    going(FULL)
    for number in range(8):
        db.sql("UPDATE sales SET amount = amount + 1")
        db.sql("REFRESH ALL")
        rows(db)
        assert number < 7 or not any(kept()[:-1])
    db.sql("VACUUM")
    snapshot = db._warehouse.catalog.snapshot()
    assert len(snapshot.traces["sales"].batches) == 1
    db._warehouse.schedule = Last(db)
    CHANGES[0](db)  # what reads paths that keep nothing waits for them
    going(INCREMENTAL)
    for change in CHANGES[1:]:
        change(db)
        db.sql("REFRESH ALL")
        rows(db)
        assert all(kept()) and not any(behind(db))


class Last:
    """Flushes only the last path of the view, when it can."""

    def __init__(self, db: Session) -> None:
        self._last = compiled("best", db._warehouse.catalog.snapshot(), db._warehouse).buffers[0]

    def due(self, stale: Any) -> list[str]:
        return [path for path in stale if path == self._last]


def test_nothing_new_is_no_work_although_paths_are_behind(db: Session, going: Callable[[str], None]) -> None:
    going(FULL)
    CHANGES[0](db)
    db.sql("REFRESH ALL")
    going(INCREMENTAL)
    assert "best: nothing new" in str(db.sql("REFRESH ALL").message)
    assert sum(behind(db)) > 0


def test_paths_that_are_behind_outlive_folds_and_restarts(
    db: Session, going: Callable[[str], None], sail_session: Any, tmp_path: Path
) -> None:
    going(FULL)
    for change in CHANGES[:2]:
        change(db)
        db.sql("REFRESH ALL")
    db.sql("VACUUM")
    db.close()
    with talking_to("sail"), slackwater.connect(tmp_path / "warehouse", engine=sail_session) as again:
        for how, change in zip((INCREMENTAL, FULL), CHANGES[2:], strict=True):
            going(how)
            change(again)
            again.sql("REFRESH ALL")
            rows(again)


def test_a_path_that_is_flushed_alone_reads_what_its_sources_keep(db: Session, going: Callable[[str], None]) -> None:
    going(FULL)
    CHANGES[0](db)
    db.sql("REFRESH ALL")

    db._warehouse.schedule = Last(db)
    before = sorted(db.sql("SELECT * FROM best"))
    CHANGES[1](db)
    assert sorted(db.sql("SELECT * FROM best")) == before  # answers move at a refresh
    going(INCREMENTAL)
    db.sql("REFRESH ALL")
    rows(db)


def test_past_some_paths_a_view_is_what_its_text_gives(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever are kept, one after the other, and back to path by path, with folds in between."""
    db.sql("ALTER VIEW best SET (trigger = 'manual', goal = 'within 5 seconds')")
    form = compiled("best", db._warehouse.catalog.snapshot(), db._warehouse)
    ways = ways_past(form.paths, form.buffers)
    assert len(ways) > 3 and not ways[0].kept and all(way.kept for way in ways[1:])
    kept: frozenset[str] | None = None
    taken: list[Way] = []

    def cheapest(found: Sequence[Way], left: Mapping[str, Costs]) -> Way:
        # A path that was far behind keeps nothing, and cannot be kept until all have been flushed one after the other.
        way = next((each for each in found if each.anew.kept == kept), found[0])
        way = replace(way, choice=replace(way.choice, how=FULL if kept is not None else INCREMENTAL))
        taken.append(way)
        return way

    monkeypatch.setattr("slackwater.run.anew._cheapest", cheapest)
    mixed = [each for way in random.Random(1).sample(ways, len(ways)) for each in (None, way)]
    for number, way in enumerate([*reversed(ways), *mixed, None]):
        kept = None if way is None else way.kept
        CHANGES[number % 3](db) if number % 3 else db.insert("sales", [(1000 + 10 * number + n, "EU", n, n) for n in range(9)])
        db.sql("REFRESH ALL")
        rows(db)
        if way is not None:
            seen = db._warehouse.catalog.snapshot().cursors[form.buffers[0]]
            assert set(seen) == set(taken[-1].anew.sources)
            assert "best: nothing new" in str(db.sql("REFRESH ALL").message)
        if number % 3 == 0:
            db.sql("VACUUM")
    assert {way.anew.kept for way in taken if way.choice.how == FULL} == {way.kept for way in ways}


RATES = "SELECT max(r) AS r FROM (SELECT day, sum(100 div amount) AS r FROM sales WHERE day > 0 GROUP BY day)"


def test_what_fails_is_named_as_it_is_path_by_path(db: Session, going: Callable[[str], None]) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW rates WITH (trigger = 'manual') AS {RATES}")
    going(FULL)
    db.insert("sales", [(900, "EU", 3, 0)])
    with pytest.raises(QueryError, match=r"division by zero in COUNT\(100 DIV amount\)"):
        db.sql("REFRESH VIEW rates")
    db.sql("DELETE FROM sales WHERE id = 900")
    db.sql("REFRESH VIEW rates")
    assert list(db.sql("SELECT r FROM rates")) == list(db.sql(RATES))


def test_a_view_without_paths_in_between_has_nothing_to_skip(db: Session) -> None:
    db.sql("CREATE MATERIALIZED VIEW plain AS SELECT region, sum(amount) AS total FROM sales GROUP BY region")
    form = compiled("plain", db._warehouse.catalog.snapshot(), db._warehouse)
    assert anew(form.paths, form.buffers) is None
