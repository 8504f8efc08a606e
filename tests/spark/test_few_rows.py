"""Few rows go along with Spark's statement instead of being read from their files: as many types as that may be wrong for."""

from __future__ import annotations

from dataclasses import replace

import pytest

import slackwater
from slackwater.run.choice import FULL, by_cost

COLUMNS = {
    "b": ("BOOLEAN", "true"), "i1": ("TINYINT", "-128Y"), "i2": ("SMALLINT", "32767S"),
    "i4": ("INT", "-1"), "i8": ("BIGINT", "9223372036854775807L"),
    "f": ("FLOAT", "CAST('NaN' AS FLOAT)"), "d": ("DOUBLE", "-0.0D"), "e": ("DOUBLE", "CAST('-Infinity' AS DOUBLE)"),
    "n": ("DECIMAL(38,10)", "-1234567890123456789012345678.0123456789BD"), "s": ("STRING", "'\u00e4 \u2713'"), "x": ("BINARY", "X'00FF'"),
    "day": ("DATE", "DATE '0001-01-01'"), "at": ("TIMESTAMP", "TIMESTAMP '1582-10-04 23:59:59.999999'"),
    "wall": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"), "l": ("ARRAY<INT>", "array(1, NULL)"),
    "m": ("MAP<STRING, ARRAY<TIMESTAMP>>", "map('k', array(TIMESTAMP '2024-01-01 00:00:00', NULL))"),
    "r": ("STRUCT<a: INT, b: STRUCT<c: DATE>>", "named_struct('a', 1, 'b', named_struct('c', DATE '2024-02-29'))"),
}  # fmt: skip


@pytest.mark.xdist_group("spark")
def test_every_type_arrives_as_it_left(spark_db: slackwater.Session) -> None:
    spark_db.sql(f"CREATE TABLE t (id INT, {', '.join(f'{name} {type}' for name, (type, _) in COLUMNS.items())})")
    spark_db.sql("CREATE MATERIALIZED VIEW v AS SELECT * FROM t WHERE id > 0")
    for id, values in ((1, [value for _, value in COLUMNS.values()]), (2, ["NULL"] * len(COLUMNS)), (3, [v for _, v in COLUMNS.values()])):
        spark_db.sql(f"INSERT INTO t VALUES ({id}, {', '.join(values)})")
        spark_db.sql("REFRESH VIEW v")
    spark_db.sql("DELETE FROM t WHERE id = 3")
    view, batch = spark_db.sql("SELECT * FROM v ORDER BY id").to_arrow(), spark_db.recompute("v").to_arrow().sort_by("id")
    assert view.schema == batch.schema
    assert repr(view.to_pylist()) == repr(batch.to_pylist())
    literals = ", ".join(f"CAST({value} AS {type}) AS {name}" for name, (type, value) in COLUMNS.items())
    expected = spark_db.sql(f"SELECT {literals}").to_arrow()
    assert repr(view.drop_columns("id").to_pylist()[0]) == repr(expected.to_pylist()[0])


