"""What a setting of Spark is worth: TPC-H recomputed under one value and another, in turns.

Settings of the Spark that we start stand in slackwater/spark/start.py, each with its reason. Here is measured what a session can change.

    python -m bench.settings spark.sql.autoBroadcastJoinThreshold 10m 32m
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from statistics import median
from typing import Any

import slackwater
from bench import tpch
from bench.measure import geometric_mean, measured, report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("setting")
    parser.add_argument("values", nargs="+", help="the others are compared with the first")
    parser.add_argument("--scale-factor", type=float, default=1, help="default %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default %(default)s)")
    options = parser.parse_args()
    costs: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder, slackwater.connect(folder, engine="spark") as db:
        spark, data = db._warehouse.engine.spark, tpch.generate(options.scale_factor)
        for table in tpch.TABLES:
            spark.read.parquet(str(data / f"{table}.parquet")).createOrReplaceTempView(table)
        for number in range(-1, options.rounds):  # the first one warms up
            for name, text in tpch.queries(options.scale_factor).items():
                for value in options.values if number % 2 else options.values[::-1]:
                    spark.conf.set(options.setting, value)
                    _, cost = measured(partial(_run, spark, text))
                    if number >= 0:
                        costs.setdefault((name, value), []).append(cost.cpu)
            print(f"round {number + 1} of {options.rounds}", flush=True)
    first, *others = options.values
    found = {}
    for value in others:
        ratios = {name: median(costs[name, value]) / median(costs[name, first]) for name in tpch.QUERIES}
        for name, ratio in ratios.items():
            print(f"  {name:<4} {first} {median(costs[name, first]):6.2f}   {value} {median(costs[name, value]):6.2f}   {ratio:5.2f}")
        found[f"{value}_vs_{first}"] = round(geometric_mean(ratios.values()), 3)
    report("settings", {"setting": options.setting, **found})


def _run(spark: Any, text: str) -> Any:
    return spark.sql(text).toArrow()


if __name__ == "__main__":
    main()
