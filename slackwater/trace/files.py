"""All work with the files of a warehouse goes through here.

A batch is written below `traces/<trace>/<step>`, and is real once the store has a row for it. What no row names is an orphan: of a step
that did not finish, or retired, because its rows were folded into another batch or its trace was dropped. What is retired is marked, for
somebody may still be reading it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slackwater.delta import ADDED, ID, REMOVED, SIDE
from slackwater.delta.conditions import Wanted
from slackwater.delta.spans import Spans
from slackwater.trace.contents import Found, contents, opened, pieces, rows_at, schema_of
from slackwater.trace.disk import Disk
from slackwater.trace.durable import DIFFERS, MISSING, Damaged, checksum, checksums, damage
from slackwater.trace.left import Left
from slackwater.trace.place import Facts, Place, folder_of, place_at
from slackwater.trace.recent import Recent
from slackwater.trace.spans import leaf_at, matching, spans_in, spans_of, times_in
from slackwater.trace.trace import VERSION, Batch, File, Reading
from slackwater.trace.unpacked import Unpacked
from slackwater.trace.write import write_few, write_rows

SMALL = 8 << 20  # bytes of a file that is kept in memory when it was read, or written here
ROOM = 64 << 20  # bytes of what is kept so, and as many of what was found in larger files
PIECE = 1 << 16  # rows that a fold takes at a time
COLUMN = 1 << 10  # bytes that a column takes in memory beside its values, however few they are
_SIDE = re.compile(rf"{SIDE}=(\w+)/[^/]+\.parquet")
RETIRED = "_retired"  # the mark of a batch that readers of an older snapshot may still be reading


@dataclass(frozen=True)
class Part:
    """The rows that a reading gives of a file: all, but for those at the places that are `gone`, which ascend."""

    file: File
    gone: np.ndarray | None = None

    @property
    def rows(self) -> int:
        return self.file.rows - (0 if self.gone is None else len(self.gone))

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Where in the file the rows are that have these numbers among those that are left."""
        if self.gone is None:
            return numbers
        # Before the i-th that is gone there are as many others as its place says, but for the i before it.
        before = self.gone - np.arange(len(self.gone))
        return numbers + np.searchsorted(before, numbers, side="right")


