"""What groups gain, added to what their path keeps of them, by this process.

    now(group) = kept(group) + gains(group)        counts and sums; the smaller or the larger of both for min and max

It is what a path's flush does that merges partials (delta/aggregate.py), but for the join: the groups that a path keeps, if they are not
too many, are here already. Only for types whose sums Arrow makes as engines do, to the last digit, or fails at.
"""

from __future__ import annotations

import functools
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from slackwater.delta import ID, REMOVED, ROWS, SIDE
from slackwater.path import Path
from slackwater.plan import Aggregate, Output
from slackwater.run.compile import AnyPath

MOST = 100_000  # groups that a path keeps: with more, an engine with several cores is quicker to find those that moved
ORDERED = frozenset("tinyint smallint int bigint decimal string date".split())  # alike by Arrow and by engines


def adds_here(path: AnyPath, kept: int) -> bool:
    """Whether this process can add to what a path keeps of so many groups."""
    if not isinstance(path, Path) or not isinstance(path.top, Aggregate) or not 0 < kept <= MOST:
        return False
    return all(map(_is_told, path.top.measures)) and not any(column.type.startswith(("array", "struct", "map")) for column in path.columns)


def _is_told(measure: Output) -> bool:
    kind = measure.column.type.partition("(")[0]
    return kind in ORDERED if isinstance(measure.expression, exp.Min | exp.Max) else kind in ("bigint", "decimal", "double")


def with_gains(path: Path, gains: pa.Table, kept: pa.Table) -> pa.Table | None:
    """What changes in a path, each row with its side. None: an engine has to tell."""
    assert isinstance(path.top, Aggregate)
    at = pc.index_in(gains[ID], value_set=kept[ID].combine_chunks())
    before, now = kept.take(at), gains
    try:
        for measure in path.top.measures:
            place = now.column_names.index(measure.name)
            now = now.set_column(place, now.schema.field(place), _sum(measure, before[measure.name], gains[measure.name]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    was = at.is_valid()
    there = pc.greater(now[ROWS], 0) if path.top.keys else pa.repeat(True, now.num_rows)
    stays = functools.reduce(pc.and_, (_same(before[name], now[name]) for name in path.top.names), pc.and_(was, there))
    changed = pc.invert(stays)
    came, left = now.filter(pc.and_(there, changed)), before.filter(pc.and_(was, changed))
    return pa.concat_tables([came, left.add_column(0, now.schema.field(SIDE), pa.repeat(REMOVED, left.num_rows))])


def _same(some: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.or_(pc.fill_null(pc.equal(some, others), False), pc.and_(pc.is_null(some), pc.is_null(others)))


def _sum(measure: Output, before: pa.ChunkedArray, gain: pa.ChunkedArray) -> pa.ChunkedArray:
    if isinstance(measure.expression, exp.Min):
        return pc.min_element_wise(before, gain)
    if isinstance(measure.expression, exp.Max):
        return pc.max_element_wise(before, gain)
    kind = wide = gain.type
    if pa.types.is_decimal(kind):  # with room for one more digit, which the cast back then misses if it is needed
        wide = pa.decimal256(kind.precision + 1, kind.scale)
    some, more = (values.cast(wide).fill_null(pa.scalar(Decimal(0) if pa.types.is_decimal(kind) else 0, wide)) for values in (before, gain))
    return pc.add_checked(some, more).cast(kind)
