"""Starting, asking and killing the processes that work."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 600.0  # seconds in which everything must have been answered, on a machine that may be busy with something else


class Broken(Exception):
    """A process said or did what it must not."""


class Replaced(Broken):
    """A process was told that another one writes now: it was asleep for longer than its lease lasts."""


class Process:
    """A worker in a group of its own, and where it stood when it was last heard of."""

    def __init__(self, log: Path) -> None:
        here, there = os.pipe()
        command = [sys.executable, "-m", "tests.chaos.worker", str(there)]
        with open(log, "ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                pass_fds=[there],
                start_new_session=True,
                cwd=ROOT,
                env=_settings(),
            )
        os.close(there)
        self._pipe, self._heard = here, b""
        self._inside: dict[str, list[str]] = {}  # by thread
        self.parts: list[int] = []  # of what it was asked for last, those that it has acknowledged
        self.killed_at: tuple[str, str] | None = None

    def ask(self, *request: Any, kill_after: float | None = None) -> tuple[bool, Any]:
        """Whether it answered, and what. It may be killed meanwhile, by itself or after some seconds."""
        self.send(*request)
        return self.answer(kill_after)

    def send(self, *request: Any) -> None:
        assert self._process.stdin is not None
        self.parts = []
        with suppress(BrokenPipeError):
            self._process.stdin.write((json.dumps(request) + "\n").encode())
            self._process.stdin.flush()

    def answer(self, kill_after: float | None = None) -> tuple[bool, Any]:
        deadline = time.monotonic() + PATIENCE
        shot = None if kill_after is None else time.monotonic() + kill_after
        while True:
            until = min(deadline, shot) if shot is not None else deadline
            line = self._line(max(0.0, until - time.monotonic()))
            if line == b"":
                return False, None
            if line is None:
                if shot is None or time.monotonic() < shot:
                    raise Broken("a process does not answer")
                self.shoot()
                shot = None
                continue
            kind, *said = json.loads(line)
            if kind == "done":
                return True, said[0]
            if kind == "failed" and said[0].startswith("LeaseLost"):
                raise Replaced(said[0])
            if kind == "failed":
                raise Broken(f"a statement failed: {said[0]}")
            self._note(kind, said)

    @property
    def phase(self) -> tuple[str, str]:
        """What it was doing when it ended: the innermost call, and whether the kill was before, during or after it."""
        if self.killed_at is not None:
            return self.killed_at
        inside = next((calls for thread, calls in self._inside.items() if calls and thread == "MainThread"), None)
        inside = inside or next((calls for calls in self._inside.values() if calls), None)
        return (inside[-1], "at random") if inside else ("between calls", "at random")

    def shoot(self) -> None:
        """SIGKILL for all of the group."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """See that nothing of it is left: a JVM may need a moment to be gone."""
        self.shoot()
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        os.close(self._pipe)
        for _ in range(600):
            if not _alive(self._process.pid):
                return
            time.sleep(0.05)
        raise Broken("a process does not die")

    def _note(self, kind: str, said: list[Any]) -> None:
        if kind == "part":
            self.parts.append(said[0])
        elif kind == "kill":
            self.killed_at = (said[0], said[1])
        elif kind == "enter":
            self._inside.setdefault(said[0], []).append(said[1])
        else:
            self._inside[said[0]].pop()

    def _line(self, seconds: float) -> bytes | None:
        """The next line; None after these seconds without one, and b"" when there will be none. What was cut short was not said."""
        until = time.monotonic() + seconds
        while b"\n" not in self._heard:
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            piece = os.read(self._pipe, 1 << 16)
            if not piece:
                return b""
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        return line


def _alive(group: int) -> bool:
    """Whether a process of the group is more than an entry that nobody has collected."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state not in "ZX":
                return True
    return False


def _settings() -> dict[str, str]:
    # A JVM that is killed within the minute compiles much and runs it once.
    return {**os.environ, "PYTHONPATH": str(ROOT), "RUST_LOG": "off", "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
