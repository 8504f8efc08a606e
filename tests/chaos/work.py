"""Random statements, and what each of them does to the tables of the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.chaos.model import VIEWS, Row, Tables, create_view

REGIONS = ["EU", "US", "Asia", "Africa", None]
KINDS = ["start", "stop", "alarm", "note"]


@dataclass(frozen=True)
class Work:
    """One statement: how a process is asked for it, what it makes of the tables, and which views it brings up to date."""

    kind: str
    request: tuple[Any, ...]
    effect: Callable[[Tables], Tables] = lambda tables: tables
    refreshes: tuple[str, ...] = ()


class Draw:
    """Draws statements. Numbers are never given out twice, so that a row that is there twice is told from two that are alike."""

    def __init__(self, luck: random.Random) -> None:
        self.luck = luck
        self._next = 1

    def work(self, kind: str) -> Work:
        return DRAWS[kind](self)

    def any(self) -> Work:
        kinds, weights = zip(*WEIGHTS.items(), strict=True)
        return self.work(self.luck.choices(kinds, weights)[0])

    def orders(self) -> list[Row]:
        count = self.luck.randint(1, 12)
        first, self._next = self._next, self._next + count
        return [(id, self.luck.choice(REGIONS), self.luck.randint(-50, 1000)) for id in range(first, first + count)]

    def insert(self) -> Work:
        """Through the engine, from SQL."""
        rows = self.orders()
        return Work("insert", ("sql", f"INSERT INTO orders VALUES {_values(rows)}"), _adding("orders", rows))

    def append(self) -> Work:
        """Rows from Python, which no engine sees, into a table without a key."""
        rows: list[Row] = [(self.luck.choice(KINDS), self.luck.randint(0, 3)) for _ in range(self.luck.randint(1, 8))]
        return Work("append", ("insert", "events", rows), _adding("events", rows))

    def replace(self) -> Work:
        rows: list[Row] = [(region, f"manager {self.luck.randint(1, 4)}") for region in self.luck.sample(REGIONS[:4], 2)]
        return Work("replace", ("sql", f"INSERT OR REPLACE INTO regions VALUES {_values(rows)}"), _upserting("regions", rows))

    def update(self) -> Work:
        every, rest, more = self.luck.randint(2, 5), self.luck.randint(0, 1), self.luck.randint(1, 9)

        def effect(tables: Tables) -> Tables:
            rows = [(id, region, amount + more if id % every == rest else amount) for id, region, amount in tables["orders"]]
            return {**tables, "orders": tuple(rows)}

        return Work("update", ("sql", f"UPDATE orders SET amount = amount + {more} WHERE id % {every} = {rest}"), effect)

    def delete(self) -> Work:
        if self.luck.random() < 0.5:
            kind, size = self.luck.choice(KINDS), self.luck.randint(0, 3)
            text = f"DELETE FROM events WHERE kind = '{kind}' AND size >= {size}"
            return Work("delete", ("sql", text), _keeping("events", lambda row: row[0] != kind or row[1] < size))
        every, rest = self.luck.randint(3, 5), self.luck.randint(0, 2)
        text = f"DELETE FROM orders WHERE id % {every} = {rest}"
        return Work("delete", ("sql", text), _keeping("orders", lambda row: row[0] % every != rest))

    def merge(self) -> Work:
        rows = self.orders() + [(id, "EU", -id) for id in self.luck.sample(range(1, self._next), 2)]
        rows = list({row[0]: row for row in rows}.values())
        news = f"SELECT * FROM VALUES {_values(rows)} AS news(id, region, amount)"
        text = (
            f"MERGE INTO orders USING ({news}) AS news ON orders.id = news.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        return Work("merge", ("sql", text), _upserting("orders", rows))

    def refresh(self) -> Work:
        return Work("refresh", ("sql", "REFRESH ALL"), refreshes=tuple(VIEWS))

    def refresh_one(self) -> Work:
        name = self.luck.choice(["totals", "kinds", "largest"])
        return Work("refresh", ("sql", f"REFRESH VIEW {name}"), refreshes=(name,))

    def create(self) -> Work:
        """A view that takes its own place. Not one that another view reads."""
        name = self.luck.choice(["totals", "kinds", "largest"])
        return Work("create", ("sql", create_view(name)), refreshes=(name,))

    def fold(self) -> Work:
        return Work("fold", ("fold",))

    def vacuum(self) -> Work:
        return Work("vacuum", ("sql", "VACUUM"))


DRAWS: dict[str, Callable[[Draw], Work]] = {
    "insert": Draw.insert,
    "append": Draw.append,
    "replace": Draw.replace,
    "update": Draw.update,
    "delete": Draw.delete,
    "merge": Draw.merge,
    "refresh": Draw.refresh,
    "refresh one": Draw.refresh_one,
    "create": Draw.create,
    "fold": Draw.fold,
    "vacuum": Draw.vacuum,
}
WEIGHTS = {
    "insert": 3, "append": 4, "replace": 1, "update": 2, "delete": 2, "merge": 2,
    "refresh": 3, "refresh one": 1, "create": 1, "fold": 1, "vacuum": 1,
}  # fmt: skip


def _adding(table: str, rows: Sequence[Row]) -> Callable[[Tables], Tables]:
    return lambda tables: {**tables, table: (*tables[table], *rows)}


def _keeping(table: str, stays: Callable[[Row], bool]) -> Callable[[Tables], Tables]:
    return lambda tables: {**tables, table: tuple(row for row in tables[table] if stays(row))}


def _upserting(table: str, rows: Sequence[Row]) -> Callable[[Tables], Tables]:
    """By the first column."""
    return lambda tables: {**tables, table: tuple({**{row[0]: row for row in tables[table]}, **{row[0]: row for row in rows}}.values())}


def _values(rows: Sequence[Row]) -> str:
    return ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
