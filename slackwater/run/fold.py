"""Fold batches together, so that reading a trace costs what its rows cost and not what its past does.

The batches of a range (see trace/ranges.py) become one: the rows that arrived in it and are still there, and the rows that left. Folding
from the beginning therefore applies all removals. What a fold reads never changes, so it is written while other steps go on; only to put
it in the place of the batches that it was made of takes a step, which looks whether they are still there and nobody needs to tell
them apart.
"""

from __future__ import annotations

from slackwater.catalog import Snapshot, Stream, View
from slackwater.delta import ADDED, ID, REMOVED, SIDE
from slackwater.plan.render import quote
from slackwater.run.warehouse import Step, Warehouse, new_step_id
from slackwater.stream import kept_apart
from slackwater.trace import VERSION, Batch, Damaged, Range, Trace, foldable, worth_folding

SMALL = 16 << 20  # bytes, and
FEW = 1_000_000  # rows: up to here this process folds, and not a cluster. On this machine it always does: that takes fewer CPU seconds


def fold_all(warehouse: Warehouse, wholly: bool = False) -> int:
    """Fold what is worth folding, or all that can be when `wholly`, in one step; returns how many traces that were."""
    with warehouse.writing:
        step = Step(warehouse)
        try:
            folded = [trace for trace in step.before.traces.values() if _fold_in(step, trace, wholly)]
            if folded:
                step.commit()
        except BaseException:
            step.abandon()
            raise
        return len(folded)


def due(trace: Trace, snapshot: Snapshot, wholly: bool = False) -> list[Range]:
    """The ranges of a trace that are to be folded now."""
    choose = foldable if wholly else worth_folding
    return choose(trace, _needed(trace.name, snapshot))


def write_fold(trace: Trace, range: Range, warehouse: Warehouse) -> Batch:
    """What becomes of a range: one batch, on the disk and not real yet. Of a fold that fails nothing stays."""
    id = new_step_id()
    files, directory = warehouse.files, warehouse.files.batch_directory(trace.name, id)
    replaced = range.of(trace)
    try:
        # A fold gives its file a checksum of its own: what is wrong by now would be right from then on. Also what is known from memory.
        files.check((file for batch in replaced for file in (*batch.added, *batch.removed)), deep=True)
        is_small = sum(batch.bytes for batch in replaced) <= SMALL and sum(batch.rows for batch in replaced) <= FEW
        if is_small or not warehouse.engine.is_elsewhere:
            for side in _sides(range):
                reading = trace.part(side, range.after, range.upto)
                if reading.files:
                    files.write_folded(reading, range.upto, directory, side)
        else:
            warehouse.engine.write(_statement(trace, range, warehouse), directory, files, trace.columns)
        batch = Batch(range.upto, id, *files.sealed(directory))
        files.sync([directory])
        files.follow(batch, replaced)
    except BaseException:
        files.remove(directory)
        raise
    return batch


def commit_fold(trace: Trace, range: Range, batch: Batch, warehouse: Warehouse) -> bool:
    """Put a fold in its place. False, and nothing stays of it, if that is not what it was when the fold began."""
    with warehouse.writing:
        step = Step(warehouse)
        current = step.before.traces.get(trace.name)
        if current is None or range.of(current) != range.of(trace) or range.splits(_needed(trace.name, step.before)):
            warehouse.files.remove(warehouse.files.batch_directory(trace.name, batch.step))
            return False
        step.fold(trace.name, range.after, batch)
        step.commit()
        return True


def _fold_in(step: Step, trace: Trace, wholly: bool) -> bool:
    """A damaged file keeps its own trace from being folded and no other; whoever reads it is told."""
    folded = False
    for range in due(trace, step.before, wholly):
        try:
            step.fold(trace.name, range.after, write_fold(trace, range, step.warehouse))
            folded = True
        except Damaged:
            continue
    return folded


def _statement(trace: Trace, range: Range, warehouse: Warehouse) -> str:
    columns = ", ".join(quote(c.name) for c in trace.columns)
    version = f"{warehouse.engine.number('sw version of a fold', range.upto)} AS {VERSION}"
    parts = []
    for side in _sides(range):
        reading = trace.part(side, range.after, range.upto)
        part = warehouse.engine.register(f"{trace.name}@fold {side}", trace, reading, warehouse.files, hidden=True)
        parts.append(f"SELECT '{side}' AS {SIDE}, {ID}, {columns}, {version} FROM {quote(part)}")
    return "\nUNION ALL\n".join(parts)


def _sides(range: Range) -> tuple[str, ...]:
    """Below the oldest batch there is nothing that could have left."""
    return (ADDED, REMOVED) if range.after else (ADDED,)


def _needed(name: str, snapshot: Snapshot) -> set[int]:
    """The versions of a trace that somebody may still read from."""
    cursors = {sources[name] for sources in snapshot.cursors.values() if name in sources}
    answers = set()
    for relation in snapshot.relations.values():
        if isinstance(relation, View) and relation.answer is not None:
            answers |= {versions[name] for versions in (relation.answer.buffers, relation.answer.as_of) if name in versions}
    own = snapshot.relations.get(name)
    parts = kept_apart(snapshot.traces[name], own.capacity) if isinstance(own, Stream) and name in snapshot.traces else set()
    return cursors | answers | parts
