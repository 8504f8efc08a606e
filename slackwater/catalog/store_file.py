"""The SQLite store as a file: whether it is whole, and copies of stores that are such files."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from slackwater.catalog.lease import is_gone
from slackwater.catalog.sqlite import FILE, SQLite
from slackwater.catalog.store import Store
from slackwater.catalog.transfer import copy_rows
from slackwater.errors import WarehouseError
from slackwater.trace.durable import sync

__all__ = ["FILE", "copy_store", "defects", "is_backup", "mark", "put_store", "writer"]


def defects(root: Path) -> list[str]:
    """What SQLite finds wrong with the store of a warehouse."""
    if not (root / FILE).exists():
        raise WarehouseError(f"there is no warehouse at {root}")
    try:
        with closing(_open(root)) as db:
            found = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    except sqlite3.Error as problem:
        return [str(problem)]
    return [] if found == ["ok"] else found


def copy_store(source: Store, target: Path) -> None:
    """A store, as of one moment, in the place of that in a folder: all of it or nothing, whoever reads or writes them."""
    if not isinstance(source, SQLite):
        with closing(SQLite(target)) as rows:
            copy_rows(source, rows)
        return
    try:
        with closing(_open(source.path.parent)) as old, closing(sqlite3.connect(target / FILE, timeout=30)) as new:
            old.backup(new)
    except sqlite3.Error as problem:
        raise WarehouseError(f"the catalog at {source.place} cannot be copied to {target}: {problem}") from problem


def put_store(source: Path, target: Path) -> None:
    """A store that nobody uses, in the place of that in a folder, if there is one: all of it or nothing."""
    if (target / FILE).exists():
        copy_store(SQLite(source), target)  # a new file would meet the log of the one before
    else:
        sync([source / FILE])
        os.replace(source / FILE, target / FILE)


def is_backup(root: Path) -> bool:
    try:
        with closing(_open(root)) as db:
            return db.execute("SELECT 1 FROM meta WHERE key = 'backup'").fetchone() is not None
    except sqlite3.Error:
        return False


def mark(root: Path, backup: bool) -> None:
    """A store that was copied, as that of a backup or of a warehouse; nobody is writing it."""
    with closing(sqlite3.connect(root / FILE)) as db, db:
        db.execute("DELETE FROM lease")
        db.execute("DELETE FROM meta WHERE key = 'backup'")
        if backup:
            db.execute("INSERT INTO meta VALUES ('backup', ?)", [f"{time.time():.0f}"])


def writer(root: Path) -> str | None:
    """Who writes a warehouse now, as far as its store can still tell."""
    try:
        with closing(_open(root)) as db:
            held = db.execute(f"SELECT holder, pid, host FROM lease WHERE expires > {SQLite.now}").fetchone()
    except sqlite3.Error:
        return None
    return f"process {held[1]} on {held[2]}" if held and not is_gone(*held[:2]) else None


def _open(root: Path) -> sqlite3.Connection:
    # Not for reading only: then what was left of a copy that was broken off could not be undone.
    return sqlite3.connect(f"{(root / FILE).absolute().as_uri()}?mode=rw", uri=True, timeout=30)
