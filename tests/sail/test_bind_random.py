"""Random queries full of subqueries: the bound plan on Sail and SQLite running the text agree.

SQLite evaluates a subquery again for every outer row, which is what the text says; the plan never does. A failing seed names its query.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from slackwater.plan.render import render
from slackwater.rewrite import rewrite
from slackwater.sql.bind import bind
from tests.sail.test_bind_equals_engine import Engine

TABLES = {"t": "abc", "s": "ade", "u": "kv"}
QUERIES_PER_DATA = 8
SEEDS = range(4)


class Writer:
    """Writes a random query."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.aliases = 0

    def query(self, depth: int, outer: list[str], width: int | None = None) -> tuple[str, list[str]]:
        """A query whose subqueries go `depth` deep and may use the columns `outer`, and the names of its columns."""
        source, columns = self.source(depth, outer)
        where = f" WHERE {self.condition(columns, outer, depth)}" if self.chance.random() < 0.85 else ""
        names = [f"c{index}" for index in range(width or self.chance.randint(1, 3))]
        grouped = self.chance.random() < 0.25
        keys = self.chance.sample(columns, min(len(columns), 2)) if grouped else []
        items = [self.grouped_item(keys, columns) if grouped else self.item(columns, depth) for _ in names]
        listed = ", ".join(f"{item} AS {name}" for item, name in zip(items, names, strict=True))
        text = f"SELECT {listed} FROM {source}{where}"
        if grouped:
            text += f" GROUP BY {', '.join(keys)}"
            if depth and self.chance.random() < 0.4:
                text += f" HAVING {self.aggregate(columns)} > ({self.scalar(depth - 1, keys)})"
        elif width is None and self.chance.random() < 0.15:
            other, _ = self.query(0, outer, len(names))
            text += f" {self.chance.choice(['UNION ALL', 'UNION', 'INTERSECT', 'EXCEPT'])} {other}"
        return text, names

    def scalar(self, depth: int, outer: list[str]) -> str:
        """A query of one aggregate."""
        source, columns = self.source(depth, outer)
        having = " HAVING count(*) > 1" if self.chance.random() < 0.15 else ""
        return f"SELECT {self.aggregate(columns)} FROM {source} WHERE {self.condition(columns, outer, depth, 1)}{having}"

    def source(self, depth: int, outer: list[str]) -> tuple[str, list[str]]:
        text, columns = self.table(depth, outer)
        while self.chance.random() < 0.35 and len(columns) < 8:
            kind = self.chance.choice(["JOIN", "LEFT JOIN"])
            other, more = self.table(depth, outer)
            extra = f" AND {self.comparison(columns + more, outer if kind == 'JOIN' else [])}" if self.chance.random() < 0.4 else ""
            text = f"{text} {kind} {other} ON {self.chance.choice(columns)} = {self.chance.choice(more)}{extra}"
            columns = columns + more
        return text, columns

    def table(self, depth: int, outer: list[str]) -> tuple[str, list[str]]:
        self.aliases += 1
        alias = f"q{self.aliases}"
        if depth > 0 and self.chance.random() < 0.25:
            inner, names = self.query(depth - 1, outer)
            return f"({inner}) {alias}", [f"{alias}.{name}" for name in names]
        name = self.chance.choice(list(TABLES))
        return f"{name} {alias}", [f"{alias}.{column}" for column in TABLES[name]]

    def condition(self, columns: list[str], outer: list[str], depth: int, size: int = 2) -> str:
        luck = self.chance.random()
        if size and luck < 0.3:
            parts = (self.condition(columns, outer, depth, size - 1) for _ in range(2))
            return f"({self.chance.choice([' AND ', ' OR ']).join(parts)})"
        if size and luck < 0.36:
            return f"NOT ({self.condition(columns, outer, depth, size - 1)})"
        return self.subquery(columns, outer, depth - 1) if depth and luck < 0.75 else self.comparison(columns, outer)

    def subquery(self, columns: list[str], outer: list[str], depth: int) -> str:
        seen = columns + (outer if self.chance.random() < 0.3 else [])
        luck, word = self.chance.random(), self.chance.choice(["", "NOT "])
        if luck < 0.35:
            return f"{word}EXISTS ({self.query(depth, seen)[0]})"
        if luck < 0.7:
            return f"{self.value(columns, [])} {word}IN ({self.query(depth, seen, 1)[0]})"
        return f"{self.value(columns, [])} {self.chance.choice('=<>')} ({self.scalar(depth, seen)})"

    def comparison(self, columns: list[str], outer: list[str]) -> str:
        if self.chance.random() < 0.15:
            return f"{self.value(columns, outer)} IS NULL"
        return f"{self.chance.choice(columns)} {self.chance.choice(['=', '=', '<', '>', '<>'])} {self.value(columns, outer)}"

    def value(self, columns: list[str], outer: list[str]) -> str:
        column = self.chance.choice(outer if outer and self.chance.random() < 0.4 else columns)
        return self.chance.choice([column, column, column, str(self.chance.randint(0, 4)), f"({column} + 1)", f"coalesce({column}, 2)"])

    def item(self, columns: list[str], depth: int) -> str:
        luck = self.chance.random()
        if depth and luck < 0.2:
            return f"({self.scalar(depth - 1, columns)})"
        if depth and luck < 0.3:
            return f"CASE WHEN EXISTS ({self.query(depth - 1, columns)[0]}) THEN 1 ELSE 0 END"
        if luck < 0.38:
            return f"sum({self.chance.choice(columns)}) OVER (PARTITION BY {self.chance.choice(columns)})"
        return self.value(columns, [])

    def grouped_item(self, keys: list[str], columns: list[str]) -> str:
        return self.chance.choice(keys) if self.chance.random() < 0.5 else self.aggregate(columns)

    def aggregate(self, columns: list[str]) -> str:
        column = self.chance.choice(columns)
        calls = ["count(*)", "count({})", "sum({})", "max({})", "coalesce(sum({}), 0)", "count(*) + 1", "count(DISTINCT {})"]
        return self.chance.choice(calls).format(column)


@pytest.fixture(params=SEEDS)
def data(request: pytest.FixtureRequest, sail_session: Any) -> Iterator[tuple[random.Random, Engine, sqlite3.Connection]]:
    """The same random rows, NULLs among them, on Sail and in SQLite."""
    chance, engine = random.Random(request.param), RandomTables(sail_session)
    other = sqlite3.connect(":memory:")
    for name, columns in TABLES.items():
        size = chance.choice([0, 4, 6, 9])
        rows = [tuple(None if chance.random() < 0.2 else chance.randint(0, 4) for _ in columns) for _ in range(size)]
        other.execute(f"CREATE TABLE {name} ({', '.join(f'{column} integer' for column in columns)})")
        other.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
        engine.name(name, rows, ", ".join(f"{column} int" for column in columns))
    yield chance, engine, other
    other.close()
    for name in TABLES:
        sail_session.catalog.dropTempView(name)


class RandomTables(Engine):
    tables = tuple(TABLES)


def test_sqlite_agrees(data: tuple[random.Random, Engine, sqlite3.Connection]) -> None:
    chance, engine, other = data
    for _ in range(QUERIES_PER_DATA):
        query, _ = Writer(chance).query(2, [])
        expected = Counter(other.execute(query))
        plan = bind(query, engine, engine).plan
        for each in (plan, rewrite(plan)):
            rows = Counter(tuple(row) for row in engine.collect(render(each)))
            assert rows == expected, query
