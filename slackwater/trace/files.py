"""All work with the files of a warehouse goes through here.

A batch is written below `traces/<trace>/<step>`, and is real once the store has a row for it. What no row names is an orphan: of a step
that did not finish, or retired, because its rows were folded into another batch or its trace was dropped. What is retired is marked, for
somebody may still be reading it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slackwater.delta import ADDED, ID, REMOVED, SIDE
from slackwater.delta.conditions import Wanted
from slackwater.delta.spans import Spans
from slackwater.errors import WarehouseError
from slackwater.trace.contents import Found, contents
from slackwater.trace.durable import Damaged, checksums, damage, sync
from slackwater.trace.recent import Recent
from slackwater.trace.spans import leaf_at, matching, spans_in
from slackwater.trace.trace import VERSION, File, Reading
from slackwater.trace.unwritable import HINTS, writing
from slackwater.trace.write import write_few, write_rows

SMALL = 1 << 20  # bytes of a file that is kept in memory when it was read, or written here
ROOM = 64 << 20  # bytes of what is kept so, and as many of what was found in larger files
COLUMN = 1 << 10  # bytes that a column takes in memory beside its values, however few they are
RETIRED = "_retired"  # the mark of a batch that readers of an older snapshot may still be reading


def folder_at(place: str | os.PathLike[str]) -> Path:
    """The folder that a warehouse is in. `file://` may stand before it."""
    scheme = re.match(r"([a-z][a-z0-9+.-]+):/", str(place))  # a Path has made one slash of two
    if scheme is None:
        return Path(place)
    if scheme[1] != "file":
        raise WarehouseError(
            f'a warehouse cannot be at "{scheme[1]}://" yet', hint="use a folder; for a cluster, one on a disk that all machines share"
        )
    return Path("/" + str(place).removeprefix("file:").lstrip("/"))


class Files:
    """The files below one warehouse."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).absolute()
        self._tables: Recent[pa.Table] = Recent(ROOM)
        self._finds: Recent[Found] = Recent(ROOM)

    def create(self) -> None:
        """Make the warehouse's folders, or say why that cannot be."""
        folders = (self.root / "traces", *(self.root / "traces").parents)
        new = [folder for folder in folders if not folder.exists()]
        try:
            folders[0].mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            hint = HINTS.get(problem.errno or 0)
            raise WarehouseError(f"cannot create the warehouse at {self.root}: {problem.strerror}", hint=hint) from problem
        if not os.access(self.root, os.W_OK):
            raise WarehouseError(
                f"cannot write to the warehouse at {self.root}", hint="open it with read_only=True, or check its permissions"
            )
        with writing(self.root):
            sync(folder.parent for folder in new)

    def batch_directory(self, trace: str, step: str) -> str:
        """Where a step writes its batch of a trace."""
        return f"{self.root}/traces/{quote(trace, safe='')}/{step}"

    def full(self, file: File) -> str:
        return f"{self.root}/{file.path}"

    def write_arrow(self, rows: pa.Table | Iterable[pa.Table], directory: str, side: str = ADDED) -> None:
        """Rows on their way to a batch, whole or piece by piece."""
        write_rows([rows] if isinstance(rows, pa.Table) else rows, Path(directory) / f"{SIDE}={side}")

    def write_sides(self, rows: pa.Table, directory: str) -> None:
        """Rows that tell their side, on their way to a batch."""
        for side in (ADDED, REMOVED):
            self.write_arrow(rows.filter(pc.equal(rows[SIDE], side)).drop_columns([SIDE]).combine_chunks(), directory, side)

    def write_few(self, rows: pa.Table, directory: str, ids: tuple[int, int]) -> File:
        """A few rows that arrive, with the first and the last of their numbers, as one file of a batch."""
        path = f"{directory}/{SIDE}={ADDED}/part-0.parquet"
        size, crc = write_few(rows, path)
        file = File(path.removeprefix(f"{self.root}/"), rows.num_rows, size, ids, crc)
        if size <= SMALL:
            self._keep(file, _copied(rows))  # the next refresh reads them, and so does a fold
        return file

    def sync(self, directories: Iterable[str]) -> None:
        """Have all that was written below these directories on the disk, whoever wrote it: what is acknowledged survives a power loss."""
        paths: set[str] = set()
        for directory in directories:
            if os.path.isdir(directory):
                trace = os.path.dirname(directory)
                paths |= {os.path.dirname(trace), trace, directory}
                # Not all that is there: an attempt that an engine has given up may still be writing beside.
                for side in (entry.path for entry in os.scandir(directory) if entry.name.startswith(f"{SIDE}=")):
                    paths |= {side, *(entry.path for entry in os.scandir(side))}
        with writing(self.root):
            sync(paths)

    def damage(self, file: File, deep: bool = False) -> str | None:
        """What is wrong with a file, by its size and, when `deep`, by its checksum."""
        return damage(self.full(file), file.bytes, file.crc if deep else None)

    def check(self, files: Iterable[File], deep: bool = False) -> None:
        """Before an engine reads them: one that misses a file may take it for empty."""
        for file in files:
            if (what := self.damage(file, deep)) is not None:
                raise Damaged(file.path, what)

    def write_folded(self, reading: Reading, version: int, directory: str, side: str) -> None:
        """Write what a small reading gives as one file of a batch of this version, without the engine."""
        rows = self.rows(reading)
        at = rows.schema.get_field_index(VERSION)
        rows = rows.set_column(at, VERSION, pa.repeat(pa.scalar(version, pa.int64()), rows.num_rows))
        self.write_arrow(rows, directory, side)

    def rows(self, reading: Reading, columns: Iterable[str] | None = None) -> pa.Table:
        """All that a small reading gives, without the engine; only these columns, identities and versions if `columns` are named."""
        rows = self._read(reading.files, None if columns is None else [*columns, ID, VERSION])
        return rows if not reading.without else _remaining(rows, self._left(reading), reading.later)

    def rows_among(
        self, reading: Reading, columns: Iterable[str], column: str, keys: np.ndarray, also: Wanted | None = None
    ) -> Iterator[pa.Table]:
        """Those rows of a reading, however large, in which a column has one of some keys, which ascend. Piece by piece.

        `also`: what else is wanted of them, as far as `columns` show it.
        """
        wanted = list(dict.fromkeys((*columns, column, *((ID, VERSION) if reading.without else ()))))
        left = self._left(reading) if reading.without else None
        for file in reading.files:
            rows = matching(self._found(file, wanted, column, keys), also or {})
            if rows.num_rows:
                yield rows if left is None else _remaining(rows, left, reading.later)

    def _left(self, reading: Reading) -> pa.Table:
        # Of several rows with one identity the last to leave decides, or the first to come: `index_in` finds the first.
        order = "descending" if reading.later else "ascending"
        return self._read(reading.without, [ID, VERSION]).sort_by([(VERSION, order)])

    def _read(self, files: Iterable[File], columns: list[str] | None) -> pa.Table:
        # File by file: a folder's name in a path must not become a column.
        return pa.concat_tables([self.contents(file, columns) for file in files], promote_options="permissive")

    def contents(self, file: File, columns: list[str] | None) -> pa.Table:
        """The rows of one file, which is as it was written."""
        known = self._tables.get(file.path)
        self.check([file], deep=known is None)
        if known is None:
            with self._reading(file):
                known = contents(self.full(file), None if file.bytes <= SMALL else columns)
            if file.bytes <= SMALL:
                self._keep(file, known)
        return known if columns is None else known.select([name for name in columns if name in known.column_names])

    def _keep(self, file: File, rows: pa.Table) -> None:
        self._tables.put(file.path, rows, rows.get_total_buffer_size() + COLUMN * rows.num_columns)

    def _found(self, file: File, columns: list[str], column: str, keys: np.ndarray) -> pa.Table:
        """The rows of one file in which a column has one of some keys. Views of one source often ask for the same."""
        self.check([file])
        with self._reading(file):
            found = self._finds.get((file.path, column))
            if found is None or not found.has(keys):
                found = Found.find(self.full(file), column, keys)
            found = found.reading(columns)
        self._finds.put((file.path, column), found, found.size)
        present = [name for name in columns if name in found.rows.column_names]
        return found.among(keys).select(present)

    @contextlib.contextmanager
    def _reading(self, file: File) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as problem:
            raise Damaged(file.path, f"cannot be read: {problem}") from problem

    def may_hold(self, file: File, wanted: Wanted) -> bool:
        """Whether a file may have a row whose values all are among those wanted. A file that cannot be read may: who reads it says so."""
        for column, values in wanted.items():
            spans = self.spans(file, column) if isinstance(values, Spans) else None
            if spans is not None and isinstance(values, Spans) and not spans.meets(values):
                return False
        return True

    def spans(self, file: File, column: str) -> Spans | None:
        """Where the values of a column lie in a file, by its footer; None if that cannot be told."""
        try:
            return spans_in(self.full(file), column)
        except (pa.ArrowException, OSError):
            return None

    def ids(self, files: Iterable[File]) -> list[int]:
        """The identities in a few small files."""
        found: list[int] = self._read(files, [ID]).column(ID).to_pylist()
        return found

    def written(self, directory: str) -> tuple[tuple[File, ...], tuple[File, ...]]:
        """The files of a batch that was written below `directory`: those of arrivals, those of departures. Empty files do not count."""
        return self._side(directory, ADDED), self._side(directory, REMOVED)

    def sealed(self, directory: str) -> tuple[tuple[File, ...], tuple[File, ...]]:
        """The same, with checksums."""
        added, removed = self.written(directory)
        sums = checksums(self.full(file) for file in (*added, *removed))
        added, removed = (tuple(replace(file, crc=next(sums)) for file in side) for side in (added, removed))
        return added, removed

    def _side(self, directory: str, side: str) -> tuple[File, ...]:
        folder = Path(directory) / f"{SIDE}={side}"
        if not folder.is_dir():
            return ()
        found = []
        for path in sorted(folder.glob("*.parquet")):
            facts = pq.read_metadata(path)
            if facts.num_rows:
                found.append(File(str(path.relative_to(self.root)), facts.num_rows, path.stat().st_size, _ids(facts)))
        return tuple(found)

    def remove(self, directory: str) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        with contextlib.suppress(OSError):
            Path(directory).parent.rmdir()  # the last batch of a trace takes its folder with it

    def retire(self, directory: str) -> None:
        """Mark a batch that no snapshot will name from now on."""
        with writing(directory), contextlib.suppress(FileNotFoundError):
            (Path(directory) / RETIRED).touch()

    def retired(self, directory: str) -> float | None:
        """When a batch was retired; None if it was not."""
        try:
            return (Path(directory) / RETIRED).stat().st_mtime
        except FileNotFoundError:
            return None

    def usage(self, directories: Iterable[str]) -> int:
        """How many bytes there are below some directories."""
        found = 0
        for folder, _, names in (each for directory in directories for each in os.walk(directory)):
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # gone while we look
                    found += os.stat(os.path.join(folder, name)).st_size
        return found

    def orphans(self, known: Iterable[tuple[str, str]]) -> list[str]:
        """The directories that no (trace, step) in the store names."""
        real = {(quote(trace, safe=""), step) for trace, step in known}
        return [str(step) for step in sorted((self.root / "traces").glob("*/*")) if (step.parent.name, step.name) not in real]


