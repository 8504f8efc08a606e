"""What a refresh costs with ten times the history behind it, and how much memory that takes.

Two warehouses hold the 22 TPC-H queries as views, one over ten times the rows of the other. A round makes as many changes in both and
refreshes every view, one warehouse first in even rounds and the other in odd ones. In the end every view is compared with recomputing.
Each warehouse has a process of its own, so that what it takes of memory is told apart.

Views whose refresh looks through several times the rows, too, are listed apart: those look for what a change meets among all that is there.

    python -m bench.growth                                                          SF 1 and SF 10: an hour
    python -m bench.growth --scale-factor 0.01 --rounds 1 --warm-up 1 --engine sail
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TypeVar

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
T = TypeVar("T")
MORE = 3  # times the rows are looked through: those of the history, not of the change


class History:
    """A warehouse with the tables and the views, and what their refreshes cost."""

    def __init__(self, engine: str, scale_factor: float, share: float, folder: Path) -> None:
        self.texts = tpch.queries(scale_factor)
        self.share = share
        self.round = 0
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

    def refresh(self, name: str) -> Cost:
        return measured(partial(self.db.sql, f"REFRESH VIEW {name}"))[1]

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

    def memory(self) -> dict[str, float]:
        return peak_memory()

    def close(self) -> None:
        self.db.close()

    def _without_limit(self, text: str) -> pa.Table:
        return self.db.sql(without_limit(text)).to_arrow()


_history: History  # of a process that has one


class Side:
    """A history in a process of its own, and what its refreshes have cost."""

    def __init__(self, engine: str, scale_factor: float, share: float, folder: Path) -> None:
        self._process = ProcessPoolExecutor(1, get_context("spawn"))
        self._process.submit(_begin, engine, scale_factor, share, folder).result()
        self.costs: dict[str, list[Cost]] = {}

    def ask(self, what: Callable[..., T], *arguments: str) -> T:
        """The answer of a method of its history."""
        return self._process.submit(_asked, what, arguments).result()

    def refresh(self, name: str) -> float:
        self.costs.setdefault(name, []).append(self.ask(History.refresh, name))
        return self.costs[name][-1].cpu

    def cost(self, name: str, rounds: int) -> float:
        return median(max(cost.cpu, TICK) for cost in self.costs[name][-rounds:])

    def close(self) -> None:
        self.ask(History.close)
        self._process.shutdown()


def _begin(engine: str, scale_factor: float, share: float, folder: Path) -> None:
    global _history
    _history = History(engine, scale_factor, share, folder)


def _asked(what: Callable[..., T], arguments: tuple[str, ...]) -> T:
    return what(_history, *arguments)


def run(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    few = Side(options.engine, options.scale_factor, SHARE, folder / "few")
    many = Side(options.engine, options.scale_factor * TIMES, SHARE / TIMES, folder / "many")
    names = list(tpch.QUERIES)
    for number in range(options.warm_up + options.rounds):
        sides = (few, many) if number % 2 else (many, few)
        for side in sides:
            side.ask(History.change)
        for name in names:
            spent = {side: side.refresh(name) for side in sides}
            print(f"round {number} {name}: {spent[few]:.2f} CPU-s, with {TIMES} times the history {spent[many]:.2f}", flush=True)
            if spent[many] > MORE * max(spent[few], TICK):
                print(f"  {many.ask(History.last_paths, name)}", flush=True)
    growth = {name: many.cost(name, options.rounds) / few.cost(name, options.rounds) for name in names}
    rows = {name: (few.ask(History.looked_through, name), many.ask(History.looked_through, name)) for name in names}
    again = [name for name, (one, other) in rows.items() if other > MORE * max(one, 1)]
    for name, ratio in growth.items():
        looked = f"{rows[name][0]:>12,} rows, then {rows[name][1]:>12,}"
        print(f"  {name:<4} {few.cost(name, options.rounds):7.2f} {many.cost(name, options.rounds):7.2f} {ratio:6.2f}   {looked}")
    memory = {"few": few.ask(History.memory), "many": many.ask(History.memory)}
    for side in (few, many):
        side.ask(History.check)
        side.close()
    others = [ratio for name, ratio in growth.items() if name not in again]
    return {
        "history_growth_10x": round(geometric_mean(others), 3) if others else None,
        "history_growth_10x_worst": round(max(others), 3) if others else None,
        "history_growth_10x_all": round(geometric_mean(growth.values()), 3),
        "looked_through_again": again,
        "peak_memory_gb": memory["many"],
        "peak_memory_gb_few": memory["few"],
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
