"""Where the values of a column lie in some rows, and in a file."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from functools import lru_cache, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slackwater.delta.spans import MOST, Spans, Words, apart, distinct
from slackwater.trace.place import Place

_EPOCH = datetime.date(1970, 1, 1)
_DAY = 86400.0  # seconds


def spans_of(values: pa.ChunkedArray) -> Spans | None:
    """The spans of some values, split where the gaps are widest; None if they are of another type."""
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    if not pa.types.is_integer(values.type):
        return None
    found = distinct(values.drop_null().to_numpy()).astype(np.int64)
    if not len(found):
        return Spans((), values.null_count > 0, found.tobytes())
    # Not numpy's difference: that of the smallest and the largest BIGINT is no BIGINT.
    gaps = found[1:].astype(float) - found[:-1].astype(float)
    cuts = sorted(int(at) for at in np.argsort(gaps)[::-1][: MOST - 1] if gaps[at] > 1)
    firsts, lasts = [0, *(at + 1 for at in cuts)], [*cuts, len(found) - 1]
    spans = tuple((int(found[a]), int(found[b])) for a, b in zip(firsts, lasts, strict=True))
    return Spans(spans, values.null_count > 0, found.tobytes())


def as_numbers(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Whole numbers as BIGINTs, dates as their days."""
    return (values.cast(pa.int32()) if pa.types.is_date32(values.type) else values).cast(pa.int64())


def matching(rows: pa.Table, wanted: Mapping[str, Spans | Words]) -> pa.Table:
    """The rows all whose values are among those wanted; of columns that cannot be looked at, any."""
    for name, values in wanted.items():
        if name in rows.column_names and rows.num_rows:
            matches = _matches(rows[name], values)
            rows = rows if matches is None else rows.filter(matches)
    return rows


def _matches(values: pa.ChunkedArray, wanted: Spans | Words) -> pa.ChunkedArray | None:
    if isinstance(wanted, Words):
        if not pa.types.is_string(values.type):
            return None
        if not wanted.are_prefixes:
            return pc.is_in(values, value_set=pa.array(sorted(wanted.words)))
        return reduce(pc.or_, (pc.starts_with(values, word) for word in wanted.words))
    if not (pa.types.is_integer(values.type) or pa.types.is_date32(values.type)):
        return None
    numbers = as_numbers(values)
    if wanted.known is not None:
        found = pc.is_in(numbers, value_set=pa.array(wanted.values))
    else:
        found = pc.fill_null(pc.not_equal(numbers, numbers), False)
        for first, last in wanted.spans:
            inside = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
            found = pc.or_(found, pc.fill_null(inside, False))
    return pc.or_(found, pc.is_null(numbers)) if wanted.nulls else found


@lru_cache(maxsize=1 << 16)
def spans_in(place: Place, path: str, column: str) -> Spans | None:
    """The spans of a column in a file, by its footer; None if that does not tell. A file never changes."""
    facts = _footer(place, path)
    groups = [spans_of_group(facts, group, column) for group in range(facts.num_row_groups)]
    told = [spans for spans in groups if spans is not None]
    if len(told) < len(groups) or leaf_at(facts, column) is None:
        return None
    return Spans(apart(span for spans in told for span in spans.spans), any(spans.nulls for spans in told))


@lru_cache(maxsize=1 << 6)
def _footer(place: Place, path: str) -> pq.FileMetaData:
    """Several columns of a file are often asked for."""
    return pq.read_metadata(place.source(path))


def spans_of_group(facts: pq.FileMetaData, group: int, column: str) -> Spans | None:
    """The span of a column in a row group, by the file's footer; None if that does not tell."""
    at = leaf_at(facts, column)
    known = None if at is None else facts.row_group(group).column(at).statistics
    if known is None or not known.has_null_count:
        return None
    if not known.has_min_max:
        return Spans((), True) if known.null_count == facts.row_group(group).num_rows else None
    first, last = _number(known.min), _number(known.max)
    return None if first is None or last is None else Spans(((first, last),), known.null_count > 0)


@lru_cache(maxsize=1 << 16)
def times_in(place: Place, path: str, column: str) -> tuple[float, float] | None:
    """The earliest and the latest time in a column of a file, in seconds since 1970; None if it has none. A file never changes."""
    facts = _footer(place, path)
    at = leaf_at(facts, column)
    known = [None if at is None else facts.row_group(group).column(at).statistics for group in range(facts.num_row_groups)]
    if all(each is not None and each.has_min_max for each in known):
        ends = [(each.min, each.max) for each in known if each is not None]
    else:  # a group without times has none to tell
        found = pc.min_max(pq.read_table(place.source(path), columns=[column])[column]).as_py()
        ends = [(found["min"], found["max"])] if found["min"] is not None else []
    return (min(_seconds(first) for first, _ in ends), max(_seconds(last) for _, last in ends)) if ends else None


def _seconds(value: datetime.date) -> float:
    if not isinstance(value, datetime.datetime):
        return (value - _EPOCH).days * _DAY
    return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).timestamp()


def leaf_at(facts: pq.FileMetaData, column: str) -> int | None:
    """Where a file has a column that is not nested. A field of a struct may have the same name, or the same path as a name with a dot."""
    leaves = (facts.schema.column(leaf) for leaf in range(len(facts.schema)))
    return next((place for place, leaf in enumerate(leaves) if leaf.name == leaf.path == column), None)


def _number(value: object) -> int | None:
    if isinstance(value, datetime.datetime | bool):
        return None
    if isinstance(value, datetime.date):
        return (value - _EPOCH).days
    return value if isinstance(value, int) else None
