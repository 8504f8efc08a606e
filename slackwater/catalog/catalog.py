"""The catalog: what exists, in one SQL store.

One transaction commits a step: its batches, how far every path has read, what views answer, its line in the history. Before it nothing
of the step is there; after it nothing is missing. Readers take a snapshot, which never changes under them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from slackwater.catalog.lease import Lease
from slackwater.catalog.records import Done, Relation, Sample, Stream, Table, View, done_from_json, relation_from_json, to_json
from slackwater.catalog.store import Statements, Store, Unsettled
from slackwater.errors import QueryError, WarehouseError, did_you_mean
from slackwater.plan import Column
from slackwater.trace import Batch, File, Trace

FORMAT = "6"  # another one if what is in a catalog or a trace means something else
PATIENCE = 30.0  # seconds in which a store that was lost in a commit may come back and say what became of it
STEPS_KEPT = 1000
LINES_KEPT = 10_000  # of the history, of each table and view
UNKNOWN = -1  # the number of no step

# For both stores; `rowid` is what SQLite calls the order in which rows came.
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta     (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS step     (number {{number}}, id TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS relation (rowid {{number}}, name TEXT NOT NULL UNIQUE, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trace    (name TEXT PRIMARY KEY, columns TEXT NOT NULL, id_type TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS batch    (trace TEXT, version BIGINT, step TEXT NOT NULL, added TEXT NOT NULL, removed TEXT NOT NULL,
                                     PRIMARY KEY (trace, version)) {{by_key}};
CREATE TABLE IF NOT EXISTS cursor   (path TEXT, source TEXT, version BIGINT NOT NULL, PRIMARY KEY (path, source)) {{by_key}};
CREATE TABLE IF NOT EXISTS marker   (name TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL);
CREATE TABLE IF NOT EXISTS history  (number {{number}}, target TEXT NOT NULL, due DOUBLE PRECISION, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS history_by_target ON history (target, number);
CREATE TABLE IF NOT EXISTS lease    (one INTEGER PRIMARY KEY CHECK (one = 1), holder TEXT, host TEXT, pid BIGINT, expires DOUBLE PRECISION);
INSERT INTO meta VALUES ('format', '{FORMAT}') ON CONFLICT (key) DO UPDATE SET value = excluded.value;
"""


