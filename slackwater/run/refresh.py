"""Bring views up to date.

A refresh flushes the paths of a view, those that are read before those that read them, and publishes what they keep as the view's answer:
all of it in one step. Between refreshes a schedule may flush any path on its own; answers do not move until a refresh.

A view that fails stops alone: it keeps its last answer and says why. The others go on, except those that read it.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.catalog import Answer, Done, Snapshot, Table, View
from slackwater.errors import QueryError, SlackwaterError, Unsupported, WarehouseError
from slackwater.pace.simulate import Costs
from slackwater.run.anew import Way, choose_for_view, forget_far_behind, has_news
from slackwater.run.choice import FULL, INCREMENTAL, Choice, learn, learn_flush
from slackwater.run.compile import AnyPath, Compiled
from slackwater.run.compiled import compiled
from slackwater.run.cpu import cpu_seconds
from slackwater.run.culprit import name_culprit
from slackwater.run.flush import Flushed, clock, flush, flush_anew, moves
from slackwater.run.fold import fold_all
from slackwater.run.models import remaining
from slackwater.run.progress import FlushStarted, Working
from slackwater.run.samples import bring_samples_up_to_date, samples_below
from slackwater.run.together import ask_together
from slackwater.run.warehouse import Step, Warehouse
from slackwater.spark import EngineLost
from slackwater.sql import relations_in
from slackwater.trace import Unwritable


@dataclass(frozen=True)
class Asked:
    """A trigger has asked for an answer: since when it is due, after how many seconds it is expected, and what one batch would cost."""

    since: float
    expected: float | None = None
    batch: float | None = None


@dataclass(frozen=True)
class Refreshed:
    """What became of one view."""

    view: str
    flushed: int
    paths: int
    added: int
    removed: int
    seconds: float
    error: SlackwaterError | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.view}: failed, keeps its last answer: {self.error.message}"
        if not self.flushed:
            return f"{self.view}: nothing new"
        rows = f"{self.added} rows added, {self.removed} removed"
        return f"{self.view}: {rows}; {self.flushed} of {self.paths} paths flushed in {self.seconds:.2f} s"


def refresh(names: Iterable[str], warehouse: Warehouse, statement: str = "", due: Mapping[str, Asked] | None = None) -> list[Refreshed]:
    """Refresh the named views and all that they read, in one step. `due`: what triggers have asked for, by view."""
    names = list(names)
    with warehouse.writing:
        bring_samples_up_to_date(samples_below(names, warehouse.catalog.snapshot()), warehouse, statement)
        step = Step(warehouse)
        try:
            done = [refresh_in(step, view, statement, (due or {}).get(view.name)) for view in in_order(names, step.before)]
            changes = step.changes
            if changes.relations or changes.batches or changes.cursors or due:  # what was due is told, also if nothing came of it
                step.commit()
        except BaseException:
            step.abandon()
            raise
        _fold_after(warehouse)
        return done


def _fold_after(warehouse: Warehouse) -> None:
    """What was done is real and must not look as if it were not. What cannot be folded now, the next time folds."""
    if warehouse.folds_in_refresh:
        try:
            fold_all(warehouse)
        except WarehouseError as problem:
            warehouse.tell(Working(problem.message))


def refresh_on_read(text: str, warehouse: Warehouse, staleness: float = 0.0) -> None:
    """Refresh the views that a query names and whose trigger is `on read`. Only the writer can; a reader sees the last answers.

    `staleness`: so many seconds may an answer be old, if it need not have what has come since.
    """
    if not warehouse.writable:
        return
    snapshot = warehouse.catalog.snapshot()
    named = [found.name for found in relations_in(text) if found.name.lower() in snapshot.relations]
    if samples := samples_below(named, snapshot):
        bring_samples_up_to_date(samples, warehouse, "on read")
        snapshot = warehouse.catalog.snapshot()
    views = [view for view in in_order(named, snapshot) if view.on_read and is_stale(view, snapshot)]
    due = [view.name for view in views if view.answer is None or time.time() - view.answer.at > staleness]
    if due:
        for done in refresh(due, warehouse, "on read"):
            if done.error is not None:
                warehouse.tell(Working(str(done)))


def refresh_in(step: Step, view: View, statement: str, due: Asked | None = None) -> Refreshed:
    """Refresh one view as part of a step that has refreshed what it reads. `due`: if a trigger has asked for that."""
    began = time.time()
    form = compiled(view.name, step.before, step.warehouse)
    # Asking for CPU seconds looks at every process of the machine: not for a view that has nothing to do.
    cpu = cpu_seconds() if has_news(step, form) else None
    done: dict[str, Flushed] = {}
    choices: dict[str, Choice] = {}
    error: SlackwaterError | None = None
    try:
        _check_upstream(step, view)
        reset_if_outdated(step, view, form)
        if has_news(step, form):
            # Paths that were flushed before the trigger have read more than others: what is left of each tells.
            left = remaining(step, view, form)
            way = choose_for_view(step, view, form, left)
            if way is not None and way.choice.how == FULL:
                _compute_anew(step, view, form, way, done, left)
            else:
                started = clock(step)
                _flush_paths(step, view, form, done, left)
                choices |= {view.name: way.choice.that_took(started, clock(step))} if way is not None else {}
    except (EngineLost, Unwritable):
        raise  # it is not the view's fault, and the others fare no better
    except SlackwaterError as failure:
        error = failure
    choices |= {path: flushed.choice for path, flushed in done.items() if flushed.choice is not None}
    batches = {path: flushed.batch for path, flushed in done.items() if flushed.batch is not None}
    added, removed = (
        sum(getattr(batches[name], side) for name in form.buffers if name in batches) for side in ("added_rows", "removed_rows")
    )
    seconds = time.time() - began
    current = step.changes.relations.get(view.name.lower(), view)
    assert isinstance(current, View)
    if error is not None:
        if current.error != error.message:
            step.changes.put(replace(current, error=error.message))
    else:
        answer = _answer(step, view, form)
        if current.answer is None or current.error or (answer.buffers, answer.as_of) != (current.answer.buffers, current.answer.as_of):
            fingerprints = {path.name: path.fingerprint for path in form.paths}
            learned = {name: _learned(view, name, choices, done) for name in (view.name, *fingerprints)}
            step.changes.put(replace(current, answer=answer, error=None, fingerprints=fingerprints, learned=learned))
    if done or error is not None or due is not None:
        spent = cpu_seconds(known_for=1.0)
        how = "failed" if error else _how(view, form, choices)
        reason = error.message if error else (form.reason.message if form.reason else "")
        cost = None if cpu is None or spent is None else round(spent - cpu, 3)
        line = Done("refresh", view.name, statement, began, round(seconds, 3), cost, added, removed, how, reason, step.id, _told(choices))
        if due is not None:
            line = replace(line, due=due.since, expected=due.expected, batch=due.batch)
            line = replace(line, trigger=view.options.get("trigger", ""), goal=view.options.get("goal", "batch"))
        step.done([line])
    return Refreshed(view.name, len(batches), len(form.paths), added, removed, seconds, error)


def _flush_paths(
    step: Step, view: View, form: Compiled, done: dict[str, Flushed], left: Mapping[str, Costs], only: Container[str] | None = None
) -> None:
    """Flush what has news, each path after those that it reads. `only`: these."""
    for number, path in enumerate(form.paths, start=1):
        if only is not None and path.name not in only:
            continue
        step.warehouse.tell(FlushStarted(view.name, path.name, number, len(form.paths)))
        try:
            expected = float(left[path.name].incremental[0]) if path.name in left else None
            flushed = flush(path, step, view.name, view.learned.get(path.name), expected)
        except QueryError as failure:
            raise name_culprit(failure, path, step) from failure
        if flushed is not None:
            done[path.name] = flushed


def _compute_anew(step: Step, view: View, form: Compiled, way: Way, done: dict[str, Flushed], left: Mapping[str, Costs]) -> None:
    """Flush the paths that are kept, and the last one past the others. If that fails, path by path will tell where."""
    whole = way.anew
    _flush_paths(step, view, form, done, left, whole.kept)
    step.warehouse.tell(FlushStarted(view.name, whole.path.name, len(form.paths), len(form.paths)))
    try:
        flushed = flush_anew(whole, step, view.name, way.choice)
    except QueryError:
        _flush_paths(step, view, form, done, {})
    else:
        done |= {whole.path.name: replace(flushed, choice=None), view.name: replace(flushed, batch=None)}
        forget_far_behind(step, form, whole)


def _learned(view: View, path: str, choices: Mapping[str, Choice], done: Mapping[str, Flushed]) -> dict[str, list[float]]:
    known = view.learned.get(path, {})
    if path in choices:
        known = learn(choices[path], known)
    if path in done and done[path].moved:
        flushed = done[path]
        given = flushed.batch.rows if flushed.batch is not None else 0
        known = learn_flush(flushed.choice, flushed.before, flushed.moved, flushed.there, given, known)
    return known


def _how(view: View, form: Compiled, choices: Mapping[str, Choice]) -> str:
    """In a word, how a view was refreshed."""
    ways = {choice.how for path, choice in choices.items() if path != view.name or choice.how == FULL}
    if not form.incremental or ways == {FULL}:
        return FULL
    return "partly in full" if FULL in ways else INCREMENTAL


def _told(choices: Mapping[str, Choice]) -> list[str]:
    return [f"{name}{'' if '/' in name else ' as a whole'} {choice}" for name, choice in choices.items()]


def run_schedule(warehouse: Warehouse) -> None:
    """After a change: flush what the schedule says is due. What fails here is reported by the next refresh."""
    with warehouse.writing:
        snapshot = warehouse.catalog.known  # which is that of the change: every insert runs through here, and nobody else writes
        views = in_order([view.name for view in snapshot.views], snapshot)
        stale = stale_paths(views, snapshot, warehouse) if views else {}
        due = set(warehouse.schedule.due(list(stale)))
        if due and due == set(stale):
            refresh([view.name for view in views], warehouse, "schedule")
        elif due:
            _flush_early({name: stale[name] for name in stale if name in due}, warehouse, "schedule")


def flush_early(names: Iterable[str], warehouse: Warehouse, statement: str, only: Container[str] | None = None) -> None:
    """Flush what is new for the named views and all that they read; answers stay as they are. What fails, the next refresh tells.

    `only`: these paths of them.
    """
    with warehouse.writing:
        snapshot = warehouse.catalog.snapshot()
        stale = stale_paths(in_order(names, snapshot), snapshot, warehouse)
        wanted = {name: found for name, found in stale.items() if only is None or name in only}
        if wanted:
            _flush_early(wanted, warehouse, statement)
            _fold_after(warehouse)


def _flush_early(paths: Mapping[str, tuple[AnyPath, View]], warehouse: Warehouse, statement: str) -> None:
    step = Step(warehouse)
    try:
        ask_together([path for path, _ in paths.values()], step)
        for view in dict.fromkeys(view.name for _, view in paths.values()):
            _flush_of_view(step, step.before.view(view), [path for path, of in paths.values() if of.name == view], statement)
        step.commit()
    except BaseException:
        step.abandon()
        raise


def _flush_of_view(step: Step, view: View, paths: Sequence[AnyPath], statement: str) -> None:
    """Some paths of a view, as part of a step, and what that has taught."""
    if any(view.fingerprints.get(path.name, path.fingerprint) != path.fingerprint for path in paths):
        return  # what they kept was written for another plan: a refresh begins anew
    began, cpu = time.time(), cpu_seconds()
    done: dict[str, Flushed] = {}
    try:
        for path in paths:
            flushed = flush(path, step, view.name, view.learned.get(path.name))
            if flushed is not None:
                done[path.name] = flushed
    except SlackwaterError as problem:
        step.warehouse.tell(Working(f"{view.name} could not be flushed before it was asked for: {problem.message}"))
    if not done:
        return
    choices = {path: flushed.choice for path, flushed in done.items() if flushed.choice is not None}
    step.changes.put(replace(view, learned={**view.learned, **{path: _learned(view, path, choices, done) for path in done}}))
    added, removed = (sum(getattr(each.batch, side, 0) for each in done.values()) for side in ("added_rows", "removed_rows"))
    spent = cpu_seconds(known_for=1.0)
    cost = None if cpu is None or spent is None else round(spent - cpu, 3)
    seconds = round(time.time() - began, 3)
    ways = {choice.how for choice in choices.values()}
    how = FULL if ways <= {FULL} else "partly in full" if FULL in ways else INCREMENTAL
    step.done([Done("flush", view.name, statement, began, seconds, cost, added, removed, how, "", step.id, _told(choices))])


def in_order(names: Iterable[str], snapshot: Snapshot) -> list[View]:
    """The views and all views they read, each after what it reads."""
    ordered: dict[str, View] = {}

    def visit(name: str) -> None:
        relation = snapshot.relation(name)
        if isinstance(relation, View) and relation.name.lower() not in ordered:
            for read in relation.reads:
                visit(read)
            ordered[relation.name.lower()] = relation

    for name in names:
        visit(name)
    return list(ordered.values())


def is_stale(view: View, snapshot: Snapshot) -> bool:
    """Whether a table that the view rests on has moved since its answer."""
    return view.answer is None or any(snapshot.traces[table].version != version for table, version in view.answer.as_of.items())


def reset_if_outdated(step: Step, view: View, form: Compiled) -> None:
    """Start a path anew if what it kept was written for another plan, as an earlier release may have."""
    for path in form.paths:
        known = view.fingerprints.get(path.name)
        if known is not None and known != path.fingerprint:
            if form.streams:
                message = f'it was kept by another release in another way, and rows of stream "{form.streams[0]}" that have passed are gone'
                raise Unsupported(message, hint="create the view again: it sees what comes from then on")
            for every in form.paths:
                step.drop_trace(every.name)
            return


def _check_upstream(step: Step, view: View) -> None:
    for read in view.reads:
        relation = step.changes.relations.get(read) or step.before.relations[read]
        if isinstance(relation, View) and relation.error:
            raise SlackwaterError(f'it reads "{relation.name}", whose refresh failed: {relation.error}')


def _answer(step: Step, view: View, form: Compiled) -> Answer:
    as_of: dict[str, int] = {}
    for read in view.reads:
        relation = step.changes.relations.get(read) or step.before.relations[read]
        if isinstance(relation, Table):
            as_of[read] = step.traces[read].version
        elif isinstance(relation, View) and relation.answer is not None:
            as_of |= relation.answer.as_of
    return Answer({buffer: step.traces[buffer].version for buffer in form.buffers}, as_of, time.time())


def stale_paths(views: Iterable[View], snapshot: Snapshot, warehouse: Warehouse) -> dict[str, tuple[AnyPath, View]]:
    """The paths of views that have something new, or will have once a stale path below them has run."""
    stale: dict[str, tuple[AnyPath, View]] = {}
    for view in views:
        for path in compiled(view.name, snapshot, warehouse).paths:
            seen = dict(snapshot.cursors.get(path.name, {}))
            now = {source: snapshot.traces[source].version for source in path.sources if source in snapshot.traces}
            if set(path.sources) & set(stale) or (seen != now and any(moves(path, seen, now, dict(snapshot.traces)).values())):
                stale[path.name] = path, view
    return stale
