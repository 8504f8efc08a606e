"""A warehouse on a disk that gives way and comes back, for both engines."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import slackwater
from slackwater.trace import Unwritable
from tests.disks import Disk

MANY = 20_000  # rows: more than a full disk has room for
STATEMENTS = (
    "INSERT INTO orders SELECT id + 100000, name FROM orders",
    "UPDATE orders SET name = upper(name)",
    "DELETE FROM orders",
    "REFRESH VIEW names",
    "REFRESH ALL",
    "VACUUM",
    "SELECT * FROM names",  # which is to be brought up to date: an older answer is not passed off as today's
)


def rows(first: int, count: int) -> list[tuple[int, str]]:
    luck = random.Random(first)
    return [(id, luck.randbytes(30).hex()) for id in range(first, first + count)]


def prepare(db: slackwater.Session) -> None:
    db.sql("CREATE TABLE orders (id BIGINT, name STRING)")
    db.sql("CREATE MATERIALIZED VIEW names AS SELECT name, count(*) AS orders FROM orders GROUP BY name")
    for first in (0, 1):
        db.insert("orders", rows(first * MANY // 2, MANY // 2))


def files(path: Path) -> set[Path]:
    return set((path / "traces").rglob("*.parquet"))


def check_that_nothing_is_lost(db: slackwater.Session, path: Path, disk: Disk, gives_way: str) -> None:
    """While the disk is full or read-only every statement says so, and nothing is left of it. Afterwards the same session goes on."""
    before, history = files(path), len(db.sql("DESCRIBE HISTORY"))
    told = "no space left on device|disk is full" if gives_way == "full" else "read-only file system|no folder can be made"
    with disk.full(but=100_000) if gives_way == "full" else disk.read_only(path):
        with pytest.raises(Unwritable, match=told) as caught:
            db.insert("orders", rows(MANY, MANY))
        assert str(disk.folder) in caught.value.message and "nothing was changed" in str(caught.value.hint)
        for text in STATEMENTS:
            with pytest.raises(Unwritable, match=told) as caught:
                db.sql(text)
            assert caught.value.hint
        assert list(db.sql("SELECT count(*), count(DISTINCT id) FROM orders")) == [(MANY, MANY)]
        assert files(path) == before
    assert len(db.sql("DESCRIBE HISTORY")) == history
    db.insert("orders", rows(MANY, 10))
    db.sql("UPDATE orders SET name = 'x' WHERE id >= 20000")
    db.sql("REFRESH ALL")
    assert list(db.sql("SELECT count(*), sum(orders) FROM names")) == [(MANY + 1, MANY + 10)]
    assert sorted(db.sql("SELECT * FROM names")) == sorted(db.recompute("names"))
