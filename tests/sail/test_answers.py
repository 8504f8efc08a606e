"""Small answers come from memory while nothing that they were read from has changed, and never a moment longer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slackwater
from slackwater import Session
from slackwater.run import answer, warehouse
from slackwater.run.answer import Answers
from slackwater.spark import Engine
from tests.place import Place, prepared, totals


@pytest.fixture
def place(sail_session: Any, tmp_path: Path) -> Place:
    return prepared(tmp_path / "warehouse", None, sail_session)


@pytest.fixture
def db(place: Place) -> Iterator[Session]:
    with place.connect(folding="off") as db:
        yield db


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements whose rows the engine was asked for."""
    statements: list[str] = []
    arrow = Engine.arrow

    def counted(engine: Engine, statement: str, *others: Any, **named: Any) -> pa.Table:
        statements.append(statement)
        return arrow(engine, statement, *others, **named)

    monkeypatch.setattr(Engine, "arrow", counted)
    return statements


def test_what_was_read_before_needs_no_engine(db: Session, asked: list[str]) -> None:
    first = db.sql("SELECT * FROM totals ORDER BY region").to_arrow()
    again = db.sql("SELECT * FROM totals ORDER BY region")
    assert again.to_arrow() is first and again.columns == ["region", "total"]
    assert list(again) == [("EU", 10), ("US", 5)] and "EU" in str(again) and len(again.to_pandas()) == 2
    assert len(asked) == 1
    assert again.to_spark().count() == 2


def test_a_change_of_the_table_is_seen_and_one_of_another_does_no_harm(db: Session, asked: list[str]) -> None:
    assert totals(db) == {"EU": 10, "US": 5}
    db.sql("CREATE TABLE other AS SELECT 1 AS a")
    asked.clear()
    assert totals(db) == {"EU": 10, "US": 5} and asked == []
    db.sql("UPDATE orders SET amount = 11 WHERE id = 1")
    assert totals(db) == {"EU": 11, "US": 5}


def test_a_table_that_was_created_again_is_not_taken_for_the_old_one(db: Session) -> None:
    for value in (1, 2):
        db.sql("CREATE TABLE again (a INT)")
        assert list(db.sql("SELECT * FROM again")) == []
        db.insert("again", [(value,)])
        assert list(db.sql("SELECT * FROM again")) == [(value,)]
        db.sql("DROP TABLE again")


def test_a_view_that_was_created_again_is_not_taken_for_the_old_one(db: Session) -> None:
    db.sql("CREATE TABLE none (a INT, b INT)")
    for text in ("SELECT a FROM none", "SELECT b FROM none"):
        db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW empty AS {text}")
        assert db.sql("SELECT * FROM empty").to_arrow().column_names == text.split()[1:2]


def test_a_fold_changes_no_answer(db: Session) -> None:
    for id in range(3, 7):
        db.insert("orders", [(id, "EU", 1)])
        assert len(db.sql("SELECT * FROM orders")) == id
    db.sql("VACUUM")
    assert len(db.sql("SELECT * FROM orders")) == 6 and totals(db) == {"EU": 14, "US": 5}


WRITE = """
    with connect() as db:
        db.sql("UPDATE orders SET amount = ? WHERE id = 2", [int(sys.argv[3])])
        db.sql("REFRESH ALL")
"""


def test_what_another_process_writes_is_seen_at_once(place: Place) -> None:
    with place.connect(read_only=True) as reader:
        for amount in (5, 6, 7):
            assert place.python(WRITE, amount).returncode == 0
            for _ in range(2):
                assert totals(reader) == {"EU": 10, "US": amount}
                assert sorted(reader.sql("SELECT amount FROM orders")) == sorted([(10,), (amount,)])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT rand() AS r FROM orders",
        "SELECT now() AS n FROM orders",
        "SELECT uuid() AS u FROM orders",
    ],
)
def test_what_may_differ_each_time_is_computed_each_time(query: str, db: Session, asked: list[str]) -> None:
    for _ in range(2):
        db.sql(query).to_arrow()
    assert len(asked) == 2


