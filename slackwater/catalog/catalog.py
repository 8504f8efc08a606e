"""The catalog: what exists, in one SQL store.

One transaction commits a step: its batches, how far every path has read, what views answer, its line in the history. Before it nothing
of the step is there; after it nothing is missing. Readers take a snapshot, which never changes under them.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from slackwater.catalog.records import Done, Relation, Table, View, done_from_json, relation_from_json, to_json
from slackwater.errors import QueryError, WarehouseError, did_you_mean
from slackwater.plan import Column
from slackwater.trace import Batch, File, Trace

FORMAT = "1"
FILE = "catalog.db"

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta     (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS relation (name TEXT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trace    (name TEXT PRIMARY KEY, columns TEXT NOT NULL, id_type TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS batch    (trace TEXT, version INTEGER, step TEXT NOT NULL, added TEXT NOT NULL, removed TEXT NOT NULL,
                                     PRIMARY KEY (trace, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cursor   (path TEXT, source TEXT, version INTEGER NOT NULL, PRIMARY KEY (path, source)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history  (number INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lease    (one INTEGER PRIMARY KEY CHECK (one = 1), holder TEXT, host TEXT, pid INTEGER, expires REAL);
"""


@dataclass(frozen=True)
class Snapshot:
    """Everything that exists after some step."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    traces: Mapping[str, Trace] = field(default_factory=dict)
    cursors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # path -> source -> version read so far

    def relation(self, name: str) -> Relation:
        found = self.relations.get(name.lower())
        if found is None:
            # A name that was read from a statement knows its place there.
            place = getattr(name, "place", None)
            raise QueryError(f'table or view "{name}" does not exist', place=place, hint=did_you_mean(name, self.relations))
        return found

    def table(self, name: str) -> Table:
        found = self.relation(name)
        if not isinstance(found, Table):
            raise QueryError(f'"{name}" is a view: its rows change when the tables it reads do', hint="change those tables instead")
        return found

    def view(self, name: str) -> View:
        found = self.relation(name)
        if not isinstance(found, View):
            raise QueryError(f'"{name}" is a table, not a view')
        return found

    @property
    def tables(self) -> list[Table]:
        return [r for r in self.relations.values() if isinstance(r, Table)]

    @property
    def views(self) -> list[View]:
        """Views, those that are read before those that read them."""
        return [r for r in self.relations.values() if isinstance(r, View)]

    @property
    def files(self) -> tuple[File, ...]:
        return tuple(file for trace in self.traces.values() for file in trace.files)

    def readers(self, name: str) -> list[str]:
        """The views whose text names a relation."""
        return [view.name for view in self.views if name.lower() in view.reads]

    # What a session's binder asks for.
    def columns(self, name: str) -> tuple[Column, ...] | None:
        found = self.relations.get(name.lower())
        return found.columns if found else None

    def names(self) -> list[str]:
        return list(self.relations)


@dataclass
class Changes:
    """What one step does to the catalog."""

    relations: dict[str, Relation | None] = field(default_factory=dict)  # None: dropped
    traces: dict[str, Trace | None] = field(default_factory=dict)
    batches: list[tuple[str, Batch]] = field(default_factory=list)
    folds: list[tuple[str, int, Batch]] = field(default_factory=list)  # all batches of a trace after a version, become one
    cursors: dict[str, dict[str, int]] = field(default_factory=dict)
    history: list[Done] = field(default_factory=list)

    def put(self, relation: Relation) -> None:
        self.relations[relation.name.lower()] = relation

    def drop(self, name: str) -> None:
        self.relations[name.lower()] = None


class Catalog:
    """The store of one warehouse."""

    def __init__(self, root: Path, read_only: bool = False) -> None:
        self.path = root / FILE
        self._lock = threading.RLock()
        if read_only and not self.path.exists():
            raise WarehouseError(f"there is no warehouse at {root}", hint="open it without read_only to create one")
        self._refuse_a_lost_catalog()
        self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
        self._seen = -1
        self._snapshot = Snapshot()
        try:
            self._open(read_only)
            self.snapshot()
        except sqlite3.DatabaseError as problem:
            self._db.close()
            hint = None if isinstance(problem, sqlite3.OperationalError) else "slackwater restore brings back a backup"
            raise WarehouseError(f"the catalog of the warehouse at {root} cannot be read: {problem}", hint=hint) from problem
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def snapshot(self) -> Snapshot:
        """Everything as of now; loaded again only if another process has committed."""
        with self._lock:
            version: int = self._db.execute("PRAGMA data_version").fetchone()[0]
            if version != self._seen:
                self._snapshot = self._load()
                self._seen = version
            return self._snapshot

    def commit(self, changes: Changes) -> Snapshot:
        """Make a step real."""
        with self._lock:
            before = self.snapshot()
            with self.transaction() as db:
                _write(db, changes)
            self._snapshot = _applied(before, changes)
            return self._snapshot

    def history(self, target: str | None = None, limit: int = 1000) -> list[Done]:
        """Newest first."""
        with self._lock:
            where, values = ("WHERE target = ?", [target.lower()]) if target else ("", [])
            rows = self._db.execute(f"SELECT record FROM history {where} ORDER BY number DESC LIMIT ?", [*values, limit]).fetchall()
        return [done_from_json(record) for (record,) in rows]

    def vacuum(self) -> None:
        """Give back the space of rows that are gone."""
        with self._lock:
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _refuse_a_lost_catalog(self) -> None:
        """SQLite would make a new one, and all files of the warehouse would be orphans."""
        if (not self.path.exists() or not self.path.stat().st_size) and any(self.path.parent.glob("traces/*/*")):
            raise WarehouseError(
                f"the warehouse at {self.path.parent} has files, but its {FILE} is gone", hint="slackwater restore brings back a backup"
            )

    def _open(self, read_only: bool) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")  # a committed step survives a power loss
        if read_only or self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._check_format(read_only)  # before anything of ours is written to it
        if not read_only:
            self._db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} INSERT OR IGNORE INTO meta VALUES ('format', '{FORMAT}'); COMMIT")

    def _check_format(self, read_only: bool) -> None:
        try:
            facts = dict(self._db.execute("SELECT key, value FROM meta"))
        except sqlite3.OperationalError:
            facts = {}
        if facts.get("format") != FORMAT:
            raise WarehouseError(
                f"the warehouse at {self.path.parent} has format {facts.get('format', 'unknown')}, this release reads format {FORMAT}",
                hint="open it with the release that wrote it",
            )
        if "backup" in facts and not read_only:
            raise WarehouseError(
                f"{self.path.parent} is a backup", hint="open it with read_only=True, or slackwater restore it to another place"
            )

    def _load(self) -> Snapshot:
        self._db.execute("BEGIN")
        try:
            # Views are put in the order of their creation, so that every view comes after what it reads.
            relations = {
                name: relation_from_json(record) for name, record in self._db.execute("SELECT name, record FROM relation ORDER BY rowid")
            }
            batches: dict[str, list[Batch]] = {}
            for trace, version, step, added, removed in self._db.execute("SELECT * FROM batch ORDER BY trace, version"):
                batches.setdefault(trace, []).append(Batch(version, step, _files(added), _files(removed)))
            traces = {}
            for name, columns, id_type in self._db.execute("SELECT name, columns, id_type FROM trace"):
                traces[name] = Trace(name, tuple(Column(**c) for c in json.loads(columns)), id_type, tuple(batches.get(name, ())))
            cursors: dict[str, dict[str, int]] = {}
            for path, source, version in self._db.execute("SELECT path, source, version FROM cursor"):
                cursors.setdefault(path, {})[source] = version
        finally:
            self._db.execute("COMMIT")
        return Snapshot(relations, traces, cursors)


def _write(db: sqlite3.Connection, changes: Changes) -> None:
    for name, relation in changes.relations.items():
        if relation is None:
            db.execute("DELETE FROM relation WHERE name = ?", [name])
        else:
            db.execute(
                "INSERT INTO relation (name, record) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET record = excluded.record",
                [name, to_json(relation)],
            )
    for name, trace in changes.traces.items():
        for statement in ("DELETE FROM trace WHERE name = ?", "DELETE FROM batch WHERE trace = ?", "DELETE FROM cursor WHERE path = ?"):
            db.execute(statement, [name])
        if trace is not None:
            db.execute("INSERT INTO trace VALUES (?, ?, ?)", [name, json.dumps([asdict(c) for c in trace.columns]), trace.id_type])
    for name, after, _ in changes.folds:
        db.execute("DELETE FROM batch WHERE trace = ? AND version > ?", [name, after])
    for name, batch in [*changes.batches, *((name, batch) for name, _, batch in changes.folds)]:
        files = [json.dumps([asdict(file) for file in side]) for side in (batch.added, batch.removed)]
        db.execute("INSERT INTO batch VALUES (?, ?, ?, ?, ?)", [name, batch.version, batch.step, *files])
    for path, versions in changes.cursors.items():
        db.executemany("INSERT OR REPLACE INTO cursor VALUES (?, ?, ?)", [(path, source, version) for source, version in versions.items()])
    db.executemany("INSERT INTO history (target, record) VALUES (?, ?)", [(done.target.lower(), to_json(done)) for done in changes.history])


def _applied(before: Snapshot, changes: Changes) -> Snapshot:
    relations, traces = dict(before.relations), dict(before.traces)
    cursors: dict[str, Mapping[str, int]] = dict(before.cursors)
    for name, relation in changes.relations.items():
        if relation is None:
            relations.pop(name, None)
        else:
            relations[name] = relation
    for name, trace in changes.traces.items():
        traces.pop(name, None)
        cursors.pop(name, None)
        if trace is not None:
            traces[name] = replace(trace, batches=())
    for name, batch in changes.batches:
        traces[name] = traces[name].with_batch(batch)
    for name, after, batch in changes.folds:
        traces[name] = traces[name].folded(after, batch)
    for path, versions in changes.cursors.items():
        cursors[path] = {**cursors.get(path, {}), **versions}
    return Snapshot(relations, traces, cursors)


def _files(text: str) -> tuple[File, ...]:
    return tuple(File(f["path"], f["rows"], f["bytes"], tuple(f["ids"]) if f["ids"] else None, f.get("crc")) for f in json.loads(text))
