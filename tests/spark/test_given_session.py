"""A Spark session that was given keeps its own settings, and views must be right under them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import slackwater


@pytest.fixture
def with_int96(spark_session: Any) -> Iterator[None]:
    """Spark's own default for timestamps in Parquet."""
    setting = "spark.sql.parquet.outputTimestampType"
    before = spark_session.conf.get(setting)
    spark_session.conf.set(setting, "INT96")
    yield
    spark_session.conf.set(setting, before)


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
