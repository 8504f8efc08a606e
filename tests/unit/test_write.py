"""Rows as files: whatever comes in, the same rows come out, in groups of a good size and bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slackwater.errors import WarehouseError
from slackwater.trace import write
from slackwater.trace.disk import Disk
from slackwater.trace.write import row_groups


def rows(start: int, count: int) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "n": pa.array(numbers, pa.int32()),
            "text": pa.array([f"row {n}" for n in numbers], pa.string()),
            "kind": pa.array([n % 3 for n in numbers], pa.int64()),
            "list": pa.array([[n] for n in numbers], pa.list_(pa.int64())),
            "part": pa.array([n / 7 for n in numbers], pa.float64()),
            "_id": pa.array(numbers, pa.int64()),
        }
    )


def write_rows(pieces: Iterable[pa.Table], folder: Path) -> None:
    write.write_rows(pieces, str(folder), Disk(folder))


def read(folder: Path) -> list[dict[str, Any]]:
    found = [row for file in folder.glob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]
    return sorted(found, key=lambda row: int(row["_id"]))


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROWS", 1500)
    monkeypatch.setattr(write, "AT_ONCE", 2)


SIZES = [[1], [1000], [1500], [1501], [7000], [1] * 40, [10, 0, 3000, 5, 1499, 1500], [0, 0, 2]]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_rows_that_went_in_come_out(sizes: list[int], small_groups: None, tmp_path: Path) -> None:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    write_rows((rows(start, size) for start, size in zip(starts, sizes, strict=True)), tmp_path)
    assert read(tmp_path) == rows(0, sum(sizes)).to_pylist()


def test_nothing_is_no_file(tmp_path: Path) -> None:
    write_rows([rows(0, 0)], tmp_path / "none")
    assert not list(tmp_path.rglob("*.parquet"))


def test_row_groups_are_gathered_and_cut(small_groups: None) -> None:
    assert [group.num_rows for group in row_groups(rows(0, 100) for _ in range(40))] == [1500, 1500, 1000]
    assert [group.num_rows for group in row_groups([rows(0, 4000)])] == [1334, 1334, 1332]


def test_wide_rows_are_cut_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "BYTES", 10_000)
    wide = pa.table({"text": ["x" * 1000] * 100})
    assert max(group.nbytes for group in row_groups([wide])) <= 11_000


def test_few_pieces_are_taken_ahead_of_those_that_are_written(small_groups: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, opened = [0], threading.Event()
    as_before = pq.ParquetWriter.write_table

    def slow(writer: pq.ParquetWriter, *arguments: Any, **options: Any) -> None:
        opened.wait(30)
        as_before(writer, *arguments, **options)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", slow)

    def pieces() -> Iterator[pa.Table]:
        for number in range(100):
            given[0] += 1
            yield rows(number * 1500, 1500)

    thread = threading.Thread(target=write_rows, args=(pieces(), tmp_path))
    thread.start()
    thread.join(1.0)
    # Two are being written, two are in the queues, one is at the door, and one more was needed to see that a group was full.
    assert thread.is_alive() and given[0] <= 6
    opened.set()
    thread.join(60)
    assert given[0] == 100 and len(read(tmp_path)) == 150_000


def test_a_full_disk_is_an_error_that_ends_the_stream(small_groups: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [0]

    def full(writer: pq.ParquetWriter, *arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)

    def pieces() -> Iterator[pa.Table]:
        for number in range(1000):
            given[0] += 1
            yield rows(number * 1500, 1500)

    with pytest.raises(WarehouseError, match="no space left on device"):
        write_rows(pieces(), tmp_path)
    assert given[0] < 20


def test_an_error_of_who_gives_the_rows_is_passed_on(small_groups: None, tmp_path: Path) -> None:
    def pieces() -> Iterator[pa.Table]:
        for number in range(10):
            yield rows(number * 1500, 1500)
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        write_rows(pieces(), tmp_path)