@dataclass(frozen=True)
class Snapshot:
    """Everything that exists after some step."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    traces: Mapping[str, Trace] = field(default_factory=dict)
    cursors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # path -> source -> version read so far
    number: int = 0  # of that step
    markers: Mapping[str, float] = field(default_factory=dict)  # when each was last set

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
        if isinstance(found, Sample):
            raise QueryError(
                f'"{name}" is a sample: its rows change when those of "{found.source}" do', hint=f"change {found.source} instead"
            )
        return found

    def view(self, name: str) -> View:
        found = self.relation(name)
        if not isinstance(found, View):
            raise QueryError(f'"{name}" is a {found.kind}, not a view')
        return found

    @property
    def tables(self) -> list[Table]:
        return [r for r in self.relations.values() if isinstance(r, Table)]

    @property
    def streams(self) -> list[Stream]:
        return [r for r in self.relations.values() if isinstance(r, Stream)]

    @property
    def samples(self) -> list[Sample]:
        return [r for r in self.relations.values() if isinstance(r, Sample)]

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

    def samples_of(self, name: str) -> list[Sample]:
        return [sample for sample in self.samples if sample.source.lower() == name.lower()]

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
    folds: list[tuple[str, int, Batch]] = field(default_factory=list)  # batches of a trace after a version, become one
    cursors: dict[str, dict[str, int]] = field(default_factory=dict)
    history: list[Done] = field(default_factory=list)
    markers: dict[str, float] = field(default_factory=dict)

    def put(self, relation: Relation) -> None:
        self.relations[relation.name.lower()] = relation

    def drop(self, name: str) -> None:
        self.relations[name.lower()] = None


class Catalog:
    """What exists in one warehouse."""

    def __init__(self, store: Store, read_only: bool = False) -> None:
        self.store = store
        self._lock = threading.RLock()  # around the snapshot; the store has one of its own
        self._snapshot = Snapshot(number=UNKNOWN)
        there = store.exists()
        if read_only and not there:
            raise WarehouseError(f"there is no warehouse at {store.place}", hint="open it without read_only to create one")
        if there:
            self._check_format(read_only)  # before anything of ours is written to it
        if not read_only:
            store.create(SCHEMA)
        self.snapshot()

    def close(self) -> None:
        self.store.close()

    def snapshot(self) -> Snapshot:
        """Everything as of now; loaded again only if a step was committed that this session does not know."""
        with self._lock, self.store.reading() as db:
            number = _last(db)
            if number != self._snapshot.number:
                self._snapshot = _load(db, number)
            return self._snapshot

    @property
    def known(self) -> Snapshot:
        """Everything as of a step that this session has seen, without waiting for one that is being committed."""
        return self._snapshot

    def commit(self, step: str, changes: Changes, before: Snapshot, lease: Lease) -> Snapshot:
        """Make a step real that has begun with the snapshot `before`.

        Raises Unsettled if it may be real and the store cannot be asked. Any other error of ours means that it is not.
        """
        with self._lock:
            try:
                with self.store.writing() as db:
                    lease.renew(db)
                    if _last(db) != before.number:
                        raise WarehouseError("the warehouse has changed since this step began", hint="run the statement again")
                    _write(db, changes)
                    db.execute("INSERT INTO step (id) VALUES (?)", [step])
                    number = _last(db)
                    db.execute("DELETE FROM step WHERE number < ?", [number - STEPS_KEPT])
                    if number % STEPS_KEPT == 0:  # looking at all lines is not for every commit
                        _shorten_history(db)
            except Unsettled as unsettled:
                if not self._has(step, unsettled):
                    raise WarehouseError(unsettled.message, hint="nothing of the statement was kept; run it again") from unsettled.__cause__
            # Nothing is read here, which could fail: the step is real, and an error would say that it is not.
            self._snapshot = _applied(before, changes, number)
            return self._snapshot

    def history(self, target: str | None = None, limit: int = 1000, due: bool = False) -> list[Done]:
        """Newest first. `due`: only of answers that a trigger has asked for."""
        wanted = [*(["target = ?"] if target else []), *(["due IS NOT NULL"] if due else [])]
        where, values = f"WHERE {' AND '.join(wanted)}" if wanted else "", [target.lower()] if target else []
        with self.store.reading() as db:
            rows = db.execute(f"SELECT record FROM history {where} ORDER BY number DESC LIMIT ?", [*values, limit]).fetchall()
        return [done_from_json(record) for (record,) in rows]

    def history_after(self, target: str, number: int) -> list[tuple[int, Done]]:
        """Oldest first, with the numbers of lines: those that came after such a one."""
        wanted = "SELECT number, record FROM history WHERE target = ? AND number > ? ORDER BY number"
        with self.store.reading() as db:
            rows = db.execute(wanted, [target.lower(), number]).fetchall()
        return [(int(number), done_from_json(record)) for number, record in rows]

    def fact(self, key: str) -> str | None:
        """What the store says of itself."""
        with self.store.reading() as db:
            found = db.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return None if found is None else str(found[0])

    def vacuum(self) -> None:
        """Give back the space of rows that are gone."""
        self.store.vacuum()

    def _check_format(self, read_only: bool) -> None:
        found = self.fact("format")
        if found != FORMAT:
            raise WarehouseError(
                f"the warehouse at {self.store.place} has format {found or 'unknown'}, this release reads format {FORMAT}",
                hint="open it with the release that wrote it",
            )
        if not read_only and self.fact("backup") is not None:
            raise WarehouseError(
                f"{self.store.place} is a backup", hint="open it with read_only=True, or slackwater restore it to another place"
            )

    def _has(self, step: str, unsettled: Unsettled) -> bool:
        """Whether a step is real whose commit was not answered."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                # Not `reading`: the lost transaction may still be running, and has ended once another one may write.
                with self.store.writing() as db:
                    return db.execute("SELECT 1 FROM step WHERE id = ?", [step]).fetchone() is not None
            except WarehouseError:
                if time.monotonic() > deadline:
                    raise Unsettled(
                        f"{unsettled.message}; it is not known whether the statement has taken effect",
                        hint="look when the store can be reached again: it has as a whole, or not at all",
                    ) from unsettled.__cause__
                time.sleep(1.0)


