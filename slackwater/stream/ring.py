"""The ring of a stream: its oldest batches leave when the newer ones hold as much as its capacity says.

None leaves that somebody has yet to take, so that no view misses a row however slow it is. Batches are folded within an eighth of the ring,
or what leaves together would be too much of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from slackwater.stream.capacity import Capacity
from slackwater.trace import Batch, Trace

PARTS = 8


def leaving(trace: Trace, capacity: Capacity, taken: Iterable[int]) -> int:
    """Up to which version batches leave, if those who take from the stream have taken all up to these. 0: none does."""
    rows = bytes = 0
    for number in range(len(trace.batches) - 1, -1, -1):
        if rows >= capacity.rows or bytes >= capacity.bytes:
            return _last_with_rows(trace, min((trace.batches[number].version, *taken)))
        rows += trace.batches[number].rows
        bytes += trace.batches[number].bytes
    return 0


def kept_apart(trace: Trace, capacity: Capacity) -> set[int]:
    """The versions at which parts of the ring end, by the numbers of their rows: batches before and after one do not become one."""
    of_a_part = min(capacity.rows, capacity.bytes * trace.rows / max(1, trace.bytes)) / PARTS
    if math.isinf(of_a_part):
        return set()
    parts = [(batch.version, _last_row(batch) // max(1.0, of_a_part)) for batch in trace.batches]
    return {version for (version, part), (_, other) in itertools.pairwise(parts) if part != other}


def _last_row(batch: Batch) -> int:
    return max((file.ids[1] for file in batch.added if file.ids is not None), default=0)


def _last_with_rows(trace: Trace, upto: int) -> int:
    return max((batch.version for batch in trace.between(0, upto) if batch.rows), default=0)
