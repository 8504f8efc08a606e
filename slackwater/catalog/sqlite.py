"""The catalog as a SQLite file in the warehouse's folder: nothing to install, one machine."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slackwater.catalog.store import Unsettled
from slackwater.errors import WarehouseError

FILE = "catalog.db"


class SQLite:
    """A store in a file."""

    shared = False
    now = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(self, root: Path) -> None:
        self.path = root / FILE
        self.place = str(root)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None

    def exists(self) -> bool:
        return self.path.exists()

    def create(self, schema: str) -> None:
        with self._used() as db:
            db.executescript(schema.format(number="INTEGER PRIMARY KEY AUTOINCREMENT", by_key="WITHOUT ROWID"))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._used() as db:
            db.execute("BEGIN")
            try:
                yield db
            finally:
                _undo(db)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with self._used() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                _undo(db)
                raise
            try:
                db.execute("COMMIT")
            except sqlite3.Error as problem:
                _undo(db)
                raise Unsettled(f"the catalog {self.path} did not take a commit: {problem}") from problem

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time; what SQLite says is said in our words."""
        with self._lock:
            try:
                if self._db is None:
                    self._db = _open(self.path)
                yield self._db
            except sqlite3.Error as problem:
                raise WarehouseError(f"the catalog {self.path} cannot be used: {problem}", hint="slackwater doctor checks it") from problem


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")  # a committed step survives a power loss
    except BaseException:
        db.close()
        raise
    return db


def _undo(db: sqlite3.Connection) -> None:
    if db.in_transaction:  # on some errors SQLite has rolled back by itself
        db.execute("ROLLBACK")
