"""Columns of files as they are in memory, so that a few of their rows are found and read without decoding all the others.

A column of a Parquet file is decoded from its beginning, however few rows are wanted of it. One that is looked through a second time is
therefore kept as Arrow has it in memory. One in which keys are looked for again and again gets an order beside it, by which they are found
without looking at the other values. Of a file that replaces others what was kept of them is kept from the beginning.

What is kept of a large file is written out and mapped: only the pages are touched that have rows that were found. It has no name in any
folder: it is gone with the process, however that ends. Where there is no space for it, nothing is kept.
"""

from __future__ import annotations

import io
import mmap
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import IO, Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.trace.recent import Recent
from slackwater.trace.spans import as_numbers

BATCH = 1 << 16  # rows that are looked at together
LEAST = 5_000  # rows of a file: fewer are decoded in a moment
LARGE = 200_000  # rows of a file whose columns are mapped; those of others are kept in memory
ROOM = 8 << 30  # bytes that are written out at a time,
SHARE = 0.1  # and of the space that the disk for temporary files has left without them
MEMORY = 128 << 20  # bytes that are kept in memory
SHORT = 18  # digits of a decimal that has room in eight bytes
REMEMBERED = 100_000  # columns that were asked for
OFTEN = 4  # times keys were looked for in a column that gets an order: to make one takes as long as looking about ten times
SPARSE = 8  # rows to a key are the fewest for which an order is asked

Batches = Iterator[tuple[int, int, pa.RecordBatch]]  # of which row group, from which row of it on


K = TypeVar("K", "_Column", "Order")


