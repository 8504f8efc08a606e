"""What can be done to tables and views, and what a reader then sees: on Sail, statement by statement."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slackwater

ORDERS = "CREATE TABLE orders (id BIGINT, region STRING, amount DECIMAL(12,2), PRIMARY KEY (id))"
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS total FROM orders GROUP BY region"
THREE = [(1, "EU", Decimal("10.00")), (2, "US", Decimal("5.50")), (3, None, None)]


@pytest.fixture
def db(sail_db: slackwater.Session) -> slackwater.Session:
    return sail_db


@pytest.fixture
def orders(db: slackwater.Session) -> slackwater.Session:
    """A session with three orders and their totals."""
    db.sql(ORDERS)
    db.sql(TOTALS)
    db.insert("orders", THREE)
    return db


def rows(db: slackwater.Session, text: str, params: Any = None) -> list[tuple[Any, ...]]:
    """The rows of a query, in an order that does not depend on the engine."""
    return sorted(db.sql(text, params), key=lambda row: tuple((value is not None, value) for value in row))


def ids(db: slackwater.Session, table: str = "orders") -> list[Any]:
    return [row[0] for row in rows(db, f"SELECT id FROM {table}")]


def amounts(db: slackwater.Session) -> dict[Any, Any]:
    return dict(db.sql("SELECT id, amount FROM orders"))


def totals(db: slackwater.Session) -> dict[Any, Any]:
    return dict(db.sql("SELECT region, total FROM totals"))


# Rows from Python.

REGIONS = ["EU", "US", None]
AMOUNTS = [Decimal("10.00"), Decimal("5.50"), None]
FORMS: dict[str, Any] = {
    "tuples": THREE,
    "dicts": [{"id": 1, "region": "EU", "amount": Decimal("10.00")}, {"id": 2, "region": "US", "amount": Decimal("5.50")}, {"id": 3}],
    "pandas": pd.DataFrame({"id": [1, 2, 3], "region": REGIONS, "amount": AMOUNTS}),
    "arrow": pa.table({"id": pa.array([1, 2, 3], pa.int32()), "region": REGIONS, "amount": AMOUNTS}),
    "arrow in another order": pa.table({"amount": AMOUNTS, "id": [1, 2, 3], "region": REGIONS}),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_can_be_inserted_from_python(db: slackwater.Session, form: str) -> None:
    db.sql(ORDERS)
    db.insert("orders", FORMS[form])
    assert rows(db, "SELECT * FROM orders") == THREE


def test_a_spark_dataframe_can_be_inserted(db: slackwater.Session) -> None:
    db.sql(ORDERS)
    db.insert("orders", db.spark.sql("SELECT 1 AS id, 'EU' AS region, CAST(10 AS DECIMAL(12,2)) AS amount"))
    assert rows(db, "SELECT * FROM orders") == THREE[:1]


def test_inserting_nothing_changes_nothing(orders: slackwater.Session) -> None:
    orders.insert("orders", [])
    assert ids(orders) == [1, 2, 3]


def test_values_of_every_type_come_back_as_they_went_in(db: slackwater.Session) -> None:
    db.sql(
        "CREATE TABLE all_types (b BOOLEAN, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(38,10), x STRING, "
        "y BINARY, day DATE, at TIMESTAMP, here TIMESTAMP_NTZ, a ARRAY<INT>, m MAP<STRING, INT>, r STRUCT<p: INT, q: STRING>)"
    )
    moment = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)
    row = {
        "b": True, "t": -128, "s": 32767, "i": -(2**31), "l": 2**63 - 1, "f": 1.5, "d": -0.1,
        "n": Decimal("12345678901234567890.0123456789"), "x": "naïve 'quoted' \\ text", "y": b"\x00\xff",
        "day": dt.date(1969, 12, 31), "at": moment.replace(tzinfo=dt.UTC), "here": moment,
        "a": [1, None, 3], "m": {"one": 1}, "r": {"p": 7, "q": None},
    }  # fmt: skip
    db.insert("all_types", [row, dict.fromkeys(row)])
    answer = db.sql("SELECT * FROM all_types ORDER BY i NULLS LAST").to_arrow().to_pylist()
    answer[0]["m"] = dict(answer[0]["m"])
    assert answer[0] | {"at": answer[0]["at"].astimezone(dt.UTC)} == row
    assert answer[1] == dict.fromkeys(row)


# INSERT.


def test_insert_values(orders: slackwater.Session) -> None:
    orders.sql("INSERT INTO orders VALUES (4, 'EU', 1.25), (5, upper('us'), 2 * 3)")
    assert totals(orders) == {"EU": Decimal("11.25"), "US": Decimal("11.50"), None: None}


def test_insert_with_a_column_list_leaves_the_others_null(orders: slackwater.Session) -> None:
    orders.sql("INSERT INTO orders (amount, id) VALUES (7, 4)")
    assert rows(orders, "SELECT * FROM orders WHERE id = 4") == [(4, None, Decimal("7.00"))]


def test_insert_select_reads_the_table_as_it_was_before(orders: slackwater.Session) -> None:
    orders.sql("INSERT INTO orders SELECT id + 10, region, amount FROM orders")
    assert ids(orders) == [1, 2, 3, 11, 12, 13]


def test_insert_select_may_read_a_view(orders: slackwater.Session) -> None:
    orders.sql("INSERT INTO orders (id, amount) SELECT 100 + row_number() OVER (ORDER BY total), total FROM totals WHERE total IS NOT NULL")
    assert rows(orders, "SELECT id, amount FROM orders WHERE id > 100") == [(101, Decimal("5.50")), (102, Decimal("10.00"))]


def test_insert_takes_parameters(orders: slackwater.Session) -> None:
    orders.sql("INSERT INTO orders VALUES (?, ?, ?)", [4, "O'Hara\\", Decimal("1.10")])
    orders.sql("INSERT INTO orders VALUES (:id, :region, NULL)", {"id": 5, "region": None})
    assert rows(orders, "SELECT * FROM orders WHERE id > 3") == [(4, "O'Hara\\", Decimal("1.10")), (5, None, None)]


def test_insert_or_replace_replaces_the_row_with_the_key(orders: slackwater.Session) -> None:
    orders.sql("INSERT OR REPLACE INTO orders VALUES (1, 'US', 1), (4, 'US', 2)")
    assert amounts(orders) == {1: Decimal("1.00"), 2: Decimal("5.50"), 3: None, 4: Decimal("2.00")}
    assert totals(orders) == {"US": Decimal("8.50"), None: None}


def test_equal_rows_count_as_often_as_they_were_inserted(db: slackwater.Session) -> None:
    db.sql("CREATE TABLE words (word STRING)")
    db.sql("CREATE MATERIALIZED VIEW counted AS SELECT word, count(*) AS n FROM words GROUP BY word")
    db.insert("words", [("a",), ("a",), ("b",)])
    db.insert("words", [("a",)])
    assert rows(db, "SELECT * FROM counted") == [("a", 3), ("b", 1)]
    db.sql("DELETE FROM words WHERE word = 'a'")
    assert rows(db, "SELECT * FROM counted") == [("b", 1)]


# UPDATE and DELETE.


def test_update_sets_expressions_of_the_old_row(orders: slackwater.Session) -> None:
    orders.sql("UPDATE orders SET amount = amount * 2, region = concat(region, '-', id) WHERE amount > ?", [6])
    assert rows(orders, "SELECT * FROM orders WHERE id = 1") == [(1, "EU-1", Decimal("20.00"))]
    assert totals(orders) == {"EU-1": Decimal("20.00"), "US": Decimal("5.50"), None: None}


def test_update_without_where_changes_every_row(orders: slackwater.Session) -> None:
    orders.sql("UPDATE orders SET region = 'all'")
    assert totals(orders) == {"all": Decimal("15.50")}


def test_update_may_exchange_keys(orders: slackwater.Session) -> None:
    orders.sql("UPDATE orders SET id = 3 - id WHERE id < 3")
    assert amounts(orders) == {2: Decimal("10.00"), 1: Decimal("5.50"), 3: None}


def test_update_may_ask_other_tables(orders: slackwater.Session) -> None:
    orders.sql("CREATE TABLE discounted (region STRING)")
    orders.insert("discounted", [("EU",)])
    orders.sql("UPDATE orders o SET amount = amount / 2 WHERE o.region IN (SELECT region FROM discounted)")
    assert amounts(orders)[1] == Decimal("5.00")


def test_update_that_matches_nothing_changes_nothing(orders: slackwater.Session) -> None:
    before = totals(orders)
    orders.sql("UPDATE orders SET amount = 0 WHERE id = 99")
    assert totals(orders) == before


def test_delete_keeps_rows_for_which_the_condition_is_unknown(orders: slackwater.Session) -> None:
    orders.sql("DELETE FROM orders WHERE amount > 0")
    assert rows(orders, "SELECT id FROM orders") == [(3,)]
    assert totals(orders) == {None: None}


def test_delete_may_ask_a_view(orders: slackwater.Session) -> None:
    orders.sql("DELETE FROM orders WHERE region IN (SELECT region FROM totals WHERE total > 6)")
    assert ids(orders) == [2, 3]


def test_delete_without_where_empties_the_table(orders: slackwater.Session) -> None:
    orders.sql("DELETE FROM orders")
    assert ids(orders) == [] and totals(orders) == {}
    orders.insert("orders", THREE)
    assert totals(orders) == {"EU": Decimal("10.00"), "US": Decimal("5.50"), None: None}


# MERGE.


@pytest.fixture
def news(orders: slackwater.Session) -> slackwater.Session:
    orders.sql("CREATE TABLE news (id BIGINT, region STRING, amount DECIMAL(12,2))")
    orders.insert("news", [(1, "EU", Decimal("11.00")), (2, "US", None), (4, "EU", Decimal("4.00"))])
    return orders


def test_merge_upserts(news: slackwater.Session) -> None:
    news.sql("MERGE INTO orders USING news ON orders.id = news.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert amounts(news) == {1: Decimal("11.00"), 2: None, 3: None, 4: Decimal("4.00")}
    assert totals(news) == {"EU": Decimal("15.00"), "US": None, None: None}


def test_merge_takes_the_first_clause_that_fits(news: slackwater.Session) -> None:
    news.sql("""
        MERGE INTO orders AS o USING (SELECT * FROM news) AS n ON o.id = n.id
        WHEN MATCHED AND n.amount IS NULL THEN DELETE
        WHEN MATCHED THEN UPDATE SET amount = o.amount + n.amount, region = 'both'
        WHEN NOT MATCHED AND n.amount > 100 THEN INSERT (id) VALUES (n.id)
        WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (n.id, n.amount * 2)
        WHEN NOT MATCHED BY SOURCE AND o.id > 100 THEN DELETE
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET region = 'only here'
    """)
    assert rows(news, "SELECT * FROM orders") == [(1, "both", Decimal("21.00")), (3, "only here", None), (4, None, Decimal("8.00"))]


def test_merge_deletes_what_the_source_lacks(news: slackwater.Session) -> None:
    news.sql("MERGE INTO orders USING news ON orders.id = news.id WHEN NOT MATCHED BY SOURCE THEN DELETE")
    assert ids(news) == [1, 2]


# COPY.


def test_copy_from_csv(orders: slackwater.Session, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("id,region,amount\n4,EU,1.50\n5,,\n")
    orders.sql(f"COPY orders FROM '{tmp_path}/new.csv' WITH (header = true)")
    assert rows(orders, "SELECT * FROM orders WHERE id > 3") == [(4, "EU", Decimal("1.50")), (5, None, None)]


def test_copy_from_csv_without_header_and_with_another_delimiter(orders: slackwater.Session, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("1.50|4\n2.50|5\n")
    orders.sql(f"COPY orders (amount, id) FROM '{tmp_path}/new.csv' FORMAT csv WITH (header = false, delimiter = '|')")
    assert rows(orders, "SELECT * FROM orders WHERE id > 3") == [(4, None, Decimal("1.50")), (5, None, Decimal("2.50"))]


def test_copy_from_json(orders: slackwater.Session, tmp_path: Path) -> None:
    lines = [{"id": 4, "region": "EU", "amount": 1.5}, {"amount": 2, "id": 5}]
    (tmp_path / "new.json").write_text("\n".join(map(json.dumps, lines)))
    orders.sql(f"COPY orders FROM '{tmp_path}/new.json'")
    assert rows(orders, "SELECT * FROM orders WHERE id > 3") == [(4, "EU", Decimal("1.50")), (5, None, Decimal("2.00"))]


def test_copy_from_parquet(orders: slackwater.Session, tmp_path: Path) -> None:
    amount = pa.array([Decimal("1.50")], pa.decimal128(12, 2))
    pq.write_table(pa.table({"region": ["EU"], "id": pa.array([4], pa.int64()), "amount": amount}), tmp_path / "new.parquet")
    orders.sql(f"COPY orders FROM '{tmp_path}/new.parquet'")
    assert rows(orders, "SELECT * FROM orders WHERE id > 3") == [(4, "EU", Decimal("1.50"))]
    assert totals(orders)["EU"] == Decimal("11.50")


# CREATE, DROP, SHOW, DESCRIBE.


def test_create_table_as_select_keeps_names_types_and_rows(orders: slackwater.Session) -> None:
    orders.sql("CREATE TABLE big (PRIMARY KEY (id)) AS SELECT id, amount FROM orders WHERE amount > 6")
    assert rows(orders, "SELECT * FROM big") == [(1, Decimal("10.00"))]
    orders.sql("DELETE FROM orders")
    assert rows(orders, "SELECT * FROM big") == [(1, Decimal("10.00"))]


def test_create_if_not_exists_keeps_what_is_there(orders: slackwater.Session) -> None:
    orders.sql("CREATE TABLE IF NOT EXISTS orders (other INT)")
    orders.sql("CREATE MATERIALIZED VIEW IF NOT EXISTS totals AS SELECT 1 AS one")
    assert ids(orders) == [1, 2, 3] and len(totals(orders)) == 3


def test_create_or_replace_view_replaces_its_query(orders: slackwater.Session) -> None:
    orders.sql("CREATE OR REPLACE MATERIALIZED VIEW totals AS SELECT region, count(*) AS n FROM orders GROUP BY region")
    assert rows(orders, "SELECT * FROM totals") == [(None, 1), ("EU", 1), ("US", 1)]
    orders.insert("orders", [(4, "EU", None)])
    assert rows(orders, "SELECT * FROM totals") == [(None, 1), ("EU", 2), ("US", 1)]


def test_a_view_over_full_tables_starts_with_their_rows(orders: slackwater.Session) -> None:
    orders.sql("CREATE MATERIALIZED VIEW late AS SELECT count(*) AS n FROM orders")
    assert rows(orders, "SELECT * FROM late") == [(3,)]


def test_a_view_may_name_its_columns(orders: slackwater.Session) -> None:
    orders.sql("CREATE MATERIALIZED VIEW named (a, b) AS SELECT id, amount FROM orders")
    assert orders.sql("SELECT * FROM named").columns == ["a", "b"]


def test_drop_removes_a_view_and_then_its_table(orders: slackwater.Session) -> None:
    orders.sql("DROP VIEW totals")
    orders.sql("DROP TABLE orders")
    orders.sql("DROP TABLE IF EXISTS orders")
    assert list(orders.sql("SHOW TABLES")) == [] and list(orders.sql("SHOW VIEWS")) == []
    orders.sql("CREATE TABLE orders (other INT)")
    assert list(orders.sql("SELECT * FROM orders")) == []


def test_show_and_describe_tell_what_exists(orders: slackwater.Session) -> None:
    assert "orders" in str(orders.sql("SHOW TABLES"))
    assert "totals" in str(orders.sql("SHOW VIEWS"))
    described = str(orders.sql("DESCRIBE orders"))
    assert "id" in described and "decimal(12,2)" in described
    assert "total" in str(orders.sql("DESCRIBE totals"))


def test_history_tells_what_was_done(orders: slackwater.Session) -> None:
    orders.sql("REFRESH VIEW totals")
    orders.sql("UPDATE orders SET amount = 0 WHERE id = 1")
    assert "update" in str(orders.sql("DESCRIBE HISTORY orders")).lower()
    assert "incremental" in str(orders.sql("DESCRIBE HISTORY totals"))


# Reading.


def test_results_can_be_taken_in_several_forms(orders: slackwater.Session, capsys: pytest.CaptureFixture[str]) -> None:
    result = orders.sql("SELECT id, region FROM orders WHERE id < 3 ORDER BY id")
    assert result.columns == ["id", "region"] and len(result) == 2
    assert list(result) == [(1, "EU"), (2, "US")]
    assert result.to_arrow().to_pydict() == {"id": [1, 2], "region": ["EU", "US"]}
    assert list(result.to_pandas()["region"]) == ["EU", "US"]
    result.show()
    assert "EU" in capsys.readouterr().out


def test_a_query_reads_tables_and_views_at_one_version(orders: slackwater.Session) -> None:
    both = "SELECT (SELECT sum(amount) FROM orders) = (SELECT sum(total) FROM totals)"
    for id in range(10, 15):
        orders.insert("orders", [(id, "EU", Decimal(id))])
        assert list(orders.sql(both)) == [(True,)]
    orders.sql("DELETE FROM orders WHERE id % 2 = 0")
    assert list(orders.sql(both)) == [(True,)]


def test_a_manual_view_keeps_its_answer_until_it_is_refreshed(orders: slackwater.Session) -> None:
    orders.sql("CREATE MATERIALIZED VIEW slow WITH (trigger = 'manual') AS SELECT count(*) AS n FROM orders")
    orders.insert("orders", [(4, "EU", None)])
    assert rows(orders, "SELECT * FROM slow") == [(3,)]
    orders.sql("REFRESH VIEW slow")
    assert rows(orders, "SELECT * FROM slow") == [(4,)]
    orders.sql("DELETE FROM orders")
    orders.sql("REFRESH ALL")
    assert rows(orders, "SELECT * FROM slow") == [(0,)]


def test_views_over_views_follow_to_any_depth(orders: slackwater.Session) -> None:
    orders.sql("CREATE MATERIALIZED VIEW large AS SELECT region, total FROM totals WHERE total > 5")
    orders.sql("CREATE MATERIALIZED VIEW ranked AS SELECT region, rank() OVER (ORDER BY total DESC) AS place FROM large")
    orders.sql("CREATE MATERIALIZED VIEW winners AS SELECT region, total FROM large NATURAL JOIN ranked WHERE place = 1")
    orders.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM winners")
    assert rows(orders, "SELECT * FROM winners") == [("EU", Decimal("10.00"))]
    orders.insert("orders", [(4, "US", Decimal("20.00"))])
    assert rows(orders, "SELECT * FROM winners") == [("US", Decimal("25.50"))]
    orders.sql("DELETE FROM orders WHERE region = 'US'")
    assert rows(orders, "SELECT * FROM winners") == [("EU", Decimal("10.00"))]
    orders.sql("DELETE FROM orders")
    assert rows(orders, "SELECT * FROM counted") == [(0,)]


@pytest.mark.parametrize("schedule", ["eager", "lazy", "random", "random:5"])
def test_every_schedule_gives_the_same_answers(schedule: str, sail_session: Any, tmp_path: Path) -> None:
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session, schedule=schedule) as db:
        db.sql(ORDERS)
        db.sql(TOTALS)
        db.sql("CREATE MATERIALIZED VIEW best AS SELECT max(total) AS most FROM totals")
        for id in range(6):
            db.insert("orders", [(id, "EU" if id % 2 else "US", Decimal(id))])
        db.sql("DELETE FROM orders WHERE id = 5")
        assert totals(db) == {"EU": Decimal("4.00"), "US": Decimal("6.00")}
        assert rows(db, "SELECT * FROM best") == [(Decimal("6.00"),)]


def test_the_schedule_may_change_while_working(orders: slackwater.Session) -> None:
    for schedule in ("eager", "random:1", "lazy"):
        orders.schedule = schedule
        orders.sql("UPDATE orders SET amount = amount + 1 WHERE id = 1")
        assert totals(orders)["EU"] == amounts(orders)[1]


def test_an_append_only_table_takes_inserts(db: slackwater.Session) -> None:
    db.sql("CREATE TABLE events (kind STRING, n INT) WITH (append_only = true)")
    db.sql("CREATE MATERIALIZED VIEW sums AS SELECT kind, sum(n) AS n, max(n) AS most FROM events GROUP BY kind")
    db.insert("events", [("a", 1), ("a", 2)])
    assert rows(db, "SELECT * FROM sums") == [("a", 3, 2)]
    db.insert("events", [("a", 3), ("b", 1)])
    assert rows(db, "SELECT * FROM sums") == [("a", 6, 3), ("b", 1, 1)]


def test_nan_is_read_back_where_sail_wrote_it(db: slackwater.Session) -> None:
    # Footers leave NaN out of the smallest and the largest value: of these rows both would be 1.5.
    db.sql("CREATE TABLE measured (id BIGINT, value DOUBLE, more STRUCT<x: FLOAT>)")
    db.sql(
        "INSERT INTO measured SELECT id, CASE WHEN id > 1 THEN double('NaN') ELSE 1.5D END, named_struct('x', float(1)) FROM range(1, 4)"
    )
    db.sql("CREATE MATERIALIZED VIEW kept AS SELECT id, value * 2 AS twice FROM measured")
    db.sql("CREATE MATERIALIZED VIEW grouped AS SELECT value, count(*) AS n FROM measured GROUP BY value")
    assert sorted(map(str, db.sql("SELECT id, value, more.x FROM measured"))) == ["(1, 1.5, 1.0)", "(2, nan, 1.0)", "(3, nan, 1.0)"]
    assert sorted(map(str, db.sql("SELECT id, twice FROM kept"))) == ["(1, 3.0)", "(2, nan)", "(3, nan)"]
    assert sorted(map(str, db.sql("SELECT value, n FROM grouped"))) == ["(1.5, 1)", "(nan, 2)"]
    assert list(db.sql("SELECT count(*) FROM kept WHERE twice = double('NaN')")) == [(2,)]
    db.sql("UPDATE measured SET value = value + 1")
    assert sorted(map(str, db.sql("SELECT value, n FROM grouped"))) == ["(2.5, 1)", "(nan, 2)"]
    assert not list((db._warehouse.files.root / "traces").glob("*/*-as-written"))
