"""One run of one path over what is new for it."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from uuid import uuid4

from slackwater.catalog import Stream, Table
from slackwater.delta import ADDED, ID, OWN, REMOVED, SIDE, Known, Moved, first_flush, gained, next_flush
from slackwater.delta.broadcasts import Size, expected_rows, with_broadcasts
from slackwater.errors import QueryError, SlackwaterError
from slackwater.pace.price import MOVED
from slackwater.path import Path
from slackwater.plan import Node, render
from slackwater.plan.render import quote
from slackwater.run import written
from slackwater.run.anew import Anew
from slackwater.run.beside import agreed_plan, guess_for, may_run_beside
from slackwater.run.choice import FIRST, FULL, INCREMENTAL, Choice, Guess, Learned, by_cost
from slackwater.run.compile import AnyPath, Whole
from slackwater.run.cpu import cpu_seconds
from slackwater.run.net import Net, columns_read, net_change
from slackwater.run.plans import InFull, in_full, slim, stored
from slackwater.run.progress import FlushDone
from slackwater.run.reading import define_relations
from slackwater.run.reads import Reads, about
from slackwater.run.sail_faults import joined_by_hash
from slackwater.run.sums import adds_here
from slackwater.run.warehouse import Step
from slackwater.run.written import NO_VERSION, Beside, Change, Everything, Statement, Sums
from slackwater.spark import Engine
from slackwater.sql import rename_relations
from slackwater.trace import Batch, Trace

GROUPED = 10  # times as many may be expected, if the path has few rows: they will belong to few groups
ANY_SESSION = f"{uuid4().hex}:"  # stands in a statement for what an engine puts before names: rendering it takes longer than some flushes


@dataclass(frozen=True)
class Flushed:
    """What a flush wrote, if anything, how it was chosen, and for which rows: of each source, how many came and how many went.

    `before`: rows of each source until then; `there`: those among which they had to be found, in other sources and in what the path kept.
    """

    batch: Batch | None
    choice: Choice | None = None
    before: tuple[int, ...] = ()
    moved: tuple[int, ...] = ()
    there: int = 0


def flush(path: AnyPath, step: Step, view: str, learned: Learned | None = None, expected: float | None = None) -> Flushed | None:
    """Read what is new for `path`, write what it changes, and note how far it has read. None: nothing is new, or not there yet.

    `learned`: what earlier flushes of the path cost. `expected`: what this one costs if it is incremental, where somebody counts on it.
    """
    if not all(source in step.traces for source in path.sources):
        return None
    if path.name not in step.traces:
        step.create_trace(Trace(path.name, path.columns))
    seen = step.cursor(path.name)
    now = {source: step.traces[source].version for source in path.sources}
    if seen is not None and seen == now:
        return None
    there = step.traces[path.name].rows
    done = _flushed(path, step, view, now, lambda scratch: _statement(path, seen, now, step, learned or {}, scratch, expected))
    if seen is None or set(seen) != set(now):
        return done
    between = [step.traces[source].between(seen[source], version) for source, version in now.items()]
    moved = [(sum(each.added_rows for each in batches), sum(each.removed_rows for each in batches)) for batches in between]
    before = tuple(step.traces[source].rows - came + went for source, (came, went) in zip(now, moved, strict=True))
    there += sum(before) if len(now) > 1 else 0
    return replace(done, before=before, moved=tuple(itertools.chain.from_iterable(moved)), there=there)


def gains_of(path: AnyPath, step: Step) -> Sums | None:
    """What the next flush of a path asks for, if that is what its groups gain by rows of one stream."""
    seen = step.cursor(path.name)
    if seen is None or path.name not in step.traces or not isinstance(step.before.relations.get(path.sources[0]), Stream):
        return None
    now = {source: step.traces[source].version for source in path.sources}
    if len(now) > 1 or seen == now:
        return None
    statement, _ = _statement(path, seen, now, step, {}, "", None)  # of one source that only grows nothing is written for a flush alone
    return statement if isinstance(statement, Sums) else None


def flush_anew(anew: Anew, step: Step, view: str, choice: Choice) -> Flushed:
    """Compute a view's last path past those below it, and write what has changed."""
    now = {source: step.traces[source].version for source in anew.sources}

    return _flushed(anew.path, step, view, now, lambda scratch: (_in_full(anew.path, anew.plans, now, step), choice))


def _flushed(
    path: AnyPath, step: Step, view: str, now: dict[str, int], make: Callable[[str], tuple[Statement | None, Choice | None]]
) -> Flushed:
    """Run the statement that is made, and note how far the path has read. `make` gets a place for what only this flush reads."""
    began, started, batch, by = time.monotonic(), clock(step), None, ""
    with _scratch(path, step) as scratch:
        statement, choice = make(scratch)
        if statement is not None:
            directory = step.directory(path.name)
            try:
                by = statement.write(path, directory, step)
            except QueryError:
                step.warehouse.files.remove(directory)  # the path may be flushed another way, to the same place
                raise
            batch = step.take(path.name, directory)
    step.changes.cursors[path.name] = now
    added, removed = (batch.added_rows, batch.removed_rows) if batch else (0, 0)
    step.warehouse.tell(FlushDone(view, path.name, added, removed, time.monotonic() - began))
    ended = clock(step)
    ended = None if ended is None else ended + step.shared.pop(path.name, 0.0)
    return Flushed(batch, None if choice is None else replace(choice.that_took(started, ended), by=by))


