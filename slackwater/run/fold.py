"""Fold batches together, so that reading a trace costs what its rows cost and not what its past does.

The batches between two versions that nobody needs to tell apart become one: the rows that arrived between them and are still there, and the
rows that left. Folding from the beginning therefore applies all removals. Small traces are folded whole, without a statement of the engine;
of large ones the newest batches are folded once they have grown to the size of those before them, so a row is rewritten only a few times in
its life, however many steps there are.
"""

from __future__ import annotations

from slackwater.catalog import Snapshot, View
from slackwater.delta import ADDED, ID, REMOVED, SIDE
from slackwater.plan.render import quote
from slackwater.run.warehouse import Step, Warehouse
from slackwater.trace import VERSION, Damaged, Trace

SMALL = 4 << 20  # bytes: up to here a trace is folded whole, here
BATCHES = 8  # of a large trace, fewer are not worth a statement
TIMES = 4  # a batch is folded into newer ones that together have at least a quarter of its rows


def fold_all(warehouse: Warehouse, wholly: bool = False) -> int:
    """Fold what is worth folding, or all that can be when `wholly`; returns how many traces that were."""
    with warehouse.writing:
        step = Step(warehouse)
        try:
            folded = [trace for trace in step.before.traces.values() if _fold_if_sound(trace, step, wholly)]
            if folded:
                step.commit()
        except BaseException:
            step.abandon()
            raise
        return len(folded)


def foldable(trace: Trace, needed: set[int], wholly: bool = False) -> int | None:
    """The version after which all batches become one; None when that does not pay.

    `needed` are the versions that paths and answers will go on reading from: a range to be folded has none of them inside.
    """
    oldest = max((version for version in needed if version < trace.version), default=0)
    if wholly:
        return oldest if sum(batch.version > oldest for batch in trace.batches) > 1 else None
    if len(trace.batches) < 2 or (trace.bytes > SMALL and len(trace.batches) < BATCHES):
        return None
    if trace.bytes <= SMALL:
        worth = any(batch.removed for batch in trace.batches) or len(trace.batches) >= TIMES
        return 0 if worth and oldest == 0 else None
    tail, chosen = 0, None
    for position in range(len(trace.batches) - 1, -1, -1):
        batch = trace.batches[position]
        rows = batch.added_rows + batch.removed_rows
        if batch.version <= oldest or (tail and rows > TIMES * tail):
            break
        tail += rows
        if len(trace.batches) - position >= TIMES:
            chosen = trace.batches[position - 1].version if position else 0
    return chosen


def _fold_if_sound(trace: Trace, step: Step, wholly: bool) -> bool:
    """A damaged file keeps its own trace from being folded and no other; whoever reads it is told."""
    try:
        return _fold(trace, step, wholly)
    except Damaged:
        step.warehouse.files.remove(step.directory(trace.name))
        return False


def _fold(trace: Trace, step: Step, wholly: bool) -> bool:
    after = foldable(trace, _needed(trace.name, step.before), wholly)
    if after is None:
        return False
    directory = step.directory(trace.name)
    if after == 0 and trace.bytes <= SMALL:
        step.warehouse.files.fold(trace, directory)
    else:
        # A fold gives its file a checksum of its own: what is wrong by now would be right from then on.
        step.warehouse.files.check(trace.files_after(after), deep=True)
        step.warehouse.engine.write(_statement(trace, after, step.warehouse), directory)
    step.replace_batches(trace.name, after, directory)
    return True


def _statement(trace: Trace, after: int, warehouse: Warehouse) -> str:
    columns = ", ".join(quote(c.name) for c in trace.columns)
    version = f"CAST({trace.version} AS BIGINT) AS {VERSION}"
    parts = []
    for side in (ADDED, REMOVED) if after else (ADDED,):
        reading = trace.part(side, after, trace.version)
        part = warehouse.engine.register(f"{trace.name}@fold {side}", trace, reading, warehouse.files, hidden=True)
        parts.append(f"SELECT '{side}' AS {SIDE}, {ID}, {columns}, {version} FROM {quote(part)}")
    return "\nUNION ALL\n".join(parts)


def _needed(name: str, snapshot: Snapshot) -> set[int]:
    """The versions of a trace that somebody may still read from."""
    cursors = {sources[name] for sources in snapshot.cursors.values() if name in sources}
    answers = set()
    for relation in snapshot.relations.values():
        if isinstance(relation, View) and relation.answer is not None:
            answers |= {versions[name] for versions in (relation.answer.buffers, relation.answer.as_of) if name in versions}
    return cursors | answers
