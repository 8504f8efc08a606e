"""Create and drop tables and views."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from slackwater.catalog import Done, Relation, Snapshot, Stream, Table, View
from slackwater.errors import Place, QueryError, Unsupported
from slackwater.pace import goal_named, rows_named, trigger_named
from slackwater.pace.trigger import seconds_of
from slackwater.plan import Column
from slackwater.run.change import write_query
from slackwater.run.compile import Compiled, compile_query, record
from slackwater.run.compiled import compiled
from slackwater.run.constraints import check_rows
from slackwater.run.flush import flush
from slackwater.run.paces import planned
from slackwater.run.reading import readable
from slackwater.run.refresh import refresh_in, refresh_on_read
from slackwater.run.shown_paces import warning
from slackwater.run.warehouse import Step, Warehouse
from slackwater.run.windows import check_trigger
from slackwater.spark.arrow import arrow_type
from slackwater.sql import Piece
from slackwater.sql.kinds import AlterView, CreateStream, CreateTable, CreateView, Drop, Mark, Select
from slackwater.stream import QUIET, USUAL, capacity_named, quiet_named
from slackwater.trace import Trace

Allowed = tuple[str, ...] | Callable[[str], object]  # values of an option, or what refuses others

VIEW_OPTIONS: Mapping[str, Allowed] = {"refresh": ("auto", "strict"), "trigger": trigger_named, "goal": goal_named, "expect": rows_named}
TABLE_OPTIONS: Mapping[str, Allowed] = {"append_only": ("true", "false")}
SELECT_OPTIONS: Mapping[str, Allowed] = {"staleness": lambda text: seconds_of(" ".join(text.lower().split()), text)}
STREAM_OPTIONS: Mapping[str, Allowed] = {"capacity": capacity_named, "quiet": quiet_named}


def create_table(statement: CreateTable, warehouse: Warehouse) -> str:
    """CREATE TABLE t (...) [AS SELECT ...]"""
    _check_options(statement.options, TABLE_OPTIONS, statement.text)
    began = time.time()
    with warehouse.writing:
        if statement.query is not None:
            refresh_on_read(statement.query, warehouse)
        step = Step(warehouse)
        if (
            message := _already(statement.name, "table", step.before, statement.if_not_exists, statement.or_replace, statement.text)
        ) is not None:
            return message
        if statement.or_replace:
            _drop_in(step, statement.name, warehouse)
        columns = tuple(Column(str(c.name), str(c.type)) for c in statement.columns)
        if not columns and statement.query is not None:
            columns = warehouse.engine.columns_of(readable(statement.query, step.before, warehouse))
        _check_columns(columns, statement)
        required = tuple(str(c.name) for c in statement.columns if not c.nullable)
        table = Table(str(statement.name), columns, _key(statement, columns), required, _plain(statement.options))
        step.create_trace(Trace(table.name.lower(), columns, "bigint"))
        try:
            rows = 0
            if statement.query is not None:
                table, rows = _fill(table, statement.query, step)
            step.changes.put(table)
            step.done([Done("create table", table.name, statement.text, began, round(time.time() - began, 3), added=rows, step=step.id)])
            step.commit()
        except BaseException:
            step.abandon()
            raise
        return f"table {table.name} created" + (f" with {rows} rows" if statement.query is not None else "")


def create_stream(statement: CreateStream, warehouse: Warehouse) -> str:
    """CREATE STREAM s (...)"""
    _check_options(statement.options, STREAM_OPTIONS, statement.text)
    with warehouse.writing:
        step = Step(warehouse)
        if (message := _already(statement.name, "stream", step.before, statement.if_not_exists, False, statement.text)) is not None:
            return message
        columns = tuple(Column(str(c.name), str(c.type)) for c in statement.columns)
        _check_columns(columns, statement)
        required = tuple(str(c.name) for c in statement.columns if not c.nullable)
        stream = Stream(str(statement.name), columns, (), required, {"capacity": USUAL, "quiet": QUIET, **_plain(statement.options)})
        step.create_trace(Trace(stream.name.lower(), columns, "bigint"))
        step.changes.put(stream)
        step.done([Done("create stream", stream.name, statement.text, time.time(), 0.0, step=step.id)])
        step.commit()
        return f"stream {stream.name} created, which keeps {stream.options['capacity']}"


def create_view(statement: CreateView, warehouse: Warehouse) -> str:
    """CREATE [MATERIALIZED] VIEW v AS ...: compiled, filled, and told how it will be kept."""
    _check_options(statement.options, VIEW_OPTIONS, statement.text)
    began = time.time()
    with warehouse.writing:
        step = Step(warehouse)
        if (
            message := _already(statement.name, "view", step.before, statement.if_not_exists, statement.or_replace, statement.text)
        ) is not None:
            return message
        form = preview(statement, step.before, warehouse)
        old = step.before.relations.get(statement.name.lower())
        if old is not None:
            _check_replacement(old, form, step.before)
            _drop_traces(step, old.name, warehouse)
        view = record(str(statement.name), form, _plain(statement.options))
        check_trigger(view.options, view.reads, step.before)
        step.changes.put(view)
        try:
            # The view is not in the catalog yet; the refresh finds it in the step.
            step.before = _with(step.before, view)
            with _from_now_on(form.streams, step):
                for path in form.fixed:
                    flush(path, step, view.name)
                done = refresh_in(step, view, statement.text)
            if done.error is not None:
                raise done.error.within(statement.text)
            step.commit()
        except BaseException:
            step.abandon()
            raise
        return f"view {view.name} created in {time.time() - began:.2f} s: {how_kept(form)}{_out_of_reach(view.name, warehouse)}"


def preview(statement: CreateView, snapshot: Snapshot, warehouse: Warehouse) -> Compiled:
    """How a view would be kept. Refuses what `refresh = 'strict'` does not allow."""
    text, name = str(statement.query), statement.name.lower()
    offset = statement.query.place.start
    shown = None if statement.columns is None else tuple(str(c) for c in statement.columns)
    try:
        form = compile_query(name, text, snapshot, warehouse.engine, lambda read: compiled(read, snapshot, warehouse), shown)
    except (QueryError, Unsupported) as problem:
        raise _moved(problem, offset, statement.text, text) from problem
    if not statement.materialized and not form.streams:
        message = "views that are not kept are not supported, and there is no stream in this one"
        hint = "write CREATE MATERIALIZED VIEW, or a WITH clause in each query"
        raise Unsupported(message, text=statement.text, place=statement.name.place, hint=hint)
    if form.reason is not None and statement.options.get("refresh") == "strict":
        strict = Unsupported(f"cannot be maintained incrementally: {form.reason.message}", place=form.reason.place, hint=form.reason.hint)
        raise _moved(strict, offset, statement.text, text)
    return form


def how_kept(form: Compiled) -> str:
    """In a sentence, for the CREATE's answer."""
    if form.reason is None:
        told = f"incremental, {len(form.paths)} path{'s' if len(form.paths) != 1 else ''}"
        if form.streams:
            told += f"; it sees what comes to {_and(form.streams)} from now on"
        if tables := _fixed(form):
            told += f", and {_and(tables)} as {'it is' if len(tables) == 1 else 'they are'} now"
        return told
    return f"refreshed in full, because {form.reason}"


