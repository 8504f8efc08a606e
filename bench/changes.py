"""Changes to TPC-H as SQL statements: the benchmark's refresh functions, and random rows of every table.

A round's number decides which rows it touches, so that rounds touch different ones and a run can be repeated. Rows are chosen by a
remainder of their keys, which spreads them evenly over everything that the queries ask for.
"""

from __future__ import annotations

from bench.tpch import TABLES

NEW_KEYS = 100_000_000  # new orders get keys beyond all that were generated, the next round's beyond these

# What an update sets. Each is a column that queries filter, join, group or sum by.
ASSIGNED = {
    "region": "r_comment = concat('renamed, was ', r_name)",
    "nation": "n_regionkey = (n_regionkey + 1) % 5",
    "supplier": "s_acctbal = s_acctbal + 100, s_nationkey = (s_nationkey + 1) % 25",
    "part": "p_size = p_size % 50 + 1, p_retailprice = p_retailprice + 1",
    "partsupp": "ps_supplycost = ps_supplycost + 1, ps_availqty = ps_availqty + 1",
    "customer": "c_acctbal = c_acctbal + 100, c_nationkey = (c_nationkey + 1) % 25",
    "orders": "o_totalprice = o_totalprice + 10, o_orderpriority = '1-URGENT'",
    "lineitem": "l_quantity = l_quantity % 50 + 1, l_discount = 0.06, l_extendedprice = l_extendedprice + 10",
}


def oldest(share: float, orders: int) -> int:
    """How many keys a share of the oldest orders takes. Generated keys are eight of every 32, so the n oldest lie below 4n."""
    return int(orders * share * 4)


def refresh_functions(share: float, number: int, above: int, below: int) -> list[str]:
    """RF1 and RF2 with as many updates: new orders with their lines, the oldest ones gone with theirs, others and their lines changed.

    The oldest are those with keys above `above`, up to which all are gone already, and up to `below`.
    """
    every, base = _every(share), number * NEW_KEYS
    copied = f"{_chosen('orders', every, 3 * number)} AND o_orderkey < {NEW_KEYS}"
    lines = f"{_remainder('l_orderkey', every, 3 * number)} AND l_orderkey < {NEW_KEYS}"
    changed = _remainder("o_orderkey", every, 3 * number + 1)
    changed_lines = _remainder("l_orderkey", every, 3 * number + 1)
    return [
        f"INSERT INTO orders SELECT {_copied('orders', {'o_orderkey': base + NEW_KEYS})} FROM orders WHERE {copied}",
        f"INSERT INTO lineitem SELECT {_copied('lineitem', {'l_orderkey': base + NEW_KEYS})} FROM lineitem WHERE {lines}",
        f"DELETE FROM lineitem WHERE l_orderkey > {above} AND l_orderkey <= {below}",
        f"DELETE FROM orders WHERE o_orderkey > {above} AND o_orderkey <= {below}",
        f"UPDATE orders SET {ASSIGNED['orders']} WHERE {changed}",
        f"UPDATE lineitem SET {ASSIGNED['lineitem']} WHERE {changed_lines} AND l_linenumber = 1",
    ]


def random_rows(share: float, number: int) -> list[str]:
    """Rows of every table copied under keys of their own, changed, and deleted, `share` of the table each.

    Where that is less than a row, one changes in as many rounds as it takes: for one row in a thousand, a nation of 25 in every 40th.
    """
    every, statements = _every(share), []
    for name, table in TABLES.items():
        new = {table.key[0]: (number + 1) * NEW_KEYS}
        original = f"{_chosen(name, every, 3 * number)} AND {table.key[0]} < {NEW_KEYS}"
        statements += [
            f"INSERT INTO {name} SELECT {_copied(name, new)} FROM {name} WHERE {original}",
            f"UPDATE {name} SET {ASSIGNED[name]} WHERE {_chosen(name, every, 3 * number + 1)}",
            f"DELETE FROM {name} WHERE {_chosen(name, every, 3 * number + 2)}",
        ]
    return statements


def _every(share: float) -> int:
    return max(1, round(1 / share))


def _chosen(table: str, every: int, number: int) -> str:
    """A condition that every n-th row of a table meets, another one for every number."""
    key = TABLES[table].key
    return _remainder(key[0] if len(key) == 1 else f"({key[0]} * 7 + {key[1]})", every, number)


def _remainder(expression: str, every: int, number: int) -> str:
    # 7 shares no divisor with the shares used, so consecutive numbers pick different rows until all have been picked.
    return f"{expression} % {every} = {number * 7 % every}"


def _copied(table: str, added: dict[str, int]) -> str:
    return ", ".join(f"{name} + {added[name]}" if name in added else name for name in TABLES[table].names)
