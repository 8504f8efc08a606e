"""Rows as Parquet files: as they come, in bounded memory, on more than one core.

Rows are gathered to row groups of a good size. From the second group on, files are written side by side, each by a thread of its own
(Arrow encodes without Python's lock); a reader that gives rows faster than they are written waits.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, cycle
from queue import Queue
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slackwater.delta import ID
from slackwater.trace.place import Place
from slackwater.trace.unwritable import writing

ROWS = 1 << 17  # of a row group, unless it has too many bytes
BYTES = 32 << 20
AT_ONCE = min(4, os.cpu_count() or 1)  # files
FEW = 1000  # rows, to which nothing is worth the time that it takes to set up
SAMPLE = 4096  # rows, by which a column's encoding is chosen


def write_rows(pieces: Iterable[pa.Table], folder: str, place: Place) -> None:
    """Write pieces of one schema as a few files in a folder; none if there is no row."""
    groups = row_groups(pieces)
    first = next(groups, None)
    if first is None:
        return
    second = next(groups, None)
    if second is None:
        _write([first], f"{folder}/part-0.parquet", first, place)
    else:
        _write_side_by_side(chain((first, second), groups), folder, first, place)


def write_few(rows: pa.Table, path: str, place: Place) -> tuple[int, int]:
    """Write a few rows as one file. It is made in memory, so that its size and its checksum are known without a look at the disk."""
    made = pa.BufferOutputStream()
    with _writer(made, rows) as writer:
        writer.write_table(rows)
    data = made.getvalue()
    with writing(path):
        place.write(path, data)
    return data.size, zlib.crc32(data)


def row_groups(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, in tables of a good size: small pieces are put together, and large ones cut without a copy."""
    held: list[pa.Table] = []
    rows = bytes = 0
    for piece in pieces:
        for part in cut(piece) if piece.num_rows else ():
            if held and (rows + part.num_rows > ROWS or bytes + part.nbytes > BYTES):
                yield pa.concat_tables(held)
                held, rows, bytes = [], 0, 0
            held.append(part)
            rows, bytes = rows + part.num_rows, bytes + part.nbytes
    if held:
        yield pa.concat_tables(held)


def cut(piece: pa.Table) -> Iterator[pa.Table]:
    """A piece in parts that are no larger than a row group, without a copy."""
    if not piece.num_rows:
        yield piece
        return
    parts = max(-(-piece.num_rows // ROWS), min(-(-piece.nbytes // BYTES), piece.num_rows))
    size = -(-piece.num_rows // parts)  # of equal size, so that those who write them side by side finish together
    for start in range(0, piece.num_rows, size):
        yield piece.slice(start, size)


def _write_side_by_side(groups: Iterable[pa.Table], folder: str, like: pa.Table, place: Place) -> None:
    queues: list[Queue[pa.Table | None]] = [Queue(maxsize=1) for _ in range(AT_ONCE)]
    failed = Event()

    def write(queue: Queue[pa.Table | None], path: str) -> None:
        try:
            if (group := queue.get()) is not None:
                _write(chain((group,), iter(queue.get, None)), path, like, place)
        except BaseException:
            failed.set()
            while queue.get() is not None:  # or who hands out would wait for ever
                pass
            raise

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="slackwater-write") as pool:
        writing = [pool.submit(write, queue, f"{folder}/part-{number}.parquet") for number, queue in enumerate(queues)]
        try:
            for group, queue in zip(groups, cycle(queues), strict=False):
                if failed.is_set():
                    break
                queue.put(group)
        finally:
            for queue in queues:
                queue.put(None)
        for each in writing:
            each.result()
    pa.default_memory_pool().release_unused()  # it would hold on to what many rows have taken, until the process ends


def _write(groups: Iterable[pa.Table | None], path: str, like: pa.Table, place: Place) -> None:
    with writing(path), place.sink(path) as sink, _writer(sink, like) as writer:
        for group in groups:
            writer.write_table(group)


def _writer(path: str | pa.NativeFile, like: pa.Table) -> pq.ParquetWriter:
    numbered = ID in like.schema.names and pa.types.is_integer(like.schema.field(ID).type) and like.num_rows > FEW
    options: dict[str, Any] = {"column_encoding": {ID: "DELTA_BINARY_PACKED"}} if numbered else {}
    repeating = _columns(like, _repeats) if like.num_rows > FEW else []
    return pq.ParquetWriter(
        path,
        like.schema,
        compression="snappy",  # as engines do: zstd would save a quarter of the bytes, and cost a quarter more time
        use_dictionary=[name for name in repeating if not (numbered and name == ID)] or False,
        write_statistics=_columns(like, _has_statistics),
        store_decimal_as_integer=True,  # as engines do: their readers take a third longer over decimals in bytes
        **options,
    )


def _columns(like: pa.Table, which: Callable[[pa.ChunkedArray], bool]) -> list[str]:
    return [name for name, column in zip(like.column_names, like.columns, strict=True) if which(column)]


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a column's values repeat. A dictionary of values that hardly do is built for nothing, and costs as much as the rest."""
    if pa.types.is_nested(column.type):
        return False
    sample = column.slice(0, SAMPLE)
    try:
        return bool(pc.count_distinct(sample, mode="all").as_py() * 2 <= len(sample))
    except pa.ArrowNotImplementedError:
        return False


def _has_statistics(column: pa.ChunkedArray) -> bool:
    """Whether the smallest and the largest value go into the footer. NaN would be in neither, and engines skip by them: no floats."""
    return not pa.types.is_floating(column.type) and not pa.types.is_nested(column.type)
