"""What happens when rows of a stream have come: views take them, and the ring lets go of the oldest.

The paths next to a stream are flushed by whoever inserts, as soon as enough rows wait; so an insert that comes faster than views can take
waits for them. What is above these paths waits for a reader, or for the view's goal, as in any other view.

A query that reads a stream itself has an end like any other: it reads what is in the ring and what comes until nothing has come for a
while (Winter, Managing Dynamic Workloads, 3.2). If the ring lets rows go meanwhile that it should have read, it says so.
"""

from __future__ import annotations

import time

from slackwater.catalog import Snapshot, Stream
from slackwater.errors import QueryError
from slackwater.pace.trigger import ROWS
from slackwater.run.progress import Working
from slackwater.run.refresh import flush_early
from slackwater.run.samples import bring_samples_up_to_date
from slackwater.run.warehouse import Step, Warehouse
from slackwater.sql import relations_in
from slackwater.stream import leaving

SHARE = 0.5  # of the ring may wait to be taken, or so many batches: the more rows a flush takes, the less it costs for each
BATCHES = 256
LOOKED = 0.02  # seconds between two looks whether anything has come


def streams_moved(warehouse: Warehouse) -> None:
    """After an insert: have views take what waits, and let the oldest rows go, as far as it is time for that."""
    with warehouse.writing:
        for stream in warehouse.catalog.known.streams:
            snapshot = warehouse.catalog.known
            views = [view.name for view in snapshot.views if stream.name.lower() in view.reads and not view.suspended]
            taken = {path: seen for path, seen in _taken(stream, snapshot).items() if path.partition("/")[0] in map(str.lower, views)}
            if taken and _waiting(stream, snapshot, min(taken.values())):
                flush_early(views, warehouse, f"stream {stream.name}", taken)
            samples = snapshot.samples_of(stream.name)
            seen = [snapshot.cursors[sample.name.lower()][stream.name.lower()] for sample in samples]
            if seen and _waiting(stream, snapshot, min(seen)):
                bring_samples_up_to_date(samples, warehouse, f"stream {stream.name}")
            _let_go(stream, warehouse)


def wait_until_quiet(text: str, warehouse: Warehouse) -> None:
    """Let the streams that a query names go on until nothing has come for as long as each of them says."""
    began = snapshot = warehouse.catalog.snapshot()
    waiting = {stream.name.lower(): stream.quiet for stream in streams_in(text, snapshot) if stream.quiet}
    if not waiting:
        return
    warehouse.tell(Working(f"waiting until {' and '.join(waiting)} is quiet"))
    moved = dict.fromkeys(waiting, time.monotonic())
    while any(time.monotonic() - moved[name] < quiet for name, quiet in waiting.items()):
        time.sleep(LOOKED)
        before, snapshot = snapshot, warehouse.catalog.snapshot()
        for name in waiting:
            if name in snapshot.traces and snapshot.traces[name].version != before.traces[name].version:
                moved[name] = time.monotonic()
        check_not_overtaken(text, began, snapshot)


def check_not_overtaken(text: str, began: Snapshot, now: Snapshot) -> None:
    """Whether all rows are still there that were when a query began."""
    for stream in streams_in(text, began):
        key = stream.name.lower()
        if key in now.traces and _oldest(began, key) < _oldest(now, key):
            raise QueryError(
                f'rows of stream "{stream.name}" have left its ring while the query read them',
                hint="give the stream a larger capacity, or keep the answer as a view",
            )


def streams_in(text: str, snapshot: Snapshot) -> list[Stream]:
    """The streams that a query names."""
    found = (snapshot.relations.get(found.name.lower()) for found in relations_in(text))
    return [relation for relation in found if isinstance(relation, Stream)]


def _oldest(snapshot: Snapshot, stream: str) -> float:
    """The number of the oldest row in a ring; rows are numbered as they come."""
    return min((file.ids[0] for file in snapshot.traces[stream].files if file.ids is not None), default=0.0)


def waiting_rows(stream: Stream, snapshot: Snapshot) -> int:
    """How many rows some view has yet to take."""
    trace = snapshot.traces[stream.name.lower()]
    since = min(_taken(stream, snapshot).values(), default=trace.version)
    return sum(batch.rows for batch in trace.between(since, trace.version))


def _taken(stream: Stream, snapshot: Snapshot) -> dict[str, int]:
    """Up to which version each path, and each sample, has taken that reads the rows of a stream."""
    key = stream.name.lower()
    return {path: seen[key] for path, seen in snapshot.cursors.items() if key in seen}


def _waiting(stream: Stream, snapshot: Snapshot, since: int) -> bool:
    """Whether enough has come since a version to be taken."""
    trace = snapshot.traces[stream.name.lower()]
    batches = trace.between(since, trace.version)
    rows, bytes = (sum(getattr(batch, what) for batch in batches) for what in ("rows", "bytes"))
    return len(batches) >= BATCHES or rows >= SHARE * stream.capacity.rows or bytes >= SHARE * stream.capacity.bytes


def _let_go(stream: Stream, warehouse: Warehouse) -> None:
    key, snapshot = stream.name.lower(), warehouse.catalog.known
    # A view that is to answer after so many rows has to count them.
    counted = [view.answer.as_of.get(key, 0) for view in snapshot.views if view.trigger.kind == ROWS and view.answer and key in view.reads]
    upto = leaving(snapshot.traces[key], stream.capacity, [*_taken(stream, snapshot).values(), *counted])
    if upto:
        step = Step(warehouse)
        step.let_go(key, upto)
        step.commit()
