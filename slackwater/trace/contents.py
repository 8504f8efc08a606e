"""What is in a Parquet file of a warehouse, read without an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slackwater.trace.place import Place
from slackwater.trace.spans import as_numbers, leaf_at, spans_of_group
from slackwater.trace.unpacked import Unpacked


def contents(source: Any, columns: list[str] | None) -> pa.Table:
    """The rows of a file. Spark writes a TIMESTAMP as INT96 if it is not told otherwise, and Arrow takes that for a time without a zone."""
    file = opened(source)
    return _with_zones(file.read(columns=columns), file)


def schema_of(source: Any) -> pa.Schema:
    """The schema that the rows of a file are read with."""
    file = opened(source)
    return _with_zones(file.schema_arrow.empty_table(), file).schema


def pieces(source: Any, most: int) -> Iterator[pa.Table]:
    """The rows of a file however large, so many at a time."""
    file = opened(source)
    for group in range(file.num_row_groups):  # of all at once Arrow would keep what it has fetched until the last one
        for batch in file.iter_batches(most, [group]):
            yield _with_zones(pa.table(batch), file)


def rows_at(source: Any, path: str, places: np.ndarray, columns: Iterable[str], unpacked: Unpacked) -> pa.Table:
    """The rows of a file at some places, which ascend, with these columns as far as it has them."""
    file = opened(source)
    names = [name for name in columns if name in file.schema_arrow.names]
    rows = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    first = np.cumsum([0, *rows])
    cuts = np.searchsorted(places, first)
    by_group = {group: places[cuts[group] : cuts[group + 1]] - first[group] for group in range(file.num_row_groups)}
    return _with_zones(unpacked.rows_at(by_group, path, file, names, lambda names: opened(source, _repeated(file, names))), file)


@dataclass(frozen=True)
class Found:
    """The rows of a file in which a column of whole numbers or dates has one of some keys: where they are, and what was read of them."""

    place: Place
    path: str
    column: str
    keys: np.ndarray  # which ascend
    places: tuple[tuple[int, np.ndarray], ...]  # by row group
    rows: pa.Table
    unpacked: Unpacked

    @classmethod
    def find(cls, place: Place, path: str, column: str, keys: np.ndarray, unpacked: Unpacked, around: np.ndarray | None = None) -> Found:
        """`around`: these keys and others that will be looked for, which are better found at once if all values are looked at."""
        file = opened(place.source(path))
        groups = [group for group in range(file.num_row_groups) if _may_hold(file.metadata, group, column, keys)]
        order = unpacked.order(path, file, column, groups, len(keys))
        if order is not None:
            there = tuple((group, order.places(group, keys)) for group in groups)
            order.memory.rest()
            return cls(place, path, column, keys, there, unpacked.rows_at(dict(there), path, file, [column], lambda names: file), unpacked)
        if around is not None and len(around) > len(keys):
            return cls.find(place, path, column, around, unpacked)
        schema = pa.schema([file.schema_arrow.field(column)])
        keyring, found = _Keyring(keys), [schema.empty_table()]
        places = {group: [np.array([], np.int64)] for group in groups}
        for group, first, batch in unpacked.batches(path, file, groups, [column], file):
            at = keyring.places(as_numbers(batch[column]))
            places[group].append(first + at)
            if len(at):
                found.append(pa.table(batch.take(pa.array(at))).cast(schema))
        there = tuple((group, np.concatenate(each)) for group, each in places.items())
        return cls(place, path, column, keys, there, pa.concat_tables(found), unpacked)

    @property
    def size(self) -> int:
        """In bytes."""
        return int(self.rows.nbytes + self.keys.nbytes + sum(places.nbytes for _, places in self.places))

    def has(self, keys: np.ndarray) -> bool:
        """Whether rows of all these keys were looked for."""
        at = np.searchsorted(self.keys, keys)
        return not len(keys) or bool(len(self.keys) and (self.keys[np.minimum(at, len(self.keys) - 1)] == keys).all())

    def among(self, keys: np.ndarray) -> pa.Table:
        """The rows of some of the keys."""
        if len(keys) == len(self.keys):
            return self.rows
        return self.rows.filter(pc.is_in(as_numbers(self.rows[self.column]), value_set=pa.array(keys)))

    def reading(self, columns: Iterable[str]) -> Found:
        """The same rows, with these columns too, as far as the file has them."""
        file = opened(self.place.source(self.path))
        more = [name for name in columns if name in file.schema_arrow.names and name not in self.rows.column_names]
        if not more:
            return self
        rows = self.rows
        source = self.place.source(self.path)
        few = self.unpacked.rows_at(dict(self.places), self.path, file, more, lambda names: opened(source, _repeated(file, names)))
        for name, values in zip(more, _with_zones(few, file).columns, strict=True):
            rows = rows.append_column(name, values)
        return replace(self, rows=rows)


class _Keyring:
    """Finds the keys among many values: most values are told to be no key by their last bits."""

    def __init__(self, keys: np.ndarray) -> None:
        self._keys = keys
        self._last_bits = (1 << min(22, max(10, (64 * len(keys)).bit_length()))) - 1
        self._may_be_key = np.zeros(self._last_bits + 1, bool)
        self._may_be_key[keys & self._last_bits] = True

    def places(self, values: pa.Array) -> np.ndarray:
        """Where keys are. The values are BIGINTs."""
        if not len(self._keys):
            return np.array([], np.int64)
        numbers = values.fill_null(0).to_numpy()
        maybe = np.flatnonzero(self._may_be_key[numbers & self._last_bits])
        at = np.minimum(np.searchsorted(self._keys, numbers[maybe]), len(self._keys) - 1)
        found: np.ndarray = maybe[self._keys[at] == numbers[maybe]]
        return found if not values.null_count else found[values.is_valid().to_numpy(zero_copy_only=False)[found]]


def opened(source: Any, repeated: Iterable[str] = ()) -> pq.ParquetFile:
    return pq.ParquetFile(source, coerce_int96_timestamp_unit="us", read_dictionary=list(repeated))


def _repeated(file: pq.ParquetFile, names: list[str]) -> list[str]:
    """The columns of words that a file keeps as numbers of a few different ones: to make words of them is most of what reading costs."""
    facts, found = file.metadata, []
    for name in names:
        at = leaf_at(facts, name)
        if at is not None and pa.types.is_string(file.schema_arrow.field(name).type):
            encodings = [facts.row_group(group).column(at).encodings for group in range(facts.num_row_groups)]
            if all("PLAIN_DICTIONARY" in each and "PLAIN" not in each for each in encodings):
                found.append(name)
    return found


def _may_hold(facts: pq.FileMetaData, group: int, column: str, keys: np.ndarray) -> bool:
    known = spans_of_group(facts, group, column)
    return known is None or any(np.searchsorted(keys, first) < np.searchsorted(keys, last, "right") for first, last in known.spans)


def _with_zones(rows: pa.Table, file: pq.ParquetFile) -> pa.Table:
    old = {leaf.path for leaf in map(file.schema.column, range(len(file.schema))) if leaf.physical_type == "INT96"}
    if not old:
        return rows
    return rows.cast(pa.schema([field.with_type(_in_utc(field.type, _below(field.name, old))) for field in rows.schema]))


def _below(name: str, paths: set[str]) -> set[str]:
    """Those of the paths that lead below `name`, from there on."""
    return {path.removeprefix(name).removeprefix(".") for path in paths if path == name or path.startswith(f"{name}.")}


def _in_utc(type_: pa.DataType, old: set[str]) -> pa.DataType:
    """The type with a zone for the timestamps at the `old` paths below it, which name a leaf the way Parquet does."""
    if not old:
        return type_
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", tz="UTC")
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_in_utc(field.type, _below(field.name, old))) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_in_utc(type_.value_type, _below("list.element", old))))
    if pa.types.is_map(type_):
        return pa.map_(_in_utc(type_.key_type, _below("key_value.key", old)), _in_utc(type_.item_type, _below("key_value.value", old)))
    return type_
