"""Traces: the batches of one relation, readable as of any version.

A batch is what one step added to a trace: files of rows that arrived, and files of rows that left. Each row carries its identity and the
version of its batch. A row is there at version v when it arrived in a batch up to v and no later batch up to v removed its identity.
A batch may remove an identity and add it again (a group whose sum changed): its removals mean rows of earlier batches.

Reading needs no sums: the files of arrivals, without the identities that left. When nothing left, it is a plain scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from slackwater.delta import ADDED, KEPT, NEW, OLD, REMOVED, Moved
from slackwater.errors import InternalError
from slackwater.plan import Column

VERSION = "_v"  # the column that holds the version of a row's batch


@dataclass(frozen=True)
class File:
    """A Parquet file below the warehouse. `ids` are its smallest and largest identity, where those are numbers; `crc` is its checksum."""

    path: str
    rows: int
    bytes: int
    ids: tuple[int, int] | None = None
    crc: int | None = None

    def may_share(self, other: File) -> bool:
        """Whether an identity may be in both files."""
        if self.ids is None or other.ids is None:
            return True
        return self.ids[0] <= other.ids[1] and other.ids[0] <= self.ids[1]


@dataclass(frozen=True)
class Batch:
    """The immutable change that one step made to one trace."""

    version: int
    step: str
    added: tuple[File, ...]
    removed: tuple[File, ...]

    @property
    def added_rows(self) -> int:
        return sum(file.rows for file in self.added)

    @property
    def removed_rows(self) -> int:
        return sum(file.rows for file in self.removed)

    @property
    def rows(self) -> int:
        """How many rows are in its files."""
        return self.added_rows + self.removed_rows

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in (*self.added, *self.removed))


@dataclass(frozen=True)
class Reading:
    """What to read: the rows of `files`, except those whose identity is in `without`.

    `later`: only a removal in a later batch than the row's counts. Otherwise only an arrival in an earlier batch does, which is how
    removals of rows that had come and gone unseen are left out.
    """

    files: tuple[File, ...]
    without: tuple[File, ...] = ()
    later: bool = True

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in (*self.files, *self.without))

    @property
    def rows(self) -> int:
        """How many rows are looked at."""
        return sum(file.rows for file in (*self.files, *self.without))

    @property
    def remaining(self) -> int:
        """How many rows it gives, at least about: what is left out may not have been there."""
        return max(0, sum(file.rows for file in self.files) - sum(file.rows for file in self.without))


@dataclass(frozen=True)
class Trace:
    """A relation's batches. `id_type` is BIGINT for a table's numbers, STRING for hashes."""

    name: str
    columns: tuple[Column, ...]
    id_type: str = "string"
    batches: tuple[Batch, ...] = ()

    @property
    def version(self) -> int:
        return self.batches[-1].version if self.batches else 0

    @cached_property
    def rows(self) -> int:
        """How many rows there are at the newest version."""
        return sum(batch.added_rows - batch.removed_rows for batch in self.batches)

    @cached_property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def files(self) -> tuple[File, ...]:
        return tuple(file for batch in self.batches for file in (*batch.added, *batch.removed))

    def between(self, old: int, new: int) -> tuple[Batch, ...]:
        """The batches after one version, up to another."""
        return tuple(batch for batch in self.batches if old < batch.version <= new)

    def moved(self, old: int, new: int) -> Moved:
        """Whether rows arrived or left between two versions."""
        between = self.between(old, new)
        return Moved(any(batch.added for batch in between), any(batch.removed for batch in between))

    def at(self, version: int) -> Reading:
        """All rows as of a version."""
        return self._reading(0, version, version)

    def part(self, part: str, old: int, new: int) -> Reading:
        """One of the five parts between two versions (see delta/rows.py)."""
        if part == OLD:
            return self.at(old)
        if part == NEW:
            return self.at(new)
        if part == KEPT:
            return self._reading(0, old, new)
        if part == ADDED:
            return self._reading(old, new, new)
        if part == REMOVED:
            between = self.between(old, new)
            # What arrived and left between the two versions was never seen, so it does not leave.
            came = tuple(file for batch in between[:-1] for file in batch.added)
            return _reading(_files(between, REMOVED), came, later=False)
        raise InternalError(f"a trace has no part called {part}")

    @property
    def from_now_on(self) -> Trace:
        """As somebody sees it who is to see nothing of what there is, and all that comes."""
        return Trace(self.name, self.columns, self.id_type, (Batch(self.version, "", (), ()),))

    def with_batch(self, batch: Batch) -> Trace:
        if batch.version != self.version + 1:
            raise InternalError(f"batch {batch.version} cannot follow version {self.version} of {self.name}")
        trace = Trace(self.name, self.columns, self.id_type, (*self.batches, batch))
        vars(trace)["rows"] = self.rows + batch.added_rows - batch.removed_rows  # of few new rows, not counted over all batches again
        return trace

    def folded(self, after: int, batch: Batch) -> Trace:
        """The same rows, with all batches after a version and up to that of `batch` become this one."""
        if all(each.version != batch.version for each in self.batches):
            raise InternalError(f"a fold cannot change the versions of {self.name}")
        older, newer = self.between(0, after), self.between(batch.version, self.version)
        return Trace(self.name, self.columns, self.id_type, (*older, batch, *newer))

    def _reading(self, after: int, upto: int, removed_upto: int) -> Reading:
        arrived = self.between(after, upto)
        first = next((batch.version for batch in arrived if batch.added), upto)
        return _reading(_files(arrived, ADDED), _files(self.between(first, removed_upto), REMOVED), later=True)


def _reading(files: tuple[File, ...], without: tuple[File, ...], later: bool) -> Reading:
    """Only files that can matter are looked at: a table numbers its rows, so those that just came share no range with older ones."""
    return Reading(files, tuple(w for w in without if any(w.may_share(file) for file in files)), later)


def _files(batches: tuple[Batch, ...], side: str) -> tuple[File, ...]:
    return tuple(file for batch in batches for file in (batch.added if side == ADDED else batch.removed))
