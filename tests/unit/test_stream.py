"""How much of a stream is kept, and what leaves it."""

from __future__ import annotations

import math

import pytest

from slackwater.errors import QueryError
from slackwater.plan import Column
from slackwater.stream import Capacity, capacity_named, leaving
from slackwater.trace import Batch, File, Trace


@pytest.mark.parametrize(
    ("text", "rows", "bytes"),
    [
        ("1 million rows", 1_000_000, math.inf),
        ("1.5 Million Rows", 1_500_000, math.inf),
        ("50000", 50_000, math.inf),
        ("10_000 rows", 10_000, math.inf),
        ("1 row", 1, math.inf),
        ("64 MB", math.inf, 64_000_000),
        ("2 GiB", math.inf, 2 << 30),
        ("512 bytes", math.inf, 512),
    ],
)
def test_a_capacity_is_told_in_rows_or_bytes(text: str, rows: float, bytes: float) -> None:
    assert capacity_named(text) == Capacity(rows, bytes)


@pytest.mark.parametrize("text", ["", "rows", "many rows", "-1 rows", "0", "0 MB", "5 minutes", "1 million million rows"])
def test_what_is_no_capacity_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="is no capacity"):
        capacity_named(text)


def trace(*rows: int) -> Trace:
    found = Trace("s", (Column("a", "int"),), "bigint")
    for number, count in enumerate(rows, start=1):
        files = (File(f"{number}", count, 10 * count),) if count else ()
        found = found.with_batch(Batch(number, f"step {number}", files, ()))
    return found


@pytest.mark.parametrize(
    ("rows", "capacity", "taken", "upto"),
    [
        ((5, 5, 5), Capacity(rows=100), (), 0),
        ((5, 5, 5), Capacity(rows=15), (), 0),
        ((5, 5, 5), Capacity(rows=10), (), 1),
        ((5, 5, 5), Capacity(rows=6), (), 1),  # two of them have ten
        ((5, 5, 5), Capacity(rows=5), (), 2),
        ((5, 5, 500), Capacity(rows=5), (), 2),  # the newest stays, however large it is
        ((5, 5, 5), Capacity(bytes=50), (), 2),
        ((5, 5, 5), Capacity(rows=5), (3, 1), 1),  # somebody has taken only the first
        ((5, 5, 5), Capacity(rows=5), (0,), 0),
        ((0, 5, 5), Capacity(rows=5), (), 2),
        ((0, 5, 5), Capacity(rows=10), (), 0),  # what has left before leaves no more
        ((), Capacity(rows=5), (), 0),
    ],
)
def test_the_oldest_batches_leave_when_newer_ones_fill_the_ring(
    rows: tuple[int, ...], capacity: Capacity, taken: tuple[int, ...], upto: int
) -> None:
    assert leaving(trace(*rows), capacity, taken) == upto
