"""A catalog that goes from one store to another arrives as it was."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from slackwater.catalog import transfer
from slackwater.catalog.catalog import FORMAT, SCHEMA
from slackwater.catalog.sqlite import SQLite
from slackwater.catalog.transfer import TABLES, copy_rows


def rows(store: SQLite) -> dict[str, list[Any]]:
    with store.reading() as db:
        return {table: sorted(db.execute(f"SELECT * FROM {table}")) for table in (*TABLES, "meta", "lease")}


def new(folder: Path) -> SQLite:
    folder.mkdir()
    store = SQLite(folder)
    store.create(SCHEMA)
    return store


def test_every_column_of_the_catalog_is_known(tmp_path: Path) -> None:
    with closing(new(tmp_path / "a")) as store, store.reading() as db:
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")}
        assert there == {*TABLES, "meta", "lease"}
        for table, (key, others) in TABLES.items():
            columns = {name: in_key for _, name, _, _, _, in_key in db.execute(f"PRAGMA table_info({table})")}
            assert set(columns) == {*key, *others}
            assert {name for name, in_key in columns.items() if in_key} == set(key)


@pytest.mark.parametrize("page", [1, 2, 3, 1000])
def test_rows_arrive_with_their_numbers_and_nothing_else_stays(page: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PAGE", page)
    with closing(new(tmp_path / "a")) as source, closing(new(tmp_path / "b")) as target:
        with source.writing() as db:
            for number in range(1, 6):
                db.execute("INSERT INTO step (number, id) VALUES (?, ?)", [2 * number, f"step {number}"])
                db.execute("INSERT INTO relation (name, record) VALUES (?, '{}')", [f"table {9 - number}"])
                db.execute("INSERT INTO batch VALUES (?, ?, 's', '[]', '[]')", [f"trace {number % 2}", number])
                db.execute("INSERT INTO cursor VALUES (?, ?, 1)", [f"path {number % 2}", f"trace {number}"])
            db.execute("DELETE FROM relation WHERE name = 'table 8'")
            db.execute("INSERT INTO meta VALUES ('warehouse', 'of the source')")
            db.execute("INSERT INTO lease VALUES (1, 'somebody', 'box', 42, 1e12)")
        with target.writing() as db:
            db.execute("INSERT INTO step (id) VALUES ('of the target')")
        copy_rows(source, target)
        kept = {table: found for table, found in rows(source).items() if table in TABLES}
        assert rows(target) == {**kept, "meta": [("format", FORMAT)], "lease": []}
        with target.writing() as db:
            db.execute("INSERT INTO step (id) VALUES ('next')")
        assert rows(target)["step"][-1] == (11, "next")
