"""Which keys a table has, kept here, so that a few rows that arrive cost no statement of the engine.

A key is known by a code of 64 bits; equal keys have equal codes. A code that was never seen is a new key for certain. One that was seen may
be a key of the table, one that has left, or another with the same code: then the engine looks at the rows themselves. Only keys whose
equality is plain are coded: a double has two zeros, and a collation takes different strings for equal.

What is known of a table was read from its trace, and is brought up to date from there: whoever changed the table, by whatever statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.catalog import Table
from slackwater.trace import Files, Trace

Codes = npt.NDArray[np.uint64]

MOST = 10_000_000  # keys of all tables together: eight bytes each
NUMBERS = frozenset(("boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz"))
HASHED = frozenset(("string", "binary"))


class KeysOfTables:
    """The keys of the tables that were asked for last."""

    def __init__(self, files: Files, most: int = MOST) -> None:
        self._files = files
        self._most = most
        self._keys: dict[str, Keys] = {}

    def of(self, table: Table, trace: Trace) -> Keys | None:
        """What is known of a table's keys as of its newest version; None if it has none that are plain, or too many."""
        name = table.name.lower()
        known = self._keys.pop(name, None)
        if not table.primary_key or not _plain(table) or trace.rows > self._most:
            return None
        if known is None or known.key != table.primary_key or len(known) > 2 * trace.rows + 1000:
            known = Keys(table.primary_key)
        for batch in trace.batches:
            if batch.version > known.version:
                for file in batch.added:
                    known.add(codes(self._files.contents(file, list(table.primary_key)), table.primary_key), known.version)
                known.version = batch.version
        self._keys[name] = known
        while sum(map(len, self._keys.values())) > self._most:
            self._keys.pop(next(iter(self._keys)))
        return known

    def forget(self, name: str) -> None:
        """When a table is dropped: another may get its name, and count its versions from the beginning."""
        self._keys.pop(name, None)


class Keys:
    """The codes of one table's keys up to a version: sorted runs, each less than half as long as the one before."""

    def __init__(self, key: Sequence[str]) -> None:
        self.key = key
        self.version = 0
        self._runs: list[Codes] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def seen(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """For each code, whether it was added before."""
        found = np.zeros(len(codes), dtype=np.bool_)
        for run in self._runs:
            at = np.searchsorted(run, codes)
            found |= run[np.minimum(at, len(run) - 1)] == codes
        return found

    def add(self, codes: Codes, version: int) -> None:
        """Codes of keys that arrived, now that the table is at this version."""
        self.version = version
        if not len(codes):
            return
        self._runs.append(np.sort(codes))
        while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = np.concatenate((self._runs[-1], last))
            self._runs[-1].sort(kind="stable")  # which merges what is sorted


def codes(rows: pa.Table, key: Sequence[str]) -> Codes:
    """A code for the key of each row."""
    mixed = np.zeros(rows.num_rows, dtype=np.uint64)
    for name in key:
        mixed = _mixed(mixed ^ _coded(rows.column(name)))
    return mixed


def _mixed(codes: Codes) -> Codes:
    """Spread over all bits, each code to another: a key that is one number never shares its code (the end of splitmix64)."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))


def _coded(column: pa.ChunkedArray) -> Codes:
    if pa.types.is_integer(column.type) or pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        plain = column.cast(pa.int32()) if pa.types.is_date32(column.type) or pa.types.is_boolean(column.type) else column
        return np.asarray(plain.cast(pa.int64()).to_numpy(), dtype=np.int64).view(np.uint64)
    values = column.combine_chunks().dictionary_encode()
    hashes = np.array([hash(value) for value in values.dictionary.to_pylist()], dtype=np.int64)
    at: npt.NDArray[np.int32] = values.indices.to_numpy(zero_copy_only=False)
    return hashes[at].view(np.uint64)


def _plain(table: Table) -> bool:
    types: Mapping[str, str] = {c.name: c.type for c in table.columns}
    return all(types[name] in NUMBERS | HASHED or types[name].startswith("decimal(") for name in table.primary_key)
