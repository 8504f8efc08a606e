"""The rows of a catalog, from one store to another: SQLite or PostgreSQL, numbers and all.

They are read as of one moment and written in one transaction, a page at a time: a history may be long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slackwater.catalog.catalog import SCHEMA
from slackwater.catalog.lease import Lease
from slackwater.catalog.pairing import note_pair
from slackwater.catalog.store import Statements, Store

# What identifies a row, and what else is in it. Not `lease`: nobody writes a copy. Not `meta`: each store says for itself what it is.
TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "step": (("number",), ("id",)),
    "relation": (("rowid",), ("name", "record")),
    "trace": (("name",), ("columns", "id_type")),
    "batch": (("trace", "version"), ("step", "added", "removed")),
    "cursor": (("path", "source"), ("version",)),
    "marker": (("name",), ("at",)),
    "history": (("number",), ("target", "due", "record")),
}
PAGE = 1000  # rows


def copy_rows(source: Store, target: Store) -> None:
    """All rows of one store in the place of another's."""
    target.create(SCHEMA)
    with target.writing() as db:
        for table in TABLES:
            db.execute(f"DELETE FROM {table}")
        _add_rows(source, target, db)


def move_in(source: Store, target: Store, lease: Lease, id: str) -> None:
    """All rows of one store, and the mark of a pair, in another that is empty."""
    with target.writing() as db:
        lease.renew(db)  # so it still is
        _add_rows(source, target, db)
        note_pair(db, id)


def _add_rows(source: Store, target: Store, db: Statements) -> None:
    with source.reading() as old:
        for table, (key, others) in TABLES.items():
            for rows in _pages(old, table, key, others):
                target.fill(db, table, (*key, *others), rows)


def _pages(db: Statements, table: str, key: tuple[str, ...], others: tuple[str, ...]) -> Iterator[list[Any]]:
    """All rows of a table, in the order of its key."""
    all_of_it, ordered = f"SELECT {', '.join((*key, *others))} FROM {table}", f"ORDER BY {', '.join(key)} LIMIT {PAGE}"
    after = f"WHERE ({', '.join(key)}) > ({', '.join('?' * len(key))})"
    rows = db.execute(f"{all_of_it} {ordered}").fetchall()
    while rows:
        yield rows
        rows = db.execute(f"{all_of_it} {after} {ordered}", rows[-1][: len(key)]).fetchall()
