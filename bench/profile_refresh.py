"""Where the CPU seconds of a refresh go: statement by statement, phase by phase, and by the threads that spend them.

    make profile-refresh QUERY=17
    python -m bench.profile_refresh --query q17 --mix random:0.01 --scale-factor 0.1 --plans

Spark alone is looked into, through its JVM; on Sail, and of what Sail runs beside Spark, only the statements are timed.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.measure import Cost, measured, thread_seconds
from bench.refresh import Bench

PHASES = ("analysis", "optimization", "planning")


@dataclass
class Statement:
    """One statement of a refresh, as Spark accounts for it. Seconds, except where the name says otherwise."""

    name: str
    characters: int
    cost: Cost = Cost(0, 0)
    phases: dict[str, float] = field(default_factory=dict)
    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    task_cpu: float = 0.0
    read_bytes: int = 0
    read_rows: int = 0
    plan: str = ""
    text: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        scans, broadcasts = self.plan.count("FileScan"), self.plan.count("BroadcastExchange")
        return (
            self.name, f"{self.cost.cpu:.2f}", f"{self.cost.seconds:.2f}", *(f"{self.phases.get(phase, 0):.2f}" for phase in PHASES),
            f"{self.task_cpu:.2f}", str(self.jobs), str(self.stages), str(self.tasks), str(scans), str(broadcasts),
            f"{self.read_rows:,}", f"{self.read_bytes / 2**20:.1f}", str(self.characters),
        )  # fmt: skip


HEADER = (
    "flush", "cpu", "wall", *PHASES, "task cpu", "jobs", "stages", "tasks", "scans", "broadcasts", "rows read", "MB read", "characters",
)  # fmt: skip


class Profiler:
    """Stands between the engine and its session, and writes down every flush: what Spark writes, and the few rows that it hands over.

    Of flushes that Sail runs beside it, too; what those cost in other processes is counted with them.
    """

    def __init__(self, engine: Any) -> None:
        self.spark = engine.spark
        self.statements: list[Statement] = []
        self._write, self._few = engine.write, engine.few
        engine.write, engine.few = self.write, self.few
        if engine.beside is not None:
            self._exactly = engine.beside.exactly
            engine.beside.exactly = self.exactly

    def write(self, statement: str, directory: str, files: Any) -> None:
        self._run(statement, lambda: self._write(statement, directory, files))

    def few(self, statement: str, columns: Any) -> Any:
        if not hasattr(self.spark, "_jsparkSession"):
            return self._few(statement, columns)
        return self._run(statement, lambda: self._few(statement, columns))

    def exactly(self, statement: str, columns: Any, most: int) -> Any:
        found = Statement(f"{len(self.statements) + 1} (sail)", len(statement), text=statement)
        self.statements.append(found)
        result, found.cost = measured(lambda: self._exactly(statement, columns, most))
        return result

    def _run(self, statement: str, work: Callable[[], Any]) -> Any:
        found = Statement(str(len(self.statements) + 1), len(statement))
        self.statements.append(found)
        if not hasattr(self.spark, "_jsparkSession"):
            result, found.cost = measured(work)
            return result
        group = f"profile-{time.monotonic_ns()}"
        self.spark.sparkContext.setJobGroup(group, found.name)
        execution = self.spark.sql(statement)._jdf.queryExecution()
        execution.executedPlan()  # planned once more when it is run: the phases are told apart here, the cost is that of running it
        result, found.cost = measured(work)
        for name in PHASES:
            phase = execution.tracker().phases().get(name)
            if phase.isDefined():
                found.phases[name] = phase.get().durationMs() / 1000
        found.plan, found.text = execution.executedPlan().toString(), statement
        self._count(found, group)
        return result

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
    parser.add_argument("--query", default="q3", help="q1 to q22, or numbers, with commas between (default %(default)s)")
    parser.add_argument("--engine", default="spark")
    parser.add_argument("--scale-factor", type=float, default=1)
    parser.add_argument("--mix", default="rf:0.001", help="kind:share, as in bench.refresh (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=4, help="rounds before those that are shown (default %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds whose threads are shown, before the statements of one (default %(default)s)"
    )
    parser.add_argument("--plans", action="store_true", help="print every statement and the engine's plan of it")
    parser.add_argument("--python", action="store_true", help="also print where this process spends its time")
    options = parser.parse_args()
    names = [name if name.startswith("q") else f"q{name}" for name in options.query.split(",")]
    with tempfile.TemporaryDirectory(prefix="slackwater-profile-") as folder:
        bench = Bench(options.engine, options.scale_factor, names, Path(folder))
        try:
            for number in range(options.warm_up):
                bench.change(options.mix)
                for name in names:
                    refresh, recompute = bench.both(name, refresh_first=number % 2 == 0)
                    print(f"warming up {name}: refresh {refresh.cpu:.2f} CPU-s ({refresh.seconds:.2f} s), recompute {recompute.cpu:.2f}")
            for _ in range(options.rounds):
                bench.change(options.mix)
                for name in names:
                    before = thread_seconds()
                    _show_threads(name, bench.refresh(name), before, thread_seconds())
            bench.change(options.mix)
            profiler = Profiler(bench.db._warehouse.engine)
            for name in names:
                profiler.statements.clear()
                python = cProfile.Profile()
                total = python.runcall(bench.refresh, name)
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
        print(f"\n-- {statement.name}\n{statement.text}\n{statement.plan}")


def _show_threads(name: str, total: Cost, before: dict[str, float], after: dict[str, float]) -> None:
    spent = {name: seconds - before.get(name, 0) for name, seconds in after.items()}
    told = ", ".join(f"{name} {seconds:.2f}" for name, seconds in sorted(spent.items(), key=lambda each: -each[1]) if seconds >= 0.02)
    print(f"{name}: {total.cpu:.2f} CPU-s ({total.seconds:.2f} s), by threads: {told}", flush=True)


if __name__ == "__main__":
    main()