@pytest.mark.xdist_group("spark")
def test_rows_that_came_and_went_before_a_refresh(spark_db: slackwater.Session) -> None:
    spark_db.sql("CREATE TABLE t (id INT, at TIMESTAMP, l ARRAY<TIMESTAMP>)")
    spark_db.sql("CREATE MATERIALIZED VIEW v AS SELECT id, max(at) AS latest, count(*) AS n FROM t GROUP BY id")
    spark_db.sql("INSERT INTO t VALUES (1, TIMESTAMP '2024-01-01 00:00:00', array())")
    spark_db.sql("REFRESH VIEW v")
    spark_db.sql("INSERT INTO t VALUES (2, TIMESTAMP '2024-01-01 00:00:00', array())")
    spark_db.sql("DELETE FROM t WHERE id = 2")
    assert [(id, n) for id, _, n in spark_db.sql("SELECT * FROM v")] == [(1, 1)]


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("many", "most"), [(5_000_000, 1 << 26), (0, 1 << 26), (5_000_000, 100)], ids=["bits", "many", "far apart"])
def test_many_rows_that_left_are_left_out(many: int, most: int, spark_db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their numbers: as bits, or read from files. More than stand in a statement, of a table that is read from its files."""
    monkeypatch.setattr("slackwater.spark.engine.MANY", many)
    monkeypatch.setattr("slackwater.spark.left.MOST", most)
    monkeypatch.setattr("slackwater.spark.engine.HANDFUL", 0)
    spark_db.sql("CREATE TABLE t (id INT, part STRING)")
    spark_db.insert("t", [(id, f"part {id % 7}") for id in range(1000)])
    spark_db.insert("t", [(id, f"part {id % 7}") for id in range(1000, 3000)])
    spark_db.sql("CREATE MATERIALIZED VIEW v AS SELECT part, count(*) AS n FROM t GROUP BY part")
    spark_db.sql("DELETE FROM t WHERE id % 10 = 0 AND id > 63")
    spark_db.sql("DELETE FROM t WHERE id % 10 = 0")
    spark_db.sql("UPDATE t SET part = 'new' WHERE id % 10 = 1")
    assert list(spark_db.sql("SELECT count(*), sum(id), count_if(part = 'new') FROM t")) == [
        (2700, sum(range(3000)) - sum(range(0, 3000, 10)), 300)
    ]
    assert sorted(spark_db.sql("SELECT * FROM v")) == sorted(spark_db.recompute("v"))
    spark_db.sql("DELETE FROM t WHERE id % 10 IN (1, 2)")  # some of the rows that an update wrote, and others
    assert list(spark_db.sql("SELECT count(*), count_if(part = 'new') FROM t")) == [(2100, 0)]
    assert sorted(spark_db.sql("SELECT * FROM v")) == sorted(spark_db.recompute("v"))


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("few", [0, 1_000_000])
def test_whoever_writes_a_flush_writes_the_same(spark_db: slackwater.Session, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr("slackwater.run.written.FEW", few)
    spark_db.sql("CREATE TABLE t (g STRING, n DECIMAL(12,2), at TIMESTAMP)")
    spark_db.sql("CREATE MATERIALIZED VIEW v AS SELECT g, sum(n) AS total, max(at) AS last FROM t GROUP BY g")
    spark_db.sql(
        "INSERT INTO t VALUES ('a', 1.25, TIMESTAMP '2024-01-01 00:00:00'), (NULL, 2, NULL), ('b', 3, TIMESTAMP '1900-01-01 00:00:00')"
    )
    spark_db.sql("REFRESH VIEW v")
    spark_db.sql("UPDATE t SET n = -n WHERE g = 'a'")
    spark_db.sql("DELETE FROM t WHERE g = 'b'")
    spark_db.sql("REFRESH VIEW v")
    view, batch = spark_db.sql("SELECT * FROM v").to_arrow().sort_by("total"), spark_db.recompute("v").to_arrow().sort_by("total")
    assert view.equals(batch) and view.num_rows == 2


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("nested", [False, True])
def test_rows_that_were_computed_in_full_are_compared_with_those_before(nested: bool, spark_db: slackwater.Session) -> None:
    """By this process, or by Spark where there are types that it cannot tell apart."""
    columns = {name: each for name, each in COLUMNS.items() if ("<" in each[0]) is nested}
    spark_db.sql(f"CREATE TABLE t (id INT, {', '.join(f'{name} {type}' for name, (type, _) in columns.items())})")
    spark_db.sql("CREATE MATERIALIZED VIEW v WITH (trigger = 'manual') AS SELECT * FROM t WHERE id > 0")
    spark_db._warehouse.chooser = lambda rows, in_full, *facts: replace(by_cost(rows, in_full, *facts), how=FULL)
    for number in range(3):
        spark_db.sql(f"INSERT INTO t VALUES ({number}, {', '.join(value if number else 'NULL' for _, value in columns.values())})")
        spark_db.sql("REFRESH VIEW v")
    spark_db.sql("DELETE FROM t WHERE id = 1")
    spark_db.sql("REFRESH VIEW v")
    view, batch = spark_db.sql("SELECT * FROM v").to_arrow(), spark_db.recompute("v").to_arrow()
    assert view.schema == batch.schema and len(view) == 1
    assert repr(view.to_pylist()) == repr(batch.to_pylist())
    history = spark_db.sql("DESCRIBE HISTORY v").to_arrow().to_pylist()
    told = [(line["how"], line["added"], line["removed"]) for line in history[:2] if line["action"] == "refresh"]
    assert nested or told == [("full", 0, 1), ("full", 1, 0)]  # maps cannot be compared at all