@contextmanager
def _scratch(path: AnyPath, step: Step) -> Iterator[str]:
    """A place for what only one flush reads. An orphan, if we are killed."""
    directory = step.warehouse.files.batch_directory(path.name, f"{step.id}-scratch")
    try:
        yield directory
    finally:
        step.warehouse.files.remove(directory)


def clock(step: Step) -> float | None:
    """CPU seconds so far, but for what later flushes are spared; where others do the work, whose CPU we do not see, time."""
    if step.warehouse.engine.is_elsewhere:
        return time.monotonic()
    spent = cpu_seconds(known_for=1.0)
    return None if spent is None else spent - step.warehouse.files.invested


def _statement(
    path: AnyPath,
    seen: dict[str, int] | None,
    now: dict[str, int],
    step: Step,
    learned: Learned,
    scratch: str,
    expected: float | None,
    here: bool = True,
) -> tuple[Statement | None, Choice | None]:
    """The flush's statement, and how it was chosen. None: nothing that it reads has moved. `here`: this process may add up what it can."""
    moved = moves(path, seen, now, step.traces)
    is_anew = seen is not None and set(seen) != set(now)  # it was computed past its sources: none of their versions is what it has read
    if seen is not None and not is_anew and not any(moved.values()):
        return None, None
    if isinstance(path, Whole):
        return Change(_computed_whole(path, now, step)), None
    engine = step.warehouse.engine
    known = tuple((name, Known(about(step.traces[name].rows), _key(name, step))) for name in sorted((path.name, *now)))
    whole = in_full(path)
    if is_anew:
        rows_in_full, guess = _expected_in_full(whole, now, step)
        choice = replace(by_cost(0, rows_in_full, learned, guess), how=FULL, rows=rows_in_full)
        return _in_full(path, whole, now, step), choice.that_read(rows_in_full, rows_in_full)
    here = here and seen is not None and not engine.is_elsewhere and adds_here(path, step.traces[path.name].rows)
    plan = _planned(path, tuple(moved.items()), known, gains=True) if here else None
    here = plan is not None
    plan = plan or _planned(path, None if seen is None else tuple(moved.items()), known)
    nets: dict[str, Net] = {}
    if plan is not None and seen is not None:
        plan, nets = _net(path, plan, moved, seen, now, step, known, scratch, here)
    if plan is None:
        return None, None
    reads = Reads(plan, seen or {}, now, step, nets)
    rows_in_full, guess = _expected_in_full(whole, now, step)
    if seen is None:
        choice = replace(by_cost(reads.rows, reads.rows, {}, guess), how=FIRST)
    else:
        looked_through = int(guess.looked_through * (reads.looked_through + reads.later))
        rows = max(0, reads.left - reads.later) + looked_through + (MOVED - 1) * reads.derived
        choice = step.warehouse.chooser(rows, rows_in_full, learned, guess, 0, expected)
        if any(isinstance(step.before.relations.get(source), Stream) for source in now):
            choice = replace(choice, how=INCREMENTAL, rows=rows)  # rows that have passed cannot be read again
        if choice.how == FULL:
            return _in_full(path, whole, now, step), choice.that_read(rows_in_full, rows_in_full)
    reads.fetch(engine, scratch)
    choice = choice.that_read(reads.rows, reads.left)  # what is left after some was fetched
    if here:
        again = partial(_statement, path, seen, now, step, learned, f"{scratch}/again", expected, here=False)
        return _sums(reads, step, lambda: again()[0]), choice
    own, given = step.traces[path.name].rows, expected_rows(reads.plan, dict(reads.sizes))
    # A change of many rows seldom touches more groups than there are.
    groups = min(given, 2.0 * own) if own else given
    ours = partial(_changes, reads, step, given if given > GROUPED * written.FEW else groups)
    return _beside_or(reads, step, groups, ours), choice


def _expected_in_full(whole: InFull, now: dict[str, int], step: Step) -> tuple[int, Guess]:
    """How many rows a full flush reads, and what one costs before any was seen."""
    rows = Reads(whole.everything, {}, now, step).rows
    return rows, guess_for(whole.change, rows, step.warehouse)


def _in_full(path: Path, plans: InFull, now: dict[str, int], step: Step) -> Statement:
    """A flush that computes everything."""
    engine, rows = step.warehouse.engine, step.traces[path.name].rows
    reads = Reads(plans.change, {}, now, step)
    change = partial(_changes, reads, step, 2.0 * rows)

    def everything() -> Statement:
        return Everything(_text_of(Reads(plans.everything, {}, now, step), engine, step), change)

    return _beside_or(reads, step, 2.0 * rows, change if rows > written.FEW or engine.is_sail else everything)


