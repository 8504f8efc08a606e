"""Where the CPU seconds of a refresh go: statement by statement, phase by phase.

    make profile-refresh QUERY=17
    python -m bench.profile_refresh --query q17 --mix random:0.01 --scale-factor 0.1 --plans

Spark alone is looked into, through its JVM; on Sail only the statements are timed.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import Cost, measured
from bench.refresh import Bench

PHASES = ("analysis", "optimization", "planning")


@dataclass
class Statement:
    """One statement of a refresh, as Spark accounts for it. Seconds, except where the name says otherwise."""

    path: str
    characters: int
    cost: Cost
    phases: dict[str, float]
    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    task_cpu: float = 0.0
    read_bytes: int = 0
    read_rows: int = 0
    plan: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        scans, broadcasts = self.plan.count("FileScan"), self.plan.count("BroadcastExchange")
        return (
            self.path, f"{self.cost.cpu:.2f}", f"{self.cost.seconds:.2f}", *(f"{self.phases.get(phase, 0):.2f}" for phase in PHASES),
            f"{self.task_cpu:.2f}", str(self.jobs), str(self.stages), str(self.tasks), str(scans), str(broadcasts),
            f"{self.read_rows:,}", f"{self.read_bytes / 2**20:.1f}", str(self.characters),
        )  # fmt: skip


HEADER = (
    "path", "cpu", "wall", *PHASES, "task cpu", "jobs", "stages", "tasks", "scans", "broadcasts", "rows read", "MB read", "characters",
)  # fmt: skip


class Profiler:
    """Stands between the engine and its session, and writes down every flush."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.spark = engine.spark
        self.statements: list[Statement] = []
        self._write = engine.write
        engine.write = self.write

    def write(self, statement: str, directory: str) -> None:
        path = Path(directory).parent.name.replace("%2F", "/")
        if not hasattr(self.spark, "_jsparkSession"):
            _, cost = measured(lambda: self._write(statement, directory))
            self.statements.append(Statement(path, len(statement), cost, {}))
            return
        group = f"profile-{time.monotonic_ns()}"
        context = self.spark.sparkContext
        context.setJobGroup(group, path)
        execution = self.spark.sql(statement)._jdf.queryExecution()
        execution.executedPlan()  # planned once more by the write: the phases are told apart here, the cost counts the write alone
        _, cost = measured(lambda: self._write(statement, directory))
        phases = {}
        for name in PHASES:
            phase = execution.tracker().phases().get(name)
            if phase.isDefined():
                phases[name] = phase.get().durationMs() / 1000
        found = Statement(path, len(statement), cost, phases, plan=execution.executedPlan().toString())
        self._count(found, group)
        self.statements.append(found)

    def _count(self, found: Statement, group: str) -> None:
        """What the status store has of the statement's jobs; it works without the web page."""
        tracker, store = self.spark.sparkContext.statusTracker(), self.spark._jsc.sc().statusStore()
        time.sleep(0.3)  # the store hears of the last tasks a moment after they have ended
        stages = {stage for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds}
        found.jobs = len(tracker.getJobIdsForGroup(group))
        for stage in stages:
            facts = store.lastStageAttempt(stage)
            if str(facts.status()) == "COMPLETE":
                found.stages += 1
                found.tasks += facts.numCompleteTasks()
                found.task_cpu += facts.executorCpuTime() / 1e9
                found.read_bytes += facts.inputBytes()
                found.read_rows += facts.inputRecords()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--query", default="q3", help="q1 to q22, or its number (default %(default)s)")
    parser.add_argument("--engine", default="spark")
    parser.add_argument("--scale-factor", type=float, default=1)
    parser.add_argument("--mix", default="rf:0.001", help="kind:share, as in bench.refresh (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=4, help="rounds before the one that is shown (default %(default)s)")
    parser.add_argument("--plans", action="store_true", help="print the engine's plan of every statement")
    parser.add_argument("--python", action="store_true", help="also print where this process spends its time")
    options = parser.parse_args()
    name = options.query if options.query.startswith("q") else f"q{options.query}"
    with tempfile.TemporaryDirectory(prefix="slackwater-profile-") as folder:
        bench = Bench(options.engine, options.scale_factor, [name], Path(folder))
        try:
            for number in range(options.warm_up):
                bench.change(options.mix)
                refresh, recompute = bench.both(name, refresh_first=number % 2 == 0)
                print(f"warming up: refresh {refresh.cpu:.2f} CPU-s ({refresh.seconds:.2f} s), recompute {recompute.cpu:.2f}", flush=True)
            bench.change(options.mix)
            profiler = Profiler(bench.db._warehouse.engine)
            python = cProfile.Profile()
            python.enable()
            total = bench.refresh(name)
            python.disable()
            _show(name, total, profiler.statements, options.plans)
            if options.python:
                pstats.Stats(python).sort_stats("cumulative").print_stats(40)
        finally:
            bench.db.close()


def _show(name: str, total: Cost, statements: list[Statement], plans: bool) -> None:
    rows = [HEADER, *(statement.row for statement in statements)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADER))]
    for row in rows:
        print("  ".join((row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)))))
    inside = sum(statement.cost.seconds for statement in statements)
    print(f"{name}: {len(statements)} statements took {inside:.2f} s, the whole refresh {total.seconds:.2f} s with the profiler's own work")
    for statement in statements if plans else ():
        print(f"\n-- {statement.path}\n{statement.plan}")


if __name__ == "__main__":
    main()
