"""What must be there, kept in plain Python: an oracle that shares nothing with what it judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

Row = tuple[Any, ...]
Tables = Mapping[str, tuple[Row, ...]]

TABLES = {
    "orders": "CREATE TABLE orders (id BIGINT, region STRING, amount INT, PRIMARY KEY (id))",
    "regions": "CREATE TABLE regions (name STRING, manager STRING, PRIMARY KEY (name))",
    "events": "CREATE TABLE events (kind STRING, size INT)",
    "taps": "CREATE STREAM taps (kind STRING, number BIGINT) WITH (capacity = '20 rows', quiet = '0 seconds')",
}
# Samples for which there are never too many rows: they have all of them.
SAMPLES = {
    "every_order": "CREATE SAMPLE every_order ON orders SIZE 1000000",
    "every_tap": "CREATE SAMPLE every_tap ON taps SIZE 1000000",
}
# Streams, and the views that know all rows that ever came to them, with how often each.
PASSED = {"taps": "tapped"}

# Those that are read before those that read them.
VIEWS = {
    "totals": "SELECT region, sum(amount) AS total, count(*) AS orders, max(amount) AS largest FROM orders GROUP BY region",
    "managed": "SELECT orders.id, amount / 4 AS amount, regions.manager FROM orders LEFT JOIN regions ON orders.region = regions.name",
    "managers": "SELECT manager, sum(amount) AS total FROM managed GROUP BY manager",
    "kinds": "SELECT DISTINCT kind FROM events",
    "largest": "SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 5",
    "sized": "SELECT events.kind, orders.id, orders.amount FROM events JOIN orders ON events.size = orders.id",
    "tapped": "SELECT kind, number, count(*) AS n FROM taps GROUP BY kind, number",
    "sampled": "SELECT region, count(*) AS orders, sum(amount) AS total FROM every_order GROUP BY region",
    "sampled_taps": "SELECT kind, count(*) AS n, max(number) AS newest FROM every_tap GROUP BY kind",
    "newest": "SELECT max(newest) AS newest, sum(n) AS n FROM (SELECT kind, max(number) AS newest, count(*) AS n FROM taps GROUP BY kind)",
}
SCRATCH = tuple(name for name in VIEWS if name not in ("tapped", "newest"))  # those that can be computed from scratch

PACED = ("managers", "largest", "sized")  # flushed before their trigger by a loop
OPTIONS = "WITH (trigger = 'marker loaded', goal = 'final work 0.2', expect = '40 rows') "

EMPTY: Tables = dict.fromkeys(TABLES, ())


def create_view(name: str) -> str:
    return f"CREATE OR REPLACE MATERIALIZED VIEW {name} {OPTIONS if name in PACED else ''}AS {VIEWS[name]}"


def _totals(tables: Tables) -> list[Row]:
    groups: dict[Any, list[int]] = {}
    for _, region, amount in tables["orders"]:
        groups.setdefault(region, []).append(amount)
    return [(region, sum(amounts), len(amounts), max(amounts)) for region, amounts in groups.items()]


def _managed(tables: Tables) -> list[Row]:
    managers: dict[Any, Any] = dict(tables["regions"])
    return [(id, amount / 4, managers.get(region)) for id, region, amount in tables["orders"]]


def _managers(tables: Tables) -> list[Row]:
    totals: Counter[Any] = Counter()
    for _, amount, manager in _managed(tables):
        totals[manager] += amount
    return list(totals.items())


def _kinds(tables: Tables) -> list[Row]:
    return [(kind,) for kind in {kind for kind, _ in tables["events"]}]


def _largest(tables: Tables) -> list[Row]:
    return sorted(((id, amount) for id, _, amount in tables["orders"]), key=lambda row: (-row[1], row[0]))[:5]


def _sized(tables: Tables) -> list[Row]:
    amounts = {id: amount for id, _, amount in tables["orders"]}
    return [(kind, size, amounts[size]) for kind, size in tables["events"] if size in amounts]


def _tapped(tables: Tables) -> list[Row]:
    return [(*row, count) for row, count in Counter(tables["taps"]).items()]


def _newest(tables: Tables) -> list[Row]:
    return [(max((number for _, number in tables["taps"]), default=None), len(tables["taps"]) or None)]


def _sampled(tables: Tables) -> list[Row]:
    return [(region, orders, total) for region, total, orders, _ in _totals(tables)]


def _sampled_taps(tables: Tables) -> list[Row]:
    numbers: dict[Any, list[int]] = {}
    for kind, number in tables["taps"]:
        numbers.setdefault(kind, []).append(number)
    return [(kind, len(each), max(each)) for kind, each in numbers.items()]


ANSWERS: dict[str, Callable[[Tables], list[Row]]] = {
    "totals": _totals,
    "managed": _managed,
    "managers": _managers,
    "kinds": _kinds,
    "largest": _largest,
    "sized": _sized,
    "tapped": _tapped,
    "sampled": _sampled,
    "sampled_taps": _sampled_taps,
    "newest": _newest,
}


def answer(view: str, tables: Tables) -> Counter[Row]:
    """The rows of a view over tables like these."""
    return Counter(ANSWERS[view](tables))
