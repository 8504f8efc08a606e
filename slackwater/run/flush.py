"""One run of one path over what is new for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa
from sqlglot import exp

from slackwater.catalog import Table
from slackwater.delta import ADDED, ID, OWN, REMOVED, SIDE, Known, Moved, first_flush, next_flush, whole_flush
from slackwater.delta.broadcasts import Size, expected_rows, with_broadcasts
from slackwater.path import Path
from slackwater.plan import Column, Node, Output, Project, column, render
from slackwater.plan.render import quote
from slackwater.rewrite import merge_projections, prune_columns
from slackwater.run.choice import FIRST, FULL, GUESSES, Choice, Learned, by_cost
from slackwater.run.compile import AnyPath, Whole
from slackwater.run.cpu import cpu_seconds
from slackwater.run.net import Net, columns_read, net_change
from slackwater.run.progress import FlushDone
from slackwater.run.reading import define_relations
from slackwater.run.reads import Reads, about
from slackwater.run.sail_faults import joined_by_hash
from slackwater.run.warehouse import Step
from slackwater.sql import rename_relations
from slackwater.trace import VERSION, Batch, Trace

FEW = 50_000  # rows that a flush is expected to give: up to here this process takes them, where that is cheaper
NO_VERSION = f"CAST(0 AS BIGINT) AS {VERSION}"  # stands in a statement until it is run: there it would be another text every time


@dataclass(frozen=True)
class Flushed:
    """What a flush wrote, if anything, and how it was chosen."""

    batch: Batch | None
    choice: Choice | None = None


@dataclass(frozen=True)
class _Statement:
    """A flush's statement, all whose names are registered, and about how many rows it will give; None if that is not known.

    It is the same text flush after flush, if it can be: what Spark generates and compiles for it, it has then.
    """

    text: str
    rows: float | None = None

    def write(self, path: AnyPath, directory: str, step: Step) -> None:
        """Run it, and write what it gives below a directory."""
        warehouse, version, few = step.warehouse, step.next_version(path.name), None
        if self.rows is not None and self.rows <= FEW:
            few = warehouse.engine.few(self.text, (Column(SIDE, "string"), Column(ID, "string"), *path.columns))
        if few is None:
            warehouse.engine.write(self.text.replace(NO_VERSION, f"CAST({version} AS BIGINT) AS {VERSION}"), directory, warehouse.files)
        else:
            versions = pa.repeat(pa.scalar(version, pa.int64()), len(few))
            warehouse.files.write_sides(few.append_column(VERSION, versions), directory)


def flush(path: AnyPath, step: Step, view: str, learned: Learned | None = None) -> Flushed | None:
    """Read what is new for `path`, write what it changes, and note how far it has read. None: nothing is new.

    `learned`: what earlier flushes of the path cost.
    """
    began = time.monotonic()
    if path.name not in step.traces:
        step.create_trace(Trace(path.name, path.columns))
    seen = step.cursor(path.name)
    now = {source: step.traces[source].version for source in path.sources}
    if seen is not None and seen == now:
        return None
    started = _clock(step)
    batch = None
    with _scratch(path, step) as scratch:
        statement, choice = _statement(path, seen, now, step, learned or {}, scratch)
        if statement is not None:
            directory = step.directory(path.name)
            statement.write(path, directory, step)
            batch = step.take(path.name, directory)
    step.changes.cursors[path.name] = now
    added, removed = (batch.added_rows, batch.removed_rows) if batch else (0, 0)
    step.warehouse.tell(FlushDone(view, path.name, added, removed, time.monotonic() - began))
    ended = _clock(step)
    if choice is not None and started is not None and ended is not None:
        choice = replace(choice, cost=round(ended - started, 3))
    return Flushed(batch, choice)


@contextmanager
def _scratch(path: AnyPath, step: Step) -> Iterator[str]:
    """A place for what only one flush reads. An orphan, if we are killed."""
    directory = step.warehouse.files.batch_directory(path.name, f"{step.id}-scratch")
    try:
        yield directory
    finally:
        step.warehouse.files.remove(directory)


def _clock(step: Step) -> float | None:
    """CPU seconds so far; where others do the work, whose CPU we do not see, time."""
    return time.monotonic() if step.warehouse.engine.is_elsewhere else cpu_seconds()


def _statement(
    path: AnyPath, seen: dict[str, int] | None, now: dict[str, int], step: Step, learned: Learned, scratch: str
) -> tuple[_Statement | None, Choice | None]:
    """The flush's statement, and how it was chosen. None: nothing that it reads has moved."""
    moved = moves(path, seen, now, step.traces)
    if seen is not None and not any(moved.values()):
        return None, None
    if isinstance(path, Whole):
        return _Statement(_computed_whole(path, now, step)), None
    engine = step.warehouse.engine
    known = tuple((name, Known(about(step.traces[name].rows), _key(name, step))) for name in sorted((path.name, *now)))
    plan = _planned(path, None if seen is None else tuple(moved.items()), known)
    nets: dict[str, Net] = {}
    if plan is not None and seen is not None:
        plan, nets = _net(path, plan, moved, seen, now, step, known, scratch)
    if plan is None:
        return None, None
    chosen, guess = Reads(plan, seen or {}, now, step, nets), GUESSES["sail" if engine.is_sail else "spark"]
    if seen is None:
        choice = replace(by_cost(chosen.rows, chosen.rows, {}, guess), how=FIRST)
    else:
        whole = Reads(_planned_whole(path), seen, now, step)
        choice = step.warehouse.chooser(chosen.rows, whole.rows, learned, guess)
        chosen = whole if choice.how == FULL else chosen
    chosen.fetch(engine, scratch)
    choice = replace(choice, read=chosen.left)
    for name, (trace, reading) in chosen.readings.items():
        engine.register(name, trace, reading, step.warehouse.files, hidden=True)
    text = _text(chosen.plan, chosen.sizes if engine.takes_hints else None, engine.prefix)
    return _Statement(text, expected_rows(chosen.plan, dict(chosen.sizes))), choice