def _fixed(form: Compiled) -> list[str]:
    """The tables that a view reads once."""
    own = {path.name for path in form.fixed}
    return list(dict.fromkeys(source.partition("/")[0] for path in form.fixed for source in path.sources if source not in own))


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


@contextmanager
def _from_now_on(streams: Iterable[str], step: Step) -> Iterator[None]:
    """Let streams look as if nothing had come yet."""
    whole = {stream: step.traces[stream] for stream in streams}
    step.traces |= {stream: trace.from_now_on for stream, trace in whole.items()}
    try:
        yield
    finally:
        step.traces |= whole


def alter_view(statement: AlterView, warehouse: Warehouse) -> str:
    """ALTER VIEW v SET (...) | SUSPEND | RESUME: what it keeps stays as it is."""
    _check_options(statement.options, VIEW_OPTIONS, statement.text)
    with warehouse.writing:
        step = Step(warehouse)
        view = step.before.view(statement.name)
        options = {**view.options, **_plain(statement.options)}
        if options.get("refresh") == "strict" and not view.incremental:
            raise Unsupported(f'"{view.name}" cannot be maintained incrementally: {view.reason}', hint="leave refresh = 'auto'")
        check_trigger(options, view.reads, step.before)
        suspended = view.suspended if statement.suspended is None else statement.suspended
        step.changes.put(replace(view, options=options, suspended=suspended))
        step.done([Done("alter view", view.name, statement.text, time.time(), 0.0, step=step.id)])
        step.commit()
        if statement.suspended is not None:
            return f"view {view.name} " + ("suspended: it keeps its answer until it is resumed" if suspended else "resumed")
        told = ", ".join(f"{key} = {value!r}" for key, value in _plain(statement.options).items())
        return f"view {view.name} altered: {told}{_out_of_reach(view.name, warehouse)}"


