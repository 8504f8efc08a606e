"""Many random cases, several at a time, and a report."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.batch import Batch, open_engine
from tests.cases import write
from tests.fuzz.shrink import shrink
from tests.fuzz.trial import Outcome, Trial, attempt, draw

MOST_SKIPPED = 0.10
STRETCH = 50  # cases that an engine serves before another one is started: Sail keeps a few megabytes of each


@dataclass
class Report:
    """What a stretch of seeds gave."""

    kinds: Counter[str] = field(default_factory=Counter)
    skips: Counter[str] = field(default_factory=Counter)
    full: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    views: int = 0

    def add(self, other: Report) -> None:
        self.kinds += other.kinds
        self.skips += other.skips
        self.full += other.full
        self.failures += other.failures
        self.views += other.views


def work(task: tuple[str, range, int]) -> Report:
    """Run some seeds on an engine of this process."""
    engine, seeds, tries = task
    report = Report()
    with open_engine(engine) as spark:
        for seed in seeds:
            _one(seed, spark, engine, tries, report)
    return report


def _one(seed: int, spark: Any, engine: str, tries: int, report: Report) -> None:
    trial = draw(seed, engine)
    outcome = attempt(trial, spark, engine)
    report.kinds[outcome.kind] += 1
    report.views += len(trial.case.views)
    if outcome.kind == "skipped":
        report.skips[outcome.summary] += 1
    if outcome.kind == "full":
        report.full[outcome.summary] += 1
    if outcome.failed:
        text = describe(seed, trial, outcome, spark, engine, tries)
        report.failures.append(text)
        print(text, flush=True)


def describe(seed: int, trial: Trial, outcome: Outcome, spark: Any, engine: str, tries: int) -> str:
    """A failing seed as a small case file, with what went wrong."""
    small = shrink(trial, outcome, lambda candidate: attempt(candidate, spark, engine), tries) if tries else trial
    again = attempt(small, spark, engine)
    kind = f"{outcome.kind}, but not when it is run again"
    if again.failed:
        kind, outcome = again.kind, again
    case = small.case
    with contextlib.suppress(Exception):
        case = Batch(spark, engine).answer(case)
    case = replace(
        case, headers={"title": f"seed {seed}, schedule {small.schedule}{', views created after the first step' if small.late else ''}"}
    )
    return f"\n==== seed {seed} is {kind}\n{outcome.reason}\n---- as a case file\n{write(case)}"


def main(arguments: Iterable[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description="random cases against recomputation")
    options.add_argument("--engine", default="sail", choices=["sail", "spark"])
    options.add_argument("--cases", type=int, help="how many (default: 2000 on sail, 200 on spark)")
    options.add_argument("--seed", type=int, default=1, help="the first seed; the others follow it")
    options.add_argument("--jobs", type=int, help="processes, each with an engine of its own (default: the cores on sail, 1 on spark)")
    options.add_argument("--tries", type=int, default=400, help="attempts to make a failing case smaller; 0 prints it as it is")
    chosen = options.parse_args(list(arguments) if arguments is not None else None)
    cases = chosen.cases or (2000 if chosen.engine == "sail" else 200)
    jobs = min(cases, chosen.jobs or ((os.cpu_count() or 1) if chosen.engine == "sail" else 1))
    began = time.time()
    report = Report()
    share = min(STRETCH, -(-cases // jobs))
    last = chosen.seed + cases
    tasks = [(chosen.engine, range(start, min(start + share, last)), chosen.tries) for start in range(chosen.seed, last, share)]
    # A server that was started in this process does not survive a fork.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        for part in pool.imap_unordered(work, tasks):
            report.add(part)
            print(f"... {sum(report.kinds.values())} of {cases}: {dict(report.kinds)}", flush=True)
    return conclude(report, cases, time.time() - began)


def conclude(report: Report, cases: int, seconds: float) -> int:
    """Print what was found; 0 only if nothing was wrong."""
    ended = ", ".join(f"{count} {kind}" for kind, count in report.kinds.most_common())
    print(f"\n{cases} cases, {report.views} views in {seconds:.0f} s: {ended}")
    for title, counts in (("skipped", report.skips), ("full", report.full)):
        for reason, count in counts.most_common(12):
            print(f"  {title} {count:4}  {reason}")
    too_many = report.kinds["skipped"] > MOST_SKIPPED * cases
    if too_many:
        print(f"more than {MOST_SKIPPED:.0%} were skipped")
    return 1 if report.failures or report.kinds["full"] or too_many else 0
