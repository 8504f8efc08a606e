"""A warehouse that is open: store, files, engine, and the right to write."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from slackwater.catalog import Catalog, Changes, Done, Lease, Snapshot, Store, Unsettled, check_pair
from slackwater.errors import SlackwaterError, WarehouseError
from slackwater.run.choice import Chooser, by_cost
from slackwater.run.forecast import Forecast
from slackwater.run.group import Group
from slackwater.run.keys import KeysOfTables
from slackwater.run.progress import Event, Listener
from slackwater.run.schedule import Schedule
from slackwater.spark import Engine
from slackwater.trace import VERSION, Batch, File, Files, Place, Trace

if TYPE_CHECKING:
    from slackwater.run.arrivals import Arrival

GRACE = 60.0  # seconds for which retired batches stay readable


class Warehouse:
    """Everything that the parts of a session share."""

    def __init__(
        self,
        place: Place,
        store: Store,
        engine: Engine,
        schedule: Schedule,
        read_only: bool,
        wait: float = 0.0,
        chooser: Chooser = by_cost,
    ) -> None:
        self.files = Files(place)
        self.engine = engine
        self.schedule = schedule
        self.chooser = chooser
        self.listeners: list[Listener] = []
        self.folds_in_refresh = False
        self.on_commit: list[Callable[[], None]] = []  # called when a step has become real
        self.on_close: list[Callable[[], None]] = []  # called before anything is closed
        self._retired: list[tuple[float, str]] = []  # since when, and where
        self._sweeper: threading.Timer | None = None
        self.writing = threading.RLock()  # one step at a time
        self.folding = threading.Lock()  # while files of a fold are written that no step owns yet; taken before `writing`
        self.small_inserts: Group[Arrival] = Group()
        self.keys = KeysOfTables(self.files)
        self.lease: Lease | None = None
        with ExitStack() as undo:
            undo.callback(store.close)
            if not read_only:
                self.files.create()
            self.catalog = Catalog(store, read_only)
            self.forecast = Forecast(self.catalog)
            if not read_only:
                self.lease = Lease(store, wait)
                undo.callback(self.lease.release)
            check_pair(self.catalog, self.files.place, read_only)
            if not read_only:
                self.recover()
            undo.pop_all()

    def recover(self) -> None:
        """Remove what steps left behind that did not finish. What was retired lately may be read by others, and goes later."""
        with self.writing:
            assert self.lease is not None
            snapshot = self.catalog.snapshot()
            orphans = self.files.orphans((trace.name, batch.step) for trace in snapshot.traces.values() for batch in trace.batches)
            self.lease.confirm()  # afterwards: so none of them is what another process, which has taken over, is writing now
            for directory in orphans:
                if (since := self.files.retired(directory)) is None:
                    self.files.remove(directory)
                elif (since, directory) not in self._retired:
                    self._retired.append((since, directory))
            self._sweep()

    def retire(self, directories: Iterable[str]) -> None:
        """Remove batches that nobody needs any more, once readers that may have opened them have had time to finish."""
        new = list(directories)
        if not new:
            return  # as with every insert, which should not pay for looking through what waits, nor for a timer
        self._retired += [(time.time(), directory) for directory in new]
        self._sweep()

    def waiting(self) -> int:
        """How many bytes of retired batches are still there."""
        return self.files.usage(directory for _, directory in self._retired)

    def _sweep(self) -> None:
        with self.writing:
            due = [each for each in self._retired if time.time() - each[0] > GRACE]
            for _, directory in due:
                self.files.remove(directory)
            self._retired = [each for each in self._retired if each not in due]
            if self._sweeper is not None:
                self._sweeper.cancel()
            self._sweeper = threading.Timer(GRACE, self._sweep) if self._retired else None
            if self._sweeper is not None:
                self._sweeper.daemon = True
                self._sweeper.start()

    def close(self) -> None:
        self.small_inserts.close()
        for each in self.on_close:
            each()
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self.lease is not None:
            self.lease.release()
        self.catalog.close()
        self.engine.stop()

    @property
    def writable(self) -> bool:
        return self.lease is not None

    def lend(self) -> None:
        """Give up the right to write: others may have it until it is taken `back`."""
        with self.writing:
            if self.lease is not None:
                self.lease.release()
                self.lease = None

    @contextmanager
    def back(self, wait: float) -> Iterator[None]:
        """Have the right to write for a while, waiting for whoever has it."""
        with self.writing:
            self.lease = Lease(self.catalog.store, wait)
            try:
                self.recover()  # what another writer has left, if it died
                yield
            finally:
                self.lend()

    def is_free(self, within: float = math.inf) -> bool:
        """Whether nobody writes, waiting so many seconds for that."""
        if not self.writing.acquire(timeout=-1 if math.isinf(within) else within):
            return False
        self.writing.release()
        return True

    def check_writable(self) -> None:
        if not self.writable:
            raise WarehouseError("this session only reads", hint="connect without read_only=True to change anything")

    def tell(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)


def new_step_id() -> str:
    return f"{int(time.time() * 1000):013d}-{uuid.uuid4().hex[:8]}"


class Step:
    """What is done together or not at all.

    Batches are written to files as the step goes; the commit makes them real. `traces` shows the traces as they will be, so that what one
    flush of a step has written, the next one reads.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        warehouse.check_writable()
        self.warehouse = warehouse
        self.id = new_step_id()
        self.before: Snapshot = warehouse.catalog.snapshot()
        self._began_with = self.before
        self.traces: dict[str, Trace] = dict(self.before.traces)
        self.changes = Changes()
        self.gains: dict[str, tuple[str, pa.Table]] = {}  # of paths that have asked together: for which statement, and what it gave
        self.shared: dict[str, float] = {}  # CPU seconds that each of them has in that
        self._directories: list[str] = []
        self._retired: list[str] = []

    def cursor(self, path: str) -> dict[str, int] | None:
        """How far a path has read, this step included; None if it never ran."""
        if path in self.changes.cursors:
            return dict(self.changes.cursors[path])
        if path in self.changes.traces or path not in self.before.cursors:
            return None
        return dict(self.before.cursors[path])

    def create_trace(self, trace: Trace) -> None:
        self.changes.traces[trace.name] = trace
        self.traces[trace.name] = trace

    def drop_trace(self, name: str) -> None:
        self.changes.traces[name] = None
        self.traces.pop(name, None)
        if name in self.before.traces:
            self._retire(name, self.before.traces[name].batches)

    def directory(self, trace: str) -> str:
        """Where this step writes its batch of a trace."""
        directory = self.warehouse.files.batch_directory(trace, self.id)
        self._directories.append(directory)
        return directory

    def take(self, trace: str, directory: str) -> Batch | None:
        """Take what was written below `directory` as the trace's next batch; None if there is no row in it."""
        added, removed = self.warehouse.files.sealed(directory)
        if not added and not removed:
            self.warehouse.files.remove(directory)
            return None
        return self.put(trace, added, removed)

    def put(self, trace: str, added: tuple[File, ...], removed: tuple[File, ...] = ()) -> Batch:
        """Make files that this step has written the trace's next batch."""
        batch = Batch(self.next_version(trace), self.id, added, removed)
        self.traces[trace] = self.traces[trace].with_batch(batch)
        self.changes.batches.append((trace, batch))
        return batch

    def fold(self, trace: str, after: int, batch: Batch) -> None:
        """Put a batch, already written, in the place of those of a trace after a version and up to its own."""
        self._directories.append(self.warehouse.files.batch_directory(trace, batch.step))
        self._retire(trace, self.traces[trace].between(after, batch.version))
        self.traces[trace] = self.traces[trace].folded(after, batch)
        self.changes.folds.append((trace, after, batch))

    def let_go(self, trace: str, upto: int) -> None:
        """Let the batches of a trace up to a version leave; that version is what stays of them."""
        self._retire(trace, self.traces[trace].between(0, upto))
        passed = Batch(upto, self.id, (), ())
        self.traces[trace] = self.traces[trace].folded(0, passed)
        self.changes.folds.append((trace, 0, passed))

    def next_version(self, trace: str) -> int:
        return self.traces[trace].version + 1

    def version_column(self, trace: str) -> str:
        """The version of what this step adds to a trace, as a column of a statement."""
        return f"{self.warehouse.engine.number('sw version', self.next_version(trace))} AS {VERSION}"

    def done(self, lines: Iterable[Done]) -> None:
        self.changes.history.extend(lines)

    def commit(self) -> Snapshot:
        """Make it real, or leave nothing of it behind. What it wrote is on the disk before the store says that it exists."""
        assert self.warehouse.lease is not None
        self.warehouse.files.sync(self._directories)
        self.warehouse.files.retire(self._retired)  # before they are: an end right after the commit must not cost a reader its files
        # From here on the files may be those of real batches, also if we are interrupted: nothing but a plain refusal removes them. What
        # then remains without being real, the next opening removes.
        written, self._directories = self._directories, []
        try:
            snapshot = self.warehouse.catalog.commit(self.id, self.changes, self._began_with, self.warehouse.lease)
        except Unsettled:
            raise
        except SlackwaterError:
            self._directories = written
            self.abandon()
            raise
        for name in self.changes.traces:
            self.warehouse.keys.forget(name)
        self.warehouse.retire(self._retired)
        for each in self.warehouse.on_commit:
            each()
        return snapshot

    def abandon(self) -> None:
        for directory in self._directories:
            self.warehouse.files.remove(directory)

    def _retire(self, trace: str, batches: Iterable[Batch]) -> None:
        # Batch by batch: by the time they are removed, another process may have given the trace's name to something new.
        self._retired += [self.warehouse.files.batch_directory(trace, batch.step) for batch in batches]