def test_a_function_of_the_user_is_called_each_time(spark_db: Session) -> None:
    calls = iter(range(10))
    spark_db.spark.udf.register("ticket", lambda: next(calls), "int")
    spark_db.sql("CREATE TABLE t AS SELECT 1 AS a")
    kept = spark_db._answers
    assert len(spark_db.sql("SELECT ticket() AS n FROM t")) == 1
    assert not kept._kept
    assert list(spark_db.sql("SELECT a FROM t")) == [(1,)]
    assert len(kept._kept) == 1


def test_settings_of_the_engine_have_their_say(db: Session, asked: list[str]) -> None:
    query = "SELECT CAST(TIMESTAMP '2024-01-01 00:00:00' AS STRING) AS t, id FROM orders"
    before = db.spark.conf.get("spark.sql.session.timeZone")
    try:
        for zone in ("UTC", "Asia/Tokyo", "UTC"):
            db.spark.conf.set("spark.sql.session.timeZone", zone)
            db.sql(query).to_arrow()
    finally:
        db.spark.conf.set("spark.sql.session.timeZone", before)
    assert len(asked) == 2


def test_only_small_answers_are_kept(db: Session, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "ANSWER_ROWS", 1)
    for _ in range(2):
        assert len(db.sql("SELECT * FROM orders WHERE id > 0")) == 2
    assert len(asked) == 2
    for _ in range(2):
        assert len(db.sql("SELECT * FROM orders WHERE id = 1")) == 1
    assert len(asked) == 3


def test_the_longest_unused_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"a": pa.array(range(100), pa.int64())})
    monkeypatch.setattr(answer, "MOST_BYTES", 2 * rows.nbytes)
    kept = Answers()
    for key in "abab":
        kept.put(key, rows)
    assert kept.get("a") is rows
    kept.put("c", rows)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (rows, None, rows)


def test_rows_that_are_asked_for_after_they_were_folded_away_are_there(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "GRACE", 0.0)
    db.sql("UPDATE orders SET amount = 11 WHERE id = 1")
    asked = db.sql("SELECT region, total FROM totals"), db.sql("SELECT amount FROM orders")
    db.sql("VACUUM")
    db.sql("VACUUM")
    assert dict(asked[0]) == {"EU": 11, "US": 5} and sorted(asked[1]) == [(5,), (11,)]