class Unpacked:
    """The columns of some files that are kept, those that nobody has asked for longest making way.

    None of files with fewer rows than `least`; those of files with `large` ones are mapped.
    """

    def __init__(self, room: int = ROOM, least: int = LEAST, large: int = LARGE) -> None:
        self._room, self._least, self._large = room, least, large
        self._mapped: Recent[_Column | Order] = Recent(room)
        self._in_memory: Recent[_Column | Order] = Recent(min(room, MEMORY))
        self._asked: Counter[tuple[str, str, str]] = Counter()
        self.spent = 0.0  # CPU seconds for what is kept, which those who look again are spared

    def batches(self, path: str, file: pq.ParquetFile, groups: Sequence[int], names: Sequence[str], coded: pq.ParquetFile) -> Batches:
        """The rows of some row groups of a file. `coded` is the same file, opened to decode what is not kept."""
        columns = {name: self._column(path, file, name, groups) for name in names}
        kept = {name: column for name, column in columns.items() if column is not None}
        others = [name for name in names if name not in kept]
        try:
            for group in groups:
                decoded = coded.iter_batches(BATCH, [group], others) if others else None
                for first in range(0, file.metadata.row_group(group).num_rows, BATCH):
                    rows: Any = next(decoded) if decoded is not None else {}
                    arrays = [kept[name].groups[group].slice(first, BATCH) if name in kept else rows[name] for name in names]
                    yield group, first, pa.RecordBatch.from_arrays(arrays, list(names))
                for column in kept.values():
                    column.memory.rest()
        finally:
            for column in kept.values():
                column.memory.rest()

    def rows_at(
        self,
        places: Mapping[int, np.ndarray],
        path: str,
        file: pq.ParquetFile,
        names: Sequence[str],
        coded: Callable[[list[str]], pq.ParquetFile],
    ) -> pa.Table:
        """Some columns of the rows at some places, which ascend, of row groups of a file. `coded` opens it to decode what is not kept."""
        groups = [group for group, there in places.items() if len(there)]
        schema = pa.schema([file.schema_arrow.field(name) for name in names])
        if not groups:
            return schema.empty_table()
        columns = {name: self._column(path, file, name, groups) for name in names}
        kept = {name: column for name, column in columns.items() if column is not None}
        found = {name: pa.chunked_array([column.groups[g].take(pa.array(places[g])) for g in groups]) for name, column in kept.items()}
        for column in kept.values():
            column.memory.rest()
        others = [name for name in names if name not in kept]
        if others:
            opened = coded(others)
            decoded = [_taken(opened.iter_batches(BATCH, [group], others), places[group]) for group in groups]
            found |= {name: pa.chunked_array([each[name] for part in decoded for each in part]) for name in others}
        return pa.table([found[name].cast(schema.field(name).type) for name in names], schema=schema)

    def order(self, path: str, file: pq.ParquetFile, name: str, groups: Sequence[int], keys: int) -> Order | None:
        """The rows of a file by a column of whole numbers or dates, if so many keys were looked for in it often enough."""
        if keys * SPARSE > file.metadata.num_rows:
            return None
        return self._kept(Order, path, file, name, groups, OFTEN, lambda memory, _: Order.written(self, path, file, name, memory))

    def follow(self, path: str, file: pq.ParquetFile, replaced: Container[str]) -> None:
        """Keep of a file what is kept of those that it replaces: who looked for keys in them will look in it, and should not wait."""
        kept = [cast(tuple[str, str, str], key) for shelf in (self._mapped, self._in_memory) for key in shelf.known()]
        wanted = {(kind, name) for kind, old, name in kept if old in replaced}
        groups = range(file.num_row_groups)
        for kind, name in sorted(wanted, reverse=True):  # columns before their orders
            if name in file.schema_arrow.names:
                self._asked[kind, path, name] = OFTEN
                if kind == _Column.__name__:
                    self._column(path, file, name, groups)
                else:
                    self.order(path, file, name, groups, 0)

    def _column(self, path: str, file: pq.ParquetFile, name: str, groups: Sequence[int]) -> _Column | None:
        return self._kept(_Column, path, file, name, groups, 1, lambda memory, most: _Column.written(file, name, memory, most))

    def _kept(
        self,
        kind: type[K],
        path: str,
        file: pq.ParquetFile,
        name: str,
        groups: Sequence[int],
        often: int,
        write: Callable[[_Memory, int], K | None],
    ) -> K | None:
        """What is kept of a column, or is from now on because it was asked for so often."""
        rows, key = file.metadata.num_rows, (kind.__name__, path, name)
        shelf = self._mapped if rows >= self._large else self._in_memory
        known = cast(K | None, shelf.get(key))
        if known is not None or rows < self._least or 2 * len(groups) < file.num_row_groups:
            return known
        if len(self._asked) >= REMEMBERED:
            self._asked.clear()
        self._asked[key] += 1
        if self._asked[key] <= often:
            return None
        began, spent = time.thread_time(), self.spent
        try:
            most = min(self._room, MEMORY if shelf is self._in_memory else self._free())
            found = write(_Memory(shelf is self._mapped), most)
        except OSError:
            return None  # there is no space after all
        finally:
            pa.default_memory_pool().release_unused()  # a column of many rows was decoded
            self.spent = spent + time.thread_time() - began
        if found is not None and found.memory.size <= most:
            shelf.put(key, found, found.memory.size, most)
        return found

    def _free(self) -> int:
        """Bytes that may be written out."""
        return int(SHARE * (shutil.disk_usage(tempfile.gettempdir()).free + self._mapped.size))


class _Memory:
    """What is kept of a file: in memory, or in memory that the system fills from a disk when it is looked at."""

    def __init__(self, is_mapped: bool) -> None:
        self._is_mapped = is_mapped
        self._bytes: Any = b""

    def write(self, fill: Callable[[IO[bytes]], bool]) -> bool:
        """Have it filled; whether it was, wholly."""
        if not self._is_mapped:
            inside = io.BytesIO()
            is_whole = fill(inside)
            self._bytes = inside.getvalue()
            return is_whole
        with tempfile.TemporaryFile() as place:
            if not fill(place):
                return False
            place.flush()
            self._bytes = mmap.mmap(place.fileno(), 0, access=mmap.ACCESS_READ)
            return True

    @property
    def size(self) -> int:
        return len(self._bytes)

    @property
    def buffer(self) -> Any:
        return self._bytes

    def rest(self) -> None:
        """Give back the memory that holds what was looked at: the system still has it."""
        if self._is_mapped:
            self._bytes.madvise(mmap.MADV_DONTNEED)


