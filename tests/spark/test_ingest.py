"""What is written here Spark reads: every encoding, in bulk and in small groups."""

from __future__ import annotations

import threading
from decimal import Decimal

import pyarrow as pa
import pytest

import slackwater
from slackwater.trace import write


@pytest.mark.xdist_group("spark")
def test_spark_reads_what_was_written_side_by_side(spark_db: slackwater.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROWS", 5000)
    spark_db.sql("CREATE TABLE t (id BIGINT, kind STRING, name STRING, price DECIMAL(12,2), day DATE, part DOUBLE, PRIMARY KEY (id))")
    spark_db.sql("CREATE MATERIALIZED VIEW v AS SELECT kind, count(*) AS n, sum(price) AS total, max(name) AS last FROM t GROUP BY kind")
    numbers = range(20_000)
    rows = {
        "id": pa.array(numbers, pa.int64()),
        "kind": [f"kind {n % 3}" for n in numbers],
        "name": [f"name {n:06d}" for n in numbers],
        "price": pa.array([Decimal(n) for n in numbers], pa.decimal128(12, 2)),
        "day": pa.array([n % 5000 for n in numbers], pa.int32()).cast(pa.date32()),
        "part": [n / 7 for n in numbers],
    }
    spark_db.insert("t", pa.table(rows))
    assert spark_db.sql("SELECT * FROM t ORDER BY id").to_arrow().to_pylist() == pa.table(rows).to_pylist()

    def work(first: int) -> None:
        for number in range(20_000 + first, 20_100, 4):
            spark_db.insert("t", [(number, "kind 9", "x", 1, "2024-01-01", 0.5)])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spark_db.sql("DELETE FROM t WHERE id IN (0, 19999, 20000)")
    view = spark_db.sql("SELECT * FROM v ORDER BY kind").to_arrow()
    assert view.column("n").to_pylist() == [6666, 6666, 6666, 99]
    assert view.to_pylist() == spark_db.recompute("v").to_arrow().sort_by("kind").to_pylist()
    with pytest.raises(slackwater.SlackwaterError, match="already has"):
        spark_db.insert("t", [(77, "kind 0", "x", 1, None, None)])
