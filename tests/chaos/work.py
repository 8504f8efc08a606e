"""Random statements, and what each of them does to the tables of the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.chaos.model import PACED, VIEWS, Row, Tables, create_view

REGIONS = ["EU", "US", "Asia", "Africa", None]
KINDS = ["start", "stop", "alarm", "note"]
SIZES = 40
FEW = 12  # rows: more are a step of their own
THREADS = 4

Effect = Callable[[Tables], Tables]


@dataclass(frozen=True)
class Work:
    """What is asked for at once: how, what each part of it makes of the tables, and which views it brings up to date.

    A statement is one part, which is there as a whole or not at all. Of what several threads ask for, each is a part.
    """

    kind: str
    request: tuple[Any, ...]
    parts: tuple[Effect, ...] = ()
    refreshes: tuple[str, ...] = ()


class Draw:
    """Draws statements. Numbers are never given out twice, so that a row that is there twice is told from two that are alike."""

    def __init__(self, luck: random.Random, cannot: Iterable[str] = ()) -> None:
        self.luck = luck
        self._weights = {kind: weight for kind, weight in WEIGHTS.items() if kind not in cannot}
        self._next = 1

    def work(self, kind: str) -> Work:
        return DRAWS[kind](self)

    def any(self) -> Work:
        kinds, weights = zip(*self._weights.items(), strict=True)
        return self.work(self.luck.choices(kinds, weights)[0])

    def orders(self, least: int = 1, most: int = FEW) -> list[Row]:
        count = self.luck.randint(least, most)
        first, self._next = self._next, self._next + count
        return [(id, self.luck.choice(REGIONS), self.luck.randint(-50, 1000)) for id in range(first, first + count)]

    def events(self) -> list[Row]:
        return [(self.luck.choice(KINDS), self.luck.randint(0, SIZES)) for _ in range(self.luck.randint(1, 8))]

    def insert(self) -> Work:
        """Through the engine, from SQL."""
        rows = self.orders()
        return Work("insert", ("sql", f"INSERT INTO orders SELECT * FROM VALUES {_values(rows)}"), (_adding("orders", rows),))

    def append(self) -> Work:
        """A few rows, which no engine sees: from Python, or spelled out."""
        if self.luck.random() < 0.5:
            rows = self.events()
            return Work("append", ("insert", "events", rows), (_adding("events", rows),))
        rows = self.orders()
        return Work("append", ("sql", f"INSERT INTO orders VALUES {_values(rows)}"), (_adding("orders", rows),))

    def together(self) -> Work:
        """A few rows from each of some threads."""
        table = self.luck.choice(["events", "orders"])
        parts = [self.events() if table == "events" else self.orders() for _ in range(THREADS)]
        return Work("together", ("together", table, parts), tuple(_adding(table, rows) for rows in parts))

    def load(self) -> Work:
        """More rows than wait for others, in several files."""
        rows = self.orders(FEW + 1, 4 * FEW)
        return Work("load", ("insert", "orders", rows), (_adding("orders", rows),))

    def passing(self) -> Work:
        """Rows of a stream: a few, from some threads at once, or more than wait for others."""
        how = self.luck.random()
        parts = [self.taps(1, 5) for _ in range(THREADS)] if how < 0.3 else [self.taps(FEW + 1, 3 * FEW) if how < 0.5 else self.taps(1, 8)]
        request = ("together", "taps", parts) if len(parts) > 1 else ("insert", "taps", parts[0])
        return Work("passing", request, tuple(_adding("taps", rows) for rows in parts))

    def taps(self, least: int, most: int) -> list[Row]:
        return [(kind, number) for number, kind, _ in self.orders(least, most)]

    def replace(self) -> Work:
        rows: list[Row] = [(region, f"manager {self.luck.randint(1, 4)}") for region in self.luck.sample(REGIONS[:4], 2)]
        return Work("replace", ("sql", f"INSERT OR REPLACE INTO regions VALUES {_values(rows)}"), (_upserting("regions", rows),))

    def update(self) -> Work:
        every, rest, more = self.luck.randint(2, 5), self.luck.randint(0, 1), self.luck.randint(1, 9)

        def effect(tables: Tables) -> Tables:
            rows = [(id, region, amount + more if id % every == rest else amount) for id, region, amount in tables["orders"]]
            return {**tables, "orders": tuple(rows)}

        return Work("update", ("sql", f"UPDATE orders SET amount = amount + {more} WHERE id % {every} = {rest}"), (effect,))

    def delete(self) -> Work:
        if self.luck.random() < 0.5:
            kind, size = self.luck.choice(KINDS), self.luck.randint(0, SIZES)
            text = f"DELETE FROM events WHERE kind = '{kind}' AND size >= {size}"
            return Work("delete", ("sql", text), (_keeping("events", lambda row: row[0] != kind or row[1] < size),))
        every, rest = self.luck.randint(3, 5), self.luck.randint(0, 2)
        text = f"DELETE FROM orders WHERE id % {every} = {rest}"
        return Work("delete", ("sql", text), (_keeping("orders", lambda row: row[0] % every != rest),))

    def merge(self) -> Work:
        rows = self.orders() + [(id, "EU", -id) for id in self.luck.sample(range(1, self._next), 2)]
        rows = list({row[0]: row for row in rows}.values())
        news = f"SELECT * FROM VALUES {_values(rows)} AS news(id, region, amount)"
        text = (
            f"MERGE INTO orders USING ({news}) AS news ON orders.id = news.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        return Work("merge", ("sql", text), (_upserting("orders", rows),))

    def refresh(self) -> Work:
        return Work("refresh", ("sql", "REFRESH ALL"), refreshes=tuple(VIEWS))

    def refresh_one(self) -> Work:
        name = self.luck.choice(["totals", "kinds", "largest", "sized"])
        return Work("refresh", ("sql", f"REFRESH VIEW {name}"), refreshes=(name,))

    def create(self) -> Work:
        """A view that takes its own place. Not one that another view reads."""
        name = self.luck.choice(["totals", "kinds", "largest", "sized"])
        return Work("create", ("sql", create_view(name)), refreshes=(name,))

    def turn(self) -> Work:
        """A loop flushes what is due before its trigger."""
        return Work("turn", ("turn",))

    def answer(self) -> Work:
        """A loop answers what is due."""
        return Work("answer", ("answer",), refreshes=PACED)

    def fold(self) -> Work:
        return Work("fold", ("fold",))

    def vacuum(self) -> Work:
        return Work("vacuum", ("sql", "VACUUM"))

    def backup(self) -> Work:
        return Work("backup", ("backup",))


DRAWS: dict[str, Callable[[Draw], Work]] = {
    "insert": Draw.insert,
    "append": Draw.append,
    "together": Draw.together,
    "load": Draw.load,
    "passing": Draw.passing,
    "replace": Draw.replace,
    "update": Draw.update,
    "delete": Draw.delete,
    "merge": Draw.merge,
    "refresh": Draw.refresh,
    "refresh one": Draw.refresh_one,
    "create": Draw.create,
    "turn": Draw.turn,
    "answer": Draw.answer,
    "fold": Draw.fold,
    "vacuum": Draw.vacuum,
    "backup": Draw.backup,
}
WEIGHTS = {
    "insert": 3, "append": 3, "together": 1, "load": 1, "passing": 3, "replace": 1, "update": 2, "delete": 2, "merge": 2,
    "refresh": 3, "refresh one": 1, "create": 1, "turn": 3, "answer": 1, "fold": 1, "vacuum": 1, "backup": 1,
}  # fmt: skip


def _adding(table: str, rows: Sequence[Row]) -> Effect:
    return lambda tables: {**tables, table: (*tables[table], *rows)}


def _keeping(table: str, stays: Callable[[Row], bool]) -> Effect:
    return lambda tables: {**tables, table: tuple(row for row in tables[table] if stays(row))}


def _upserting(table: str, rows: Sequence[Row]) -> Effect:
    """By the first column."""
    return lambda tables: {**tables, table: tuple({**{row[0]: row for row in tables[table]}, **{row[0]: row for row in rows}}.values())}


def _values(rows: Sequence[Row]) -> str:
    return ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
