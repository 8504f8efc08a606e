"""How fast rows come in, durably: in bulk from Arrow and Parquet, and one by one from eight threads.

Bulk: tables of 1 M rows of 10 columns, one insert each, in turn into a table without a key and into one with, and beside them the same rows
written and synced by pyarrow alone. One by one: each insert is acknowledged when it is committed, and is in the view that is read
afterwards. What was inserted is compared with what the engine then finds.

    python -m bench.ingest                          both engines
    python -m bench.ingest --engines sail --rounds 3
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slackwater
from bench.measure import report

ROWS = 1_000_000
THREADS = 8
NUMBERS = "id BIGINT, customer BIGINT, line INT, quantity INT, price DECIMAL(12,2), discount DOUBLE"
COLUMNS = f"{NUMBERS}, day DATE, at TIMESTAMP, region STRING, name STRING"
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]


def sales(rows: int, seed: int) -> pa.Table:
    """Ten columns such as a sale has; ids are new in every table."""
    random = np.random.default_rng(seed)
    cents = random.integers(100, 10_000_000, rows)
    wide = pa.py_buffer(np.column_stack([cents, np.zeros(rows, dtype=np.int64)]).tobytes())
    names = pa.array([f"customer#{number:07d}" for number in range(100_000)])
    return pa.table(
        {
            "id": pa.array(np.arange(rows, dtype=np.int64) + seed * rows),
            "customer": pa.array(random.integers(0, 150_000, rows)),
            "line": pa.array(random.integers(1, 8, rows).astype(np.int32)),
            "quantity": pa.array(random.integers(1, 50, rows).astype(np.int32)),
            "price": pa.Array.from_buffers(pa.decimal128(12, 2), rows, [None, wide]),
            "discount": pa.array(random.random(rows)),
            "day": pa.array(random.integers(8_000, 12_000, rows).astype(np.int32)).cast(pa.date32()),
            "at": pa.array(random.integers(1_600_000_000_000_000, 1_700_000_000_000_000, rows)).cast(pa.timestamp("us", tz="UTC")),
            "region": pa.array(REGIONS).take(pa.array(random.integers(0, len(REGIONS), rows))),
            "name": names.take(pa.array(random.integers(0, len(names), rows))),
        }
    )


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def write_alone(rows: pa.Table, folder: Path) -> None:
    """What pyarrow does by itself: one file with its own settings, on the disk."""
    pq.write_table(rows, folder / "alone.parquet")
    file = os.open(folder / "alone.parquet", os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def ways(db: slackwater.Session, rows: pa.Table, folder: Path) -> dict[str, Callable[[], object]]:
    """The ways for many rows to come in, each into a table of its own."""
    return {
        "arrow": lambda: db.insert("plain", rows),
        "pyarrow_alone": lambda: write_alone(rows, folder),
        "arrow_keyed": lambda: db.insert("keyed", rows),
        "arrow_stream": lambda: db.insert("streamed", pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(65_536))),
        "copy_parquet": lambda: db.sql(f"COPY copied FROM '{folder}/given.parquet'"),
    }


def bulk(db: slackwater.Session, rounds: int, folder: Path) -> dict[str, float]:
    """Rows a second of each way to insert many."""
    for name, key in (("plain", ""), ("keyed", ", PRIMARY KEY (id)"), ("streamed", ""), ("copied", "")):
        db.sql(f"CREATE TABLE {name} ({COLUMNS}{key})")
    taken: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        rows = sales(ROWS, number)
        pq.write_table(rows, folder / "given.parquet")
        for way, work in ways(db, rows, folder).items():
            spent = seconds(work)
            if number:
                taken.setdefault(way, []).append(spent)
        told = ", ".join(f"{way} {ROWS / (times[-1]):,.0f}" for way, times in taken.items())
        print(f"  round {number}: {told or 'warming up'}", flush=True)
    expected = (ROWS * (rounds + 1), ROWS * (rounds + 1), sum(range(ROWS * (rounds + 1))))
    for name in ("plain", "keyed", "streamed", "copied"):
        found = next(iter(db.sql(f"SELECT count(*), count(DISTINCT id), sum(id) FROM {name}")))
        assert tuple(found) == expected, f"{name} has {found}, not {expected}"
    return {way: ROWS / median(times) for way, times in taken.items()}


def one_by_one(db: slackwater.Session, table: str, count: int, insert: Callable[[int], object]) -> float:
    """Rows a second when eight threads insert one row at a time; all of them are in the view afterwards."""
    problems: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, count, THREADS):
                insert(number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(THREADS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - began
    assert not problems, problems
    found = next(iter(db.sql(f"SELECT n, total FROM {table}_total")))
    assert tuple(found) == (count, sum(range(count))), f"{table} has {found}"
    return count / spent


def singles(db: slackwater.Session, count: int, rounds: int) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for way, key, by_sql in (("single", "", False), ("single_keyed", ", PRIMARY KEY (id)", False), ("single_sql", "", True)):
            table = f"{way}_{number}"
            db.sql(f"CREATE TABLE {table} (id BIGINT, region STRING, price DECIMAL(12,2), quantity INT, day DATE{key})")
            db.sql(f"CREATE MATERIALIZED VIEW {table}_total AS SELECT count(*) AS n, sum(id) AS total FROM {table}")

            def insert(id: int, table: str = table) -> object:
                return db.insert(table, [(id, "EUROPE", "12.50", 3, "2024-02-29")])

            def insert_by_sql(id: int, table: str = table) -> object:
                return db.sql(f"INSERT INTO {table} VALUES (?, 'EUROPE', 12.50, 3, DATE '2024-02-29')", [id])

            rate = one_by_one(db, table, count, insert_by_sql if by_sql else insert)
            print(f"  round {number}: {way} {rate:,.0f}{'' if number else ', warming up'}", flush=True)
            if number:
                found.setdefault(way, []).append(rate)
    return {way: median(rates) for way, rates in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds, after one to warm up (default %(default)s)")
    parser.add_argument("--singles", type=int, default=2000, help="rows that eight threads insert in a round (default %(default)s)")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=["sail", "spark"], help="sail, spark, or both (default)")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    peers: dict[str, Any] = {}
    for engine in options.engines:
        print(f"{engine}: rows a second", flush=True)
        prefix = "" if engine == "spark" else f"{engine}_"
        with (
            tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder,
            slackwater.connect(Path(folder) / "warehouse", engine=engine) as db,
        ):
            found = bulk(db, options.rounds, Path(folder)) | singles(db, options.singles, options.rounds)
        peers[f"{prefix}pyarrow_alone_rows_per_s"] = round(found.pop("pyarrow_alone"))
        figures |= {f"{prefix}{way}_rows_per_s": round(rate) for way, rate in found.items()}
    report("ingest", figures, peers)


if __name__ == "__main__":
    main()
