"""Folding in the background: one thread of a session that writes folds what has become worth it.

A commit only notes that there may be something. The thread takes one fold after the other, the smallest first, and rests after each in
proportion to the time it took, so that all of them together take a set share of one core. Nobody waits for it but VACUUM.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time

from slackwater.errors import QueryError, SlackwaterError, did_you_mean
from slackwater.run.fold import commit_fold, due, write_fold
from slackwater.run.progress import Working
from slackwater.run.warehouse import Warehouse
from slackwater.trace import Batch, Range, Trace

FOLDING = ("background", "refresh", "off")
SHARE = 0.25  # of one core
PAUSE = 0.2  # seconds: what is committed shortly after is folded together
AGAIN = 60.0  # seconds after which a fold that has failed is tried again, if nothing changed
PATIENCE = 5.0  # seconds that closing waits for a fold; what it leaves then, the next opening removes


def folding_named(name: str) -> str:
    if name not in FOLDING:
        raise QueryError(f'there is no folding "{name}"', hint=did_you_mean(name, FOLDING) or f"there are: {', '.join(FOLDING)}")
    return name


def fold_when(folding: str, warehouse: Warehouse) -> None:
    """Have a warehouse folded: in the "background", at the end of each "refresh", or not at all but by VACUUM."""
    if folding == "background" and warehouse.writable:
        Background(warehouse)
    warehouse.folds_in_refresh = folding == "refresh"


class Background:
    """The thread, which starts with the first commit and ends when the warehouse is closed."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self._noted = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: dict[str, tuple[float, tuple[Batch, ...]]] = {}  # of each trace, when which batches could not be folded
        warehouse.on_commit.append(self.note)
        warehouse.on_close.append(self.stop)

    def note(self) -> None:
        """There may be something to fold."""
        self._noted.set()
        if self._thread is None and not self._stopped.is_set():
            thread = threading.Thread(target=self._work, name="slackwater-folding", daemon=True)
            with contextlib.suppress(RuntimeError):  # no thread can start now; the commit is real all the same
                thread.start()
                self._thread = thread
                atexit.register(self.stop)  # one that runs while the interpreter goes away may take it down

    def stop(self) -> None:
        self._stopped.set()
        self._noted.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)
            atexit.unregister(self.stop)

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._noted.wait()
            self._stopped.wait(PAUSE)
            self._noted.clear()
            try:
                while not self._stopped.is_set() and (chosen := self._choose()) is not None:
                    began = time.monotonic()
                    self._fold(*chosen)
                    self._stopped.wait((time.monotonic() - began) * (1 / SHARE - 1))
            except SlackwaterError as problem:  # the store cannot be asked, or another process writes now
                self.warehouse.tell(Working(problem.message))

    def _choose(self) -> tuple[Trace, Range] | None:
        """What to fold next: the smallest of all that is worth it, and nothing that has just failed as it is."""
        snapshot = self.warehouse.catalog.snapshot()
        found = [(trace, range) for trace in snapshot.traces.values() for range in due(trace, snapshot)]
        found = [(trace, range) for trace, range in found if not self._has_failed(trace, range)]
        return min(found, key=lambda each: sum(batch.bytes for batch in each[1].of(each[0])), default=None)

    def _has_failed(self, trace: Trace, range: Range) -> bool:
        when, batches = self._failed.get(trace.name, (0.0, ()))
        return batches == range.of(trace) and time.monotonic() - when < AGAIN

    def _fold(self, trace: Trace, range: Range) -> None:
        with self.warehouse.folding:
            try:
                batch = write_fold(trace, range, self.warehouse)
            except Exception as problem:  # whatever the engine says: a fold that fails costs nothing but itself
                self._failed[trace.name] = (time.monotonic(), range.of(trace))
                self.warehouse.tell(Working(f'"{trace.name}" could not be folded: {problem}'))
                return
            if self._stopped.is_set():
                self.warehouse.files.remove(self.warehouse.files.batch_directory(trace.name, batch.step))
            else:
                commit_fold(trace, range, batch, self.warehouse)
