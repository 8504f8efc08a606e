"""The catalog as a SQLite file in the warehouse's folder: nothing to install, one machine."""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slackwater.catalog.store import Statements, Unsettled
from slackwater.errors import WarehouseError
from slackwater.trace.unwritable import Unwritable

FILE = "catalog.db"
RESTORE = "slackwater restore brings back a backup"
# What SQLite says when it has written nothing, and what the operating system has told it.
UNWRITTEN = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR_SHMSIZE: errno.ENOSPC,  # also to read it needs a small file beside its own
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}


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
        if self.path.exists() and self.path.stat().st_size:
            with self._used() as db:
                return db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
        # SQLite would make a new one, and all files of the warehouse would be orphans.
        if any(self.path.parent.glob("traces/*/*")):
            raise WarehouseError(f"the warehouse at {self.place} has files, but its {FILE} is gone", hint=RESTORE)
        return False

    def create(self, schema: str) -> None:
        made = schema.format(number="INTEGER PRIMARY KEY AUTOINCREMENT", by_key="WITHOUT ROWID")
        with self._used() as db:
            try:
                db.executescript(f"BEGIN IMMEDIATE; {made} COMMIT")
            finally:
                _undo(db)

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
                if _code(problem) in UNWRITTEN:
                    raise
                raise Unsettled(f"the catalog {self.path} did not take a commit: {problem}") from problem

    def fill(self, db: Statements, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", rows)

    def vacuum(self) -> None:
        with self._used() as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

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
                self.close()  # one that is opened anew knows nothing of what was the matter
                if (code := UNWRITTEN.get(_code(problem))) is not None:
                    raise Unwritable(self.path, code, str(problem)) from problem
                damaged = type(problem) is sqlite3.DatabaseError  # what else goes wrong has a class of its own
                raise WarehouseError(
                    f"the catalog of the warehouse at {self.place} cannot be {'read' if damaged else 'used'}: {problem}",
                    hint=RESTORE if damaged else "slackwater doctor checks it",
                ) from problem


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")  # a committed step survives a power loss
    except BaseException:
        db.close()
        raise
    return db


def _code(problem: sqlite3.Error) -> int:
    """The kind of an error, without its details unless they matter."""
    code = int(getattr(problem, "sqlite_errorcode", 0))
    return code if code in UNWRITTEN else code & 0xFF


def _undo(db: sqlite3.Connection) -> None:
    if db.in_transaction:  # on some errors SQLite has rolled back by itself
        db.execute("ROLLBACK")
