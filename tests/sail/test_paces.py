"""EXPLAIN TRADEOFF: what it costs to leave less for the trigger, before anything is created and after."""

from __future__ import annotations

import re

import pytest

from bench import tpch
from slackwater import Session
from slackwater.errors import Unsupported
from slackwater.pace.simulate import Arriving
from slackwater.run.compiled import compiled
from slackwater.run.paces import SHARES, simulated, trade_off

TEXT = "SELECT region, max(total) AS best FROM (SELECT region, day, sum(amount) AS total FROM sales GROUP BY region, day) GROUP BY region"


@pytest.fixture
def db(sail_db: Session) -> Session:
    sail_db.sql("CREATE TABLE sales (id BIGINT, region STRING, day INT, amount INT, PRIMARY KEY (id))")
    sail_db.insert("sales", [(n, f"region {n % 7}", n % 50, n) for n in range(2000)])
    return sail_db


def test_a_query_is_weighed_before_it_is_a_view(db: Session) -> None:
    told = db.sql(f"EXPLAIN TRADEOFF {TEXT}").message
    assert "in one batch" in told and "query/1 1, query/2 1" in told
    assert re.search(r"sales 2,000 \(\+20, ~0, -0\)", told)  # nothing is known: one row in a hundred
    assert db.sql(f"EXPLAIN TRADEOFF CREATE MATERIALIZED VIEW query AS {TEXT}").message == told
    assert not list(db.sql("SHOW VIEWS"))


def test_what_has_arrived_tells_what_will(db: Session) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW best WITH (trigger = 'every 300 rows') AS {TEXT}")
    db.insert("sales", [(n, "region 1", 3, n) for n in range(2000, 2080)])
    db.sql("DELETE FROM sales WHERE id < 20")
    db.sql("REFRESH VIEW best")
    snapshot = db._warehouse.catalog.snapshot()
    view = snapshot.view("best")
    form = compiled("best", snapshot, db._warehouse)
    table = simulated(form, view, snapshot, db._warehouse).tables["sales"]
    assert (round(table.inserts + 2 * table.updates + table.deletes), round(table.inserts / table.updates)) == (300, 3)
    found = trade_off(form, view, snapshot, db._warehouse)
    assert [point.share for point in found.points] == list(SHARES)
    assert found.points[0].paces == (1, 1) and found.batch.final == found.batch.total > 0
    finals = [point.work.final for point in found.points]
    assert finals == sorted(finals, reverse=True)


def test_rows_of_a_group_that_come_together_are_expected_to(db: Session) -> None:
    db.sql("CREATE TABLE lines (number BIGINT, part INT, amount INT)")
    db.sql("CREATE MATERIALIZED VIEW orders WITH (trigger = 'manual') AS SELECT number, sum(amount) AS total FROM lines GROUP BY number")

    def expected() -> float:
        """Rows that a flush is expected to give for ten orders more."""
        snapshot = db._warehouse.catalog.snapshot()
        form = compiled("orders", snapshot, db._warehouse)
        arriving = {"lines": Arriving(float(snapshot.traces["lines"].rows), inserts=50.0)}
        return float(simulated(form, snapshot.view("orders"), snapshot, db._warehouse, arriving=arriving).given(0, (1,))[0])

    db.insert("lines", [(number, part, 1) for number in range(1000) for part in range(5)])
    for first in range(1000, 1080, 10):
        db.insert("lines", [(number, part, 1) for number in range(first, first + 10) for part in range(5)])
        if first == 1000:
            blind = expected()
        db.sql("REFRESH VIEW orders")
    assert blind > 30 and 8 < expected() < 15  # lines that are thrown to orders at random would touch nearly as many of them


def test_a_view_without_paths_has_nothing_to_weigh(db: Session) -> None:
    with pytest.raises(Unsupported, match="refreshed in full"):
        db.sql("EXPLAIN TRADEOFF SELECT id, stack(2, 'in', 'out') AS side FROM sales")


@pytest.mark.parametrize("name", tpch.QUERIES)
def test_every_query_of_tpch_can_be_weighed(name: str, tpch_tables: Session) -> None:
    told = tpch_tables.sql(f"EXPLAIN TRADEOFF {tpch.queries(0.01)[name]}").message
    assert len(re.findall(r"^ +(?:1|0\.\d+) ", told, re.MULTILINE)) == len(SHARES)


@pytest.fixture
def tpch_tables(sail_db: Session) -> Session:
    for table in tpch.TABLES.values():
        sail_db.sql(table.create)
    return sail_db
