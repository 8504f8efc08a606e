"""What it costs to have an answer soon after its trigger: planners against each other, each run for real.

All rows of TPC-H arrive between two triggers, at a steady rate, as in Tang, Thrifty Query Processing, 3.4. A cell is a query, a constraint
and a planner: of the work that one batch would do after the trigger, only such a share may be left for it. Planners know what earlier
runs of the query took, and how many rows they had; then the loop of `slackwater run` flushes paths as they say while the rows arrive. Every
answer is compared with recomputing. Inserts are not counted, nor is the folding of tables, which are the same for all; that of paths is.
Nations and regions, of which TPC-H has as many at every scale, are there before: of 25 rows no rate is steady.

Where a goal was missed that should have been met, whoever planned it, paces are planned once more with what that run has taught, as they
are at every trigger, and the cell is what comes of that. Cells whose paces agree are run once; if the second plan is the first, the less
of both runs counts: what else the machine does only adds to a run. Tables have the columns that the query names. What is measured is kept
below bench/results, with its commit, and not measured again.

    python -m bench.pace                                                        Sail, SF 1, all queries: hours; it can be given some
    python -m bench.pace --queries q15 q17 --constraints 0.2 0.05 --minutes 30
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import slackwater
from bench import tpch
from bench.measure import RESULTS, commit, geometric_mean, report
from bench.refresh import check_answer
from slackwater.pace.goal import FINAL, Goal
from slackwater.pace.planners import PLANNERS, brute_force, greedy, with_room
from slackwater.pace.simulate import Arriving, Paces, Simulation
from slackwater.run.compiled import compiled
from slackwater.run.cpu import cpu_seconds
from slackwater.run.fold import commit_fold, due, write_fold
from slackwater.run.loop import Loop
from slackwater.run.paces import allowed, simulated
from slackwater.run.progress import Event, FlushDone
from slackwater.run.warehouse import Step
from tests.oracle import without_limit

SLICES = 100  # in which rows arrive
STEADY = (1.0,) * SLICES
INTERVAL = 600  # seconds between two triggers, where the clock tells them
CONSTRAINTS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)
COMPARED = ("greedy", "uniform", "leaf")
CHECKING = "eager"  # runs where others say that a goal cannot be met, to see whether that is so
CALIBRATED = (1, 6, 40)  # the paces of runs from which costs are learned
WARMING = 10  # the pace of one before them, of which nothing is: an engine that runs all day has compiled what it needs
TRIED = 3  # paths, up to which all paces are tried
BATCHES = 3  # runs of one batch, of which the least counts
PLANNED = 2  # times at most are paces planned for a cell
FIXED = ("nation", "region")  # do not arrive
# Those of the document that are not fully incrementable: aggregates that are joined or aggregated again, outer, semi and anti joins.
PARTLY = ("q2", "q11", "q13", "q15", "q16", "q17", "q18", "q20", "q21", "q22", "agg_join", "outer_join")
# What the document adds to TPC-H in words: an aggregate that is joined with a table, and a left join of what two equal joins give.
OWN = {
    "agg_join": """
        SELECT c_nationkey, count(*) AS customers, sum(spent) AS spent
        FROM customer JOIN (SELECT o_custkey, sum(o_totalprice) AS spent FROM orders GROUP BY o_custkey) ON c_custkey = o_custkey
        WHERE spent > 2000000 GROUP BY c_nationkey""",
    "outer_join": """
        SELECT o_orderpriority, count(*) AS orders, count(l_orderkey) AS lines, sum(l_quantity) AS quantity
        FROM orders JOIN customer ON o_custkey = c_custkey LEFT JOIN lineitem ON o_orderkey = l_orderkey AND l_shipmode = 'AIR'
        WHERE c_mktsegment = 'BUILDING' GROUP BY o_orderpriority""",
}

# How far the document's own estimates were from what came, at pace 100 (its table 3.1).
STATED = {
    "q2": -0.155, "q11": -0.286, "q13": 0.417, "q15": -0.091, "q16": -0.368,
    "q17": 0.074, "q18": -0.001, "q20": -0.034, "q21": -0.02, "q22": 0.029,
}  # fmt: skip

Learned = dict[str, dict[str, list[float]]]


@dataclass
class Run:
    """One interval between two triggers, in CPU seconds and seconds."""

    total: float  # of all flushes
    final: float  # of those after the trigger
    latency: float
    rows: dict[str, list[int]] = field(default_factory=dict)  # by path: what each flush gave
    spent: list[float] = field(default_factory=list)  # after each slice
    commit: str | None = None
    runs: int = 1  # of which this is the least


def _least(runs: Sequence[Run]) -> Run:
    least = min(runs, key=lambda run: run.total)
    final, latency = min(run.final for run in runs), min(run.latency for run in runs)
    return replace(least, final=final, latency=latency, runs=sum(run.runs for run in runs))


class _Clock:
    """The loop's."""

    def __init__(self, began: float) -> None:
        self.began = self.now = began

    def __call__(self) -> float:
        return self.now


