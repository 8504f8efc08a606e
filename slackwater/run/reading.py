"""Reading tables and views, all of them as of one consistent version.

A view answers as of the versions of the tables that its last refresh has seen. What is read together with it is read as of the same ones,
so a query never sees a table that is ahead of a view. Views whose trigger is `on read` are brought up to date before (see refresh.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping

from slackwater.catalog import Snapshot, Stream, Table, View
from slackwater.errors import Place, QueryError
from slackwater.plan import Node, Scan, render
from slackwater.plan.render import quote
from slackwater.run.compiled import compiled
from slackwater.run.drawn import samples_of_tables, with_samples_of_queries
from slackwater.run.warehouse import Warehouse
from slackwater.sql import Piece, relations_in, rename_relations
from slackwater.sql.relations import Relation
from slackwater.trace import Trace


def readable(text: str, snapshot: Snapshot, warehouse: Warehouse) -> str:
    """The user's query, reading everything it names at one consistent version."""
    versions = _versions(text, snapshot)
    names = define_relations(text, snapshot, warehouse, versions, snapshot.traces)
    drawn = samples_of_tables(text, snapshot, warehouse, versions)
    renamed = rename_relations(text, lambda found: drawn.get(found) or names[found.name.lower()])
    known = {*names.values(), *drawn.values()}
    return with_samples_of_queries(renamed, text, known, set(drawn.values()), snapshot, warehouse)


def state(text: str, snapshot: Snapshot, warehouse: Warehouse) -> Hashable:
    """What the answer of a query depends on: its text, what the relations in it are and which files they are read from.

    Versions alone would not do: a table that was dropped and created again counts from the beginning.
    """
    versions, traces = _versions(text, snapshot), snapshot.traces
    read: dict[str, tuple[Hashable, ...]] = {}
    for found in relations_in(text):
        key = found.name.lower()
        relation = known(found, snapshot, text)
        names = (key,) if isinstance(relation, Table) else compiled(relation.name, snapshot, warehouse).buffers
        readings = tuple(traces[name].at(versions.get(name, traces[name].version)) for name in names)
        read[key] = (_meaning(key, snapshot), readings)
    return (str(text), tuple(read.items()))


def _meaning(name: str, snapshot: Snapshot) -> Hashable:
    relation = snapshot.relations[name]
    if isinstance(relation, Table):
        return relation.columns
    return (relation.text, relation.columns, tuple(_meaning(read, snapshot) for read in relation.reads))


def define_relations(
    text: str, snapshot: Snapshot, warehouse: Warehouse, versions: Mapping[str, int], traces: Mapping[str, Trace]
) -> dict[str, str]:
    """For each relation in the text, the name under which the engine knows it at these versions of its traces."""
    names = {}
    for found in relations_in(text):
        key = found.name.lower()
        if key not in names:
            relation = known(found, snapshot, text)
            if isinstance(relation, Table):
                names[key] = define_trace(traces[key], versions.get(key, traces[key].version), warehouse)
            else:
                names[key] = define_view(relation, snapshot, warehouse, versions, traces)
    return names


def known(found: Relation, snapshot: Snapshot, text: str) -> Table | View:
    """The relation that a text names. The place of an unknown one is in that text, which may be part of a statement."""
    try:
        return snapshot.relation(found.name)
    except QueryError as unknown:
        start = text.place.start if isinstance(text, Piece) else 0
        unknown.place = Place(start + found.place.start, start + found.place.end)
        if not isinstance(text, Piece):
            unknown.text = text
        raise


def define_trace(trace: Trace, version: int, warehouse: Warehouse, hidden: bool = False) -> str:
    """A trace as of a version, as a relation of the engine."""
    name = f"{trace.name}@{version}" + ("+" if hidden else "")
    return warehouse.engine.register(name, trace, trace.at(version), warehouse.files, hidden)


def define_view(view: View, snapshot: Snapshot, warehouse: Warehouse, versions: Mapping[str, int], traces: Mapping[str, Trace]) -> str:
    """A view's answer, as a relation of the engine."""
    form = compiled(view.name, snapshot, warehouse)
    at = {}
    for buffer in form.buffers:
        at[buffer] = versions.get(buffer, traces[buffer].version)

    def pinned(node: Node) -> Node:
        return (
            Scan(define_trace(traces[node.relation], at[node.relation], warehouse), node.source, node.outputs)
            if isinstance(node, Scan)
            else node
        )

    name = f"{view.name.lower()}@" + ",".join(str(version) for version in at.values())
    order = f"\nORDER BY {', '.join(key.sql(dialect='spark') for key in form.order)}" if form.order else ""
    return warehouse.engine.define(name, render(form.answer.transform(pinned)) + order)


def notes(text: str, snapshot: Snapshot) -> str:
    """What a reader should know of the views that a query names: which of them show an older answer than the tables would give."""
    found = dict.fromkeys(relation.name.lower() for relation in relations_in(text))
    failed = [view for name in found if isinstance(view := snapshot.relations.get(name), View) and view.error]
    return "\n".join(f'view "{view.name}" shows its last good answer: {view.error}' for view in failed)


def _versions(text: str, snapshot: Snapshot) -> dict[str, int]:
    """The one version of every trace that the query's views agree on."""
    versions: dict[str, int] = {}
    said_by: dict[str, str] = {}
    for found in relations_in(text):
        relation = snapshot.relations.get(found.name.lower())
        if not isinstance(relation, View) or relation.answer is None:
            continue
        for trace, version in {**relation.answer.as_of, **relation.answer.buffers}.items():
            if versions.setdefault(trace, version) != version and said_by[trace] != relation.name:
                raise QueryError(
                    f'views "{said_by[trace]}" and "{relation.name}" were refreshed at different versions of "{trace}"',
                    text=text, place=found.place, hint="REFRESH ALL brings them together",
                )  # fmt: skip
            said_by.setdefault(trace, relation.name)
    return versions


def recompute(view: View, snapshot: Snapshot, warehouse: Warehouse) -> str:
    """A statement that computes a view's text from the tables as they are, views that it reads included."""
    names = {}
    for found in relations_in(view.text):
        key = found.name.lower()
        relation = snapshot.relation(found.name)
        if isinstance(relation, Stream):
            raise QueryError(f'"{view.name}" cannot be computed from scratch: rows of stream "{relation.name}" that have passed are gone')
        if isinstance(relation, Table):
            names[key] = define_trace(snapshot.traces[key], snapshot.traces[key].version, warehouse)
        else:
            shown = ", ".join(quote(c.name) for c in relation.columns)
            listed = f"SELECT * FROM (\n{recompute(relation, snapshot, warehouse)}\n) AS scratch({shown})"
            # Named by its text, in which the versions of all it reads stand: another version is another name.
            names[key] = warehouse.engine.define(f"{key}@scratch {hashlib.sha256(listed.encode()).hexdigest()[:16]}", listed)
    return rename_relations(view.text, lambda found: names[found.name.lower()])
