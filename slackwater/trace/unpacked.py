"""Columns of large files as they are in memory, so that a few of their rows are found and read without decoding all the others.

A column of a Parquet file is decoded from its beginning, however few rows are wanted of it. One that is looked through a second time is
therefore written out once more, as Arrow has it in memory, and mapped from then on: keys are compared where they lie, and of other columns
only the pages are touched that have rows that were found.

What is written has no name in any folder: it is gone with the process, however that ends. Where there is no space for it, nothing is kept.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.trace.recent import Recent

BATCH = 1 << 16  # rows that are looked at together
LEAST = 200_000  # rows of a file: fewer are decoded in a moment
ROOM = 8 << 30  # bytes that are written out at a time,
SHARE = 0.1  # and of the space that the disk for temporary files has left without them
SHORT = 18  # digits of a decimal that has room in eight bytes
REMEMBERED = 100_000  # columns that were asked for once

Batches = Iterator[tuple[int, int, pa.RecordBatch]]  # of which row group, from which row of it on


class Unpacked:
    """The columns of some files that were written out, those that nobody has asked for longest making way."""

    def __init__(self, room: int = ROOM, least: int = LEAST) -> None:
        self._room, self._least = room, least
        self._columns: Recent[_Mapped] = Recent(room)
        self._asked: set[tuple[str, str]] = set()
        self.spent = 0.0  # CPU seconds for writing columns out, which those who look again are spared

    def batches(self, path: str, file: pq.ParquetFile, groups: Sequence[int], names: Sequence[str], coded: pq.ParquetFile) -> Batches:
        """The rows of some row groups of a file. `coded` is the same file, opened to decode what is not written out."""
        columns = {name: self._column(path, file, name, groups) for name in names}
        mapped = {name: column for name, column in columns.items() if column is not None}
        others = [name for name in names if name not in mapped]
        try:
            for group in groups:
                decoded = coded.iter_batches(BATCH, [group], others) if others else None
                for number, first in enumerate(range(0, file.metadata.row_group(group).num_rows, BATCH)):
                    rows: Any = next(decoded) if decoded is not None else {}
                    arrays = [mapped[name].batches[group][number] if name in mapped else rows[name] for name in names]
                    yield group, first, pa.RecordBatch.from_arrays(arrays, list(names))
                for column in mapped.values():
                    column.rest()
        finally:
            for column in mapped.values():
                column.rest()

    def _column(self, path: str, file: pq.ParquetFile, name: str, groups: Sequence[int]) -> _Mapped | None:
        known = self._columns.get((path, name))
        if known is not None or file.metadata.num_rows < self._least or 2 * len(groups) < file.num_row_groups:
            return known
        if (path, name) not in self._asked:
            if len(self._asked) >= REMEMBERED:
                self._asked.clear()
            self._asked.add((path, name))
            return None
        began = time.thread_time()
        try:
            most = min(self._room, int(SHARE * (shutil.disk_usage(tempfile.gettempdir()).free + self._columns.size)))
            mapped = _Mapped.of(file, name, most)
        except OSError:
            return None  # there is no space after all
        finally:
            pa.default_memory_pool().release_unused()  # a column of many rows was decoded
            self.spent += time.thread_time() - began
        if mapped is not None:
            self._columns.put((path, name), mapped, mapped.size, most)
        return mapped


class _Mapped:
    """A column of a file in memory that the system fills from a disk when it is looked at."""

    def __init__(self, memory: mmap.mmap, groups: Sequence[int]) -> None:
        self._memory = memory
        self.size = len(memory)
        self.batches: dict[int, list[pa.Array]] = {}
        written = pa.ipc.open_file(pa.py_buffer(memory))
        for number, group in enumerate(groups):
            self.batches.setdefault(group, []).append(written.get_batch(number).column(0))

    @classmethod
    def of(cls, file: pq.ParquetFile, name: str, most: int) -> _Mapped | None:
        """Write a column out; None if that takes more than so many bytes."""
        field = file.schema_arrow.field(name)
        schema = pa.schema([field.with_type(_compact(field.type))])
        groups = []
        with tempfile.TemporaryFile() as place:
            with pa.ipc.new_file(pa.PythonFile(place, "w"), schema) as writer:
                for group in range(file.num_row_groups):
                    for batch in file.iter_batches(BATCH, [group], [name]):
                        writer.write_batch(batch.cast(schema))
                        groups.append(group)
                        if place.tell() > most:
                            return None
            place.flush()
            return cls(mmap.mmap(place.fileno(), 0, access=mmap.ACCESS_READ), groups)

    def rest(self) -> None:
        """Give back the memory that holds what was looked at: the system still has it."""
        self._memory.madvise(mmap.MADV_DONTNEED)


def _compact(type_: pa.DataType) -> pa.DataType:
    """The smallest type that holds the same values. Who takes some of them out casts them back."""
    if pa.types.is_decimal128(type_) and type_.precision <= SHORT:
        return pa.decimal64(type_.precision, type_.scale)
    return type_
