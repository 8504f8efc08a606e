"""What groups gain is added to what is kept of them, as an engine would, or left to one."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sqlglot import exp

from slackwater.delta import ADDED, ID, REMOVED, ROWS, SIDE
from slackwater.path import Path
from slackwater.plan import Aggregate, Column, Output, Scan, column
from slackwater.run.sums import adds_here, with_gains

KEY = Column("k", "string")
ARROW = {
    "string": pa.string(), "bigint": pa.int64(), "double": pa.float64(), "date": pa.date32(), "decimal(12,2)": pa.decimal128(12, 2),
    "decimal(38,2)": pa.decimal128(38, 2), "decimal(38,10)": pa.decimal128(38, 10), "decimal(38,0)": pa.decimal128(38, 0),
}  # fmt: skip
MEASURES = {
    "n": (exp.Sum, "bigint"), "price": (exp.Sum, "decimal(12,2)"), "long": (exp.Sum, "decimal(38,2)"), "d": (exp.Sum, "double"),
    "first": (exp.Min, "string"), "day": (exp.Max, "date"), "most": (exp.Max, "decimal(38,10)"), ROWS: (exp.Sum, "bigint"),
}  # fmt: skip


def path_of(measures: dict[str, Any], keys: tuple[str, ...] = ("k",)) -> Path:
    source = tuple(Column(f"of_{name}", type_) for name, (_, type_) in measures.items())
    below = Scan("t", ("k", *(c.name for c in source)), (KEY, *source))
    outputs = tuple(Output(Column(name, type_), call(this=column(f"of_{name}"))) for name, (call, type_) in measures.items())
    return Path("v/1", Aggregate(below, keys, outputs))


def table(path: Path, rows: list[dict[str, Any]], *more: Column) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=pa.schema([(c.name, ARROW[c.type]) for c in (*more, Column(ID, "string"), *path.columns)]))


def gains(path: Path, rows: list[dict[str, Any]]) -> pa.Table:
    return table(path, [{SIDE: ADDED, **row} for row in rows], Column(SIDE, "string"))


def one(luck: random.Random, key: str, least: int = -3) -> dict[str, Any]:
    def some(value: Any) -> Any:
        return None if luck.random() < 0.2 else value

    cents = Decimal(luck.randrange(-500, 500)).scaleb(-2)
    return {
        ID: key, "k": key, "n": some(luck.randrange(-3, 4)), "price": some(cents), "long": some(cents), "d": some(luck.randrange(8) / 4),
        "first": some(luck.choice("abc")), "day": some(dt.date(2024, 1, luck.randrange(1, 4))), "most": some(cents),
        ROWS: luck.randrange(least, 4),
    }  # fmt: skip


def added(before: dict[str, Any], gain: dict[str, Any]) -> dict[str, Any]:
    """The same, value by value."""
    found = dict(gain)
    for name, (call, _) in MEASURES.items():
        old, new = before.get(name), gain[name]
        if call is exp.Sum:
            found[name] = (old or 0) + (new or 0)
        else:
            there = [value for value in (old, new) if value is not None]
            found[name] = (min if call is exp.Min else max)(there) if there else None
    return found


def as_set(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {tuple(row.items()) for row in rows}


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_sum_group_by_group(seed: int) -> None:
    luck, path = random.Random(seed), path_of(MEASURES)
    groups = [f"g{number}" for number in range(8)]
    kept = {key: one(luck, key, least=1) for key in groups if luck.random() < 0.7}
    gained = {key: one(luck, key, least=-3 if key in kept else 0) for key in groups if luck.random() < 0.7}
    changed = with_gains(path, gains(path, list(gained.values())), table(path, list(kept.values())))
    assert changed is not None and changed.schema.names == [SIDE, ID, *path.top.names]
    now = {**kept, **{key: added(kept.get(key, {}), gain) for key, gain in gained.items()}}
    expected = as_set(table(path, [row for row in now.values() if row[ROWS] > 0]).to_pylist())
    rows = as_set(table(path, list(kept.values())).to_pylist())
    for side in (REMOVED, ADDED):
        moved = as_set(changed.filter(pc.equal(changed[SIDE], side)).drop_columns([SIDE]).to_pylist())
        assert moved.isdisjoint(rows) if side == ADDED else moved <= rows
        rows = rows | moved if side == ADDED else rows - moved
    assert rows == expected


def test_a_group_that_stays_as_it_is_is_not_written() -> None:
    path, row = path_of({"n": (exp.Sum, "bigint"), ROWS: (exp.Sum, "bigint")}), {ID: "a", "k": "a", "n": 5, ROWS: 2}
    changed = with_gains(path, gains(path, [{**row, "n": None, ROWS: 0}]), table(path, [row]))
    assert changed is not None and changed.num_rows == 0


def test_a_sum_without_groups_is_there_also_when_all_rows_have_left() -> None:
    path = path_of({"n": (exp.Sum, "bigint")}, keys=())
    changed = with_gains(path, gains(path, [{ID: "all", "n": -5}]), table(path, [{ID: "all", "n": 5}]))
    assert changed is not None and sorted((row[SIDE], row["n"]) for row in changed.to_pylist()) == [(ADDED, 0), (REMOVED, 5)]


@pytest.mark.parametrize(
    ("type_", "most"), [("bigint", 2**63 - 1), ("decimal(12,2)", Decimal("9999999999.99")), ("decimal(38,0)", Decimal(10**38 - 1))]
)
def test_what_overflows_is_left_to_an_engine(type_: str, most: Any) -> None:
    path = path_of({"n": (exp.Sum, type_), ROWS: (exp.Sum, "bigint")})
    row = {ID: "a", "k": "a", "n": most, ROWS: 1}
    assert with_gains(path, gains(path, [{**row, "n": 1}]), table(path, [row])) is None
    assert with_gains(path, gains(path, [{**row, "n": 0}]), table(path, [row])) is not None


def test_what_arrow_may_see_differently_is_left_to_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.run.sums.MOST", 10)
    assert adds_here(path_of(MEASURES), 10) and not adds_here(path_of(MEASURES), 11) and not adds_here(path_of(MEASURES), 0)
    for call, type_ in ((exp.Max, "double"), (exp.Min, "boolean"), (exp.Sum, "float"), (exp.Min, "array<int>")):
        assert not adds_here(path_of({"m": (call, type_)}), 1)