def _net(
    path: Path,
    plan: Node,
    moved: dict[str, Moved],
    seen: dict[str, int],
    now: dict[str, int],
    step: Step,
    known: tuple[tuple[str, Known], ...],
    scratch: str,
) -> tuple[Node | None, dict[str, Net]]:
    """The plan for what the path can see of its sources' changes, and those changes, where they are less than the whole ones."""
    read = {source: columns_read(plan, source) for source in now if moved[source].added and moved[source].removed}
    nets = {}
    for number, (source, columns) in enumerate(read.items()):
        if columns is not None:
            net = net_change(step.traces[source], seen.get(source, 0), now[source], columns, step.warehouse.files, f"{scratch}/{number}")
            if net is not None:
                nets[source] = net
    left = {**moved, **{source: net.moved for source, net in nets.items()}}
    if not nets or left == moved:
        return plan, nets
    if not any(left.values()):
        return None, nets
    smaller = _planned(path, tuple(left.items()), known)
    # Another plan may ask for more than what was looked at.
    enough = smaller is None or all(set(columns_read(smaller, source) or (ID,)) <= set(read[source] or ()) for source in nets)
    return (smaller, nets) if enough else (plan, {})


@lru_cache(maxsize=4096)
def _planned(path: Path, moved: tuple[tuple[str, Moved], ...] | None, known: tuple[tuple[str, Known], ...]) -> Node | None:
    """A flush's plan. Most flushes of a path are planned alike."""
    plan = first_flush(path.top) if moved is None else next_flush(path.top, path.name, dict(moved), dict(known))
    return None if plan is None else slim(stored(plan, path.columns, 0))


@lru_cache(maxsize=4096)
def _planned_whole(path: Path) -> Node:
    return slim(stored(whole_flush(path.top, path.name), path.columns, 0))


def slim(plan: Node) -> Node:
    """The same rows in fewer words: an engine thinks about every column and every level of a statement."""
    return merge_projections(prune_columns(plan))


@lru_cache(maxsize=4096)
def _text(plan: Node, sizes: tuple[tuple[str, Size], ...] | None, prefix: str) -> str:
    """A flush's statement but for its version."""
    return render(joined_by_hash(plan) if sizes is None else with_broadcasts(plan, dict(sizes)), prefix)


def _key(source: str, step: Step) -> tuple[str, ...] | None:
    """Columns in which no two rows of a source agree. What paths keep of subqueries is joined by what it is grouped by."""
    relation = step.before.relations.get(source)
    if isinstance(relation, Table):
        return relation.primary_key or None
    return ()


def moves(path: AnyPath, seen: dict[str, int] | None, now: dict[str, int], traces: dict[str, Trace]) -> dict[str, Moved]:
    """What is new for a path, source by source."""
    return {source: traces[source].moved((seen or {}).get(source, 0), version) for source, version in now.items()}


def stored(plan: Node, columns: tuple[Column, ...], version: int | str) -> Node:
    """A flush's rows as they are written: of the trace's types, with the batch's version."""

    def as_type(c: Column) -> Output:
        return Output(c, exp.cast(column(c.name), c.type, dialect="spark"))

    here = {c.name: c.type for c in plan.columns}
    outputs = [Output(Column(SIDE, "string"), column(SIDE)), as_type(Column(ID, "string"))]
    outputs += [as_type(c) if c.name in here else Output(c, column(c.name)) for c in columns]
    outputs.append(Output(Column(VERSION, "bigint"), exp.cast(exp.Literal.number(version), "bigint")))
    return Project(plan, tuple(outputs))


def _computed_whole(path: Whole, now: dict[str, int], step: Step) -> str:
    """Everything leaves, everything arrives. Rows get random identities: nothing ties them to rows of the inputs."""
    warehouse = step.warehouse
    own = step.traces[path.name]
    before = warehouse.engine.register(f"{path.name}@{OWN}", own, own.at(own.version), warehouse.files, hidden=True)
    names = define_relations(path.text, step.before, warehouse, now, step.traces)
    text = rename_relations(path.text, lambda name: names[name.lower()])
    columns = ", ".join(f"CAST({quote(c.name)} AS {c.type}) AS {quote(c.name)}" for c in path.columns)
    return (
        f"SELECT '{REMOVED}' AS {SIDE}, {ID}, {columns}, {NO_VERSION} FROM {quote(before)}\n"
        f"UNION ALL\nSELECT '{ADDED}' AS {SIDE}, uuid() AS {ID}, {columns}, {NO_VERSION} FROM (\n{text}\n)"
    )