class Files:
    """The files below one warehouse."""

    def __init__(self, warehouse: str | os.PathLike[str] | Place) -> None:
        self.place = place_at(warehouse)
        self._tables: Recent[pa.Table] = Recent(ROOM)
        self._finds: Recent[Found] = Recent(ROOM)
        self._unpacked = Unpacked()
        self._values: Recent[Spans] = Recent(ROOM // 8)
        self._ids: Recent[np.ndarray] = Recent(ROOM // 2)

    def create(self) -> None:
        """Make what the warehouse needs, or say why that cannot be."""
        self.place.create()

    @property
    def root(self) -> Path:
        """The folder of a warehouse on a disk."""
        return folder_of(self.place, "this")

    @property
    def are_here(self) -> bool:
        """Whether they are on a disk of this machine."""
        return isinstance(self.place, Disk)

    @property
    def invested(self) -> float:
        """CPU seconds that were spent here for those who will read the same files again."""
        return self._unpacked.spent

    def batch_directory(self, trace: str, step: str) -> str:
        """Where a step writes its batch of a trace."""
        return f"{self.place.name}/traces/{quote(trace, safe='')}/{step}"

    def full(self, file: File) -> str:
        return f"{self.place.name}/{file.path}"

    def write_arrow(self, rows: pa.Table | Iterable[pa.Table], directory: str, side: str = ADDED) -> None:
        """Rows on their way to a batch, whole or piece by piece."""
        write_rows([rows] if isinstance(rows, pa.Table) else rows, f"{directory}/{SIDE}={side}", self.place)

    def write_sides(self, rows: pa.Table, directory: str) -> None:
        """Rows that tell their side, on their way to a batch."""
        for side in (ADDED, REMOVED):
            self.write_arrow(rows.filter(pc.equal(rows[SIDE], side)).drop_columns([SIDE]).combine_chunks(), directory, side)

    def write_anew(self, written: str, directory: str) -> None:
        """The rows of a batch that an engine has written, as files of ours. Piece by piece: they may be many."""
        for side, files in zip((ADDED, REMOVED), self.written(written), strict=True):
            self.write_arrow((rows for file in files for rows in self._pieces(file, PIECE)), directory, side)

    def write_few(self, rows: pa.Table, directory: str, ids: tuple[int, int]) -> File:
        """A few rows that arrive, with the first and the last of their numbers, as one file of a batch."""
        path = f"{directory}/{SIDE}={ADDED}/part-0.parquet"
        size, crc = write_few(rows, path, self.place)
        file = File(self._relative(path), rows.num_rows, size, ids, crc)
        if size <= SMALL:
            self._keep(file, _copied(rows))  # the next refresh reads them, and so does a fold
        return file

    def sync(self, directories: Iterable[str]) -> None:
        """Have all that was written below these directories on the disk, whoever wrote it: what is acknowledged survives a power loss."""
        self.place.sync(directories)

    def damage(self, file: File, deep: bool = False) -> str | None:
        """What is wrong with a file, by its size and, when `deep`, by its checksum."""
        return damage(self.place, self.full(file), file.bytes, file.crc if deep else None)

    def check(self, files: Iterable[File], deep: bool = False) -> None:
        """Before an engine reads them: one that misses a file may take it for empty."""
        looked_at = tuple(files)
        for file, what in zip(looked_at, self.place.each(lambda file: self.damage(file, deep), looked_at), strict=False):
            if what is not None:
                raise Damaged(file.path, what)

    def write_folded(self, reading: Reading, version: int, directory: str, side: str) -> None:
        """Write what a reading gives as files of a batch of this version, without the engine. Piece by piece: it may be large."""
        left = self._left(reading) if reading.without else None
        # Files were written by several engines perhaps, each in its own way, and older ones may lack columns.
        like = pa.unify_schemas([self._schema(file) for file in reading.files], promote_options="permissive").empty_table()
        at = like.schema.get_field_index(VERSION)

        def folded(rows: pa.Table) -> pa.Table:
            rows = pa.concat_tables([like, rows if left is None else left.remaining(rows)], promote_options="permissive")
            return rows.set_column(at, VERSION, pa.repeat(pa.scalar(version, pa.int64()), rows.num_rows))

        # Hashes that left are looked up in a table that is built for every piece, numbers are not.
        most = PIECE if left is None or left.are_numbers else 16 * PIECE
        self.write_arrow((folded(rows) for file in reading.files for rows in self._pieces(file, most)), directory, side)

    def follow(self, new: Batch, replaced: Iterable[Batch]) -> None:
        """Get ready for those who will look for keys in a batch instead of in others."""
        old = {self.full(file) for batch in replaced for file in batch.added}
        for file in new.added:
            with contextlib.suppress(pa.ArrowException, OSError):
                self._unpacked.follow(self.full(file), opened(self.place.source(self.full(file))), old)

    def _schema(self, file: File) -> pa.Schema:
        known = self._tables.get(file.path)
        if known is not None:
            return known.schema
        with self._reading(file):
            return schema_of(self.place.source(self.full(file)))

    def _pieces(self, file: File, most: int) -> Iterator[pa.Table]:
        known = self._tables.get(file.path)
        with self._reading(file):
            yield from pieces(self.place.source(self.full(file)), most) if known is None else [known]

    def rows(self, reading: Reading, columns: Iterable[str] | None = None) -> pa.Table:
        """All that a small reading gives, without the engine; only these columns, identities and versions if `columns` are named."""
        rows = self._read(reading.files, None if columns is None else [*columns, ID, VERSION])
        return rows if not reading.without else self._left(reading).remaining(rows)

    def rows_as(self, reading: Reading, schema: pa.Schema) -> pa.Table:
        """All rows of a small reading with the columns of a schema. As engines have it: what a file lacks is NULL."""
        return _as(self.rows(reading) if reading.files else schema.empty_table(), schema)

    def there(self, reading: Reading) -> list[Part]:
        """How many rows a reading gives of each of its files, and where these are; in the order of their numbers, where they have some."""
        left = self._left(reading) if reading.without else None
        ordered = sorted(reading.files, key=lambda file: file.ids or (0, 0))
        return list(self.place.each(lambda file: self._there(file, reading, left), ordered))

    def _there(self, file: File, reading: Reading, left: Left | None) -> Part:
        if left is None or not any(without.may_share(file) for without in reading.without):
            return Part(file)
        key = (file.path, reading.without, reading.later)
        gone = self._ids.get(key)
        if gone is None:
            gone = left.places(self.contents(file, [ID, VERSION]))
            self._ids.put(key, gone, gone.nbytes)
        return Part(file, gone)

    def rows_at(self, part: Part, numbers: np.ndarray, schema: pa.Schema) -> pa.Table:
        """Some of a part's rows, by their numbers from zero on, which ascend; with the columns of a schema."""
        file, places = part.file, part.places(numbers)
        if file.bytes <= SMALL:
            rows = self.contents(file, schema.names).take(pa.array(places))
        else:
            self.check([file])
            with self._reading(file):
                rows = rows_at(self.place.source(self.full(file)), self.full(file), places, schema.names, self._unpacked)
        return _as(rows, schema)

    def rows_among(
        self,
        reading: Reading,
        columns: Iterable[str],
        column: str,
        keys: np.ndarray,
        also: Wanted | None = None,
        around: np.ndarray | None = None,
    ) -> Iterator[pa.Table]:
        """Those rows of a reading, however large, in which a column has one of some keys, which ascend. Piece by piece.

        `also`: what else is wanted of them, as far as `columns` show it. `around`: keys that others will look for, these among them.
        """
        left = self._left(reading) if reading.without else None
        wanted = list(dict.fromkeys((*columns, column, *(left.columns if left else ()))))
        for file in reading.files:
            rows = matching(self._found(file, wanted, column, keys, keys if around is None else around), also or {})
            if rows.num_rows:
                yield rows if left is None else left.remaining(rows)

    def values(self, files: Iterable[File], column: str) -> Spans | None:
        """Where the values of a column lie in a few small files, which are read once: several views ask."""
        few = tuple(files)
        known = self._values.get((few, column))
        if known is None:
            known = spans_of(self._read(few, [column])[column])
            if known is not None:
                self._values.put((few, column), known, len(known.known or b""))
        return known

    def _left(self, reading: Reading) -> Left:
        return Left(self._read(reading.without, [ID, VERSION]), reading.later)

    def _read(self, files: Iterable[File], columns: list[str] | None) -> pa.Table:
        # File by file: a folder's name in a path must not become a column.
        found = self.place.each(lambda file: self.contents(file, columns), tuple(files))
        return pa.concat_tables(found, promote_options="permissive")

    def contents(self, file: File, columns: list[str] | None) -> pa.Table:
        """The rows of one file, which is as it was written."""
        known = self._tables.get(file.path)
        if known is not None:
            self.check([file])
        else:
            with self._reading(file):
                known = contents(self._sound(file), None if file.bytes <= SMALL else columns)
            if file.bytes <= SMALL:
                self._keep(file, known)
        return known if columns is None else known.select([name for name in columns if name in known.column_names])

    def _keep(self, file: File, rows: pa.Table) -> None:
        self._tables.put(file.path, rows, rows.get_total_buffer_size() + COLUMN * rows.num_columns)

    def _sound(self, file: File) -> Any:
        """What to read a file from, which is as it was written. From a server it comes once, for its checksum and for its rows."""
        if isinstance(self.place, Disk):
            self.check([file], deep=True)
            return self.full(file)
        try:
            data = b"".join(self.place.pieces(self.full(file)))
        except FileNotFoundError:
            raise Damaged(file.path, MISSING) from None
        if len(data) != file.bytes:
            raise Damaged(file.path, f"has {len(data)} bytes, {file.bytes} were written")
        if file.crc is not None and checksum([data]) != file.crc:
            raise Damaged(file.path, DIFFERS)
        return pa.BufferReader(data)

    def _found(self, file: File, columns: list[str], column: str, keys: np.ndarray, around: np.ndarray) -> pa.Table:
        """The rows of one file in which a column has one of some keys. Views of one source often ask for the same."""
        self.check([file])
        with self._reading(file):
            found = self._finds.get((file.path, column))
            if found is None or not found.has(keys):
                found = Found.find(self.place, self.full(file), column, keys, self._unpacked, around)
            found = found.reading(columns)
        self._finds.put((file.path, column), found, found.size)
        present = [name for name in columns if name in found.rows.column_names]
        return found.among(keys).select(present)

    @contextlib.contextmanager
    def _reading(self, file: File) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, RuntimeError) as problem:
            raise self.place.is_away(problem) or Damaged(file.path, f"cannot be read: {problem}") from problem

    def may_hold(self, file: File, wanted: Wanted) -> bool:
        """Whether a file may have a row whose values all are among those wanted. A file that cannot be read may: who reads it says so."""
        for column, values in wanted.items():
            spans = self.spans(file, column) if isinstance(values, Spans) else None
            if spans is not None and isinstance(values, Spans) and not spans.meets(values):
                return False
        return True

    def fewer(self, reading: Reading, wanted: Wanted) -> Reading:
        """The same reading of those files only that may hold what is wanted."""
        files = tuple(file for file in reading.files if self.may_hold(file, wanted))
        return Reading(files, tuple(file for file in reading.without if any(file.may_share(each) for each in files)), reading.later)

    def spans(self, file: File, column: str) -> Spans | None:
        """Where the values of a column lie in a file, by its footer; None if that cannot be told."""
        try:
            return spans_in(self.place, self.full(file), column)
        except (pa.ArrowException, OSError, RuntimeError):
            return None

    def times(self, file: File, column: str) -> tuple[float, float] | None:
        """The earliest and the latest time in a column of a file, in seconds since 1970; None if it has none."""
        with self._reading(file):
            return times_in(self.place, self.full(file), column)

    def footer_damage(self, file: File) -> str | None:
        """What is wrong with the footer of a file."""
        try:
            rows = pq.read_metadata(self.place.source(self.full(file))).num_rows
        except (pa.ArrowException, OSError, RuntimeError) as problem:
            return f"cannot be read: {problem}"
        return f"has {rows} rows, {file.rows} were written" if rows != file.rows else None

    def ids(self, files: Iterable[File]) -> np.ndarray:
        """The identities in a table's files, which are read once: many readings leave out the same."""
        of = tuple(files)
        known = self._ids.get(of)
        if known is None:
            known = self._read(of, [ID]).column(ID).to_numpy()
            self._ids.put(of, known, known.nbytes)
        return known

    def written(self, directory: str) -> tuple[tuple[File, ...], tuple[File, ...]]:
        """The files of a batch that was written below `directory`: those of arrivals, those of departures. Empty files do not count."""
        found = self._written(directory)
        added, removed = (tuple(file for side, file in found if side == wanted) for wanted in (ADDED, REMOVED))
        return added, removed

    def sealed(self, directory: str) -> tuple[tuple[File, ...], tuple[File, ...]]:
        """The same, with checksums."""
        added, removed = self.written(directory)
        sums = iter(checksums(self.place, {self.full(file): file.bytes for file in (*added, *removed)}))
        added, removed = (tuple(replace(file, crc=next(sums)) for file in side) for side in (added, removed))
        return added, removed

    def rows_below(self, directory: str) -> int:
        """How many rows were written below a directory, by the footers of its files."""
        return sum(file.rows for _, file in self._written(directory))

    def _written(self, directory: str) -> list[tuple[str, File]]:
        """All files of a batch, with their sides. What lies deeper is of attempts that an engine has given up."""
        listed = sorted(self.place.below(directory).items())
        found = [(side[1], path, facts) for path, facts in listed if (side := _SIDE.fullmatch(path.removeprefix(f"{directory}/")))]

        def read(each: tuple[str, str, Facts]) -> tuple[str, File]:
            side, path, known = each
            facts = pq.read_metadata(self.place.source(path))
            return side, File(self._relative(path), facts.num_rows, known.bytes, _ids(facts))

        return [(side, file) for side, file in self.place.each(read, found) if file.rows]

    def remove(self, directory: str) -> None:
        self.place.remove(directory)

    def retire(self, directories: Iterable[str]) -> None:
        """Mark batches that no snapshot will name from now on."""
        for _ in self.place.each(self.place.mark, [f"{directory}/{RETIRED}" for directory in directories]):
            pass

    def retired(self, directory: str) -> float | None:
        """When a batch was retired; None if it was not."""
        try:
            return self.place.facts(f"{directory}/{RETIRED}").since
        except FileNotFoundError:
            return None

    def usage(self, directories: Iterable[str]) -> int:
        """How many bytes there are below some directories."""
        return sum(facts.bytes for directory in directories for facts in self.place.below(directory).values())

    def orphans(self, known: Iterable[tuple[str, str]]) -> list[str]:
        """The directories that no (trace, step) in the store names."""
        real = {self.batch_directory(trace, step) for trace, step in known}
        return [directory for directory in self.place.batches() if directory not in real]

    def _relative(self, path: str) -> str:
        return path.removeprefix(f"{self.place.name}/")


def _as(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    for field in schema:
        if field.name not in rows.schema.names:
            rows = rows.append_column(field, pa.nulls(len(rows), field.type))
    return rows.select(schema.names).cast(schema)


def _copied(rows: pa.Table) -> pa.Table:
    """The same rows in memory of their own: who gave them may write over theirs, or have cut them from something large."""
    copies = [pa.ipc.read_record_batch(batch.serialize(), rows.schema) for batch in rows.to_batches()]
    return pa.Table.from_batches(copies, rows.schema)


def _ids(facts: pq.FileMetaData) -> tuple[int, int] | None:
    """The smallest and the largest identity in a file, from its footer, if they are numbers."""
    at = leaf_at(facts, ID)
    if at is None:
        return None
    groups = [facts.row_group(group).column(at).statistics for group in range(facts.num_row_groups)]
    if any(group is None or not group.has_min_max or not isinstance(group.max, int) for group in groups):
        return None
    return min(group.min for group in groups), max(group.max for group in groups)
