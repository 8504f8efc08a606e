"""Small inserts, many at a time: one step for all that wait, whichever tables they are for.

Each insert is looked at by itself: what is wrong with one is told to who made it, and the others are committed. An insert whose key may be
there already is taken out and made alone afterwards, where the engine can say for certain.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from slackwater.catalog import Done, Table
from slackwater.errors import QueryError, SlackwaterError
from slackwater.run.change import Changed, change_table, numbered, run_what_is_due, write_arrow
from slackwater.run.constraints import check_here
from slackwater.run.group import Asked, for_another
from slackwater.run.keys import Keys, codes
from slackwater.run.warehouse import Step, Warehouse
from slackwater.trace import Batch

FEW = 1000  # rows: up to here an insert waits for others; more are a step of their own
FEW_BYTES = 1 << 20


class Arrival(Asked[Changed]):
    """Rows that are to be inserted into a table, as the table was when they were made."""

    def __init__(self, table: Table, rows: pa.Table, statement: str) -> None:
        super().__init__(rows.num_rows)
        self.table = table
        self.data = rows
        self.statement = statement


def insert_few(arrival: Arrival, warehouse: Warehouse) -> Changed:
    """Insert a few rows together with what other threads insert at the same time."""
    warehouse.small_inserts.ask(arrival, lambda group: insert_together(group, warehouse), arrival.table.busy, warehouse.is_free)
    return arrival.answer()


def insert_together(arrivals: Sequence[Arrival], warehouse: Warehouse) -> None:
    """Commit a group of inserts, and settle each of them."""
    with warehouse.writing:
        began, step = time.time(), Step(warehouse)
        try:
            chosen = list(_chosen(step, arrivals))
            for each in chosen:
                each.write(step, began)
            if step.changes.batches:
                step.commit()
        except BaseException:
            step.abandon()
            raise
        for each in chosen:
            each.settle()
        if step.changes.batches:
            run_what_is_due(warehouse)
        for each in chosen:
            _insert_alone(each.alone, warehouse)


def _sound(arrivals: Iterable[Arrival], step: Step) -> list[tuple[Table, list[Arrival]]]:
    """Those that fit their table, by table."""
    found: dict[str, tuple[Table, list[Arrival]]] = {}
    for arrival in arrivals:
        try:
            table = step.before.table(arrival.table.name)
            if table.columns != arrival.table.columns:
                raise QueryError(f'table "{table.name}" was created anew in the meantime', hint="run the statement again")
            check_here(table, arrival.data)
        except SlackwaterError as problem:
            arrival.fail(problem)
        else:
            found.setdefault(table.name, (table, []))[1].append(arrival)
    return list(found.values())


def _chosen(step: Step, arrivals: Iterable[Arrival]) -> Iterator[_Chosen]:
    for table, members in _sound(arrivals, step):
        try:
            yield _choose(step, table, members)
        except SlackwaterError as problem:  # a file of the table is damaged, and its keys cannot be known
            for arrival in members:
                arrival.fail(problem if arrival is members[0] else for_another(problem))


def _choose(step: Step, table: Table, members: list[Arrival]) -> _Chosen:
    if not table.primary_key:
        return _Chosen(table, members)
    keys = step.warehouse.keys.of(table, step.traces[table.name.lower()])
    if keys is None:
        return _Chosen(table, [], members)
    chosen = _Chosen(table, [], [], keys)
    every = codes(pa.concat_tables(arrival.data for arrival in members), table.primary_key)
    seen, given = keys.seen(every).tolist(), every.tolist()
    at = 0
    for arrival in members:
        own = set(given[at : at + arrival.rows])
        if len(own) < arrival.rows or any(seen[at : at + arrival.rows]) or not own.isdisjoint(chosen.codes):
            chosen.alone.append(arrival)
        else:
            chosen.together.append(arrival)
            chosen.codes |= own
        at += arrival.rows
    return chosen


@dataclass
class _Chosen:
    """Of the inserts into one table, those that are made together, and those that the engine has to look at."""

    table: Table
    together: list[Arrival]
    alone: list[Arrival] = field(default_factory=list)
    keys: Keys | None = None
    codes: set[int] = field(default_factory=set)
    batch: Batch | None = None

    def write(self, step: Step, began: float) -> None:
        name = self.table.name.lower()
        if not any(arrival.rows for arrival in self.together):
            return
        rows = pa.concat_tables(arrival.data for arrival in self.together).combine_chunks()  # a chunk for each row is slow to encode
        first, next_id = self.table.next_id, self.table.next_id + rows.num_rows
        rows = numbered(rows, first, step.next_version(name))
        self.batch = step.put(name, (step.warehouse.files.write_few(rows, step.directory(name), (first, next_id - 1)),))
        step.changes.put(replace(self.table, next_id=next_id))
        count, seconds = len(self.together), round(time.time() - began, 3)
        text = self.together[0].statement if count == 1 else f"{count} inserts together"
        step.done([Done("insert", self.table.name, text, began, seconds, None, next_id - self.table.next_id, step=step.id)])

    def settle(self) -> None:
        """They are committed."""
        if self.keys is not None and self.batch is not None:
            self.keys.add(np.array(list(self.codes), dtype=np.uint64), self.batch.version)
        for arrival in self.together:
            arrival.succeed(Changed(arrival.rows, 0))


def _insert_alone(arrivals: Sequence[Arrival], warehouse: Warehouse) -> None:
    """With a check by the engine, which says whether all of them can be, but not which of them cannot."""
    if len(arrivals) > 1:
        with contextlib.suppress(QueryError):
            _insert(pa.concat_tables(arrival.data for arrival in arrivals), arrivals[0], warehouse)
            for arrival in arrivals:
                arrival.succeed(Changed(arrival.rows, 0))
            return
    for arrival in arrivals:
        try:
            arrival.succeed(_insert(arrival.data, arrival, warehouse))
        except Exception as problem:
            arrival.fail(problem)


def _insert(rows: pa.Table, arrival: Arrival, warehouse: Warehouse) -> Changed:
    return change_table(arrival.table.name, warehouse, arrival.statement, "insert", lambda step, table: write_arrow(step, table, [rows]))
