"""What is in a Parquet file of a warehouse, read without an engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slackwater.trace.spans import spans_of_group

BATCH = 1 << 16  # rows that are looked at together


def contents(path: str, columns: list[str] | None) -> pa.Table:
    """The rows of a file. Spark writes a TIMESTAMP as INT96 if it is not told otherwise, and Arrow takes that for a time without a zone."""
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    return _with_zones(file.read(columns=columns), file)


def contents_among(path: str, columns: list[str], column: str, keys: np.ndarray) -> Iterator[pa.Table]:
    """The rows of a file in which a column of whole numbers or dates has one of some keys, which ascend."""
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    groups = [group for group in range(file.num_row_groups) if _may_hold(file.metadata, group, column, keys)]
    if not groups:
        return
    present = [name for name in columns if name in file.schema_arrow.names]
    for batch in file.iter_batches(BATCH, groups, present):
        rows = batch.filter(pc.is_in(_as_numbers(batch[column]), value_set=pa.array(keys)))
        if rows.num_rows:
            yield _with_zones(pa.table(rows), file)


def _may_hold(facts: pq.FileMetaData, group: int, column: str, keys: np.ndarray) -> bool:
    known = spans_of_group(facts, group, column)
    return known is None or any(np.searchsorted(keys, first) < np.searchsorted(keys, last, "right") for first, last in known.spans)


def _as_numbers(values: pa.Array) -> pa.Array:
    return (values.cast(pa.int32()) if pa.types.is_date32(values.type) else values).cast(pa.int64())


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
