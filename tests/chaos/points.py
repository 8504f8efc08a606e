"""Calls at which a process can be killed: before them, while they run, or after.

Every one of them is told as it begins and ends, so that of a kill at a random instant too it is known what it has hit.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slackwater.catalog import Catalog, Lease, catalog
from slackwater.run import backup, copying, fold, folding, refresh, samples, streams
from slackwater.run.gather import Gather
from slackwater.run.warehouse import Warehouse
from slackwater.spark import Engine
from slackwater.trace import Files

POINTS: dict[str, tuple[Any, str]] = {
    "engine writes": (Engine, "write"),
    "few rows arrive": (Files, "write_few"),
    "rows are fetched": (Gather, "run"),
    "rows are taken": (Files, "write_sides"),  # those of a flush, from Spark
    "rows are written": (Files, "write_arrow"),  # by this process: fetched, taken, folded, or many that arrive
    "rows are written anew": (Files, "write_anew"),  # those with fractions that Sail wrote
    "checksums": (Files, "sealed"),
    "sync": (Files, "sync"),
    "marks of the retired": (Files, "retire"),
    "commit": (Catalog, "commit"),
    "transaction": (catalog, "_write"),  # after it, all is said and nothing committed
    "flush": (refresh, "flush"),
    "rows leave a ring": (streams, "_let_go"),
    "a sample moves": (samples, "_bring_up_to_date"),
    "fold": ((fold, folding), "write_fold"),
    "recovery": (Warehouse, "recover"),
    "sweep": (Warehouse, "_sweep"),
    "removal of files": (Files, "remove"),
    "lease": (Lease, "confirm"),
    "compaction of the catalog": (Catalog, "vacuum"),
    "copy of a file": (copying, "_copy_file"),
    "copy of the catalog": (backup, "copy_store"),
    "exchange of the catalog": (backup, "put_store"),
    "removal from a backup": (backup, "_remove_unnamed"),
}
ONLY = {"rows are taken": "spark", "rows are written anew": "sail"}  # comes by here

_WRITES = ["checksums", "sync", "commit", "commit", "transaction"]
_FOLDS = ["fold", "rows are written", "marks of the retired", "sweep", "removal of files"]
# What a statement comes by. What is peculiar to a refresh stands there more often, or it would hardly ever be hit.
REACHED = {
    "open": ["recovery", "recovery", "removal of files", "sweep", "lease"],
    "insert": ["engine writes", *_WRITES],
    "append": ["few rows arrive", "sync", "commit", "commit", "transaction"],
    "together": ["few rows arrive", "sync", "commit", "commit", "transaction"],
    "load": ["rows are written", *_WRITES],
    "passing": [
        "few rows arrive",
        *["flush", "a sample moves", "rows leave a ring", "marks of the retired"] * 2,
        "sweep",
        "removal of files",
        *_WRITES,
    ],
    "replace": ["engine writes", *_WRITES],
    "update": ["engine writes", *_WRITES],
    "delete": ["engine writes", *_WRITES],
    "merge": ["engine writes", *_WRITES],
    "refresh": [
        "flush",
        "a sample moves",
        "a sample moves",
        *["rows are fetched", "rows are taken", "rows are written anew"] * 3,
        "engine writes",
        *_FOLDS,
        *_WRITES,
    ],
    "turn": ["flush", *["rows are fetched", "rows are taken", "rows are written anew"] * 3, "engine writes", *_FOLDS, *_WRITES],
    "answer": ["flush", "rows are fetched", "rows are taken", "engine writes", *_FOLDS, *_WRITES],
    "create": ["flush", "rows are taken", "engine writes", "marks of the retired", "sweep", "removal of files", *_WRITES],
    "fold": [*_FOLDS, *_WRITES],
    "vacuum": [*_FOLDS, *_WRITES, "recovery", "compaction of the catalog", "lease"],
    "backup": ["copy of a file", "copy of the catalog", "exchange of the catalog", "removal from a backup"],
}
WHENS = ("before", "during", "after")

Tell = Callable[..., None]


@dataclass
class Armed:
    """The call that kills: the `nth` of a point from now on."""

    point: str
    when: str
    nth: int
    delay: float  # for "during": seconds after the call has begun


class Points:
    """All points of this process, watched."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.armed: Armed | None = None
        for point, (owners, name) in POINTS.items():
            for owner in owners if isinstance(owners, tuple) else (owners,):
                setattr(owner, name, self._watched(point, getattr(owner, name)))

    def _watched(self, point: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def watched(*arguments: Any, **options: Any) -> Any:
            armed = self._due(point)
            thread = threading.current_thread().name
            self._tell("enter", thread, point)
            if armed is not None and armed.when == "before":
                self._kill(armed)
            if armed is not None and armed.when == "during":
                threading.Timer(armed.delay, self._kill, [armed]).start()
            try:
                return call(*arguments, **options)
            finally:
                if armed is not None:
                    self._kill(armed)  # what was to be hit in the middle and was quicker is hit at its end
                self._tell("leave", thread, point)

        return watched

    def _due(self, point: str) -> Armed | None:
        armed = self.armed
        if armed is None or armed.point != point:
            return None
        armed.nth -= 1
        return armed if armed.nth == 0 else None

    def _kill(self, armed: Armed) -> None:
        self._tell("kill", armed.point, armed.when)
        os.killpg(os.getpgid(0), signal.SIGKILL)
