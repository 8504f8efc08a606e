"""What reading a table costs, against the same query over plain Parquet files of the same rows.

TPC-H's Q1, which reads nearly all of lineitem, and Q6, which reads little of it, over a table of ours: as it was loaded, and again with
one row in a hundred removed and not folded yet. The two sides take turns, and their answers must be the same.

    python -m bench.reading                                 scale factor 1
    python -m bench.reading --scale-factor 0.1 --engines spark
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import slackwater
from bench import tpch
from bench.measure import Cost, geometric_mean, measured, report
from tests.oracle import check_rows
from tests.values import rows_of

QUERIES = ("q1", "q6")
REMOVED = "DELETE FROM lineitem WHERE (l_orderkey * 31 + l_linenumber * 17 + l_partkey) % 100 = 0"


class Bench:
    """A table of ours, and a plain one beside it."""

    def __init__(self, engine: str, scale_factor: float, folder: Path) -> None:
        self.engine = engine
        self.texts = {name: tpch.queries(scale_factor)[name] for name in QUERIES}
        self.plain = folder / "plain"
        self.db = slackwater.connect(folder / "warehouse", engine=engine, folding="off")
        self.db.sql(tpch.TABLES["lineitem"].create)
        self.db.sql(f"COPY lineitem FROM '{tpch.generate(scale_factor) / 'lineitem.parquet'}'")
        self.write_plain()

    def write_plain(self) -> None:
        self.db.sql("SELECT * FROM lineitem").to_spark().write.mode("overwrite").parquet(str(self.plain))
        self.db.spark.read.parquet(str(self.plain)).createOrReplaceTempView("lineitem")

    def ours(self, name: str) -> pa.Table:
        # As a frame of the engine: rows that are read again would come from memory.
        return self.db.sql(self.texts[name]).to_spark().toArrow()

    def theirs(self, name: str) -> pa.Table:
        rows: Any = self.db.spark.sql(self.texts[name]).toArrow()
        return rows

    def ratio(self, rounds: int, runs: int, what: str) -> float:
        """CPU of reading ours over CPU of reading plain files, the geometric mean of the queries."""
        ratios = []
        for name in QUERIES:
            costs: dict[str, list[Cost]] = {"ours": [], "theirs": []}
            for number in range(rounds + 1):
                sides = ("ours", "theirs") if number % 2 else ("theirs", "ours")
                found = {side: measured(partial(self._several, side, name, runs)) for side in sides}
                check_rows(
                    rows_of(found["ours"][0]), rows_of(found["theirs"][0]), found["ours"][0].schema.types, f"{name} on {self.engine}"
                )
                if number:
                    for side in sides:
                        costs[side].append(found[side][1])
            ours, theirs = (median(cost.cpu for cost in costs[side]) / runs for side in ("ours", "theirs"))
            ratios.append(ours / theirs)
            print(f"{self.engine} {what} {name}: {ours:.3f} CPU-s, plain {theirs:.3f}, ratio {ours / theirs:.2f}", flush=True)
        return geometric_mean(ratios)

    def _several(self, side: str, name: str, runs: int) -> pa.Table:
        read = self.ours if side == "ours" else self.theirs
        return [read(name) for _ in range(runs)][-1]


def run(engine: str, options: argparse.Namespace, folder: Path) -> dict[str, float]:
    bench = Bench(engine, options.scale_factor, folder)
    prefix = "" if engine == "spark" else f"{engine}_"
    try:
        found = {f"{prefix}read_ratio_clean": bench.ratio(options.rounds, options.runs, "clean")}
        bench.db.sql(REMOVED)
        bench.write_plain()
        found[f"{prefix}read_ratio_1pct_removed"] = bench.ratio(options.rounds, options.runs, "1% removed")
    finally:
        bench.db.close()
    return {name: round(ratio, 3) for name, ratio in found.items()}


def main() -> None:
    def listed(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="1 is about 6 million lineitems (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds, after one to warm up (default %(default)s)")
    parser.add_argument(
        "--runs", type=int, default=5, help="how often a query runs in a round: CPU is counted in hundredths (default %(default)s)"
    )
    parser.add_argument("--engines", type=listed, default=["sail", "spark"], help="sail, spark, or both (default)")
    parser.add_argument("--directory", type=Path, default=None, help="where to put the warehouse (default: a temporary folder)")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    for engine in options.engines:
        with tempfile.TemporaryDirectory(prefix="slackwater-bench-", dir=options.directory) as folder:
            figures |= run(engine, options, Path(folder))
    report("reading", figures)


if __name__ == "__main__":
    main()
