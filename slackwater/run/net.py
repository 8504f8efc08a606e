"""What a change is to a path that does not read all the columns.

An update of other columns takes a row away and brings one that looks the same. To such a path the row has stayed, and is read as kept, so
that an update of what a view does not read costs it next to nothing. Only where it does not ask for identities: those did change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from slackwater.delta import ADDED, ID, KEPT, REMOVED, SIDE, Moved
from slackwater.plan import Node, Scan
from slackwater.trace import Files, Reading, Trace

MOST = 200_000  # rows of a change that are looked at, in this process
MOST_BYTES = 32 << 20  # of its files, which are a few times as large in memory
WORTH = 0.1  # of them must have stayed, or the change is left as it is


@dataclass(frozen=True)
class Net:
    """What is left of a change, and how the parts of its source are read instead."""

    moved: Moved
    parts: dict[str, Reading]


def columns_read(plan: Node, source: str) -> tuple[str, ...] | None:
    """The columns of a source that a flush reads; None if it asks for identities."""
    scans = [node for node in plan.walk() if isinstance(node, Scan) and node.relation.rpartition("@")[0] == source]
    names = dict.fromkeys(name for scan in scans for name in scan.source)
    return None if ID in names else tuple(names)


def net_change(trace: Trace, old: int, new: int, columns: Sequence[str], files: Files, directory: str) -> Net | None:
    """The change of a trace between two versions as these columns show it, written below `directory`; None if that is not less."""
    between = trace.between(old, new)
    if not any(batch.added and batch.removed for batch in between):
        return None
    if sum(batch.rows for batch in between) > MOST or sum(batch.bytes for batch in between) > MOST_BYTES:
        return None
    added, removed = (files.rows(trace.part(side, old, new), columns) for side in (ADDED, REMOVED))
    counted = _count(added, removed, columns)
    if counted is None:
        return None
    rows, first, last, came, left = counted
    stayed = np.minimum(came, left)
    if stayed.sum() < WORTH * max(added.num_rows, removed.num_rows):
        return None
    net = {ADDED: (first, came - stayed), REMOVED: (last, left - stayed), KEPT: (first, stayed)}
    for part, (place, times) in net.items():
        files.write_arrow(rows.take(pa.array(np.repeat(place, times))), f"{directory}/{part}")
    written = {part: files.written(f"{directory}/{part}")[0] for part in net}
    kept = trace.part(KEPT, old, new)
    parts = {part: Reading(written[part]) for part in (ADDED, REMOVED)}
    # Their identities are those that they have now, which nothing that left had.
    parts[KEPT] = Reading((*kept.files, *written[KEPT]), kept.without, kept.later)
    return Net(Moved(bool(written[ADDED]), bool(written[REMOVED])), parts)


def changed_rows(now: pa.Table, before: pa.Table) -> pa.Table | None:
    """What differs from the rows before, each row with its side. None if there are types whose values cannot be told apart here."""
    counted = _count(now, before, [name for name in now.column_names if name != SIDE])
    if counted is None:
        return None
    rows, first, last, came, left = counted
    stayed, here = np.minimum(came, left), rows.column_names.index(SIDE)
    sides = []
    for side, place, times in ((ADDED, first, came - stayed), (REMOVED, last, left - stayed)):
        found = rows.take(pa.array(np.repeat(place, times)))
        sides.append(found.set_column(here, SIDE, pa.repeat(pa.scalar(side), len(found))))
    return pa.concat_tables(sides)


def _count(
    added: pa.Table, removed: pa.Table, columns: Sequence[str]
) -> tuple[pa.Table, np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """All rows; and for those that look the same, the places of the first and the last of them, and how many came and left.

    None if there are types whose values cannot be told apart here.
    """
    rows = pa.concat_tables([added, removed], promote_options="permissive")
    looks = {f"c{number}": _bits(rows[name]) for number, name in enumerate(columns)} | {"same": pa.repeat(True, len(rows))}
    places = np.arange(len(rows))
    keyed = pa.table({**looks, "place": places, "came": (places < len(added)).astype(np.int64)})
    try:
        groups = keyed.group_by(list(looks)).aggregate([("place", "min"), ("place", "max"), ("place", "count"), ("came", "sum")])
    except pa.ArrowNotImplementedError:
        return None
    first, last, count, came = (groups[name].to_numpy() for name in ("place_min", "place_max", "place_count", "came_sum"))
    return rows, first, last, came, count - came


def _bits(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values that are equal only if they are the same: zero and minus zero are not, NaN and NaN are."""
    if pa.types.is_float64(values.type):
        return pa.chunked_array([chunk.view(pa.int64()) for chunk in values.chunks], pa.int64())
    if pa.types.is_float32(values.type):
        return pa.chunked_array([chunk.view(pa.int32()) for chunk in values.chunks], pa.int32())
    return values
