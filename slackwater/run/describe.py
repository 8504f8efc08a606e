"""SHOW and DESCRIBE: what exists and what was done."""

from __future__ import annotations

import datetime

from slackwater.catalog import Sample, Snapshot, Stream, Table, View
from slackwater.errors import Place, caret
from slackwater.result import Result
from slackwater.run.compiled import compiled
from slackwater.run.refresh import is_stale
from slackwater.run.samples import is_behind
from slackwater.run.streams import waiting_rows
from slackwater.run.warehouse import Warehouse
from slackwater.sql.kinds import Describe, Show


def show(statement: Show, warehouse: Warehouse) -> Result:
    snapshot = warehouse.catalog.snapshot()
    if statement.what == "tables":
        rows = [
            (t.name, snapshot.traces[t.name.lower()].rows, snapshot.traces[t.name.lower()].version, ", ".join(t.primary_key))
            for t in snapshot.tables
            if not isinstance(t, Stream | Sample)
        ]
        return Result.of_rows(["table", "rows", "version", "primary key"], rows)
    if statement.what == "streams":
        listed = [
            (stream.name, snapshot.traces[stream.name.lower()].rows, waiting_rows(stream, snapshot), stream.options["capacity"],
             ", ".join(snapshot.readers(stream.name)))
            for stream in snapshot.streams
        ]  # fmt: skip
        return Result.of_rows(["stream", "rows", "not taken yet", "capacity", "views"], listed)
    if statement.what == "samples":
        known = [
            (sample.name, sample.source, snapshot.traces[sample.name.lower()].rows, sample.size, sample.population,
             "behind" if is_behind(sample, snapshot) else "up to date")
            for sample in snapshot.samples
        ]  # fmt: skip
        return Result.of_rows(["sample", "of", "rows", "size", "population", "state"], known)
    if statement.what == "views":
        return Result.of_rows(["view", "refresh", "state", "refreshed"], [_view_line(view, snapshot) for view in snapshot.views])
    lines = []
    for view in snapshot.views:
        for path in compiled(view.name, snapshot, warehouse).paths:
            seen = snapshot.cursors.get(path.name, {})
            trace = snapshot.traces.get(path.name)
            read = [source for source in seen or path.sources if source in snapshot.traces]
            behind = sum(snapshot.traces[source].version - seen.get(source, 0) for source in read)
            lines.append((view.name, path.name, path.operator, ", ".join(path.sources), trace.rows if trace else 0, behind))
    return Result.of_rows(["view", "path", "operator", "reads", "rows kept", "batches behind"], lines)


def describe(statement: Describe, warehouse: Warehouse) -> Result:
    snapshot = warehouse.catalog.snapshot()
    if statement.history:
        target = snapshot.relation(statement.name).name if statement.name is not None else None
        rows = [
            (
                _time(d.at),
                d.action,
                d.target,
                d.how,
                d.added,
                d.removed,
                d.seconds,
                d.cpu_seconds,
                d.reason,
                "; ".join(d.choices),
                d.statement,
            )
            for d in warehouse.catalog.history(target)
        ]
        names = ["at", "action", "target", "how", "added", "removed", "seconds", "cpu seconds", "reason", "paths", "statement"]
        return Result.of_rows(names, rows)
    if statement.goals:
        return _goals(snapshot.view(statement.name).name if statement.name is not None else None, warehouse)
    assert statement.name is not None
    relation = snapshot.relation(statement.name)
    facts = [("column", c.name, c.type) for c in relation.columns]
    facts += _table_facts(relation, snapshot) if isinstance(relation, Table) else _view_facts(relation, snapshot, warehouse)
    return Result.of_rows(["what", "name", "value"], facts)


def _goals(view: str | None, warehouse: Warehouse) -> Result:
    """Every time that a trigger has asked for an answer, and whether that was there in time; newest first."""
    rows: list[tuple[object, ...]] = []
    before: dict[str, float] = {}  # by view: CPU seconds of what was done since the answer before
    for done in reversed(warehouse.catalog.history(view)):
        if done.action == "flush":
            before[done.target] = before.get(done.target, 0.0) + (done.cpu_seconds or 0.0)
        elif done.due is not None:
            spent, early = done.cpu_seconds, round(before.get(done.target, 0.0), 3)
            beyond = round(spent + early - done.batch, 3) if spent is not None and done.batch else None
            asked = (done.target, done.trigger, done.goal, _time(done.due), round(done.latency, 3), done.expected, done.goal_met)
            rows.append((*asked, spent, early, beyond, done.how, done.reason))
        if done.action == "refresh":
            before.pop(done.target, None)
    names = ["view", "trigger", "goal", "due", "latency", "expected", "goal met", "cpu seconds", "before", "beyond batch", "how", "reason"]
    return Result.of_rows(names, rows[::-1])


def _table_facts(table: Table, snapshot: Snapshot) -> list[tuple[str, str, str]]:
    trace = snapshot.traces[table.name.lower()]
    facts = [(table.kind, "rows", str(trace.rows)), (table.kind, "version", str(trace.version))]
    if isinstance(table, Sample):
        facts += [(table.kind, name, str(value)) for name, value in (("of", table.source), ("size", table.size), ("seed", table.seed))]
        facts += [(table.kind, "population", str(table.population))]
    if table.primary_key:
        facts.append((table.kind, "primary key", ", ".join(table.primary_key)))
    if table.required:
        facts.append((table.kind, "not null", ", ".join(table.required)))
    return facts + [("option", key, value) for key, value in table.options.items()]


def _view_facts(view: View, snapshot: Snapshot, warehouse: Warehouse) -> list[tuple[str, str, str]]:
    facts = [("view", "refresh", "incremental" if view.incremental else "full")]
    if view.reason:
        facts.append(("view", "reason", why_full(view)))
    facts += [("view", "reads", ", ".join(view.reads)), ("view", "state", _state(view, snapshot))]
    facts.append(("view", "paths", str(len(compiled(view.name, snapshot, warehouse).paths))))
    if view.answer:
        facts.append(("view", "refreshed", _time(view.answer.at)))
        facts += [("as of", table, f"version {version}") for table, version in view.answer.as_of.items()]
    facts += [("option", key, value) for key, value in view.options.items()]
    return [*facts, ("view", "text", view.text)]


def why_full(view: View) -> str:
    """The reason for a full refresh, with its place in the text."""
    shown = caret(view.text, Place(*view.place)) if view.place else []
    return "\n".join([view.reason or "", *shown])


def _view_line(view: View, snapshot: Snapshot) -> tuple[str, str, str, str]:
    return (view.name, "incremental" if view.incremental else "full", _state(view, snapshot), _time(view.answer.at) if view.answer else "")


def _state(view: View, snapshot: Snapshot) -> str:
    if view.suspended:
        return "suspended"
    if view.error:
        return f"failed: {view.error}"
    return "behind" if is_stale(view, snapshot) else "up to date"


def _time(at: float) -> str:
    return datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")