def _last(db: Statements) -> int:
    """The number of the last step."""
    number: int = db.execute("SELECT coalesce(max(number), 0) FROM step").fetchone()[0]
    return number


def _load(db: Statements, number: int) -> Snapshot:
    # Views are put in the order of their creation, so that every view comes after what it reads.
    relations = {name: relation_from_json(record) for name, record in db.execute("SELECT name, record FROM relation ORDER BY rowid")}
    batches: dict[str, list[Batch]] = {}
    for trace, version, step, added, removed in db.execute("SELECT * FROM batch ORDER BY trace, version"):
        batches.setdefault(trace, []).append(Batch(version, step, _files(added), _files(removed)))
    traces = {}
    for name, columns, id_type in db.execute("SELECT name, columns, id_type FROM trace"):
        traces[name] = Trace(name, tuple(Column(**c) for c in json.loads(columns)), id_type, tuple(batches.get(name, ())))
    cursors: dict[str, dict[str, int]] = {}
    for path, source, version in db.execute("SELECT path, source, version FROM cursor"):
        cursors.setdefault(path, {})[source] = version
    markers = dict(db.execute("SELECT name, at FROM marker").fetchall())
    return Snapshot(relations, traces, cursors, number, markers)


def _write(db: Statements, changes: Changes) -> None:
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
            db.execute("INSERT INTO trace VALUES (?, ?, ?)", [name, json.dumps(trace.columns, default=vars), trace.id_type])
    for name, after, batch in changes.folds:
        db.execute("DELETE FROM batch WHERE trace = ? AND version > ? AND version <= ?", [name, after, batch.version])
    for name, batch in [*changes.batches, *((name, batch) for name, _, batch in changes.folds)]:
        files = [json.dumps(side, default=vars) for side in (batch.added, batch.removed)]
        db.execute("INSERT INTO batch VALUES (?, ?, ?, ?, ?)", [name, batch.version, batch.step, *files])
    for path, versions in changes.cursors.items():
        db.execute("DELETE FROM cursor WHERE path = ?", [path])
        db.executemany("INSERT INTO cursor VALUES (?, ?, ?)", [(path, source, version) for source, version in versions.items()])
    for name, at in changes.markers.items():
        db.execute("INSERT INTO marker VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at", [name, at])
    lines = [(done.target.lower(), done.due, to_json(done)) for done in changes.history]
    db.executemany("INSERT INTO history (target, due, record) VALUES (?, ?, ?)", lines)


def _shorten_history(db: Statements) -> None:
    aged = "SELECT number, row_number() OVER (PARTITION BY target ORDER BY number DESC) AS age FROM history"
    db.execute(f"DELETE FROM history WHERE number IN (SELECT number FROM ({aged}) AS aged WHERE age > ?)", [LINES_KEPT])


def _applied(before: Snapshot, changes: Changes, number: int) -> Snapshot:
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
    cursors |= changes.cursors
    return Snapshot(relations, traces, cursors, number, {**before.markers, **changes.markers})


def _files(text: str) -> tuple[File, ...]:
    return tuple(File(f["path"], f["rows"], f["bytes"], tuple(f["ids"]) if f["ids"] else None, f.get("crc")) for f in json.loads(text))
