"""TPC-H as tables that change: loading steps, mixed steps, and the comparison of the 22 views with their batch answers.

Everything follows from a seed, so a failing step can be repeated. Rows arrive shuffled, so that orders come before their customers and
nations before their regions; later steps insert, update and delete on every table, referenced rows included, and leave references dangling.

The updates draw the values that the queries ask for (a part becomes 'Brand#23' in a 'MED BOX', a supplier moves to Saudi Arabia): at a
small scale most queries would otherwise select nothing, and a view that is always empty is always right.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bench.tpch import TABLES, queries
from tests.oracle import check_rows, check_schema, check_top, difference, without_limit
from tests.values import rows_of

SHARE = 0.01
COPY_DISTANCE = 10_000_000

Key = tuple[int, ...]
NONE: frozenset[Key] = frozenset()


@dataclass(frozen=True)
class Change:
    """One statement of a step: rows to insert, or the text of an UPDATE, DELETE or MERGE."""

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
LEADERS = {"lineitem": "orders", "partsupp": "part"}


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


def mixed_steps(data: dict[str, pa.Table], count: int, seed: int, merged: bool = False) -> Iterator[Step]:
    """Steps that insert, update and delete on every table. They take for granted that all of `data` has been loaded.

    `merged`: all that happens to a table in a step is one MERGE, for schedules that do much after every statement.
    """
    contents = _Contents(data, random.Random(seed))
    for number in range(count):
        yield contents.merged_step(number) if merged else contents.step(number)


class _Contents:
    """The keys that are in every table now, each with the number of the row of the data that it came from."""

    def __init__(self, data: dict[str, pa.Table], chance: random.Random) -> None:
        self.data = data
        self.chance = chance
        self.live: dict[str, dict[Key, int]] = {name: _keys(name, rows) for name, rows in data.items()}
        self.gone: dict[str, dict[Key, int]] = {name: {} for name in data}
        self.copied: dict[str, tuple[set[int], int]] = {}
        self.copies = 0

    def step(self, number: int) -> Step:
        changes: Step = []
        for name in self.tables():
            for kind in self.chance.sample(("delete", "update", "insert"), 3):
                if kind == "delete":
                    where, _ = self.delete(name)
                    changes.append(Change(name, kind, text=f"DELETE FROM {name} WHERE {where}"))
                elif kind == "update":
                    assigned, where, _ = self.update(name, number)
                    changes.append(Change(name, kind, text=f"UPDATE {name} SET {assigned} WHERE {where}"))
                else:
                    changes.append(Change(name, kind, rows=self.rows(name, self.insert(name))))
        return changes

    def merged_step(self, number: int) -> Step:
        changes: Step = []
        for name in self.tables():
            # In this order no key is named twice: what comes back left in an earlier step, and what is updated stays.
            inserted = self.insert(name)
            _, deleted = self.delete(name, spared=set(inserted))
            assigned, _, updated = self.update(name, number, spared=set(inserted))
            news = [self.news(name, kind, keys) for kind, keys in (("insert", inserted), ("delete", deleted), ("update", updated))]
            changes.append(Change(f"news_{name}", "delete", text=f"DELETE FROM news_{name}"))
            changes.append(Change(f"news_{name}", "insert", rows=pa.concat_tables(news)))
            changes.append(Change(name, "merge", text=_merge(name, assigned)))
        return changes

    def tables(self) -> list[str]:
        """All of them in a random order, except that what follows a copied row comes after it."""
        order = self.chance.sample([name for name in self.data if name not in LEADERS], len(self.data) - len(LEADERS))
        for follower, leader in LEADERS.items():
            order.insert(self.chance.randint(order.index(leader) + 1, len(order)), follower)
        return order

    def delete(self, name: str, spared: Set[Key] = NONE) -> tuple[str, dict[Key, int]]:
        """The condition and the keys of rows that leave."""
        keys = self.sample(name, without=spared)
        # Half of the time only part of what the keys name, so that an order loses a line and not all of them.
        second = 1 if len(TABLES[name].key) > 1 and self.chance.random() < 0.5 else None
        removed = {key: row for key, row in self.live[name].items() if key[0] in keys and (second is None or key[-1] % 2 == second)}
        for key in removed:
            del self.live[name][key]
        self.gone[name].update(removed)
        return _among(TABLES[name].key[0], keys) + (f" AND {TABLES[name].key[-1]} % 2 = {second}" if second is not None else ""), removed

    def update(self, name: str, number: int, spared: Set[Key] = NONE) -> tuple[str, str, dict[Key, int]]:
        """What is set, the condition and the keys of rows that change."""
        assigned = UPDATES[name][number % len(UPDATES[name])]
        distance = MOVES_KEY.get(assigned, 0)
        keys = self.sample(name, below=COPY_DISTANCE if distance else None, without=spared)
        changed = {key: row for key, row in self.live[name].items() if key[0] in keys}
        for key in changed if distance else ():
            self.live[name][(key[0] + distance, *key[1:])] = self.live[name].pop(key)
        return assigned, _among(TABLES[name].key[0], keys), changed

    def insert(self, name: str) -> dict[Key, int]:
        """About half of the rows that left earlier come back, and a few rows are copied under keys of their own."""
        new = {key: row for key, row in self.gone[name].items() if key not in self.live[name] and self.chance.random() < 0.5}
        for key in new:
            del self.gone[name][key]
        self.copies += 1
        self.copied[name] = self.sample(name, below=COPY_DISTANCE), self.copies * COPY_DISTANCE
        for originals, distance in [self.copied[name]] + ([self.copied[LEADERS[name]]] if name in LEADERS else []):
            new |= {(key[0] + distance, *key[1:]): row for key, row in self.live[name].items() if key[0] in originals}
        self.live[name].update(new)
        return new

    def rows(self, name: str, keys: dict[Key, int]) -> pa.Table:
        """The rows that the keys came from, under these keys."""
        table = self.data[name].take(pa.array(keys.values(), pa.int64()))
        for position, column in enumerate(TABLES[name].key):
            field = table.schema.field(column)
            values = pa.array([key[position] for key in keys], field.type)
            table = table.set_column(table.schema.get_field_index(column), field, values)
        return table

    def news(self, name: str, kind: str, keys: dict[Key, int]) -> pa.Table:
        """Rows for the source of a merge."""
        table = self.rows(name, keys)
        kinds = pa.array([kind] * len(keys), pa.string())
        return table.rename_columns([f"new_{column}" for column in table.column_names]).append_column("kind", kinds)

    def sample(self, name: str, below: int | None = None, without: Set[Key] = NONE) -> set[int]:
        """A few values of the first key column."""
        left_out = {key[0] for key in without}
        values = sorted({key[0] for key in self.live[name] if (below is None or key[0] < below) and key[0] not in left_out})
        return set(self.chance.sample(values, min(len(values), max(1, int(len(values) * SHARE)))))


def _keys(name: str, rows: pa.Table) -> dict[Key, int]:
    columns = [rows.column(column).to_pylist() for column in TABLES[name].key]
    return {key: row for row, key in enumerate(zip(*columns, strict=True))}


def _among(column: str, keys: set[int]) -> str:
    return f"{column} IN ({', '.join(map(str, sorted(keys)))})" if keys else "false"


def _merge(name: str, assigned: str) -> str:
    table = TABLES[name]
    on = " AND ".join(f"{column} = new_{column}" for column in table.key)
    new = ", ".join(f"new_{column}" for column in table.names)
    return f"""
        MERGE INTO {name} USING news_{name} ON {on}
        WHEN MATCHED AND kind = 'delete' THEN DELETE
        WHEN MATCHED AND kind = 'update' THEN UPDATE SET {assigned}
        WHEN NOT MATCHED AND kind = 'insert' THEN INSERT ({", ".join(table.names)}) VALUES ({new})
    """


# What ORDER BY sorts by, in the queries that have a LIMIT: rows that are equal in it may stand for each other at the end of the answer.
LIMITED = {
    "q2": ("s_acctbal", "n_name", "s_name", "p_partkey"),
    "q3": ("revenue", "o_orderdate"),
    "q10": ("revenue",),
    "q18": ("o_totalprice", "o_orderdate"),
    "q21": ("numwait", "s_name"),
}


def create_all(db: Any, scale_factor: float) -> None:
    """The eight tables, what is merged into them, and the 22 views, none of which may be refreshed in full."""
    for name, table in TABLES.items():
        db.sql(table.create)
        db.sql(f"CREATE TABLE news_{name} ({', '.join(f'new_{column} {kind}' for column, kind in table.columns)}, kind STRING)")
    for name, text in queries(scale_factor).items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} WITH (refresh = 'strict') AS {text}")


def check_all(dbs: Sequence[Any], when: str, scale_factor: float) -> dict[str, int]:
    """Every view of warehouses with the same tables must equal its query run from scratch now. Gives the number of rows of each."""
    for db in dbs:
        db.sql("REFRESH ALL")
    return {name: check(dbs, name, text, when) for name, text in queries(scale_factor).items()}


def check(dbs: Sequence[Any], name: str, text: str, when: str) -> int:
    batch = dbs[0].recompute(name).to_arrow()
    expected = rows_of(batch)
    for db in dbs:
        view = db.sql(f"SELECT * FROM {name}").to_arrow()
        what = f"{name} {when} with schedule {db.schedule}"
        check_schema(view.schema, batch.schema, what)
        rows = rows_of(view)
        if name in LIMITED and difference(rows, expected):
            key = [view.schema.names.index(column) for column in LIMITED[name]]
            check_top(rows, expected, rows_of(db.sql(without_limit(text)).to_arrow()), key, view.schema.types, what)
        else:
            check_rows(rows, expected, view.schema.types, what)
    return len(expected)