def _copied(rows: pa.Table) -> pa.Table:
    """The same rows in memory of their own: who gave them may write over theirs, or have cut them from something large."""
    copies = [pa.ipc.read_record_batch(batch.serialize(), rows.schema) for batch in rows.to_batches()]
    return pa.Table.from_batches(copies, rows.schema)


def _remaining(rows: pa.Table, left: pa.Table, later: bool) -> pa.Table:
    """Without the rows that have left."""
    found = pc.index_in(rows[ID], value_set=left[ID].cast(rows[ID].type).combine_chunks())
    compare = pc.greater_equal if later else pc.less_equal
    return rows.filter(pc.fill_null(compare(rows[VERSION], left[VERSION].take(found)), True))


def rows_below(directory: str) -> int:
    """How many rows were written below a directory, by the footers of its files."""
    return sum(pq.read_metadata(path).num_rows for path in Path(directory).glob(f"{SIDE}=*/*.parquet"))


def _ids(facts: pq.FileMetaData) -> tuple[int, int] | None:
    """The smallest and the largest identity in a file, from its footer, if they are numbers."""
    at = leaf_at(facts, ID)
    if at is None:
        return None
    groups = [facts.row_group(group).column(at).statistics for group in range(facts.num_row_groups)]
    if any(group is None or not group.has_min_max or not isinstance(group.max, int) for group in groups):
        return None
    return min(group.min for group in groups), max(group.max for group in groups)
