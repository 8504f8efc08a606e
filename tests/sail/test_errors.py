"""What goes wrong is said plainly: what, where in the text, what to do; and nothing of a failed statement remains."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slackwater
from slackwater.errors import QueryError, SlackwaterError, Unsupported, WarehouseError

SCHEMA = (
    "CREATE TABLE orders (id BIGINT, region STRING, amount INT, PRIMARY KEY (id))",
    "CREATE TABLE regions (region STRING, name STRING)",
    "INSERT INTO orders VALUES (1, 'EU', 10), (2, 'US', 5)",
    "CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS total FROM orders GROUP BY region",
)


@pytest.fixture
def db(sail_db: slackwater.Session) -> slackwater.Session:
    for text in SCHEMA:
        sail_db.sql(text)
    return sail_db


def orders(db: slackwater.Session) -> list[tuple[Any, ...]]:
    return sorted(db.sql("SELECT * FROM orders"))


BOTH = [(1, "EU", 10), (2, "US", 5)]


def fails(db: slackwater.Session, text: str, params: Any = None, kind: type[SlackwaterError] = QueryError) -> SlackwaterError:
    """The error of a statement, which must have changed nothing."""
    with pytest.raises(kind) as caught:
        db.sql(text, params)
    assert orders(db) == BOTH
    error = caught.value
    assert error.message[:1] == error.message[:1].lower() or error.message.startswith(('"', "'")), "lower case"
    assert not error.message.endswith("."), "no full stop"
    return error


def marked(error: SlackwaterError) -> str:
    """The part of the text that the carets point at."""
    assert error.text is not None and error.place is not None, f"no place: {error}"
    return error.text[error.place.start : error.place.end]


# Names.


@pytest.mark.parametrize(
    ("text", "mark", "hint"),
    [
        ("SELECT regoin FROM orders", "regoin", "region"),
        ("SELECT region FROM ordres", "ordres", "orders"),
        ("SELECT o.regoin FROM orders o", "o.regoin", "region"),
        ("SELECT x.region FROM orders o", "x.region", None),
        ("CREATE MATERIALIZED VIEW v AS SELECT regoin FROM orders", "regoin", "region"),
        ("CREATE MATERIALIZED VIEW v AS SELECT * FROM ordres", "ordres", "orders"),
        ("CREATE MATERIALIZED VIEW v AS SELECT id FROM orders GROUP BY regoin", "regoin", "region"),
        ("CREATE MATERIALIZED VIEW v AS SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM regions WHERE o.regoin)", "o.regoin", "region"),
        ("INSERT INTO ordres VALUES (3, 'EU', 1)", "ordres", "orders"),
        ("INSERT INTO orders (id, regoin) VALUES (3, 'EU')", "regoin", "region"),
        ("UPDATE orders SET amuont = 1", "amuont", "amount"),
        ("UPDATE orders SET amount = amuont", "amuont", "amount"),
        ("UPDATE ordres SET amount = 1", "ordres", "orders"),
        ("DELETE FROM orders WHERE regoin = 'EU'", "regoin", "region"),
        ("DELETE FROM ordres", "ordres", "orders"),
        ("MERGE INTO ordres USING regions ON true WHEN MATCHED THEN DELETE", "ordres", "orders"),
        ("MERGE INTO orders USING regoins r ON true WHEN MATCHED THEN DELETE", "regoins", "regions"),
        ("MERGE INTO orders o USING regions r ON o.region = r.regoin WHEN MATCHED THEN DELETE", "r.regoin", "region"),
        ("DROP TABLE ordres", "ordres", "orders"),
        ("DROP VIEW totles", "totles", "totals"),
        ("REFRESH VIEW totles", "totles", "totals"),
        ("DESCRIBE ordres", "ordres", "orders"),
        ("EXPLAIN DELTA VIEW totles", "totles", "totals"),
        ("COPY ordres FROM 'x.csv'", "ordres", "orders"),
        ("CREATE TABLE t (id INT, PRIMARY KEY (ix))", "ix", None),
    ],
)
def test_an_unknown_name_is_marked_and_a_near_one_offered(db: slackwater.Session, text: str, mark: str, hint: str | None) -> None:
    error = fails(db, text)
    assert mark.split(".")[-1].lower() in error.message.lower() or mark.split(".")[0] in error.message
    assert marked(error) in (mark, mark.split(".")[-1], mark.split(".")[0])
    if hint:
        assert error.hint == f'did you mean "{hint}"?'


def test_an_error_shows_the_line_and_a_caret(db: slackwater.Session) -> None:
    error = fails(db, "SELECT\n  regoin,\n  amount\nFROM orders")
    assert str(error) == 'column "regoin" does not exist in table "orders"\n  regoin,\n  ^^^^^^\nhint: did you mean "region"?'


def test_an_ambiguous_column_is_marked(db: slackwater.Session) -> None:
    error = fails(db, "CREATE MATERIALIZED VIEW v AS SELECT region FROM orders o JOIN regions r ON o.region = r.region")
    assert "ambiguous" in error.message and marked(error) == "region"
    assert "o.region" in str(error) and "r.region" in str(error)


def test_two_columns_of_a_view_may_not_have_one_name(db: slackwater.Session) -> None:
    error = fails(db, "CREATE MATERIALIZED VIEW v AS SELECT o.region, r.region FROM orders o, regions r")
    assert "region" in error.message


def test_a_name_may_be_taken_only_once(db: slackwater.Session) -> None:
    assert "already" in fails(db, "CREATE TABLE orders (a INT)").message
    assert "already" in fails(db, "CREATE TABLE totals (a INT)").message
    assert "already" in fails(db, "CREATE MATERIALIZED VIEW totals AS SELECT 1 AS a").message
    assert "already" in fails(db, "CREATE MATERIALIZED VIEW orders AS SELECT 1 AS a").message
    assert "table" in fails(db, "CREATE OR REPLACE MATERIALIZED VIEW regions AS SELECT 1 AS a").message


def test_a_view_is_not_a_table_and_a_table_is_not_a_view(db: slackwater.Session) -> None:
    for text in ("INSERT INTO totals VALUES ('EU', 1)", "DELETE FROM totals", "UPDATE totals SET total = 0", "DROP TABLE totals"):
        assert "view" in fails(db, text).message
    for text in ("REFRESH VIEW orders", "DROP VIEW orders", "EXPLAIN DELTA VIEW orders"):
        assert "table" in fails(db, text).message


# What others use stays.


def test_what_a_view_reads_cannot_be_dropped(db: slackwater.Session) -> None:
    db.sql("CREATE MATERIALIZED VIEW large AS SELECT region FROM totals WHERE total > 5")
    error = fails(db, "DROP VIEW totals")
    assert "large" in str(error)
    assert "totals" in str(fails(db, "DROP TABLE orders"))
    db.sql("DROP VIEW large")
    db.sql("DROP VIEW totals")
    db.sql("DROP TABLE orders")


def test_a_view_that_others_read_cannot_be_replaced_by_one_without_their_columns(db: slackwater.Session) -> None:
    db.sql("CREATE MATERIALIZED VIEW large AS SELECT region FROM totals WHERE total > 5")
    assert "large" in str(fails(db, "CREATE OR REPLACE MATERIALIZED VIEW totals AS SELECT 1 AS other", kind=SlackwaterError))
    assert sorted(db.sql("SELECT * FROM large")) == [("EU",)]


# Types.


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO orders VALUES (3, 'EU', 'many')",
        "INSERT INTO orders VALUES (3, 'EU', 3000000000)",
        "INSERT INTO orders VALUES (3, 'EU', array(1))",
        "INSERT INTO orders VALUES (3, 'EU')",
        "INSERT INTO orders VALUES (3, 'EU', 1, 2)",
        "INSERT INTO orders (id, amount) SELECT 3",
        "INSERT INTO orders VALUES (3, 'EU', 1), (4, 'EU', 1 / 0)",
        "UPDATE orders SET amount = 'many'",
        "UPDATE orders SET amount = 10 / (id - 2)",
        "UPDATE orders SET amount = 1, amount = 2",
        "CREATE TABLE t (a NOTATYPE)",
        "CREATE TABLE t (a INT, a INT)",
        "CREATE MATERIALIZED VIEW v AS SELECT sum(region, 1) AS s FROM orders",
        "CREATE MATERIALIZED VIEW v AS SELECT no_such_function(region) AS s FROM orders",
        "CREATE MATERIALIZED VIEW v AS SELECT region, amount FROM orders GROUP BY region",
        "CREATE MATERIALIZED VIEW v AS SELECT id FROM orders WHERE sum(amount) > 1",
        "CREATE MATERIALIZED VIEW v AS SELECT id FROM orders UNION ALL SELECT id, region FROM orders",
        "CREATE MATERIALIZED VIEW v AS SELECT amount + array(1) AS a FROM orders",
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(db: slackwater.Session, text: str) -> None:
    fails(db, text, kind=SlackwaterError)
    assert [row[0] for row in db.sql("SHOW VIEWS")] == ["totals"]
    assert sorted(row[0] for row in db.sql("SHOW TABLES")) == ["orders", "regions"]


@pytest.mark.parametrize(
    "data",
    [
        [(3, "EU")],
        [(3, "EU", 1, 2)],
        [(3, "EU", 1), (4, "EU", "many")],
        [{"id": 3, "regoin": "EU"}],
        pd.DataFrame({"id": [3], "amount": ["many"]}),
        pa.table({"id": [3], "unknown": [1]}),
        pa.table({"id": [3], "amount": pa.array([3_000_000_000])}),
        "not rows",
        7,
    ],
    ids=str,
)
def test_rows_that_do_not_fit_are_refused_and_leave_nothing(db: slackwater.Session, data: Any) -> None:
    with pytest.raises(QueryError):
        db.insert("orders", data)
    assert orders(db) == BOTH


def test_an_unknown_column_in_rows_is_named(db: slackwater.Session) -> None:
    with pytest.raises(QueryError, match="regoin") as caught:
        db.insert("orders", [{"id": 3, "regoin": "EU"}])
    assert caught.value.hint == 'did you mean "region"?'


# Keys.


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO orders VALUES (1, 'XX', 1)",
        "INSERT INTO orders VALUES (3, 'XX', 1), (3, 'YY', 2)",
        "INSERT INTO orders SELECT * FROM orders",
        "INSERT OR REPLACE INTO orders VALUES (3, 'XX', 1), (3, 'YY', 2)",
        "UPDATE orders SET id = 1",
        "UPDATE orders SET id = 2 WHERE id = 1",
        "MERGE INTO orders o USING (SELECT 9 AS k) s ON o.id = s.k WHEN NOT MATCHED THEN INSERT (id) VALUES (1)",
        "MERGE INTO orders o USING (SELECT explode(array(9, 9)) AS k) s ON o.id = s.k WHEN NOT MATCHED THEN INSERT (id) VALUES (s.k)",
        "MERGE INTO orders o USING (SELECT 1 AS k) s ON o.id = s.k WHEN MATCHED THEN UPDATE SET id = 2",
    ],
)
def test_a_duplicate_key_is_refused_and_named(db: slackwater.Session, text: str) -> None:
    error = fails(db, text)
    assert "key" in error.message and any(value in str(error) for value in "1239")


def test_a_merge_may_not_change_one_row_twice(db: slackwater.Session) -> None:
    source = "(SELECT 1 AS k, explode(array(7, 8)) AS a)"
    fails(db, f"MERGE INTO orders o USING {source} s ON o.id = s.k WHEN MATCHED THEN UPDATE SET amount = s.a")


def test_a_duplicate_key_from_python_is_refused(db: slackwater.Session) -> None:
    for data in ([(1, "XX", 1)], [(3, "XX", 1), (3, "YY", 2)]):
        with pytest.raises(QueryError, match="key"):
            db.insert("orders", data)
    assert orders(db) == BOTH


@pytest.mark.parametrize(
    "text",
    ["INSERT INTO orders VALUES (NULL, 'EU', 1)", "INSERT INTO orders (region) VALUES ('EU')", "UPDATE orders SET id = NULL WHERE id = 1"],
)
def test_null_in_a_key_is_refused(db: slackwater.Session, text: str) -> None:
    error = fails(db, text)
    assert "NULL" in error.message and "id" in error.message


def test_null_in_a_required_column_is_refused(db: slackwater.Session) -> None:
    db.sql("CREATE TABLE people (name STRING NOT NULL, age INT)")
    with pytest.raises(QueryError, match="name"):
        db.insert("people", [("a", 1), (None, 2)])
    assert list(db.sql("SELECT * FROM people")) == []


def test_a_key_that_was_deleted_may_return(db: slackwater.Session) -> None:
    db.sql("DELETE FROM orders WHERE id = 1")
    db.sql("INSERT INTO orders VALUES (1, 'EU', 10)")
    assert orders(db) == BOTH


# COPY.


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wrong_type.csv", "id,region,amount\n3,EU,1\n4,EU,many\n"),
        ("too_few.csv", "id,region,amount\n3,EU,1\n4\n"),
        ("too_many.csv", "id,region,amount\n3,EU,1\n4,EU,1,9\n"),
        ("unknown_column.csv", "id,regoin,amount\n3,EU,1\n"),
        ("duplicate.csv", "id,region,amount\n3,EU,1\n3,EU,2\n"),
        ("broken.json", '{"id": 3, "region": "EU", "amount": 1}\n{"id": 4, "reg'),
        ("wrong_type.json", '{"id": 3, "region": "EU", "amount": 1}\n{"id": 4, "amount": "many"}\n'),
        ("no_parquet.parquet", "this is no parquet"),
    ],
)
def test_nothing_of_a_bad_file_is_loaded(db: slackwater.Session, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    options = " WITH (header = true)" if name.endswith("csv") else ""
    fails(db, f"COPY orders FROM '{tmp_path}/{name}'{options}", kind=SlackwaterError)


def test_a_parquet_file_with_other_columns_is_refused(db: slackwater.Session, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [3], "unknown": ["x"]}), tmp_path / "new.parquet")
    assert "unknown" in str(fails(db, f"COPY orders FROM '{tmp_path}/new.parquet'", kind=SlackwaterError))


def test_a_missing_file_is_named(db: slackwater.Session, tmp_path: Path) -> None:
    assert "missing.csv" in str(fails(db, f"COPY orders FROM '{tmp_path}/missing.csv'", kind=SlackwaterError))


def test_the_format_of_a_file_must_be_known(db: slackwater.Session, tmp_path: Path) -> None:
    assert "csv" in str(fails(db, f"COPY orders FROM '{tmp_path}/new.xls'", kind=SlackwaterError))


# A view whose expression fails.


@pytest.mark.parametrize("schedule", ["lazy", "eager"])
def test_a_failing_view_keeps_its_answer_while_others_go_on(db: slackwater.Session, schedule: str) -> None:
    db.schedule = schedule
    db.sql("CREATE MATERIALIZED VIEW shares AS SELECT id, 100 / amount AS share FROM orders")
    assert sorted(db.sql("SELECT * FROM shares")) == [(1, 10.0), (2, 20.0)]
    db.sql("INSERT INTO orders VALUES (3, 'EU', 0), (4, 'EU', 50)")
    assert sorted(db.sql("SELECT * FROM totals")) == [("EU", 60), ("US", 5)]
    with pytest.raises(QueryError) as caught:
        db.sql("REFRESH VIEW shares")
    assert "shares" in str(caught.value) and "zero" in str(caught.value).lower()
    assert "100 / amount" in str(caught.value), "the expression that failed"
    # Its last good answer is still there, and those who ask are told that it is not the newest.
    answer = db.sql("SELECT * FROM shares")
    assert sorted(answer) == [(1, 10.0), (2, 20.0)]
    assert "shares" in answer.message
    assert "zero" in str(db.sql("DESCRIBE HISTORY shares")).lower()
    # Others still go on.
    db.sql("INSERT INTO orders VALUES (5, 'US', 1)")
    assert sorted(db.sql("SELECT * FROM totals")) == [("EU", 60), ("US", 6)]
    # When the row is gone the view goes on, and has missed nothing.
    db.sql("UPDATE orders SET amount = 25 WHERE id = 3")
    assert sorted(db.sql("SELECT * FROM shares")) == [(1, 10.0), (2, 20.0), (3, 4.0), (4, 2.0), (5, 100.0)]


def test_refresh_all_goes_on_after_a_failing_view_and_reports_it(db: slackwater.Session) -> None:
    db.sql("CREATE MATERIALIZED VIEW a_share WITH (trigger = 'manual') AS SELECT 100 / amount AS share FROM orders")
    db.sql("CREATE MATERIALIZED VIEW z_count WITH (trigger = 'manual') AS SELECT count(*) AS n FROM orders")
    db.sql("INSERT INTO orders VALUES (3, 'EU', 0)")
    assert "a_share: failed" in db.sql("REFRESH ALL").message
    assert list(db.sql("SELECT * FROM z_count")) == [(3,)]


def test_a_view_that_fails_on_the_rows_that_are_there_is_not_created(db: slackwater.Session) -> None:
    fails(db, "CREATE MATERIALIZED VIEW v AS SELECT 1 / (amount - 5) AS x FROM orders")
    assert [row[0] for row in db.sql("SHOW VIEWS")] == ["totals"]


# Syntax and parameters.


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("SELEC 1", "SELEC"),
        ("SELECT region FORM orders WHERE", None),
        ("SELECT region FROM orders WHERE", None),
        ("SELECT (1 + 2 FROM orders", None),
        ("SELECT 'open FROM orders", "'open FROM orders"),
        ("CREATE TABEL t (a INT)", "TABEL"),
        ("CREATE TABLE t", None),
        ("CREATE MATERIALIZED VIEW v SELECT 1", "SELECT"),
        ("INSERT orders VALUES (1)", "orders"),
        ("UPDATE orders amount = 1", None),
        ("DELETE orders", "orders"),
        ("MERGE INTO orders USING regions ON true", None),
        ("COPY orders FROM new.csv", "new"),
        ("DROP orders", "orders"),
        ("REFRESH totals", "totals"),
        ("SHOW TABELS", "TABELS"),
        ("SELECT 1; SELECT 2", "SELECT 2"),
        ("", None),
    ],
)
def test_a_syntax_error_is_marked(db: slackwater.Session, text: str, mark: str | None) -> None:
    error = fails(db, text)
    if mark is not None:
        assert marked(error) == mark


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("SELECT * FROM orders WHERE id = ?", []),
        ("SELECT * FROM orders WHERE id = ?", None),
        ("SELECT * FROM orders WHERE id = ?", [1, 2]),
        ("SELECT * FROM orders", [1]),
        ("SELECT * FROM orders WHERE id = :id", {}),
        ("SELECT * FROM orders WHERE id = :id", [1]),
        ("SELECT * FROM orders WHERE id = :id", {"id": 1, "other": 2}),
        ("SELECT * FROM orders WHERE id = ?", {"id": 1}),
        ("SELECT * FROM orders WHERE id = ?", [object()]),
        ("SELECT * FROM orders WHERE id = ?", "1"),
        ("SELECT * FROM orders WHERE id = ?", 1),
    ],
)
def test_parameters_must_fit_the_statement(db: slackwater.Session, text: str, params: Any) -> None:
    fails(db, text, params)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE MATERIALIZED VIEW v WITH (refersh = 'strict') AS SELECT 1 AS a",
        "CREATE MATERIALIZED VIEW v WITH (refresh = 'sometimes') AS SELECT 1 AS a",
        "CREATE MATERIALIZED VIEW v WITH (trigger = 'never') AS SELECT 1 AS a",
        "CREATE TABLE t (a INT) WITH (unknown = 1)",
    ],
)
def test_an_unknown_option_is_refused(db: slackwater.Session, text: str) -> None:
    fails(db, text, kind=SlackwaterError)


# What is not maintained incrementally.


CHANGING = ["rand()", "uuid()", "current_timestamp()", "now()", "current_date()", "monotonically_increasing_id()", "shuffle(array(1, 2))"]


@pytest.mark.parametrize("call", CHANGING)
def test_a_view_must_be_deterministic(db: slackwater.Session, call: str) -> None:
    error = fails(db, f"CREATE MATERIALIZED VIEW v AS SELECT id, {call} AS x FROM orders", kind=SlackwaterError)
    assert call.split("(")[0] in str(error) and marked(error).startswith(call.split("(")[0])
    assert error.hint


FULL = "SELECT o.id, r.id AS copy FROM orders o CROSS JOIN range(2) r"
REASON = "in FROM"


@pytest.mark.parametrize("key", ["a <=> b", "coalesce(a = b, true)", "NOT coalesce(a > 1, b > 1, false)"])
def test_what_sail_cannot_group_is_refreshed_in_full(key: str, db: slackwater.Session) -> None:
    db.sql("CREATE TABLE pairs (a INT, b INT)")
    answer = str(db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT {key} AS k, count(*) AS n FROM pairs GROUP BY {key}"))
    assert "refreshed in full, because Sail cannot group by a BOOLEAN" in answer
    db.sql("INSERT INTO pairs VALUES (1, 1), (1, NULL), (NULL, NULL), (2, 1)")
    db.sql("REFRESH VIEW v")
    db.sql("DELETE FROM pairs WHERE a = 2")
    db.sql("INSERT INTO pairs VALUES (3, 3)")
    assert sorted(db.sql("SELECT * FROM v")) == sorted(db.recompute("v"))


def test_strict_refuses_what_would_be_refreshed_in_full(db: slackwater.Session) -> None:
    error = fails(db, f"CREATE MATERIALIZED VIEW v WITH (refresh = 'strict') AS {FULL}", kind=Unsupported)
    assert REASON in str(error) and "range" in marked(error)


def test_a_full_refresh_is_announced_with_its_reason(db: slackwater.Session) -> None:
    announced = db.sql(f"EXPLAIN CREATE MATERIALIZED VIEW v AS {FULL}")
    assert "full" in str(announced) and REASON in str(announced)
    created = db.sql(f"CREATE MATERIALIZED VIEW v AS {FULL}")
    assert "full" in created.message and REASON in created.message and "^" in created.message
    assert REASON in str(db.sql("EXPLAIN VIEW v"))
    db.sql("INSERT INTO orders VALUES (3, 'EU', 7)")
    assert sorted(db.sql("SELECT * FROM v")) == [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
    history = str(db.sql("DESCRIBE HISTORY v"))
    assert "full" in history and REASON in history


# The rest of the world.


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="flink"):
        slackwater.connect(tmp_path, engine="flink")


def test_an_unknown_schedule_is_refused(db: slackwater.Session, sail_session: Any, tmp_path: Path) -> None:
    with pytest.raises(SlackwaterError, match="never"):
        slackwater.connect(tmp_path / "other", engine=sail_session, schedule="never")
    with pytest.raises(SlackwaterError, match="never"):
        db.schedule = "never"


def test_recompute_wants_a_view(db: slackwater.Session) -> None:
    with pytest.raises(QueryError):
        db.recompute("orders")
    with pytest.raises(QueryError, match="nothing"):
        db.recompute("nothing")


def test_an_append_only_table_only_grows(db: slackwater.Session) -> None:
    db.sql("CREATE TABLE events (n INT) WITH (append_only = true)")
    db.insert("events", [(1,)])
    merge = "MERGE INTO events t USING regions r ON true WHEN MATCHED THEN DELETE"
    for text in ("DELETE FROM events", "UPDATE events SET n = 2", merge):
        assert "append" in str(fails(db, text, kind=SlackwaterError))
    assert list(db.sql("SELECT * FROM events")) == [(1,)]


def test_decimals_that_do_not_fit_are_refused(db: slackwater.Session) -> None:
    db.sql("CREATE TABLE prices (p DECIMAL(5,2))")
    with pytest.raises(QueryError):
        db.insert("prices", [(Decimal("12345.6"),)])
    assert list(db.sql("SELECT * FROM prices")) == []
