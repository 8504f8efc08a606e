"""Twenty views with goals of their own, kept by one `slackwater run` while data arrive: which goals were met.

An hour of arrivals in some minutes: orders and their lines, inserted slice by slice by a process beside it. Views ask for answers every 10
to 60 minutes of that hour, within seconds, with a share of the work, eagerly, or whenever. In the end all are compared with recomputing.

A goal that was missed is held against what could have been: if in some span of time before its deadline more had to be answered than the
span is long, whatever the order, no order could have met all of them.

    python -m bench.goals                                              Sail, SF 0.1, six minutes
    python -m bench.goals --scale-factor 0.01 --minutes 2 --views 5
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import slackwater
from bench import tpch
from bench.measure import measured, report
from bench.pace import OWN
from bench.refresh import check_answer
from slackwater.catalog import Done
from slackwater.pace.goal import FINAL
from tests.oracle import without_limit

EVERY = (10, 12, 15, 20, 30, 60)  # minutes of the hour, between answers
GOALS = ("within 2 seconds", "final work 0.5", "within 5 seconds", "batch", "within 10 seconds", "eager")
ARRIVING = ("orders", "lineitem")
HISTORY = 0.5  # of their rows are there when the hour begins
SLICES = 60


@dataclass(frozen=True)
class Job:
    """An answer that a trigger has asked for."""

    view: str
    due: float
    deadline: float
    seconds: float
    ended: float

    @property
    def is_missed(self) -> bool:
        return self.ended > self.deadline


def jobs_of(lines: list[Done], goal: float) -> list[Job]:
    return [Job(line.target, line.due or 0.0, (line.due or 0.0) + goal, line.seconds, line.at + line.seconds) for line in lines]


def could_have_been_met(missed: Job, jobs: list[Job]) -> bool:
    """Whether there is no span before its deadline in which more had to be answered than there was time for."""
    for begin in {job.due for job in jobs if job.due <= missed.due}:
        within = [job for job in jobs if job.due >= begin and job.deadline <= missed.deadline]
        if sum(job.seconds for job in within) > missed.deadline - begin:
            return False
    return True


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    place, data = folder / "warehouse", tpch.load(options.scale_factor)
    texts = {name: text for name, text in {**tpch.queries(options.scale_factor), **OWN}.items() if any(table in text for table in ARRIVING)}
    names = list(texts)[: options.views]
    seconds = 60 * options.minutes
    with slackwater.connect(place, engine=options.engine) as db:
        for name, table in tpch.TABLES.items():
            db.sql(table.create)
            rows = data[name]
            db.insert(name, rows.slice(0, int(len(rows) * HISTORY)) if name in ARRIVING else rows)
        for number, name in enumerate(names):
            every = EVERY[number % len(EVERY)] * seconds / 60
            goal = GOALS[number % len(GOALS)]
            told = db.sql(f"CREATE MATERIALIZED VIEW {name} WITH (trigger = 'every {every:g} seconds', goal = '{goal}') AS {texts[name]}")
            print(told.message, flush=True)
        db._warehouse.lend()
        command = [
            sys.executable,
            "-m",
            "slackwater.cli.main",
            "run",
            "--warehouse",
            str(place),
            "--engine",
            options.engine,
            "--wait",
            "600",
        ]
        keeper = subprocess.Popen(command, stderr=sys.stderr)
        try:
            _, cost = measured(partial(_arrive, db, data, seconds))
        finally:
            keeper.send_signal(signal.SIGTERM)
            keeper.wait()
        with db._warehouse.back(60.0):
            return _found(db, names, texts, cost.cpu)


def _arrive(db: slackwater.Session, data: dict[str, pa.Table], seconds: float) -> None:
    """Slice by slice, each when its time has come."""
    began = time.monotonic()
    for number in range(SLICES):
        with db._warehouse.back(600.0):
            for name in ARRIVING:
                rows = data[name]
                first = int(len(rows) * (HISTORY + (1 - HISTORY) * number / SLICES))
                last = int(len(rows) * (HISTORY + (1 - HISTORY) * (number + 1) / SLICES))
                db.insert(name, rows.slice(first, last - first))
        time.sleep(max(0.0, began + seconds * (number + 1) / SLICES - time.monotonic()))


def _found(db: slackwater.Session, names: list[str], texts: dict[str, str], cpu: float) -> dict[str, Any]:
    catalog = db._warehouse.catalog
    views = {name: catalog.snapshot().view(name) for name in names}
    lines = {name: catalog.history(name, due=True) for name in names}
    jobs = [job for name in names for job in jobs_of(lines[name], views[name].goal.seconds)]
    # What a share of the work is, no order of flushes changes; whether it was met is told like any other.
    shares = Counter(line.goal_met for name in names if views[name].goal.kind == FINAL for line in lines[name])
    missed = [job for job in jobs if job.is_missed]
    avoidable = [job for job in missed if could_have_been_met(job, jobs)]
    for name in names:
        of_view = [job for job in jobs if job.view == name]
        slowest = max((job.ended - job.due for job in of_view), default=0.0)
        late = sum(job.is_missed for job in of_view)
        print(f"{name:<4} {views[name].options['goal']:<18} {len(of_view):>3} answers, the slowest after {slowest:5.2f} s, {late} too late")
    db.sql("REFRESH ALL")
    for name in names:
        view, batch = db.sql(f"SELECT * FROM {name}").to_arrow(), db.recompute(name).to_arrow()
        check_answer(name, view, batch, partial(_without_limit, db, texts[name]), f"{name} at the end")
    return {
        "views": len(names),
        "answers": len(jobs),
        "missed": len(missed),
        "missed_that_could_have_been_met": len(avoidable),
        "final_work_met": shares["met"],
        "final_work_missed": shares["missed"],
        "cpu_seconds": round(cpu, 1),
    }


def _without_limit(db: slackwater.Session, text: str) -> pa.Table:
    return db.sql(without_limit(text)).to_arrow()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=0.1, help="default %(default)s")
    parser.add_argument("--minutes", type=float, default=6, help="that the hour takes (default %(default)s)")
    parser.add_argument("--views", type=int, default=20, help="default %(default)s")
    parser.add_argument("--engine", default="sail", help="sail (default) or spark")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        report("goals", run(options, Path(folder)))


if __name__ == "__main__":
    main()
