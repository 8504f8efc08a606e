"""Flushes read what a change can meet, and see of it what the path reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater import Session
from slackwater.run import flush as flushing
from slackwater.run import reads
from slackwater.run.reads import Reads
from slackwater.run.warehouse import Step
from slackwater.spark import Engine
from slackwater.trace import Files


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """By flush, how many files of each relation it may read."""
    found: list[dict[str, int]] = []

    class Noted(Reads):
        def __init__(self, *facts: object) -> None:
            super().__init__(*facts)  # type: ignore[arg-type]
            found.append({name: len(reading.files) for name, (_, reading) in self.readings.items()})

    monkeypatch.setattr(flushing, "Reads", Noted)
    return found


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The sources of which rows were fetched, and for how many keys."""
    found: list[tuple[str, int]] = []

    class Noted(Reads):
        def _look(self) -> None:
            super()._look()
            found.extend((gather.trace.name, len(gather.keys) // 8) for gather in self.gathers.values())

    monkeypatch.setattr(flushing, "Reads", Noted)
    return found


@pytest.fixture
def shop(sail_db: Session) -> Session:
    sail_db.sql("CREATE TABLE orders (id BIGINT, day DATE, note STRING, PRIMARY KEY (id))")
    sail_db.sql("CREATE TABLE lines (id BIGINT, amount INT)")
    for first in (0, 1000, 2000):
        sail_db.insert("orders", [(first + n, "2024-01-01", "as it came") for n in range(10)])
        sail_db.insert("lines", [(first + n, n) for n in range(10)])
    sail_db.sql("CREATE MATERIALIZED VIEW daily AS SELECT day, sum(amount) AS total FROM orders JOIN lines USING (id) GROUP BY day")
    assert list(sail_db.sql("SELECT total FROM daily")) == [(135,)]
    return sail_db


def written(db: Session) -> set[Path]:
    """What flushes wrote."""
    return set((db._warehouse.files.root / "traces").glob("daily*/*"))


def test_an_update_of_what_a_view_does_not_read_is_no_work(shop: Session, read: list[dict[str, int]]) -> None:
    shop.sql("UPDATE orders SET note = 'seen' WHERE id < 5")
    before = written(shop)
    assert "nothing new" in str(shop.sql("REFRESH VIEW daily").message)
    assert list(shop.sql("SELECT total FROM daily")) == [(135,)]
    assert (read, written(shop)) == ([], before)
    shop.sql("DELETE FROM orders WHERE id < 2")  # rows that the view has seen under other identities
    assert list(shop.sql("SELECT total FROM daily")) == [(134,)]


def test_of_an_update_only_rows_that_show_are_a_change(shop: Session, read: list[dict[str, int]]) -> None:
    shop.sql("UPDATE orders SET note = 'seen', day = CASE WHEN id = 3 THEN DATE '2024-01-02' ELSE day END")
    assert sorted(shop.sql("SELECT total FROM daily")) == [(3,), (132,)]
    assert not any("-scratch" in folder.name for folder in written(shop))


def test_only_files_that_a_change_can_meet_are_read(shop: Session, read: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "TIMES", 1000)  # too few rows for so many keys
    shop.insert("orders", [(2500, "2024-01-03", "new")])
    shop.sql("DELETE FROM orders WHERE id = 1003")
    assert list(shop.sql("SELECT total FROM daily")) == [(132,)]
    narrowed = [files for each in read for name, files in each.items() if name.startswith("lines@") and "#" in name]
    assert narrowed == [1]


def test_footers_tell_what_many_rows_can_meet(shop: Session, read: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "MOST", 1)  # more rows are too many to look at
    shop.insert("lines", [(1000 + n, 100) for n in range(10)])
    assert list(shop.sql("SELECT total FROM daily")) == [(1135,)]
    narrowed = [files for each in read for name, files in each.items() if name.startswith("orders@") and "#" in name]
    assert narrowed == [1]


def test_rows_that_are_looked_for_at_several_places_are_fetched_once(shop: Session, gathered: list[tuple[str, int]]) -> None:
    shop.sql(
        "CREATE MATERIALIZED VIEW alone AS SELECT l.id, l.amount FROM lines l "
        "WHERE NOT EXISTS (SELECT 1 FROM lines m WHERE m.id = l.id AND m.amount > l.amount)"
    )
    assert len(list(shop.sql("SELECT * FROM alone"))) == 30
    gathered.clear()
    shop.insert("lines", [(5, 100), (1005, 1)])
    shop.sql("DELETE FROM lines WHERE id = 2007")
    found = sorted(shop.sql("SELECT id, amount FROM alone"))
    assert ("lines", 3) in gathered
    assert len(found) == 29 and (5, 100) in found and (5, 5) not in found and (1005, 5) in found and (1005, 1) not in found
    assert not list((shop._warehouse.files.root / "traces").glob("*/*-scratch"))


def test_where_others_do_the_work_they_fetch(shop: Session, gathered: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "is_elsewhere", True)
    monkeypatch.setattr(Files, "rows_among", None)  # not through this process
    test_rows_that_are_looked_for_at_several_places_are_fetched_once(shop, gathered)


def test_values_of_what_was_fetched_tell_what_to_fetch_next(shop: Session, gathered: list[tuple[str, int]]) -> None:
    shop.sql("CREATE TABLE buyers (buyer INT, name STRING, PRIMARY KEY (buyer))")
    shop.sql("CREATE TABLE sales (id BIGINT, buyer INT)")
    shop.insert("buyers", [(n, f"buyer {n}") for n in range(50)])
    shop.insert("sales", [(first + n, n) for first in (0, 1000, 2000) for n in range(10)])
    shop.sql(
        "CREATE MATERIALIZED VIEW bought AS SELECT name, sum(amount) AS total "
        "FROM lines JOIN sales USING (id) JOIN buyers USING (buyer) GROUP BY name"
    )
    assert len(list(shop.sql("SELECT * FROM bought"))) == 10
    shop.sql("DELETE FROM sales WHERE id = 1007")
    shop.sql("DELETE FROM buyers WHERE buyer = 9")
    shop.sql("REFRESH VIEW bought")
    gathered.clear()
    shop.insert("lines", [(1007, 100), (2007, 100), (2009, 100)])  # whose sale is gone; which is still there; whose buyer is gone
    found: dict[str, int] = dict(shop.sql("SELECT * FROM bought"))
    assert gathered == [("sales", 3), ("buyers", 2)]
    last = shop.sql("DESCRIBE HISTORY bought").to_arrow().slice(0, 1).to_pylist()[0]
    assert last["paths"].endswith(", read 19")
    assert found["buyer 7"] == 114 and sum(found.values()) == 135 - 7 - 27 + 100


def test_keys_of_narrow_types_are_found_among_wide_ones(shop: Session, gathered: list[tuple[str, int]]) -> None:
    shop.sql("CREATE TABLE small (id SMALLINT, day DATE)")
    for first in (0, 100):
        shop.insert("small", [(first + n, f"2024-01-{n + 1:02}") for n in range(20)])
    shop.sql("CREATE MATERIALIZED VIEW wide AS SELECT l.id, s.day FROM lines l JOIN small s ON l.id = s.id")
    shop.sql("CREATE MATERIALIZED VIEW dated AS SELECT o.id, s.id AS small FROM orders o JOIN small s ON o.day = s.day")
    assert len(list(shop.sql("SELECT * FROM wide"))) == 10 and len(list(shop.sql("SELECT * FROM dated"))) == 60
    gathered.clear()
    shop.insert("lines", [(9_000_000_000, 1), (105, 1)])
    shop.insert("orders", [(7777, "2024-01-03", "later")])
    assert len(list(shop.sql("SELECT * FROM wide"))) == 11 and len(list(shop.sql("SELECT * FROM dated"))) == 62
    assert ("small", 2) in gathered and ("small", 1) in gathered


def test_what_a_filter_drops_is_not_looked_for(shop: Session, gathered: list[tuple[str, int]]) -> None:
    shop.sql("CREATE TABLE parts (part INT, brand STRING, made DATE)")
    shop.insert("parts", [(n, f"brand {n % 5}", f"2024-01-{n + 1:02}") for n in range(20)])
    shop.sql("CREATE TABLE used (id BIGINT, part INT)")
    shop.insert("used", [(first + n, n) for first in (0, 1000, 2000) for n in range(10)])
    shop.sql(
        "CREATE MATERIALIZED VIEW worn AS SELECT part, brand, sum(amount) AS total FROM lines JOIN used USING (id) JOIN parts USING (part) "
        "WHERE brand = 'brand 3' AND made > DATE '2024-01-05' AND amount < 50 GROUP BY part, brand"
    )
    assert list(shop.sql("SELECT part, total FROM worn")) == [(8, 24)]
    gathered.clear()
    shop.insert("lines", [(3, 1), (8, 2), (1008, 99), (2007, 3)])  # too early; wanted; too much; another brand
    assert list(shop.sql("SELECT part, total FROM worn")) == [(8, 26)]
    assert gathered[0] == ("used", 3)


def test_partners_of_rows_that_only_leave_are_looked_for_by_their_keys(shop: Session, gathered: list[tuple[str, int]]) -> None:
    shop.sql("CREATE MATERIALIZED VIEW sold AS SELECT id, day FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE l.id = o.id)")
    assert len(list(shop.sql("SELECT * FROM sold"))) == 30
    gathered.clear()
    shop.sql("DELETE FROM lines WHERE id = 1003")
    assert len(list(shop.sql("SELECT * FROM sold"))) == 29
    assert sorted(gathered) == [("lines", 1), ("orders", 1)]


def test_what_is_spent_for_later_flushes_is_not_counted_as_the_cost_of_one(shop: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flushing, "cpu_seconds", lambda known_for: 100.0)
    step = Step(shop._warehouse)
    assert flushing.clock(step) == 100.0
    shop._warehouse.files._unpacked.spent += 30.0  # columns were written out, to be mapped from now on
    assert flushing.clock(step) == 70.0


def test_groups_that_a_having_leaves_tell_what_is_looked_for(shop: Session, gathered: list[tuple[str, int]]) -> None:
    shop.sql(
        "CREATE MATERIALIZED VIEW large AS SELECT o.id, day, sum(amount) AS total FROM orders o JOIN lines l ON o.id = l.id "
        "WHERE o.id IN (SELECT id FROM lines GROUP BY id HAVING sum(amount) > 100) GROUP BY o.id, day"
    )
    shop.insert("lines", [(1003, 100)])
    assert list(shop.sql("SELECT id, total FROM large")) == [(1003, 103)]
    gathered.clear()
    shop.insert("lines", [(first + n, 1) for first in (0, 1000, 2000) for n in range(10)])
    assert list(shop.sql("SELECT id, total FROM large")) == [(1003, 104)]
    assert ("orders", 1) in gathered  # and not those of all groups that were touched
