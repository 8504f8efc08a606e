"""The process that is killed: it opens a warehouse and does what it is asked to, one line of JSON after the other.

Answers go to a pipe that nobody else writes to. What stands there was acknowledged: a pipe outlives those who wrote to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import slackwater
import tests.as_if_many  # noqa: F401
from slackwater.catalog import Snapshot, lease
from slackwater.catalog.store_file import FILE
from slackwater.pace.planners import eager
from slackwater.run import fold, folding, tables, warehouse
from slackwater.run.backup import backup
from slackwater.run.check import check
from slackwater.run.loop import Loop
from slackwater.trace import ranges, write
from tests.chaos.model import PASSED, SCRATCH, TABLES, VIEWS
from tests.chaos.points import Armed, Points
from tests.chaos.work import FEW

WAIT = 120.0  # for the other process
KEPT = tuple(name for name in TABLES if name not in PASSED)


class Worker:
    """An engine, and a warehouse that is open or not."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._telling = threading.Lock()
        self._points = Points(self.tell)
        self._db: slackwater.Session | None = None
        self._place: tuple[Path, str | None] = (Path(), None)

    def tell(self, *said: Any) -> None:
        line = memoryview((json.dumps(said) + "\n").encode())
        with self._telling:
            while line:
                line = line[os.write(self._pipe, line) :]

    def serve(self) -> None:
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            try:
                self.tell("done", getattr(self, name)(*arguments))
            except Exception as problem:
                self.tell("failed", f"{type(problem).__name__}: {problem}")

    def open(self, path: str, store: str | None, engine: str, schedule: str, settings: dict[str, Any]) -> None:
        """`settings`: how long retired files stay, up to which size a trace is folded without the engine, when it is folded, whether
        others take this for a process of another machine."""
        warehouse.GRACE, fold.SMALL, ranges.BATCHES, folding.PAUSE = settings["grace"], settings["small"], 2, 0.0
        vars(tables)["FEW"] = write.ROWS = FEW
        lease.ASKED_EVERY = 0.1
        if settings["elsewhere"]:
            lease.LASTS, lease.RENEWED_EVERY = 6.0, 1.0
            lease._machine = lambda: f"machine {os.getpid()}"
        self._place = Path(path), store
        wait = WAIT if store else 0.0
        self._db = slackwater.connect(path, engine=engine, store=store, schedule=schedule, wait=wait, folding=settings["folding"])
        self._loop = Loop(self._db._warehouse, planner=eager)  # which flushes at every turn

    def close(self) -> None:
        self.db.close()

    @property
    def db(self) -> slackwater.Session:
        assert self._db is not None
        return self._db

    def arm(self, point: str, when: str, nth: int, delay: float) -> None:
        self._points.armed = Armed(point, when, nth, delay)

    def sql(self, text: str) -> str:
        return self.db.sql(text).message

    def insert(self, table: str, rows: list[list[Any]]) -> str:
        return self.db.insert(table, [tuple(row) for row in rows]).message

    def together(self, table: str, parts: list[list[list[Any]]]) -> None:
        """Each part by a thread of its own, and told as it is done."""

        def insert(number: int) -> None:
            self.insert(table, parts[number])
            self.tell("part", number)

        with ThreadPoolExecutor(len(parts)) as threads:
            list(threads.map(insert, range(len(parts))))

    def backup(self) -> str:
        return str(backup(*self._place, self._backup, lambda event: None))

    def turn(self) -> None:
        self._loop.turn()

    def answer(self) -> None:
        self.db.sql("MARK loaded")
        self._loop.turn()

    def fold(self) -> int:
        return fold.fold_all(self.db._warehouse)

    def look(self) -> dict[str, Any]:
        """All that there is: as it was found, and once every view is up to date."""
        with self.db._warehouse.folding:  # for who reads meanwhile, what was folded away stays for a minute, but not here
            found = {"tables": _rows(self.db, KEPT) | _passed(self.db), "answers": _rows(self.db, VIEWS)}
            self.db.sql("REFRESH ALL")
            refreshed = _rows(self.db, VIEWS)
            scratch = {view: [list(row) for row in self.db.recompute(view)] for view in SCRATCH}
        path, store = self._place
        problems = check(path, store, False, lambda event: None).problems
        copied = None
        if (self._backup / FILE).exists():
            problems += check(self._backup, None, False, lambda event: None).problems
            with slackwater.connect(self._backup, engine=self.db.spark, read_only=True) as db:
                copied = _rows(db, KEPT)
        left = {"orphans": self._orphans(), "problems": problems, "backup": copied}
        return {**found, "refreshed": refreshed, "scratch": scratch, **left}

    @property
    def _backup(self) -> Path:
        return self._place[0].with_name("backup")

    def _orphans(self) -> list[str]:
        """Files that nobody needs, once those that were retired have had their time: it begins when a fold under way has ended."""
        left, since = self._left(), time.monotonic()
        while left and time.monotonic() < since + 2 * warehouse.GRACE + 5.0:
            time.sleep(0.05)
            before, left = left, self._left()
            since = since if left == before else time.monotonic()
        return left

    def _left(self) -> list[str]:
        opened = self.db._warehouse
        with opened.folding, opened.writing:
            snapshot = opened.catalog.snapshot()
            left = opened.files.orphans((trace.name, batch.step) for trace in snapshot.traces.values() for batch in trace.batches)
            return [*left, *self._unnamed(snapshot, left)]

    def _unnamed(self, snapshot: Snapshot, orphans: list[str]) -> list[str]:
        """Files of rows in folders that are real, which no batch names. Engines leave empty ones there."""
        root = self.db._warehouse.files.root
        named = {file.path for file in snapshot.files}
        found = []
        for path in (root / "traces").rglob("*.parquet"):
            if str(path.relative_to(root)) not in named and not any(str(path).startswith(orphan) for orphan in orphans):
                with contextlib.suppress(FileNotFoundError):
                    if pq.read_metadata(path).num_rows:
                        found.append(str(path))
        return found


def _rows(db: slackwater.Session, names: Iterable[str]) -> dict[str, list[list[Any]]]:
    return {name: [list(row) for row in db.sql(f"SELECT * FROM {name}")] for name in names}


def _passed(db: slackwater.Session) -> dict[str, list[list[Any]]]:
    """All rows that ever came to streams."""
    views = _rows(db, PASSED.values())
    return {stream: [row for *row, count in views[view] for _ in range(count)] for stream, view in PASSED.items()}


if __name__ == "__main__":
    Worker(int(sys.argv[1])).serve()
