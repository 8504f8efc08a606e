"""Random tables, their rows, and steps that change them. Domains are small, so that joins hit, groups meet and rows repeat."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

from tests.batch import Contents
from tests.cases import Change, Step, Table
from tests.values import NAN, Row, Value

# What a column may be, and how often.
TYPES = {
    "int": 8, "bigint": 2, "string": 5, "decimal(10,2)": 2, "double": 2, "date": 2, "boolean": 2, "timestamp": 1, "array<int>": 1,
}  # fmt: skip

DOMAINS: dict[str, list[Any]] = {
    "int": [0, 1, 2, 3, 4],
    "bigint": [0, 1, 2, 3],
    "string": ["a", "b", "ab", ""],
    "decimal(10,2)": [Decimal("0.50"), Decimal("1.00"), Decimal("2.25"), Decimal("-1.00")],
    # Quarters: their sums are exact in any order.
    "double": [0.0, 0.25, 1.0, 2.5, -1.5],
    "date": [dt.date(2024, 2, 28), dt.date(2024, 2, 29), dt.date(2024, 3, 1)],
    "boolean": [True, False],
    "timestamp": [dt.datetime(2024, 1, 1, 10), dt.datetime(2024, 1, 1, 10, 30), dt.datetime(2024, 1, 2)],
    "array<int>": [(), (1,), (1, 2), (2, 2, None)],
}

NULLS = 0.15
# Only where the engine itself treats NaN as Spark does.
NANS = {"spark": 0.05, "sail": 0.0}


def random_tables(random: Random) -> tuple[Table, ...]:
    """Two to four tables. The first column is a number, so that there is always something to join on and to add up."""
    return tuple(_table(random, f"t{number}") for number in range(1, random.choice([2, 2, 3, 4]) + 1))


def _table(random: Random, name: str) -> Table:
    extra = random.choices(list(TYPES), list(TYPES.values()), k=random.randint(1, 4))
    return Table(name, tuple(zip("abcde", ["int", *extra], strict=False)))


def random_value(random: Random, type_: str, engine: str) -> Value:
    if random.random() < NULLS:
        return None
    if type_ == "double" and random.random() < NANS[engine]:
        return NAN
    return random.choice(DOMAINS[type_])


def random_row(random: Random, table: Table, engine: str) -> Row:
    return tuple(random_value(random, type_, engine) for _, type_ in table.columns)


def random_steps(random: Random, tables: tuple[Table, ...], reads: tuple[str, ...], engine: str) -> tuple[Step, ...]:
    """A load and a few steps of changes. Some steps are not read, so that changes pile up; the last one is."""
    contents = Contents(tables)
    count = random.choice([1, 2, 2, 3])
    steps = [_step(_load(random, tables, engine), contents, reads)]
    for number in range(count):
        last = number == count - 1
        changes = _changes(random, tables, contents, engine)
        steps.append(_step(changes, contents, reads if last or random.random() < 0.4 else (), applied=True))
    return tuple(steps)


def _step(changes: list[Change], contents: Contents, reads: tuple[str, ...], applied: bool = False) -> Step:
    if not applied:
        for change in changes:
            contents.apply(change)
    return Step(tuple(changes), reads)


def _load(random: Random, tables: tuple[Table, ...], engine: str) -> list[Change]:
    return [Change(table.name, "+", random_row(random, table, engine)) for table in tables for _ in range(random.choice([0, 2, 4, 6, 8]))]


def _changes(random: Random, tables: tuple[Table, ...], contents: Contents, engine: str) -> list[Change]:
    """Changes of one or several tables, each possible at the moment it is made."""
    chosen = random.sample(tables, min(len(tables), random.choice([1, 2, 2, 3])))
    changes: list[Change] = []
    for table in chosen:
        for change in _changes_of(random, table, contents, engine):
            contents.apply(change)
            changes.append(change)
    return changes


def _changes_of(random: Random, table: Table, contents: Contents, engine: str) -> list[Change]:
    present = contents.listed(table.name)
    if present and random.random() < 0.08:
        return [Change(table.name, "clear")]
    changes = []
    leaving = random.sample(present, min(len(present), random.choice([0, 0, 1, 1, 2, 3])))
    changes += [Change(table.name, "-", row) for row in leaving]
    staying = list(present)
    for row in leaving:
        staying.remove(row)
    if staying and random.random() < 0.3:
        row = random.choice(staying)
        changes.append(Change(table.name, "~", row, _nudged(random, table, row, engine)))
    changes += [Change(table.name, "+", _arriving(random, table, present, engine)) for _ in range(random.choice([0, 1, 1, 2, 3]))]
    return changes


def _nudged(random: Random, table: Table, row: Row, engine: str) -> Row:
    """A row with one column changed."""
    at = random.randrange(len(row))
    return (*row[:at], random_value(random, table.columns[at][1], engine), *row[at + 1 :])


def _arriving(random: Random, table: Table, present: list[Row], engine: str) -> Row:
    """A new row, or one more copy of a row that is there."""
    return random.choice(present) if present and random.random() < 0.2 else random_row(random, table, engine)
