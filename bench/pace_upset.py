"""What becomes of plans whose expectations are wrong (Tang, Thrifty Query Processing, 3.4.4): statistics that are off, and bursts.

Statistics: every operator of a query is taken to give up to so many times as many rows as it does, or as few, at random, and paces are
planned by that. Bursts: paces are planned for a steady rate, and for a tenth of the time rows come so many times as fast, in the middle or
at the end; no more of them in all. Greedy and uniform, each run for real. It needs what bench-pace has learned, and goes on where it was.

    python -m bench.pace_upset --queries q15 --constraint 0.5
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.measure import report
from bench.pace import SLICES, Bench, Matrix, Run, run_key
from slackwater.pace.goal import FINAL, Goal
from slackwater.pace.planners import PLANNERS, with_room
from slackwater.pace.simulate import Paces, Simulation
from slackwater.plan import Node, Scan
from slackwater.run.paces import allowed

COMPARED = ("greedy", "uniform")
TIMES = (0.2, 0.25, 0.33, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
BURSTS = (1.0, 2.0, 3.0, 4.0, 5.0)
LENGTH = SLICES // 10  # slices that a burst takes


def biased(simulation: Simulation, times: float, luck: random.Random) -> Simulation:
    """As it would be if operators gave up to so many times as many rows as they do."""

    def bias(node: Node, found: dict[Node, float]) -> float:
        if node not in found:
            own = 1.0 if isinstance(node, Scan) else luck.uniform(min(1.0, times), max(1.0, times))
            for each in node.inputs:
                own *= bias(each, found)
            found[node] = own
        return found[node]

    paths = []
    for path in simulation.paths:
        found: dict[Node, float] = {}
        paths.append(replace(path, sizes={node: max(1.0, rows * bias(node, found)) for node, rows in path.sizes.items()}))
    return Simulation(paths, simulation.tables, simulation.past)


def rates(times: float, first: int) -> Sequence[float]:
    """A burst from one slice on, and as much less at all others."""
    rest = (SLICES - times * LENGTH) / (SLICES - LENGTH)
    return tuple(times if first <= number < first + LENGTH else rest for number in range(SLICES))


class Upset(Matrix):
    """What was measured, with other cells."""

    def biases(self, name: str, constraint: float, draws: int) -> list[dict[str, Any]]:
        simulation, cells = self._simulation(name), list[dict[str, Any]]()
        if simulation is None:
            return cells
        for times in TIMES:
            for planner in COMPARED:
                runs = []
                for seed in range(draws if times != 1 else 1):
                    other = biased(simulation, times, random.Random(f"{name} {times} {seed}"))
                    if (run := self._run(name, _planned(other, constraint, planner))) is not None:
                        runs.append(run)
                cells += [_told(name, constraint, planner, {"times": times}, runs, self._batch(name))] if runs else []
        return cells

    def bursts(self, name: str, constraint: float) -> list[dict[str, Any]]:
        simulation, cells = self._simulation(name), list[dict[str, Any]]()
        if simulation is None:
            return cells
        for where, first in (("middle", (SLICES - LENGTH) // 2), ("end", SLICES - LENGTH)):
            for times in BURSTS:
                for planner in COMPARED:
                    run = self._burst(name, _planned(simulation, constraint, planner), times, first)
                    told = {"burst": times, "where": where}
                    cells += [_told(name, constraint, planner, told, [run], self._batch(name))] if run is not None else []
        return cells

    def _burst(self, name: str, paces: Paces, times: float, first: int) -> Run | None:
        key = f"{run_key(name, paces)}|{times:g} from {first}"
        if key not in self._known:
            if time.monotonic() > self._deadline:
                return None
            learned = self._known[f"{name}|learned"]
            self._keep(key, asdict(self._bench.run(name, paces, learned, rates(times, first))[0]))
        return Run(**self._known[key])

    def _batch(self, name: str) -> Run:
        return Run(**self._known[f"{name}|batch"])


def _planned(simulation: Simulation, constraint: float, planner: str) -> Paces:
    lazy = simulation.work((1,) * len(simulation.paths))
    return with_room(PLANNERS[planner], simulation, allowed(Goal(FINAL, share=constraint), lazy.final))


def _told(name: str, constraint: float, planner: str, what: dict[str, Any], runs: list[Run], batch: Run) -> dict[str, Any]:
    """The least, the mean and the most of some runs."""
    found = {
        "final": [run.final / batch.final for run in runs],
        "latency": [run.latency / batch.latency for run in runs],
        "additional": [run.total - batch.total for run in runs],
    }
    spread = {key: [round(f(values), 3) for f in (min, _mean, max)] for key, values in found.items()}
    return {"query": name, "constraint": constraint, "planner": planner, **what, **spread}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="default %(default)s")
    parser.add_argument("--engine", default="sail", help="sail (default) or spark")
    parser.add_argument("--queries", nargs="+", default=["q2", "q17"], help="default: those of the document, %(default)s")
    parser.add_argument("--constraint", type=float, default=0.2, help="default %(default)s")
    parser.add_argument("--draws", type=int, default=10, help="of wrong statistics; default %(default)s")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no other run after so many; the next call goes on")
    options = parser.parse_args()
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        deadline = time.monotonic() + 60 * options.minutes
        upset = Upset(Bench(options.engine, options.scale_factor, Path(folder)), options.engine, options.scale_factor, deadline)
        for name in options.queries:
            for cell in (*upset.biases(name, options.constraint, options.draws), *upset.bursts(name, options.constraint)):
                cells.append(cell)
                print(cell, flush=True)
    report("pace_upset", {}, details={"cells": cells})


if __name__ == "__main__":
    main()