def _changes(reads: Reads, step: Step, rows: float) -> Statement:
    return Change(_text_of(reads, step.warehouse.engine, step), rows)


def _sums(reads: Reads, step: Step, otherwise: Callable[[], Statement | None]) -> Statement:
    """A flush that adds what groups gain, which some engine tells."""
    engine = step.warehouse.engine
    if may_run_beside(reads.plan, reads.left, step.warehouse) and (beside := engine.beside) is not None:
        with contextlib.suppress(SlackwaterError):
            return Sums(_text_of(reads, beside, step), reads.readings, beside, otherwise)
    return Sums(_text_of(reads, engine, step), reads.readings, engine, otherwise)


def _beside_or(reads: Reads, step: Step, rows: float, ours: Callable[[], Statement]) -> Statement:
    """A flush's statement: for the engine beside ours, if that may run it. `rows`: it may give."""
    if may_run_beside(reads.plan, reads.left, step.warehouse) and (beside := step.warehouse.engine.beside) is not None:
        with contextlib.suppress(SlackwaterError):  # it may end at any moment, and a file that is damaged Spark will name
            return Beside(_text_of(reads, beside, step), beside, rows, ours)
    return ours()


def _text_of(reads: Reads, engine: Engine, step: Step) -> str:
    """A statement, after what it reads was named."""
    for name, (trace, reading) in reads.readings.items():
        engine.register(name, trace, reading, step.warehouse.files, hidden=True)
    text = _text(reads.plan, reads.sizes if engine.takes_hints else None, engine is not step.warehouse.engine)
    return text.replace(ANY_SESSION, engine.prefix)


def _net(
    path: Path,
    plan: Node,
    moved: dict[str, Moved],
    seen: dict[str, int],
    now: dict[str, int],
    step: Step,
    known: tuple[tuple[str, Known], ...],
    scratch: str,
    gains: bool,
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
    smaller = _planned(path, tuple(left.items()), known, gains)
    # Another plan may ask for more than what was looked at.
    enough = smaller is None or all(set(columns_read(smaller, source) or (ID,)) <= set(read[source] or ()) for source in nets)
    return (smaller, nets) if enough else (plan, {})


@lru_cache(maxsize=4096)
def _planned(
    path: Path, moved: tuple[tuple[str, Moved], ...] | None, known: tuple[tuple[str, Known], ...], gains: bool = False
) -> Node | None:
    """A flush's plan. Most flushes of a path are planned alike. `gains`: of what its groups gain, if that is all it takes."""
    if moved is None:
        plan: Node | None = first_flush(path.top)
    elif gains:
        plan = gained(path.top, dict(moved), dict(known))
    else:
        plan = next_flush(path.top, path.name, dict(moved), dict(known))
    return None if plan is None else slim(stored(plan, path.columns))


@lru_cache(maxsize=4096)
def _text(plan: Node, sizes: tuple[tuple[str, Size], ...] | None, for_another: bool = False) -> str:
    """A flush's statement but for its version and for the session."""
    plan = (agreed_plan(plan) or plan) if for_another else plan
    return render(joined_by_hash(plan) if sizes is None else with_broadcasts(plan, dict(sizes)), ANY_SESSION)


def _key(source: str, step: Step) -> tuple[str, ...] | None:
    """Columns in which no two rows of a source agree. What paths keep of subqueries is joined by what it is grouped by."""
    relation = step.before.relations.get(source)
    if isinstance(relation, Table):
        return relation.primary_key or None
    return ()


def moves(path: AnyPath, seen: dict[str, int] | None, now: dict[str, int], traces: dict[str, Trace]) -> dict[str, Moved]:
    """What is new for a path, source by source."""
    return {source: traces[source].moved((seen or {}).get(source, 0), version) for source, version in now.items()}


def _computed_whole(path: Whole, now: dict[str, int], step: Step) -> str:
    """Everything leaves, everything arrives. Rows get random identities: nothing ties them to rows of the inputs."""
    warehouse = step.warehouse
    own = step.traces[path.name]
    before = warehouse.engine.register(f"{path.name}@{OWN}", own, own.at(own.version), warehouse.files, hidden=True)
    names = define_relations(path.text, step.before, warehouse, now, step.traces)
    text = rename_relations(path.text, lambda found: names[found.name.lower()])
    columns = ", ".join(f"CAST({quote(c.name)} AS {c.type}) AS {quote(c.name)}" for c in path.columns)
    return (
        f"SELECT '{REMOVED}' AS {SIDE}, {ID}, {columns}, {NO_VERSION} FROM {quote(before)}\n"
        f"UNION ALL\nSELECT '{ADDED}' AS {SIDE}, uuid() AS {ID}, {columns}, {NO_VERSION} FROM (\n{text}\n)"
    )