def awake(view: View) -> View:
    """A view that may be refreshed."""
    if view.suspended:
        raise QueryError(f'view "{view.name}" is suspended', hint=f"ALTER VIEW {view.name} RESUME")
    return view


def staleness(statement: Select) -> float:
    """How many seconds the answers may be old that a query reads."""
    _check_options(statement.options, SELECT_OPTIONS, statement.text)
    text = str(statement.options.get("staleness", ""))
    return seconds_of(" ".join(text.lower().split()), text) if text else 0.0


def _out_of_reach(name: str, warehouse: Warehouse) -> str:
    """A warning, if the goal of a view cannot be met as far as can be told."""
    snapshot = warehouse.catalog.snapshot()
    view = snapshot.view(name)
    if not view.goal.is_paced:
        return ""
    try:
        plan = planned(view, snapshot, warehouse)
    except Unsupported:
        return ""
    return "" if plan.is_met else f"; {warning(view, plan)}"


def mark(statement: Mark, warehouse: Warehouse) -> str:
    """MARK m: what views wait for that have it for a trigger."""
    with warehouse.writing:
        step, name = Step(warehouse), statement.name.lower()
        step.changes.markers[name] = time.time()
        step.done([Done("mark", name, statement.text, time.time(), 0.0, step=step.id)])
        step.commit()
        waiting = [view.name for view in step.before.views if view.trigger.marker == name]
        return f"marked {name}: {_listed(waiting)} will answer" if waiting else f"marked {name}, which no view waits for"


def drop(statement: Drop, warehouse: Warehouse) -> str:
    """DROP TABLE | VIEW name"""
    with warehouse.writing:
        step = Step(warehouse)
        relation = step.before.relations.get(statement.name.lower())
        if relation is None:
            if statement.if_exists:
                return f"there is no {statement.kind} {statement.name}"
            step.before.relation(statement.name)
            raise AssertionError
        kind = _kind(relation)
        if kind != statement.kind:
            raise QueryError(
                f'"{relation.name}" is a {kind}',
                text=statement.text,
                place=statement.name.place,
                hint=f"DROP {kind.upper()} {relation.name}",
            )
        _drop_in(step, relation.name, warehouse)
        step.done([Done(f"drop {kind}", relation.name, statement.text, time.time(), 0.0, step=step.id)])
        step.commit()
        return f"{kind} {relation.name} dropped"


def _drop_in(step: Step, name: str, warehouse: Warehouse) -> None:
    readers = step.before.readers(name)
    if readers:
        raise QueryError(f'"{name}" is read by {_listed(readers)}', hint="drop those views first")
    if name.lower() in step.before.relations:
        _drop_traces(step, name, warehouse)
        step.changes.drop(name)


def _drop_traces(step: Step, name: str, warehouse: Warehouse) -> None:
    for trace in list(step.traces):
        if trace == name.lower() or trace.startswith(name.lower() + "/"):
            step.drop_trace(trace)


