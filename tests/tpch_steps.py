"""TPC-H as tables that change: loading steps, mixed steps, and the comparison of the 22 views with their batch answers.

Everything follows from a seed, so a failing step can be repeated. Rows arrive shuffled, so that orders come before their customers and
nations before their regions; later steps insert, update and delete on every table, referenced rows included, and leave references dangling.

The updates draw the values that the queries ask for (a part becomes 'Brand#23' in a 'MED BOX', a supplier moves to Saudi Arabia): at a
small scale most queries would otherwise select nothing, and a view that is always empty is always right.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bench.tpch import TABLES, queries
from tests.oracle import check_rows, check_schema, check_top, difference, without_limit
from tests.values import rows_of

SHARE = 0.01
COPY_DISTANCE = 10_000_000

Key = tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """One statement of a step: rows to insert, or the text of an UPDATE or DELETE."""

    table: str
    kind: str
    rows: pa.Table | None = None
    text: str = ""

    def apply(self, db: Any) -> None:
        if self.rows is not None:
            db.insert(self.table, self.rows)
        else:
            db.sql(self.text)


Step = list[Change]

# What an update sets, for each table in turn. NULLs, references that lead nowhere and changed keys are among them.
UPDATES: dict[str, tuple[str, ...]] = {
    "region": (
        "r_name = CASE r_name WHEN 'ASIA' THEN 'EUROPE' WHEN 'EUROPE' THEN 'ASIA' ELSE r_name END",
        "r_name = 'AMERICA'",
        "r_comment = NULL",
        "r_name = 'ASIA'",
        "r_name = 'EUROPE'",
    ),
    "nation": (
        "n_regionkey = (n_regionkey + 1) % 5",
        "n_name = 'SAUDI ARABIA'",
        "n_name = CASE n_name WHEN 'FRANCE' THEN 'GERMANY' ELSE 'FRANCE' END",
        "n_regionkey = NULL",
        "n_name = 'CANADA', n_regionkey = 1",
        "n_name = 'BRAZIL', n_regionkey = 1",
    ),
    "supplier": (
        "s_nationkey = 20",
        "s_nationkey = 7, s_acctbal = s_acctbal + 1000",
        "s_comment = 'Customer of ours: Complaints'",
        "s_nationkey = 3",
        "s_nationkey = NULL",
        "s_comment = NULL, s_nationkey = 6",
        "s_name = 'Supplier#000000001'",
    ),
    "part": (
        "p_brand = 'Brand#23', p_container = 'MED BOX', p_size = 5",
        "p_size = 15, p_type = 'LARGE PLATED BRASS'",
        "p_name = 'forest green almond'",
        "p_type = 'PROMO BURNISHED TIN', p_size = 49",
        "p_type = 'ECONOMY ANODIZED STEEL'",
        "p_brand = 'Brand#12', p_container = 'SM PACK', p_size = 3",
        "p_brand = NULL",
    ),
    "partsupp": (
        "ps_supplycost = ps_supplycost - 1",
        "ps_availqty = ps_availqty + 5000",
        "ps_supplycost = 1.00",
        "ps_availqty = NULL",
        "ps_supplycost = ps_supplycost * 2",
    ),
    "customer": (
        "c_mktsegment = 'BUILDING'",
        "c_nationkey = 6, c_acctbal = c_acctbal + 5000",
        "c_phone = concat('13', substring(c_phone, 3))",
        "c_nationkey = 7",
        "c_acctbal = NULL",
        "c_name = 'somebody else', c_nationkey = NULL",
    ),
    "orders": (
        "o_orderdate = date '1995-03-10'",
        "o_orderdate = date '1993-10-05', o_orderpriority = '1-URGENT'",
        "o_custkey = o_custkey + 1",
        "o_comment = 'special packages and requests'",
        "o_orderstatus = 'F'",
        "o_orderdate = date '1994-07-01', o_totalprice = 500000",
        "o_custkey = NULL",
        "o_comment = NULL, o_orderdate = date '1995-06-01'",
        "o_orderkey = o_orderkey + 1000000000000",
    ),
    "lineitem": (
        "l_quantity = 1, l_shipdate = date '1994-06-01', l_discount = 0.06",
        "l_quantity = l_quantity + 50",
        "l_suppkey = l_suppkey % 100 + 1",
        "l_returnflag = 'R', l_shipdate = date '1995-04-01'",
        "l_receiptdate = date_add(l_commitdate, 10)",
        "l_partkey = l_partkey % 2000 + 1, l_shipdate = date '1995-09-10'",
        "l_shipmode = 'AIR', l_shipinstruct = 'DELIVER IN PERSON', l_quantity = 10",
        "l_quantity = NULL",
        "l_shipdate = date '1996-02-02', l_extendedprice = l_extendedprice + 100000",
    ),
}
MOVES_KEY = {"o_orderkey = o_orderkey + 1000000000000": 1_000_000_000_000}

# A copied order or part brings its lines or offers with it.
FOLLOWERS = {"orders": "lineitem", "part": "partsupp"}


def load_steps(data: dict[str, pa.Table], count: int, seed: int) -> Iterator[Step]:
    """Every table in `count` parts, one part of each table per step, in an order that minds no references."""
    chance = random.Random(seed)
    order = {name: chance.sample(range(rows.num_rows), rows.num_rows) for name, rows in data.items()}
    for step in range(count):
        changes = []
        for name in chance.sample(list(data), len(data)):
            part = order[name][step::count]
            if part:
                changes.append(Change(name, "insert", rows=data[name].take(part)))
        yield changes


def mixed_steps(data: dict[str, pa.Table], count: int, seed: int) -> Iterator[Step]:
    """Steps that insert, update and delete on every table. They take for granted that all of `data` has been loaded."""
    plant = _Contents(data, random.Random(seed))
    for step in range(count):
        yield plant.step(step)


class _Contents:
    """The keys that are in every table now, each with the number of the row of the data that it came from."""

    def __init__(self, data: dict[str, pa.Table], chance: random.Random) -> None:
        self.data = data
        self.chance = chance
        self.live: dict[str, dict[Key, int]] = {name: _keys(name, rows) for name, rows in data.items()}
        self.gone: dict[str, dict[Key, int]] = {name: {} for name in data}
        self.copies = 0

    def step(self, number: int) -> Step:
        changes: Step = []
        copied: dict[str, tuple[set[int], int]] = {}
        for name in self.chance.sample(list(self.data), len(self.data)):
            for kind in self.chance.sample(("delete", "update", "insert"), 3):
                if kind == "delete":
                    changes.append(self.delete(name))
                elif kind == "update":
                    changes.append(self.update(name, number))
                else:
                    changes.append(self.insert(name, copied))
        # Lines and offers of what was copied, now that it is known.
        for name, follower in FOLLOWERS.items():
            changes.append(self.follow(follower, *copied[name]))
        return changes

    def delete(self, name: str) -> Change:
        keys = self.sample(name)
        # Half of the time only part of what the keys name, so that an order loses a line and not all of them.
        second = 1 if len(TABLES[name].key) > 1 and self.chance.random() < 0.5 else None
        removed = {key: row for key, row in self.live[name].items() if key[0] in keys and (second is None or key[-1] % 2 == second)}
        for key in removed:
            del self.live[name][key]
        self.gone[name].update(removed)
        where = _among(TABLES[name].key[0], keys) + (f" AND {TABLES[name].key[-1]} % 2 = {second}" if second is not None else "")
        return Change(name, "delete", text=f"DELETE FROM {name} WHERE {where}")

    def update(self, name: str, number: int) -> Change:
        texts = UPDATES[name]
        text = texts[number % len(texts)]
        keys = self.sample(name)
        if text in MOVES_KEY:
            keys = self.sample(name, below=COPY_DISTANCE)
            for key in [key for key in self.live[name] if key[0] in keys]:
                self.live[name][(key[0] + MOVES_KEY[text], *key[1:])] = self.live[name].pop(key)
        return Change(name, "update", text=f"UPDATE {name} SET {text} WHERE {_among(TABLES[name].key[0], keys)}")

    def insert(self, name: str, copied: dict[str, tuple[set[int], int]]) -> Change:
        """About half of the rows that left earlier come back, and a few rows are copied under keys of their own."""
        back = {key: row for key, row in self.gone[name].items() if key not in self.live[name] and self.chance.random() < 0.5}
        for key in back:
            del self.gone[name][key]
        self.copies += 1
        distance = self.copies * COPY_DISTANCE
        originals = self.sample(name, below=COPY_DISTANCE)
        copied[name] = (originals, distance)
        new = {(key[0] + distance, *key[1:]): row for key, row in self.live[name].items() if key[0] in originals}
        return self.add(name, back | new)

    def follow(self, name: str, originals: set[int], distance: int) -> Change:
        new = {(key[0] + distance, *key[1:]): row for key, row in self.live[name].items() if key[0] in originals}
        return self.add(name, new)

    def add(self, name: str, rows: dict[Key, int]) -> Change:
        self.live[name].update(rows)
        table = self.data[name].take(pa.array(rows.values(), pa.int64()))
        for position, column in enumerate(TABLES[name].key):
            field = table.schema.field(column)
            values = pa.array([key[position] for key in rows], field.type)
            table = table.set_column(table.schema.get_field_index(column), field, values)
        return Change(name, "insert", rows=table)

    def sample(self, name: str, below: int | None = None) -> set[int]:
        """A few values of the first key column."""
        values = sorted({key[0] for key in self.live[name] if below is None or key[0] < below})
        return set(self.chance.sample(values, min(len(values), max(1, int(len(values) * SHARE)))))


def _keys(name: str, rows: pa.Table) -> dict[Key, int]:
    columns = [rows.column(column).to_pylist() for column in TABLES[name].key]
    return {key: row for row, key in enumerate(zip(*columns, strict=True))}


def _among(column: str, keys: set[int]) -> str:
    return f"{column} IN ({', '.join(map(str, sorted(keys)))})" if keys else "false"


# What ORDER BY sorts by, in the queries that have a LIMIT: rows that are equal in it may stand for each other at the end of the answer.
LIMITED = {
    "q2": ("s_acctbal", "n_name", "s_name", "p_partkey"),
    "q3": ("revenue", "o_orderdate"),
    "q10": ("revenue",),
    "q18": ("o_totalprice", "o_orderdate"),
    "q21": ("numwait", "s_name"),
}


def create_all(db: Any, scale_factor: float) -> None:
    """The eight tables and the 22 views, none of which may be refreshed in full."""
    for table in TABLES.values():
        db.sql(table.create)
    for name, text in queries(scale_factor).items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} WITH (refresh = 'strict') AS {text}")


def check_all(db: Any, when: str, scale_factor: float) -> dict[str, int]:
    """Every view must equal its query run from scratch now. Gives the number of rows of each."""
    return {name: check(db, name, text, when) for name, text in queries(scale_factor).items()}


def check(db: Any, name: str, text: str, when: str) -> int:
    view, batch = db.sql(f"SELECT * FROM {name}").to_arrow(), db.recompute(name).to_arrow()
    what = f"{name} {when}"
    check_schema(view.schema, batch.schema, what)
    rows, expected = rows_of(view), rows_of(batch)
    if name in LIMITED and difference(rows, expected):
        key = [view.schema.names.index(column) for column in LIMITED[name]]
        check_top(rows, expected, rows_of(db.sql(without_limit(text)).to_arrow()), key, view.schema.types, what)
    else:
        check_rows(rows, expected, view.schema.types, what)
    return len(rows)
