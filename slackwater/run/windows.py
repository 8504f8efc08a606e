"""How far a table has come by the times in its rows: in which window of a trigger such as `every 10 minutes of orders.at`.

A window is complete when a row has arrived that is in a later one. Rows that come late change answers all the same, with the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from slackwater.catalog import Snapshot, Table, View
from slackwater.errors import QueryError
from slackwater.pace import Trigger, trigger_named
from slackwater.pace.trigger import WINDOW
from slackwater.run.refresh import in_order
from slackwater.trace import Files

TIMES = ("timestamp", "timestamp_ntz", "date")


def latest_window(view: View, snapshot: Snapshot, files: Files) -> int | None:
    """The one that the latest row of the table is in by whose times a view is answered; None if there is none."""
    found = _windows(view.trigger, snapshot, None, files)
    return None if found is None else found[1]


def answered_window(view: View, snapshot: Snapshot, files: Files) -> int | None:
    """The latest one that a view's answer knows of; where it knows of none, the first that has rows.

    What was folded since the answer is not told apart any more, and may be taken for new: the view is answered once more, then.
    """
    as_of = view.answer.as_of.get(view.trigger.table, 0) if view.answer is not None else 0
    known, found = (_windows(view.trigger, snapshot, version, files) for version in (as_of, None))
    return known[1] if known is not None else found[0] if found is not None else None


def _windows(trigger: Trigger, snapshot: Snapshot, version: int | None, files: Files) -> tuple[int, int] | None:
    """Those of the earliest and the latest row that has arrived, up to a version if there is one."""
    trace = snapshot.traces[trigger.table]
    column = next(column.name for column in trace.columns if column.name.lower() == trigger.column)
    times = [files.times(file, column) for batch in trace.between(0, trace.version if version is None else version) for file in batch.added]
    known = [each for each in times if each is not None]
    if not known:
        return None
    first, last = min(first for first, _ in known), max(last for _, last in known)
    return math.floor(first / trigger.seconds), math.floor(last / trigger.seconds)


def check_trigger(options: Mapping[str, str], reads: Iterable[str], snapshot: Snapshot) -> None:
    """Refuse a trigger by times that no table below a view has."""
    trigger = trigger_named(options.get("trigger", "on read"))
    if trigger.kind != WINDOW:
        return
    names = {name.lower() for name in reads} | {read.lower() for view in in_order(reads, snapshot) for read in view.reads}
    tables = {name: found for name in sorted(names) if isinstance(found := snapshot.relations.get(name), Table)}
    if trigger.table not in tables:
        listed = ", ".join(tables) or "no table"
        raise QueryError(f"trigger '{options['trigger']}' goes by a table that the view does not read", hint=f"it reads {listed}")
    columns = {column.name.lower(): column for column in tables[trigger.table].columns}
    timed = [column.name for column in columns.values() if column.type in TIMES]
    if trigger.column not in columns or columns[trigger.column].type not in TIMES:
        hint = f"columns of times are {', '.join(timed)}" if timed else "it has no column of type TIMESTAMP or DATE"
        raise QueryError(f"trigger '{options['trigger']}' goes by a column that is no time of \"{trigger.table}\"", hint=hint)