def _check_replacement(old: Table | View, form: Compiled, snapshot: Snapshot) -> None:
    """A view that others read may be replaced only by one that they can go on reading: that they must be built anew is said, not done."""
    readers = snapshot.readers(old.name)
    if readers:
        raise QueryError(f'"{old.name}" is read by {_listed(readers)}', hint="drop those views first, and create them again afterwards")


def _already(name: Piece, wanted: str, snapshot: Snapshot, if_not_exists: bool, or_replace: bool, text: str) -> str | None:
    """A message when there is nothing to do; an error when the name is taken."""
    found = snapshot.relations.get(name.lower())
    if found is None:
        return None
    kind = _kind(found)
    if or_replace and kind == wanted:
        return None
    if if_not_exists:
        return f"{name} exists already"
    raise QueryError(
        f'there is already a {kind} called "{found.name}"', text=text, place=name.place, hint="drop it first, or use OR REPLACE"
    )


def _kind(relation: Relation) -> str:
    return "view" if isinstance(relation, View) else "stream" if isinstance(relation, Stream) else "table"


def _check_columns(columns: tuple[Column, ...], statement: CreateTable | CreateStream) -> None:
    if not columns:
        raise QueryError("it needs a column", text=statement.text, place=statement.name.place)
    seen = set()
    for c in columns:
        if c.name.startswith("_") or c.name.startswith("sw_"):
            raise QueryError(f'column "{c.name}": names that begin with "_" or "sw_" are kept for the warehouse', text=statement.text)
        if c.name.lower() in seen:
            raise QueryError(f'two columns are called "{c.name}"', text=statement.text)
        seen.add(c.name.lower())
        arrow_type(c.type)


def _key(statement: CreateTable, columns: tuple[Column, ...]) -> tuple[str, ...]:
    known = {c.name.lower(): c.name for c in columns}
    for piece in statement.primary_key:
        if piece.lower() not in known:
            raise QueryError(f'the primary key names "{piece}", which is not a column', text=statement.text, place=piece.place)
    return tuple(known[piece.lower()] for piece in statement.primary_key)


def _fill(table: Table, query: Piece, step: Step) -> tuple[Table, int]:
    """The rows of CREATE TABLE ... AS, in the step that creates the table."""
    key = table.name.lower()
    next_id = write_query(step, table, readable(query, step.before, step.warehouse), None)
    batch = step.take(key, step.warehouse.files.batch_directory(key, step.id))
    if batch is None:
        return table, 0
    check_rows(step, table, batch)
    return replace(table, next_id=next_id), batch.added_rows


def _check_options(options: Mapping[str, str], known: Mapping[str, Allowed], text: str) -> None:
    for key, value in options.items():
        if key.lower() not in known:
            raise QueryError(f'unknown option "{key}"', hint=f"there are {', '.join(known)}")
        allowed = known[key.lower()]
        if callable(allowed):
            try:
                allowed(str(value))
            except QueryError as problem:
                raise QueryError(problem.message, text=text, place=getattr(value, "place", None), hint=problem.hint) from problem
        elif str(value).lower() not in allowed:
            raise QueryError(f"option {key} cannot be '{value}'", hint=f"it may be {' or '.join(allowed)}")


def _plain(options: Mapping[str, str]) -> dict[str, str]:
    return {str(key).lower(): str(value) for key, value in options.items()}


def _moved(problem: QueryError | Unsupported, offset: int, whole: str, text: str) -> QueryError | Unsupported:
    """An error about the query, with its place in the whole statement."""
    if problem.place is not None and (problem.text is None or problem.text == text):
        problem.place = Place(problem.place.start + offset, problem.place.end + offset)
        problem.text = whole
    return problem


def _with(snapshot: Snapshot, view: View) -> Snapshot:
    return Snapshot({**snapshot.relations, view.name.lower(): view}, snapshot.traces, snapshot.cursors)


def _listed(names: list[str]) -> str:
    return f"view{'s' if len(names) > 1 else ''} " + ", ".join(f'"{name}"' for name in names)
