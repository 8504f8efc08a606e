"""Samples of many rows: what it takes to draw one, against reading the rows and throwing them away.

Lines of orders, as many as are asked for, of which five columns are kept. By number of rows in the sample, on each engine:

    table      TABLESAMPLE RESERVOIR of the table, which is drawn by position
    filtered   the same of what a filter leaves of it, half of the rows
    scan       these columns, and through this filter, read and thrown away: every value is looked at, nothing comes to this process
    by order   ORDER BY rand() LIMIT n, of the table and of the filtered rows, on Spark
    fraction   Spark's own sample, of about as many rows

and DuckDB's reservoir over the same rows, as Parquet files, after `make peers`. They take turns, after a round that warms up; figures are
medians of CPU seconds. Every sample is looked at: whether its rows are so many, different ones, rows of the table that pass the
filter, and in the mean where the mean of the table is.

    python -m bench.sample --rows 100_000_000
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import slackwater
from bench.measure import measured, report
from bench.peers import DUCKDB

SIZES = (1, 100, 10_000)
PIECE = 1_000_000
FILTER = "quantity <= 25"
SHARE = 0.5  # of rows that pass
SURE = 6  # standard deviations

DUCKDB_SCRIPT = """
import duckdb, json, sys, time
asked = json.load(sys.stdin)
db, found = duckdb.connect(), []
db.execute("SET enable_progress_bar = false")
for _ in range(asked["rounds"] + 1):
    began = time.process_time()
    rows = db.execute(asked["text"]).fetchall()
    found.append(time.process_time() - began)
    assert len(rows) == asked["size"]
print("\\n" + json.dumps(found[1:]))
"""


def pieces(rows: int) -> Iterator[pa.Table]:
    """Rows like those of TPC-H's lineitem: a number that ascends, one that does not, a quantity, a price and a day."""
    luck = np.random.default_rng(1)
    for first in range(0, rows, PIECE):
        count = min(PIECE, rows - first)
        yield pa.table(
            {
                "line": np.arange(first, first + count),
                "part": luck.integers(0, 20_000_000, count),
                "quantity": luck.integers(1, 51, count).astype(np.int32),
                "price": np.round(luck.random(count) * 100_000, 2),
                "day": pa.array(luck.integers(8000, 10_500, count).astype(np.int32)).cast(pa.date32()),
            }
        )


CREATE = "CREATE TABLE lines (line BIGINT, part BIGINT, quantity INT, price DOUBLE, day DATE)"


class Bench:
    def __init__(self, engine: str, rows: int, folder: Path) -> None:
        self.rows, self.engine = rows, engine
        self.db = slackwater.connect(folder / engine, engine=engine, folding="off")
        self.db.sql(CREATE)
        self.db.insert("lines", pieces(rows))

    def scans(self) -> dict[str, Callable[[], None]]:
        return {
            "scan table": partial(self._thrown_away, "SELECT * FROM lines"),
            "scan filtered": partial(self._thrown_away, f"SELECT * FROM lines WHERE {FILTER}"),
        }

    def ways(self, size: int) -> dict[str, Callable[[], pa.Table]]:
        """How a sample can be taken, by name."""
        filtered = f"(SELECT * FROM lines WHERE {FILTER})"
        clause = f"TABLESAMPLE RESERVOIR ({size} ROWS)"
        found: dict[str, Callable[[], pa.Table]] = {
            "table": partial(self._ask, f"SELECT * FROM lines {clause}"),
            "filtered": partial(self._ask, f"SELECT * FROM {filtered} {clause}"),
        }
        if self.engine == "spark":  # the first rows that Sail gives in an order by chance are not just any (docs/sail.md)
            found["by order, table"] = partial(self._ask, f"SELECT * FROM lines ORDER BY rand() LIMIT {size}")
            found["by order, filtered"] = partial(self._ask, f"SELECT * FROM {filtered} ORDER BY rand() LIMIT {size}")
            found["fraction, table"] = lambda: self.db.sql("SELECT * FROM lines").to_spark().sample(size / self.rows).toArrow()
        return found

    def _ask(self, text: str) -> pa.Table:
        return self.db.sql(text).to_arrow()

    def _thrown_away(self, text: str) -> None:
        frame = self.db.sql(text).to_spark()
        if self.engine == "spark":
            frame.write.format("noop").mode("overwrite").save()
        else:  # which has no such place; to look for the largest value is the least that has each looked at
            frame.selectExpr(*(f"max({name})" for name in frame.columns)).toArrow()

    def check(self, way: str, size: int, found: pa.Table) -> None:
        """Whether a sample may be one. Lines are numbered from zero on, so their mean is known."""
        lines = found["line"]
        wrong = "" if len(found) == size else f"has {len(found)} rows of {size}"
        if pc.count_distinct(lines).as_py() != len(found) or pc.max(lines).as_py() >= self.rows:
            wrong = "has a row twice, or one that is none"
        if "filtered" in way and pc.max(found["quantity"]).as_py() > 25:
            wrong = "has rows that do not pass the filter"
        off = abs(pc.mean(lines).as_py() - self.rows / 2) / (self.rows / math.sqrt(12 * size))
        if wrong or off > SURE:
            raise SystemExit(f"{way} of {size} on {self.engine} {wrong or 'is not uniform'}")


