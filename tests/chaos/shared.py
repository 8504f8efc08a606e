"""A warehouse whose store is in PostgreSQL: one process writes, another waits for its lease and takes over when it dies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.chaos.process import Broken, Process, Replaced
from tests.chaos.trial import Aim, Trial

WAITING_DIES = 0.2  # of the kills hit the process that waits
HANDED_OVER = 0.3  # of the kills come after the writer has left and the other one writes


class SharedTrial(Trial):
    """Two processes at a time."""

    cannot = frozenset({"open"})  # who opens has waited: a kill while it does is that of the one that waits

    def __init__(self, seed: int, engine: str, folder: Path, store: str) -> None:
        super().__init__(seed, engine, folder)
        self.store = store
        self._elsewhere = seed % 2 == 0  # as if on two machines: the lease of one that died is free when it has expired
        self._writer: Process | None = None
        self._waiting: Process | None = None

    def run(self, kills: int, aims: list[Aim] | None = None) -> Any:
        try:
            return super().run(kills, aims)
        finally:
            for process in (self._writer, self._waiting):
                if process is not None:
                    process.end()

    def kill_once(self, aim: Aim) -> None:
        try:
            self.kill_one_of_two(aim)
        except Replaced:
            # The machine was busy for longer than the lease of a process lasts. What it was asked for last must not be there.
            self.memory.refuse()
            self.note("replaced")
            assert self._writer is not None
            self._writer.end()
            self._writer = None

    def kill_one_of_two(self, aim: Aim) -> None:
        writer = self.take_over()
        if self.luck.random() < HANDED_OVER:
            writer = self.hand_over()
        if self.luck.random() < WAITING_DIES:
            self.kill_the_waiting(writer, aim)
            return
        answered = self.work_until(writer, aim)
        self._writer = None
        writer.end()
        self.killed(self.doing, answered, writer)

    def finish(self) -> None:
        self.look(self.take_over())

    def opening(self) -> tuple[Any, ...]:
        *request, settings = super().opening()
        request[4] = "lazy"  # who waits does not know yet what will be asked of it
        self._eager = False
        return (*request, {**settings, "elsewhere": self._elsewhere})

    def take_over(self) -> Process:
        """The process that writes: the one that waited, if the last one was killed."""
        if self._writer is None and self._waiting is None:
            self._writer = self.start()
            self.prepare(self._writer)
        elif self._writer is None:
            self._writer, self._waiting = self._waiting, None
            assert self._writer is not None
            if not self._writer.answer()[0]:
                raise Broken("a process died while it took over")
            self.note("taken over")
            self.look(self._writer)
        if self._waiting is None:
            self._waiting = self.start()
            self._waiting.send(*self.opening())
        return self._writer

    def hand_over(self) -> Process:
        """The writer leaves and waits; the other one writes."""
        left, self._writer = self._writer, self._waiting
        assert left is not None and self._writer is not None
        left.ask("close")
        if not self._writer.answer()[0]:
            raise Broken("a process died while it took over")
        left.send(*self.opening())
        self._waiting = left
        self.note("handed over")
        self.look(self._writer)
        return self._writer

    def kill_the_waiting(self, writer: Process, aim: Aim) -> None:
        """Which must be nothing to the one that writes."""
        waiting, self._waiting = self._waiting, None
        assert waiting is not None
        time.sleep(self.luck.random())
        waiting.end()
        if not self.do(writer, self.draw.work(aim.kind)):
            raise Broken("a process died that was not killed")
        self.killed("wait", False, waiting)
