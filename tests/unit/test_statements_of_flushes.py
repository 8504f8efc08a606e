"""The statements of flushes, compared with files: a change of a rule shows as a change of text, and no JVM is needed to see it.

`REWRITE=1 pytest tests/unit/test_statements_of_flushes.py` writes the files anew; the oracle still decides whether they are right.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from slackwater.delta import Moved, first_flush, next_flush
from slackwater.path import cut
from slackwater.plan import Column, render
from slackwater.rewrite import rewrite
from slackwater.sql.bind import bind
from slackwater.sql.expression_types import GuessTyper

GOLDEN = Path(__file__).parent / "golden"

QUERIES = {
    "filter": "SELECT id, amount * 2 AS twice FROM orders WHERE region = 'EU'",
    "inner_join": "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id",
    "left_join": "SELECT c.name, o.amount FROM customers c LEFT JOIN orders o ON o.customer = c.id",
    "semi_join": "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)",
    "anti_join": "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)",
    "group_by": "SELECT region, sum(amount) AS total, count(*) AS n FROM orders GROUP BY region",
    "group_by_recomputed": "SELECT region, count(DISTINCT customer) AS customers FROM orders GROUP BY region",
    "distinct": "SELECT DISTINCT region FROM orders",
    "window": "SELECT id, rank() OVER (PARTITION BY region ORDER BY amount) AS place FROM orders",
    "limit": "SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 3",
    "union_all": "SELECT id FROM orders UNION ALL SELECT id FROM customers",
}


class Relations:
    known = {
        "orders": (Column("id", "bigint"), Column("customer", "bigint"), Column("region", "string"), Column("amount", "bigint")),
        "customers": (Column("id", "bigint"), Column("name", "string")),
    }

    def columns(self, name: str) -> tuple[Column, ...] | None:
        return self.known.get(name)

    def names(self) -> Iterable[str]:
        return list(self.known)


def statements(text: str) -> str:
    """Each path's first flush, a flush after arrivals only, and one after arrivals and departures in every source."""
    blocks = []
    for path in cut(rewrite(bind(text, Relations(), GuessTyper()).plan), "v").paths:
        arrivals = next_flush(path.top, path.name, {source: Moved(True, False) for source in path.sources})
        both = next_flush(path.top, path.name, {source: Moved(True, True) for source in path.sources})
        assert arrivals is not None and both is not None
        for title, plan in (("first", first_flush(path.top)), ("arrivals only", arrivals), ("arrivals and departures", both)):
            blocks.append(f"-- {path.name}, {path.operator}: {title}\n{render(plan)}\n")
    return "\n".join(blocks)


@pytest.mark.parametrize("name", QUERIES)
def test_a_flush_is_written_as_expected(name: str) -> None:
    file = GOLDEN / f"{name}.sql"
    text = statements(QUERIES[name])
    if os.environ.get("REWRITE"):
        file.write_text(text)
    assert text == file.read_text()


def test_arrivals_alone_need_neither_sides_nor_old_rows() -> None:
    arrivals = statements(QUERIES["inner_join"]).split("arrivals only")[1].split("-- v/1")[0]
    assert "removed" not in arrivals


def test_an_aggregate_over_arrivals_reads_no_identity_of_its_input() -> None:
    arrivals = statements(QUERIES["group_by"]).split("arrivals only")[1].split("-- v/1")[0]
    assert "`orders@added`" in arrivals and "_id_" not in arrivals and "orders@new" not in arrivals


def test_what_did_not_move_is_read_as_it_is() -> None:
    (path,) = cut(rewrite(bind(QUERIES["inner_join"], Relations(), GuessTyper()).plan), "v").paths
    plan = next_flush(path.top, path.name, {"orders": Moved(True, True), "customers": Moved(False, False)})
    assert plan is not None
    text = render(plan)
    assert "customers@new" in text and "customers@old" not in text and "customers@kept" not in text and "customers@added" not in text
