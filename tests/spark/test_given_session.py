"""A Spark session that was given keeps its own settings, and views must be right under them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import slackwater


@pytest.fixture
def with_int96(spark_session: Any) -> Iterator[None]:
    """Spark's own default for timestamps in Parquet."""
    yield from _set(spark_session, "spark.sql.parquet.outputTimestampType", "INT96")


@pytest.fixture
def in_new_york(spark_session: Any) -> Iterator[None]:
    yield from _set(spark_session, "spark.sql.session.timeZone", "America/New_York")


@pytest.fixture
def on_hdfs(spark_session: Any) -> Iterator[None]:
    """A cluster's own file system, which is where Spark looks for a path that does not say otherwise. Nobody is there."""
    yield from _set(spark_session, "fs.defaultFS", "hdfs://127.0.0.1:1")


@pytest.fixture
def overlooking(spark_session: Any) -> Iterator[None]:
    yield from _set(spark_session, "spark.sql.files.ignoreCorruptFiles", "true")


def _set(session: Any, setting: str, value: str) -> Iterator[None]:
    before = session.conf.get(setting, None)
    session.conf.set(setting, value)
    yield
    if before is None:
        session.conf.unset(setting)
    else:
        session.conf.set(setting, before)


@pytest.mark.xdist_group("spark")
def test_folding_keeps_timestamps_that_spark_wrote_as_int96(with_int96: None, spark_db: slackwater.Session) -> None:
    spark_db.sql("CREATE TABLE t (id INT, at TIMESTAMP)")
    text = """
        SELECT id, at, array(at) AS listed, named_struct('a', at, 'n', CAST(at AS TIMESTAMP_NTZ)) AS nested, map('k', array(at)) AS mapped
        FROM t WHERE id > 0
    """
    spark_db.sql(f"CREATE MATERIALIZED VIEW v AS {text}")
    for id in range(1, 4):
        spark_db.sql(f"INSERT INTO t VALUES ({id}, TIMESTAMP '2024-02-29 10:30:00.123456'), ({10 + id}, NULL)")
        spark_db.sql(f"DELETE FROM t WHERE id = {id - 1}")
        spark_db.sql("REFRESH VIEW v")
    view, batch = spark_db.sql("SELECT * FROM v ORDER BY id").to_arrow(), spark_db.recompute("v").to_arrow().sort_by("id")
    assert view.to_pylist() == batch.to_pylist()
    assert view.num_rows == 4


@pytest.mark.xdist_group("spark")
def test_times_stay_what_they_are_in_a_session_with_a_zone(in_new_york: None, spark_db: slackwater.Session) -> None:
    """Noon, the hour that daylight saving skips, and both of those that it has twice."""
    spark_db.sql("CREATE TABLE t (id INT, at TIMESTAMP, wall TIMESTAMP_NTZ)")
    spark_db.sql("CREATE MATERIALIZED VIEW v AS SELECT id, at, hour(at) AS h, wall, array(at) AS listed, CAST(at AS STRING) AS text FROM t")
    for id, at in enumerate(("2024-07-01T16:00:00Z", "2024-03-10T07:30:00Z", "2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z")):
        spark_db.sql(f"INSERT INTO t VALUES ({id}, TIMESTAMP '{at}', TIMESTAMP_NTZ '2024-03-10 02:30:00')")
        spark_db.sql("REFRESH VIEW v")
    assert spark_db.sql("SELECT h FROM v ORDER BY id").to_arrow().column("h").to_pylist() == [12, 3, 1, 1]
    seconds = spark_db.sql("SELECT unix_seconds(at) AS s FROM v ORDER BY id").to_arrow().column("s").to_pylist()
    assert seconds == [1719849600, 1710055800, 1730611800, 1730615400]
    view, batch = spark_db.sql("SELECT * FROM v ORDER BY id").to_arrow(), spark_db.recompute("v").to_arrow().sort_by("id")
    assert view.to_pylist() == batch.to_pylist()


@pytest.mark.xdist_group("spark")
def test_a_warehouse_is_a_folder_also_where_spark_lives_on_hdfs(on_hdfs: None, spark_db: slackwater.Session) -> None:
    spark_db.sql("CREATE TABLE t (id INT)")
    spark_db.sql("CREATE MATERIALIZED VIEW v AS SELECT id % 3 AS g, count(*) AS n FROM t GROUP BY 1")
    spark_db.insert("t", spark_db.spark.range(3000).selectExpr("CAST(id AS INT) AS id"))
    assert sorted(spark_db.sql("SELECT * FROM v")) == [(0, 1000), (1, 1000), (2, 1000)]
    assert list(spark_db.sql("SELECT count(*) FROM t")) == [(3000,)]


@pytest.mark.xdist_group("spark")
def test_a_damaged_file_is_not_overlooked(overlooking: None, spark_db: slackwater.Session) -> None:
    spark_db.sql("CREATE TABLE t (id INT)")
    spark_db.insert("t", spark_db.spark.range(3000).selectExpr("CAST(id AS INT) AS id"))
    for file in spark_db._warehouse.files.root.rglob("*.parquet"):
        file.write_bytes(bytes(file.stat().st_size))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)  # Hadoop's own checksum would be noticed first
    with pytest.raises(slackwater.WarehouseError, match='of "t"'):
        spark_db.sql("SELECT count(*) FROM t WHERE id > 1").to_arrow()