def test_a_view_is_read_from_the_files_that_it_was_folded_into(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine has names for the view and for what it keeps at this version, and neither version changes."""
    monkeypatch.setattr(warehouse, "GRACE", 0.0)
    db.sql("UPDATE orders SET amount = 11 WHERE id = 1")
    assert totals(db) == {"EU": 11, "US": 5}
    db.sql("VACUUM")
    db.sql("VACUUM")
    assert totals(db) == {"EU": 11, "US": 5}


def test_what_is_damaged_is_not_asked_for_again(db: Session) -> None:
    asked = db.sql("SELECT amount FROM orders")
    for file in (db._warehouse.files.root / "traces" / "orders").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(slackwater.SlackwaterError, match="missing"):
        list(asked)


def test_what_is_stored_is_read_without_the_engine(db: Session, asked: list[str]) -> None:
    db.sql("CREATE MATERIALIZED VIEW means AS SELECT region, sum(amount) AS total, avg(amount) AS mean FROM orders GROUP BY region")
    db.sql("INSERT INTO orders VALUES (9, 'EU', 5)")
    db.sql("REFRESH ALL")
    asked.clear()  # what the view has gained
    shown = db.sql("SELECT m.total, Region AS r FROM means AS m")
    assert shown.columns == ["total", "r"] and sorted(shown) == [(5, "US"), (15, "EU")]
    assert sorted(db.sql("SELECT * FROM orders"))[-1] == (9, "EU", 5)
    assert sorted(db.sql("SELECT region, region, total FROM means")) == [("EU", "EU", 15), ("US", "US", 5)]
    assert not asked
    assert shown.to_spark().count() == 2
    for text in (
        "SELECT mean FROM means",
        "SELECT total FROM means ORDER BY total",
        "SELECT DISTINCT total FROM means",
        "SELECT total + 0 FROM means",
    ):
        before = len(asked)
        assert len(list(db.sql(text))) == 2 and len(asked) == before + 1  # an average is computed from what is kept


def test_what_is_stored_is_what_the_engine_would_give(db: Session, asked: list[str]) -> None:
    kinds = "a TINYINT, b SMALLINT, c INT, d BIGINT, e STRING, f BOOLEAN, g DATE, h DECIMAL(12,2), i FLOAT, j DOUBLE"
    db.sql(f"CREATE TABLE kinds ({kinds})")
    values = "1Y, 2S, 3, 4L, 'five', true, DATE '2026-01-02', 7.25BD, CAST(1.5 AS FLOAT), 2.5D"
    db.sql(f"INSERT INTO kinds SELECT {values} UNION ALL SELECT {', '.join(['NULL'] * 10)}")
    asked.clear()
    stored = db.sql("SELECT * FROM kinds").to_arrow()
    assert not asked
    computed = db.sql("SELECT * FROM kinds WHERE true").to_arrow()
    assert stored.schema.types == computed.schema.types and stored.column_names == computed.column_names
    assert sorted(map(str, stored.to_pylist())) == sorted(map(str, computed.to_pylist()))


@pytest.mark.parametrize("order", ["", "DESC", "NULLS LAST", "DESC NULLS FIRST"])
def test_what_is_stored_is_in_the_order_of_its_view(db: Session, asked: list[str], order: str) -> None:
    luck = random.Random(order)
    kinds = {
        "a": ("TINYINT", "-1Y", "2Y"), "b": ("BIGINT", "4L", "-9L"), "c": ("STRING", "'ä'", "'Z'", "'z'", "''"),
        "d": ("BOOLEAN", "true", "false"), "e": ("DATE", "DATE '2026-01-02'", "DATE '1969-01-01'"),
        "f": ("DECIMAL(38,2)", "7.25BD", "-99999999999999999999.5BD"),
    }  # fmt: skip
    db.sql(f"CREATE TABLE kinds (id INT, {', '.join(f'{name} {kind}' for name, (kind, *_) in kinds.items())})")
    rows = (f"({id}, {', '.join(luck.choice(['NULL', *values]) for _, *values in kinds.values())})" for id in range(300))
    db.sql(f"INSERT INTO kinds VALUES {', '.join(rows)}")
    keys = [luck.choice([f"{name} {order}", name]) for name in luck.sample(sorted(kinds), len(kinds))]
    text = f"SELECT {', '.join(kinds)}, count(*) AS n, sum(id) AS total FROM kinds GROUP BY {', '.join(kinds)} ORDER BY {', '.join(keys)}"
    db.sql(f"CREATE MATERIALIZED VIEW ordered AS {text}")
    asked.clear()
    stored = list(db.sql("SELECT * FROM ordered"))
    totals = list(db.sql("SELECT total FROM ordered"))
    assert not asked
    assert stored == list(db.sql(text)) and totals == [row[-1:] for row in stored]


def test_an_order_that_arrow_might_see_differently_is_left_to_the_engine(db: Session, asked: list[str]) -> None:
    db.sql("CREATE TABLE doubles (id INT, x DOUBLE)")
    db.sql("INSERT INTO doubles VALUES (1, 2), (2, CAST('NaN' AS DOUBLE)), (3, NULL), (4, -1)")
    db.sql("CREATE MATERIALIZED VIEW ordered AS SELECT id, x FROM doubles ORDER BY x")
    db.sql("CREATE MATERIALIZED VIEW by_part AS SELECT region FROM orders GROUP BY region ORDER BY lower(region) DESC")
    asked.clear()
    assert [id for id, _ in db.sql("SELECT * FROM ordered")] == [3, 4, 1, 2]
    assert list(db.sql("SELECT * FROM by_part")) == [("US",), ("EU",)]
    assert len(asked) == 2
