"""One warehouse, and the processes that are killed over it.

The process that works next is the one that judges what the last one left: opening the warehouse is the recovery.
"""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.model import SAMPLES, TABLES, VIEWS, create_view
from tests.chaos.points import ONLY, REACHED, WHENS
from tests.chaos.process import Broken, Process
from tests.chaos.verdict import Finding, Memory
from tests.chaos.work import Draw, Work

TIMED = 0.35  # of the kills are at a random instant, the others at a call
TRIES = 3  # to hit what was aimed at
WARM_UP = {"sail": 3, "spark": 1}  # statements before that, at most; on Spark one takes seconds
ANSWERED = ("after the answer", "at random")


@dataclass(frozen=True)
class Aim:
    """When to kill: at a call, or some seconds after a statement was begun."""

    kind: str  # of the statement
    point: str | None
    when: str
    nth: int
    fraction: float  # of the time that such a statement takes, or of the longest delay within a call

    @property
    def delay(self) -> float:
        return 0.02 * self.fraction


@dataclass(frozen=True)
class Run:
    """One kill."""

    kind: str
    point: str
    when: str


@dataclass
class Outcome:
    """What became of a warehouse."""

    runs: list[Run] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)


class Trial:
    """A warehouse with one process at a time."""

    store: str | None = None
    cannot: frozenset[str] = frozenset()  # what such a warehouse is not asked for

    def __init__(self, seed: int, engine: str, folder: Path) -> None:
        self.luck = random.Random(f"{engine} {seed}")
        self.engine = engine
        self.folder = folder
        self.draw = Draw(self.luck, self.cannot)
        self.memory = Memory()
        self.outcome = Outcome()
        self._eager = False
        self._took: dict[str, float] = {}
        self._prepared = False
        self.doing = "nothing"

    def run(self, kills: int, aims: list[Aim] | None = None) -> Outcome:
        """Kill so many processes, and judge what the last one left. Stops at the first thing that must not be."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        try:
            while len(self.outcome.runs) < kills and not self.outcome.findings:
                self.kill_once(aims[len(self.outcome.runs)] if aims else self.aim())
            if not self.outcome.findings:
                self.finish()
        except Broken as problem:
            self.outcome.findings.append(Finding("broken", str(problem)))
        return self.outcome

    def kill_once(self, aim: Aim) -> None:
        process = self.start()
        try:
            if aim.kind == "open":
                if not self._prepared:
                    self.prepare(process)
                    process.ask("close")
                self.arm(process, aim)
                answered, _ = process.ask(*self.opening(), kill_after=self.seconds(aim))
            else:
                self.open(process)
                answered = self.work_until(process, aim)
        finally:
            process.end()
        self.killed("open" if aim.kind == "open" else self.doing, answered, process)

    def finish(self) -> None:
        process = self.start()
        try:
            self.open(process)
        finally:
            process.end()

    def aim(self) -> Aim:
        kind = self.luck.choice([kind for kind in REACHED if kind not in self.cannot])
        points = [point for point in REACHED[kind] if ONLY.get(point, self.engine) == self.engine]
        point = None if self.luck.random() < (TIMED if kind != "open" else 0.1) else self.luck.choice(points)
        nth = 1 if kind == "open" else self.luck.choices([1, 2, 3], [6, 3, 1])[0]  # little is left to be done when one opens
        return Aim(kind, point, self.luck.choice(WHENS), nth, self.luck.random())

    # What processes are asked to do.

    def start(self) -> Process:
        return Process(self.folder / "log.txt")

    def opening(self) -> tuple[Any, ...]:
        schedule = self.luck.choices(["lazy", "eager", "random"], [4, 1, 1])[0]
        self._eager = schedule == "eager"
        settings = {
            "grace": self.luck.choice([0.0, 0.3]),
            "small": self.luck.choice([4 << 20, 1]),
            "folding": self.luck.choice(["refresh", "background"]),
            "elsewhere": False,
        }
        self.note(f"open, {schedule}, {settings}")
        return "open", str(self.folder / "warehouse"), self.store, self.engine, schedule, settings

    def open(self, process: Process) -> None:
        if not self._prepared:
            self.prepare(process)
            return
        process.ask(*self.opening())
        self.look(process)

    def prepare(self, process: Process) -> None:
        process.ask(*self.opening())
        for text in (*TABLES.values(), *SAMPLES.values(), *map(create_view, VIEWS)):
            process.ask("sql", text)
        for kind in ("insert", "append", "passing", "replace", "merge", "refresh"):
            self.do(process, self.draw.work(kind))
        self._prepared = True

    def look(self, process: Process) -> None:
        """Judge what is there."""
        answered, seen = process.ask("look")
        if not answered:
            raise Broken("a process died while it looked")
        found = self.memory.compare(seen)
        self.outcome.findings += found
        self.note(*(f"FOUND {each.kind}: {each.text}" for each in found))
        if found:
            raise Broken("the run before this one left what must not be")

    def work_until(self, process: Process, aim: Aim) -> bool:
        """Some statements, and the one that is to be hit; whether that was answered."""
        for _ in range(self.luck.randint(0, WARM_UP[self.engine])):
            if not self.do(process, self.draw.any()):
                raise Broken("a process died that was not killed")
        self.arm(process, aim)
        for _ in range(TRIES):
            if not self.do(process, self.draw.work(aim.kind), self.seconds(aim)):
                return False
            # It has not come by: perhaps there was nothing to fold yet.
            for kind in ("append", "update", "refresh"):
                if not self.do(process, self.draw.work(kind)):
                    return False
        return True

    def arm(self, process: Process, aim: Aim) -> None:
        self.note(f"aim at {aim}")
        if aim.point is not None:
            process.ask("arm", aim.point, aim.when, aim.nth, aim.delay)

    def seconds(self, aim: Aim) -> float | None:
        return self._took.get(aim.kind, 0.5) * 1.1 * aim.fraction if aim.point is None else None

    def do(self, process: Process, work: Work, kill_after: float | None = None) -> bool:
        """Ask for a statement; whether it was answered."""
        self.note(f"{work.kind}: {work.request}")
        self.memory.begin(work)
        self.doing = work.kind
        began = time.monotonic()
        try:
            answered, said = process.ask(*work.request, kill_after=kill_after)
        finally:
            self.memory.hear(process.parts)
        if answered:
            self._took[work.kind] = time.monotonic() - began
            self.memory.acknowledge(work, self._eager)
            self.note(f"  answered: {said}")
        return answered

    def killed(self, kind: str, answered: bool, process: Process) -> None:
        point, when = ANSWERED if answered else process.phase
        self.outcome.runs.append(Run(kind, point, when))
        self.note(f"  killed in {kind}, {when} {point}")

    def note(self, *lines: str) -> None:
        self.outcome.journal += lines