def in_duckdb(folder: Path, size: int, rounds: int, where: str) -> float:
    """CPU seconds of DuckDB's reservoir."""
    text = f"SELECT * FROM (SELECT * FROM '{folder}/*.parquet'{where}) USING SAMPLE reservoir({size} ROWS)"
    asked = json.dumps({"text": text, "size": size, "rounds": rounds})
    run = subprocess.run([DUCKDB, "-c", DUCKDB_SCRIPT], input=asked, capture_output=True, text=True, check=True)
    found: list[float] = json.loads(run.stdout.splitlines()[-1])
    return median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100_000_000, help="of the table (default %(default)s)")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="of samples (default %(default)s)")
    parser.add_argument("--engines", nargs="+", default=["spark", "sail"], help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="after one that warms up (default %(default)s)")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    details: dict[str, Any] = {}
    peers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        for engine in options.engines:
            bench, prefix = Bench(engine, options.rows, Path(folder)), "" if engine == "spark" else f"{engine}_"
            try:
                taken = _costs(bench, options.sizes, options.rounds)
            finally:
                bench.db.close()
            details[engine] = {f"{way} {size}": cost for (way, size), cost in taken.items()}
            for (way, size), (first, cpu) in taken.items():
                print(f"{engine:<6}{size or '':>8} {way:<20}{cpu:>9.3f} CPU-s, the first time {first:.3f}", flush=True)
            for figure, way in (("table_sample_vs_scan", "table"), ("sample_vs_scan", "filtered")):
                scan = taken[f"scan {way}", 0][1]
                figures[prefix + figure] = round(max(taken[way, size][1] for size in options.sizes) / scan, 4)
                figures[f"{prefix}{figure}_first"] = round(max(taken[way, size][0] for size in options.sizes) / scan, 4)
            for other in ("table", "filtered") if engine == "spark" else ():
                ratios = [taken[f"by order, {other}", size][1] / taken[other, size][1] for size in options.sizes]
                figures[f"{prefix}{other}_vs_order_by_rand_min"] = round(min(ratios), 2)
            print(figures, flush=True)
        if DUCKDB.exists():
            (place := Path(folder) / "plain").mkdir()
            for number, piece in enumerate(pieces(options.rows)):
                pq.write_table(piece, place / f"{number:04}.parquet")
            for size in options.sizes:
                for name, where in (("table", ""), ("filtered", f" WHERE {FILTER}")):
                    peers[f"duckdb {name} {size}"] = round(in_duckdb(place, size, options.rounds, where), 3)
                    print(f"duckdb{size:>8} {name:<20}{peers[f'duckdb {name} {size}']:>9.3f} CPU-s", flush=True)
        else:
            print("DuckDB is not installed: make peers")
    report("sample", figures, peers, details)


def _costs(bench: Bench, sizes: Sequence[int], rounds: int) -> dict[tuple[str, int], tuple[float, float]]:
    """Of each way and size, CPU seconds of the first time and the median of all others. A scan has no size."""
    seen: dict[tuple[str, int], list[float]] = {}
    for _ in range(rounds + 1):
        for way, scan in bench.scans().items():
            seen.setdefault((way, 0), []).append(measured(scan)[1].cpu)
        for size in sizes:
            for way, work in bench.ways(size).items():
                found, cost = measured(work)
                if not way.startswith("fraction"):  # which gives about as many
                    bench.check(way, size, found)
                seen.setdefault((way, size), []).append(cost.cpu)
    return {key: (each[0], median(each[1:])) for key, each in seen.items()}


if __name__ == "__main__":
    main()
