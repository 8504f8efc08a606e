"""Progress is events. Terminal, server and logs only listen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """Something that has begun or ended."""


@dataclass(frozen=True)
class FlushStarted(Event):
    view: str
    path: str
    number: int
    of: int

    def __str__(self) -> str:
        return f"flushing path {self.number} of {self.of} of {self.view}"


@dataclass(frozen=True)
class FlushDone(Event):
    view: str
    path: str
    added: int
    removed: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.path}: {self.added} rows added, {self.removed} removed, {self.seconds:.2f} s"


@dataclass(frozen=True)
class Answered(Event):
    """A trigger has asked for an answer, and it is there. `goal`: seconds that it had."""

    view: str
    latency: float
    goal: float
    failed: bool = False

    def __str__(self) -> str:
        late = "" if self.latency <= self.goal else f", {self.latency - self.goal:.2f} s too late"
        return f"{self.view}: {'failed' if self.failed else 'answered'} {self.latency:.2f} s after its trigger{late}"


@dataclass(frozen=True)
class Working(Event):
    what: str

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class FileDone(Event):
    """One more file was checked or copied."""

    verb: str
    number: int
    of: int
    bytes: int
    of_bytes: int

    def __str__(self) -> str:
        return f"{self.verb} file {self.number} of {self.of}, {in_words(self.bytes)} of {in_words(self.of_bytes)}"


def in_words(bytes: float) -> str:
    """A size for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if bytes < 1024:
            return f"{bytes:.0f} bytes" if unit == "bytes" else f"{bytes:.1f} {unit}"
        bytes /= 1024
    return f"{bytes:.1f} TiB"


Listener = Callable[[Event], None]
