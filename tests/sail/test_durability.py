"""What is acknowledged stays: damage is found and named, and a warehouse can be checked, copied while it is in use, and brought back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater.errors import WarehouseError
from slackwater.trace import Damaged

MANY = 5000  # rows: more than go along with a statement, so that the engine reads their files


@pytest.fixture
def path(sail_session: Any, tmp_path: Path) -> Path:
    """A warehouse with many orders, a few regions and a view over each, closed."""
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session) as db:
        db.sql("CREATE TABLE orders (id BIGINT, region STRING, amount BIGINT)")
        db.sql("CREATE TABLE regions (name STRING)")
        db.sql("CREATE MATERIALIZED VIEW totals AS SELECT id % 3000 AS third, sum(amount) AS total FROM orders GROUP BY id % 3000")
        db.sql("CREATE MATERIALIZED VIEW named AS SELECT count(*) AS n FROM regions")
        db.insert("orders", [(i, f"region {i % 7}", i) for i in range(MANY)])
        db.insert("regions", [("EU",), ("US",)])
        db.sql("REFRESH ALL")
    return tmp_path / "warehouse"


def only_file(path: Path, trace: str) -> Path:
    (found,) = (path / "traces" / trace).rglob("*.parquet")
    return found


def flip_a_byte(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def flip_the_footer(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-3] ^= 0xFF
    file.write_bytes(data)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def empty(file: Path) -> None:
    file.write_bytes(b"")


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (flip_the_footer, "checksum"),
    (cut_short, "bytes"),
    (empty, "has 0 bytes"),
    (Path.unlink, "missing"),
]


@pytest.mark.parametrize(("do_damage", "told"), DAMAGES)
@pytest.mark.parametrize("trace", ["orders", "totals%2F1", "regions"])
def test_a_damaged_file_is_named_when_it_is_read(
    trace: str, do_damage: Callable[[Path], None], told: str, path: Path, sail_session: Any
) -> None:
    file = only_file(path, trace)
    do_damage(file)
    relation = trace.partition("%")[0]
    with slackwater.connect(path, engine=sail_session) as db:
        for _ in range(2):
            with pytest.raises(Damaged, match=told) as caught:
                db.sql(f"SELECT * FROM {relation}").to_arrow()
            assert str(file.relative_to(path)) in caught.value.message
            assert f'of "{relation}"' in caught.value.message
            assert "slackwater check" in str(caught.value.hint) and "slackwater restore" in str(caught.value.hint)


@pytest.mark.parametrize("do_damage", [damage for damage, _ in DAMAGES])
def test_the_other_views_go_on(do_damage: Callable[[Path], None], path: Path, sail_session: Any) -> None:
    do_damage(only_file(path, "totals%2F1"))
    with slackwater.connect(path, engine=sail_session) as db:
        db.insert("orders", [(1, "EU", 1)])
        db.insert("regions", [("Asia",)])
        assert "named: 1 rows added" in db.sql("REFRESH ALL").message
        for _ in range(8):  # until there is something to fold
            db.insert("regions", [("Asia",)])
            assert "named: 1 rows added" in db.sql("REFRESH ALL").message
        assert list(db.sql("SELECT n FROM named")) == [(11,)]
        with pytest.raises(WarehouseError, match="totals"):
            list(db.sql("SELECT * FROM totals"))


def test_a_file_that_vanishes_while_it_is_in_use_is_not_taken_for_empty(path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        asked = db.sql("SELECT count(*) FROM orders")
        again = db.sql("SELECT count(*) FROM totals")
        only_file(path, "orders").unlink()
        with pytest.raises(Damaged, match="missing"):
            list(asked)
        assert list(again) == [(3000,)]


def test_a_damaged_view_can_be_created_again(path: Path, sail_session: Any) -> None:
    only_file(path, "totals%2F1").unlink()
    with slackwater.connect(path, engine=sail_session) as db:
        text = "SELECT id % 3000 AS third, sum(amount) AS total FROM orders GROUP BY id % 3000"
        db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW totals AS {text}")
        assert len(db.sql("SELECT * FROM totals")) == 3000


@pytest.mark.parametrize("rows", [10, MANY])
def test_a_fold_does_not_make_damage_look_sound(rows: int, path: Path, sail_session: Any) -> None:
    with slackwater.connect(path, engine=sail_session) as db:
        db.sql("CREATE TABLE more (a BIGINT)")
        db.insert("more", [(i,) for i in range(rows)])
        file = only_file(path, "more")
        flip_a_byte(file)
        for _ in range(9):
            db.insert("more", [(1,)])
        db.sql("REFRESH ALL")
        assert file.exists()
        assert len(list((path / "traces" / "more").iterdir())) == 10
