"""What a refresh costs with ten times the history behind it, and how much memory that takes.

Two warehouses hold the 22 TPC-H queries as views, one over ten times the rows of the other. A round makes as many changes in both and
refreshes every view, one warehouse first in even rounds and the other in odd ones. In the end every view is compared with recomputing.

Views whose refresh looks through several times the rows, too, are listed apart: those look for what a change meets among all that is there.

    python -m bench.growth                                                          SF 1 and SF 10: an hour
    python -m bench.growth --scale-factor 0.01 --rounds 1 --warm-up 1 --engine sail
"""

from __future__ import annotations

import argparse
import re
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import pyarrow as pa

import slackwater
from bench import tpch
from bench.changes import oldest, refresh_functions
from bench.measure import Cost, geometric_mean, measured, peak_memory, report
from bench.refresh import TICK, check_answer, create_views, load
from slackwater.run.fold import fold_all
from tests.oracle import without_limit

TIMES = 10  # as much history
SHARE = 0.001  # of the smaller warehouse's orders change in a round
MORE = 3  # times the rows are looked through: those of the history, not of the change


class History:
    """A warehouse with the tables and the views, and what their refreshes cost."""

    def __init__(self, engine: str, scale_factor: float, share: float, folder: Path) -> None:
        self.texts = tpch.queries(scale_factor)
        self.share = share
        self.round = 0
        self.costs: dict[str, list[Cost]] = {name: [] for name in self.texts}
        self.db = slackwater.connect(folder, engine=engine)
        print(f"loading TPC-H at scale factor {scale_factor:g}", flush=True)
        self.orders = load(self.db, scale_factor)
        fold_all(self.db._warehouse)  # what the load has left to fold is not the refreshes' to pay for; what changes leave is
        create_views(self.db, self.texts)
        print(f"peak memory so far, GB: {peak_memory()}", flush=True)

    def change(self) -> None:
        many = oldest(self.share, self.orders)
        for statement in refresh_functions(self.share, self.round, self.round * many, (self.round + 1) * many):
            self.db.sql(statement)
        self.round += 1

    def refresh(self, name: str) -> None:
        self.costs[name].append(measured(partial(self.db.sql, f"REFRESH VIEW {name}"))[1])

    def cost(self, name: str, rounds: int) -> float:
        return median(max(cost.cpu, TICK) for cost in self.costs[name][-rounds:])

    def last_paths(self, name: str) -> str:
        """What the history tells of the last refresh of a view, path by path."""
        told: str = next(iter(self.db.sql(f"DESCRIBE HISTORY {name}").to_arrow()["paths"].to_pylist()))
        return told

    def looked_through(self, name: str) -> int:
        """How many rows the last refresh of a view has looked through."""
        return sum(int(rows.replace(",", "")) for rows in re.findall(r"looked through ([\d,]+) rows", self.last_paths(name)))

    def check(self) -> None:
        for name, text in self.texts.items():
            view, batch = self.db.sql(f"SELECT * FROM {name}").to_arrow(), self.db.sql(text).to_arrow()
            check_answer(name, view, batch, partial(self._without_limit, text), f"{name} at the end")

    def _without_limit(self, text: str) -> pa.Table:
        return self.db.sql(without_limit(text)).to_arrow()


def run(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    few = History(options.engine, options.scale_factor, SHARE, folder / "few")
    many = History(options.engine, options.scale_factor * TIMES, SHARE / TIMES, folder / "many")
    for number in range(options.warm_up + options.rounds):
        sides = (few, many) if number % 2 else (many, few)
        for side in sides:
            side.change()
        for name in few.texts:
            for side in sides:
                side.refresh(name)
            one, other = few.costs[name][-1].cpu, many.costs[name][-1].cpu
            print(f"round {number} {name}: {one:.2f} CPU-s, with {TIMES} times the history {other:.2f}", flush=True)
            if other > MORE * max(one, TICK):
                print(f"  {many.last_paths(name)}", flush=True)
        print(f"peak memory so far, GB: {peak_memory()}", flush=True)
    growth = {name: many.cost(name, options.rounds) / few.cost(name, options.rounds) for name in few.texts}
    rows = {name: (few.looked_through(name), many.looked_through(name)) for name in few.texts}
    again = [name for name, (one, other) in rows.items() if other > MORE * max(one, 1)]
    for name, ratio in growth.items():
        looked = f"{rows[name][0]:>12,} rows, then {rows[name][1]:>12,}"
        print(f"  {name:<4} {few.cost(name, options.rounds):7.2f} {many.cost(name, options.rounds):7.2f} {ratio:6.2f}   {looked}")
    for side in (few, many):
        side.check()
        side.db.close()
    others = [ratio for name, ratio in growth.items() if name not in again]
    return {
        "history_growth_10x": round(geometric_mean(others), 3) if others else None,
        "history_growth_10x_worst": round(max(others), 3) if others else None,
        "history_growth_10x_all": round(geometric_mean(growth.values()), 3),
        "looked_through_again": again,
        "peak_memory_gb": peak_memory(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="of the smaller warehouse (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=3, help="rounds before them (default %(default)s)")
    parser.add_argument("--engine", default="spark", help="spark (default) or sail")
    parser.add_argument("--directory", type=Path, default=None, help="where to put the warehouses (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-", dir=options.directory) as folder:
        report("growth", run(options, Path(folder)))


if __name__ == "__main__":
    main()