class Bench:
    """The data, and an engine on which runs have warehouses of their own."""

    def __init__(self, engine: str, scale_factor: float, folder: Path) -> None:
        self.texts = {**tpch.queries(scale_factor), **OWN}
        self._data = tpch.generate(scale_factor)
        self._read = "", dict[str, pa.Table]()  # of the last query
        self._folder = folder
        self._keeper = slackwater.connect(folder / "keeper", engine=engine)  # the engine lives as long as this
        self.engine: Any = self._keeper._warehouse.engine.spark if engine == "sail" else engine

    def _rows(self, name: str) -> dict[str, pa.Table]:
        """Of these tables."""
        if self._read[0] != name:
            self._read = "", {}  # before there are others: both may not fit
            files = {table: self._data / f"{table.name}.parquet" for table in tpch.read_by(self.texts[name])}
            self._read = name, {table.name: pq.read_table(file, columns=table.names).cast(table.schema) for table, file in files.items()}
        return dict(self._read[1])

    def run(self, name: str, paces: Paces | None, learned: Learned, rates: Sequence[float] = STEADY) -> tuple[Run, Learned, Simulation]:
        """Let all rows arrive, at these paces (None: in one batch), with what is known of costs. What it took, and what it has taught.

        `rates`: at which they arrive, slice by slice. Where they are not all the same, nobody knows before, and the clock is the trigger.
        """
        place = self._folder / "warehouse"
        shutil.rmtree(place, ignore_errors=True)
        with slackwater.connect(place, engine=self.engine, folding="off") as db:
            tables = self._rows(name)
            for table in tpch.read_by(self.texts[name]):
                db.sql(table.create)
            there = {table: tables.pop(table) for table in FIXED if table in tables}
            for fixed, found in there.items():
                db.insert(fixed, found)
            rows = sum(map(len, tables.values()))
            trigger = f"every {rows} rows" if rates == STEADY else f"every {INTERVAL} seconds', expect = '{rows} rows"
            options = f"trigger = '{trigger}', goal = 'final work 1'"
            db.sql(f"CREATE MATERIALIZED VIEW {name} WITH ({options}) AS {self.texts[name]}")
            _teach(db, name, learned)
            run = self._arrive(db, tables, paces, rates)
            view, batch = db.sql(f"SELECT * FROM {name}").to_arrow(), db.recompute(name).to_arrow()
            check_answer(name, view, batch, partial(self._without_limit, db, name), f"{name} at {paces}")
            snapshot = db._warehouse.catalog.snapshot()
            after = snapshot.view(name)
            arriving = {table: Arriving(float(len(found))) for table, found in there.items()}
            arriving |= {table: Arriving(0.0, inserts=float(len(found))) for table, found in tables.items()}
            form = compiled(name, snapshot, db._warehouse)
            simulation = simulated(form, after, snapshot, db._warehouse, arriving=arriving)
            return run, after.learned, simulation

    def _arrive(self, db: slackwater.Session, tables: dict[str, pa.Table], paces: Paces | None, rates: Sequence[float]) -> Run:
        run = Run(0.0, 0.0, 0.0, commit=commit())
        committed: list[tuple[float, float]] = []  # of a turn

        def note(event: Event) -> None:
            if isinstance(event, FlushDone):
                run.rows.setdefault(event.path, []).append(event.added + event.removed)

        db.on_progress(note)
        clock = _Clock((time.time() // INTERVAL + 1) * INTERVAL)
        loop = Loop(db._warehouse, clock, planner=lambda simulation, most: paces or (1,) * len(simulation.paths))
        loop.turn()  # what was due before anything came
        arrived = [sum(rates[:number]) / sum(rates) for number in range(len(rates) + 1)]
        for number, (since, until) in enumerate(itertools.pairwise(arrived), start=1):
            for table, rows in tables.items():
                first, last = round(since * len(rows)), round(until * len(rows))
                if last > first:
                    db.insert(table, rows.slice(first, last - first))
            clock.now = clock.began + INTERVAL * number / len(rates)
            _fold(db, lambda name: name in tables)
            committed.clear()
            db._warehouse.on_commit.append(lambda: committed.append((_cpu(), time.monotonic())))
            began, started = _cpu(), time.monotonic()
            loop.turn()
            db._warehouse.on_commit.pop()
            _fold(db, lambda name: name not in tables)
            run.spent.append(round(_cpu() - began, 4))
        run.total = sum(run.spent)
        run.final, run.latency = committed[0][0] - began, committed[0][1] - started
        return run

    def _without_limit(self, db: slackwater.Session, name: str) -> pa.Table:
        return db.sql(without_limit(self.texts[name])).to_arrow()


def _cpu() -> float:
    return cpu_seconds() or 0.0


def _fold(db: slackwater.Session, which: Callable[[str], bool]) -> None:
    """What is worth it, among some traces."""
    warehouse = db._warehouse
    snapshot = warehouse.catalog.snapshot()
    for name, trace in snapshot.traces.items():
        for range in due(trace, snapshot) if which(name) else ():
            commit_fold(trace, range, write_fold(trace, range, warehouse), warehouse)


def _teach(db: slackwater.Session, name: str, learned: Learned) -> None:
    """Let a view know what its flushes cost."""
    with db._warehouse.writing:
        step = Step(db._warehouse)
        step.changes.put(replace(step.before.view(name), learned=learned))
        step.commit()


def _merged(found: Sequence[Learned]) -> Learned:
    """What several runs have taught: sums of the same kind add up."""
    merged: Learned = {}
    for learned in found:
        for path, ways in learned.items():
            for way, sums in ways.items():
                before = merged.setdefault(path, {}).get(way, [0.0] * len(sums))
                merged[path][way] = [a + b for a, b in zip(before, sums, strict=True)]
    return merged


class Matrix:
    """All cells: those that were measured, and the others."""

    def __init__(self, bench: Bench, engine: str, scale_factor: float, deadline: float) -> None:
        self._bench = bench
        self._deadline = deadline
        RESULTS.mkdir(exist_ok=True)
        self._file = RESULTS / f"pace-{engine}-{scale_factor:g}.json"
        self._known: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._taught: dict[str, Simulation] = {}  # by run

    def query(self, name: str, constraints: Sequence[float]) -> Iterator[dict[str, Any]]:
        """The cells of a query, as far as time allows."""
        simulation: Simulation | None = None
        for constraint in constraints:
            is_told = False
            for planner in (*COMPARED, CHECKING):
                key = f"{name}|{constraint:g}|{planner}"
                if planner == CHECKING and not is_told:
                    continue
                if key not in self._known:
                    simulation = simulation or self._simulation(name)
                    cell = self._measured(name, constraint, planner, simulation) if simulation is not None else None
                    if cell is None:
                        return
                    self._keep(key, cell)
                is_told |= self._known[key]["told_infeasible"]
                yield self._known[key]

    def _simulation(self, name: str) -> Simulation | None:
        """With all that calibration has taught. It needs a warehouse that has the paths. None: there is no time for it."""
        if time.monotonic() > self._deadline:
            return None
        if f"{name}|learned" not in self._known:
            return self._calibrate(name)
        return self._bench.run(name, None, self._known[f"{name}|learned"])[2]

    def _measured(self, name: str, constraint: float, planner: str, simulation: Simulation, times: int = 1) -> dict[str, Any] | None:
        """A cell, planned for the so many-th time."""
        batch = Run(**self._known[f"{name}|batch"])
        lazy = simulation.work((1,) * len(simulation.paths))
        began = time.perf_counter()
        most = allowed(Goal(FINAL, share=constraint), lazy.final)
        paces = with_room(PLANNERS[planner], simulation, most)
        planning = time.perf_counter() - began
        work = simulation.work(paces)
        is_told = work.final > most + 1e-9
        enough = float("inf") if is_told else constraint * batch.final
        run = batch if set(paces) == {1} else self._run(name, paces, enough, times)
        if run is None:
            return None
        if run.final > enough and times < PLANNED:
            return self._measured(name, constraint, planner, self._taught[run_key(name, paces)], times + 1)
        return {
            "query": name, "constraint": constraint, "planner": planner, "paces": paces, "planning_ms": 1000 * planning,
            "told_infeasible": is_told, "planned": times,
            "vs_brute_force": vs_brute_force(simulation, constraint * lazy.final) if planner == "greedy" else None,
            "expected": work.final / lazy.final, "expected_total": work.total / lazy.total,
            "final": run.final / batch.final, "latency": run.latency / batch.latency,
            "total": run.total, "additional": run.total - batch.total, "batch": batch.total, "commit": run.commit,
        }  # fmt: skip

    def estimate_error(self, name: str) -> float | None:
        """Of a query, at the highest pace."""
        key = f"{name}|error"
        if key not in self._known and (simulation := self._simulation(name)) is not None:
            run = self._run(name, (SLICES,) * len(simulation.paths))
            if run is not None:
                self._keep(key, estimate_error(run, simulation, SLICES))
        return self._known.get(key)

    def _run(self, name: str, paces: Paces, enough: float = float("inf"), times: int = 1) -> Run | None:
        """At some paces, once if that leaves little enough for the trigger, as other cells may have the same; or so many times."""
        key = run_key(name, paces)
        before = [Run(**self._known[key])] if key in self._known else []
        while not before or (before[0].final > enough and (before[0].runs < times or key not in self._taught)):
            if time.monotonic() > self._deadline:
                return None
            run, _, self._taught[key] = self._bench.run(name, paces, self._known[f"{name}|learned"])
            before = [_least([*before, run])]
            self._keep(key, asdict(before[0]))
        return before[0]

    def _calibrate(self, name: str) -> Simulation:
        taught: list[Learned] = []
        paths = len(self._bench.run(name, None, {})[2].paths)
        self._bench.run(name, (WARMING,) * paths, {})
        for pace in CALIBRATED:
            taught.append(self._bench.run(name, (pace,) * paths, _merged(taught))[1])
        learned = _merged(taught)
        last = [self._bench.run(name, None, learned) for _ in range(BATCHES)]
        self._known[f"{name}|batch"] = asdict(_least([run for run, _, _ in last]))
        self._keep(f"{name}|learned", learned)
        return last[-1][2]

    def _keep(self, key: str, what: object) -> None:
        self._known[key] = what
        self._file.write_text(json.dumps(self._known))


def run_key(name: str, paces: Paces) -> str:
    return f"{name}|{','.join(map(str, paces))}"


def vs_brute_force(simulation: Simulation, most: float) -> float | None:
    """How much more work the greedy search takes than the best of all paces, where all can be tried and some leave no more than that."""
    if len(simulation.paths) > TRIED:
        return None
    found, best = (simulation.work(planner(simulation, most)) for planner in (greedy, brute_force))
    return None if best.final > most else found.total / best.total if found.final <= most else float("inf")


def estimate_error(run: Run, simulation: Simulation, pace: int) -> float:
    """By how much more rows were expected of all flushes, at one pace for all paths, than they gave."""
    paces = (pace,) * len(simulation.paths)
    expected = sum(float(simulation.given(number, paces).sum()) for number in range(len(paces)))
    seen = sum(map(sum, run.rows.values()))
    return expected / seen - 1 if seen else 0.0


def figures(cells: list[dict[str, Any]], prefix: str) -> dict[str, Any]:
    """What all cells say together."""
    least: dict[tuple[str, float], float] = {}
    for cell in cells:
        key = cell["query"], cell["constraint"]
        least[key] = min(least.get(key, float("inf")), cell["final"])
    ours = [cell for cell in cells if cell["planner"] == "greedy" and cell["constraint"] < 1]
    met = [cell for cell in ours if cell["final"] <= cell["constraint"]]
    told = [
        cell
        for cell in ours
        if cell not in met and cell["told_infeasible"] and least[cell["query"], cell["constraint"]] > cell["constraint"]
    ]
    uniform = {(cell["query"], cell["constraint"]): cell for cell in cells if cell["planner"] == "uniform"}
    ratios: dict[str, list[float]] = {}
    fair: dict[str, list[float]] = {}  # where both have met the goal
    for cell in ours:  # where nobody can meet a goal, how much is spent in vain is a matter of taste
        other = uniform.get((cell["query"], cell["constraint"]))
        if other is not None and not cell["told_infeasible"] and other["additional"] > 0.01 * other["batch"]:
            ratio = max(cell["additional"], 0.01 * cell["batch"]) / other["additional"]
            ratios.setdefault(cell["query"], []).append(ratio)
            if cell["query"] in PARTLY and max(cell["final"], other["final"]) <= cell["constraint"]:
                fair.setdefault(cell["query"], []).append(ratio)
    partly = {name: geometric_mean(found) for name, found in ratios.items() if name in PARTLY}
    others = [one for name, found in ratios.items() if name not in PARTLY for one in found]
    met_by_uniform = [cell for cell in uniform.values() if cell["constraint"] < 1 and cell["final"] <= cell["constraint"]]
    return {
        f"{prefix}goals_met": round((len(met) + len(told)) / len(ours), 3) if ours else None,
        f"{prefix}told_infeasible": len(told),
        f"{prefix}cells": len(ours),
        f"{prefix}goals_met_by_uniform": round(len(met_by_uniform) / len(ours), 3) if ours else None,
        f"{prefix}additional_cpu_vs_uniform": round(geometric_mean(partly.values()), 3) if partly else None,
        f"{prefix}additional_cpu_vs_uniform_both_met": round(geometric_mean(map(geometric_mean, fair.values())), 3) if fair else None,
        f"{prefix}additional_cpu_vs_uniform_best": round(min(partly.values()), 3) if partly else None,
        f"{prefix}additional_cpu_vs_uniform_others": round(geometric_mean(others), 3) if others else None,
        f"{prefix}greedy_vs_brute_force": round(max((cell["vs_brute_force"] for cell in ours if cell["vs_brute_force"]), default=1.0), 3),
        f"{prefix}planning_ms_max": round(max((cell["planning_ms"] for cell in ours), default=0.0)),
    }


def _line(cell: dict[str, Any]) -> str:
    """A cell, for people."""
    word = "met" if cell["final"] <= cell["constraint"] else "told" if cell["told_infeasible"] else "missed"
    more = cell["batch"] * (cell["expected_total"] - 1)
    return (
        f"{cell['query']:<9} {cell['constraint']:>5g} {cell['planner']:<8} "
        f"final {cell['final']:5.2f} (expected {cell['expected']:5.2f}) {word:<6} "
        f"latency {cell['latency']:5.2f}  {cell['additional']:+7.2f} CPU-s (expected {more:+7.2f}) to {cell['batch']:.2f}  "
        f"paces {' '.join(map(str, cell['paces']))}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="default %(default)s")
    parser.add_argument("--engine", default="sail", help="sail (default) or spark")
    parser.add_argument("--queries", nargs="+", default=[*tpch.QUERIES, *OWN], help="default: all")
    parser.add_argument("--constraints", nargs="+", type=float, default=CONSTRAINTS, help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no other run after so many; the next call goes on")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        matrix = Matrix(Bench(options.engine, options.scale_factor, Path(folder)), options.engine, options.scale_factor, deadline)
        for name in options.queries:
            for cell in matrix.query(name, options.constraints):
                cells.append(cell)
                print(_line(cell), flush=True)
        errors = {name: matrix.estimate_error(name) for name in options.queries if name in STATED}
    for name, error in errors.items():
        print(f"{name:<9} rows expected at pace {SLICES}: {'not run' if error is None else f'{error:+.1%}'}, stated {STATED[name]:+.1%}")
    found = figures(cells, "" if options.engine == "spark" else f"{options.engine}_")
    found["estimate_error"] = {name: round(error, 3) for name, error in errors.items() if error is not None}
    report("pace", found, details={"cells": cells})


if __name__ == "__main__":
    main()
