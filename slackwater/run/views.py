"""Create and alter views."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from slackwater.catalog import Done, Snapshot, Table, View
from slackwater.errors import Place, QueryError, Unsupported
from slackwater.pace import goal_named, rows_named, trigger_named
from slackwater.run.compile import Compiled, compile_query, record
from slackwater.run.compiled import compiled
from slackwater.run.defining import Allowed, already, check_options, drop_traces, listed, listed_views, plain
from slackwater.run.flush import flush
from slackwater.run.paces import planned
from slackwater.run.refresh import refresh_in
from slackwater.run.shown_paces import warning
from slackwater.run.warehouse import Step, Warehouse
from slackwater.run.windows import check_trigger
from slackwater.sql.kinds import AlterView, CreateView

VIEW_OPTIONS: Mapping[str, Allowed] = {"refresh": ("auto", "strict"), "trigger": trigger_named, "goal": goal_named, "expect": rows_named}


def create_view(statement: CreateView, warehouse: Warehouse) -> str:
    """CREATE [MATERIALIZED] VIEW v AS ...: compiled, filled, and told how it will be kept."""
    check_options(statement.options, VIEW_OPTIONS, statement.text)
    began = time.time()
    with warehouse.writing:
        step = Step(warehouse)
        if (
            message := already(statement.name, "view", step.before, statement.if_not_exists, statement.or_replace, statement.text)
        ) is not None:
            return message
        form = preview(statement, step.before, warehouse)
        old = step.before.relations.get(statement.name.lower())
        if old is not None:
            _check_replacement(old, form, step.before)
            drop_traces(step, old.name)
        view = record(str(statement.name), form, plain(statement.options))
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
            told += f"; it sees what comes to {listed(form.streams)} from now on"
        if tables := _fixed(form):
            told += f", and {listed(tables)} as {'it is' if len(tables) == 1 else 'they are'} now"
        return told
    return f"refreshed in full, because {form.reason}"


def _fixed(form: Compiled) -> list[str]:
    """The tables that a view reads once."""
    own = {path.name for path in form.fixed}
    return list(dict.fromkeys(source.partition("/")[0] for path in form.fixed for source in path.sources if source not in own))


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
    check_options(statement.options, VIEW_OPTIONS, statement.text)
    with warehouse.writing:
        step = Step(warehouse)
        view = step.before.view(statement.name)
        options = {**view.options, **plain(statement.options)}
        if options.get("refresh") == "strict" and not view.incremental:
            raise Unsupported(f'"{view.name}" cannot be maintained incrementally: {view.reason}', hint="leave refresh = 'auto'")
        check_trigger(options, view.reads, step.before)
        suspended = view.suspended if statement.suspended is None else statement.suspended
        step.changes.put(replace(view, options=options, suspended=suspended))
        step.done([Done("alter view", view.name, statement.text, time.time(), 0.0, step=step.id)])
        step.commit()
        if statement.suspended is not None:
            return f"view {view.name} " + ("suspended: it keeps its answer until it is resumed" if suspended else "resumed")
        told = ", ".join(f"{key} = {value!r}" for key, value in plain(statement.options).items())
        return f"view {view.name} altered: {told}{_out_of_reach(view.name, warehouse)}"


def awake(view: View) -> View:
    """A view that may be refreshed."""
    if view.suspended:
        raise QueryError(f'view "{view.name}" is suspended', hint=f"ALTER VIEW {view.name} RESUME")
    return view


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


def _check_replacement(old: Table | View, form: Compiled, snapshot: Snapshot) -> None:
    """A view that others read may be replaced only by one that they can go on reading: that they must be built anew is said, not done."""
    readers = snapshot.readers(old.name)
    if readers:
        hint = "drop those views first, and create them again afterwards"
        raise QueryError(f'"{old.name}" is read by {listed_views(readers)}', hint=hint)


def _moved(problem: QueryError | Unsupported, offset: int, whole: str, text: str) -> QueryError | Unsupported:
    """An error about the query, with its place in the whole statement."""
    if problem.place is not None and (problem.text is None or problem.text == text):
        problem.place = Place(problem.place.start + offset, problem.place.end + offset)
        problem.text = whole
    return problem


def _with(snapshot: Snapshot, view: View) -> Snapshot:
    return Snapshot({**snapshot.relations, view.name.lower(): view}, snapshot.traces, snapshot.cursors)