class _Column:
    """A column of a file."""

    def __init__(self, memory: _Memory) -> None:
        self.memory = memory
        written = pa.ipc.open_file(pa.py_buffer(memory.buffer))
        self.groups: list[pa.Array] = [written.get_batch(group).column(0) for group in range(written.num_record_batches)]

    @classmethod
    def written(cls, file: pq.ParquetFile, name: str, memory: _Memory, most: int) -> _Column | None:
        """Write a column out; None if that takes more than so many bytes."""
        field = file.schema_arrow.field(name)
        schema, decoded_schema = pa.schema([field.with_type(_compact(field.type))]), pa.schema([field])

        def fill(place: IO[bytes]) -> bool:
            with pa.ipc.new_file(pa.PythonFile(place, "w"), schema) as writer:
                for group in range(file.num_row_groups):
                    decoded = list(file.iter_batches(BATCH, [group], [name]))
                    writer.write_batch(pa.concat_batches(decoded or [pa.RecordBatch.from_pylist([], decoded_schema)]).cast(schema))
                    if place.tell() > most:
                        return False
            return True

        return cls(memory) if memory.write(fill) else None


class Order:
    """The values of a column of whole numbers or dates in ascending order, and where each of them is, by row group."""

    def __init__(self, memory: _Memory, rows: dict[int, int]) -> None:
        self.memory = memory
        self._groups: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        at = 0
        for group, count in rows.items():
            values = np.frombuffer(memory.buffer, np.int64, count, at)
            self._groups[group] = values, np.frombuffer(memory.buffer, np.int64, count, at + 8 * count)
            at += 16 * count

    @classmethod
    def written(cls, unpacked: Unpacked, path: str, file: pq.ParquetFile, name: str, memory: _Memory) -> Order | None:
        """Of a column. Rows that have no value are nowhere in it."""
        rows: dict[int, int] = {}

        def fill(place: IO[bytes]) -> bool:
            for group in range(file.num_row_groups):
                batches = [as_numbers(batch[name]) for _, _, batch in unpacked.batches(path, file, [group], [name], file)]
                numbers = pa.chunked_array(batches, pa.int64())
                values = numbers.fill_null(0).to_numpy()
                places = np.argsort(values, kind="stable")
                if numbers.null_count:
                    places = places[numbers.is_valid().to_numpy()[places]]
                rows[group] = len(places)
                place.write(values[places].tobytes())
                place.write(places.astype(np.int64).tobytes())
            return any(rows.values())

        return cls(memory, rows) if memory.write(fill) else None

    def places(self, group: int, keys: np.ndarray) -> np.ndarray:
        """Where keys are, which ascend, in a row group: in the order of its rows."""
        values, places = self._groups[group]
        first, last = np.searchsorted(values, keys, "left"), np.searchsorted(values, keys, "right")
        counts = last - first
        before = np.cumsum(counts) - counts  # how many rows the keys before have
        found: np.ndarray = np.sort(places[np.repeat(first - before, counts) + np.arange(counts.sum())])
        return found


def _taken(batches: Iterator[pa.RecordBatch], places: np.ndarray) -> list[pa.RecordBatch]:
    """The rows at some places of a row group."""
    found, first = [], 0
    for batch in batches:
        here = places[np.searchsorted(places, first) : np.searchsorted(places, first + batch.num_rows)]
        if len(here):
            found.append(batch.take(pa.array(here - first)))
        first += batch.num_rows
    return found


def _compact(type_: pa.DataType) -> pa.DataType:
    """The smallest type that holds the same values. Who takes some of them out casts them back."""
    if pa.types.is_decimal128(type_) and type_.precision <= SHORT:
        return pa.decimal64(type_.precision, type_.scale)
    return type_
