"""Several paths that read the same rows of a stream: one statement tells what the groups of all of them gain.

To think about a statement takes an engine longer than to read many thousand rows. So paths that are flushed in the same step, as those of
all views on a stream are, ask together; each then adds what is its own to what it keeps (run/sums.py). What the statement took counts for
each of them alike.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence

import pyarrow.compute as pc

from slackwater.delta import ID, SIDE
from slackwater.errors import SlackwaterError
from slackwater.plan import Column
from slackwater.plan.render import quote
from slackwater.run.compile import AnyPath
from slackwater.run.flush import clock, gains_of
from slackwater.run.warehouse import Step
from slackwater.run.written import Sums
from slackwater.trace import Reading, Trace

PATH = "_path"  # which one a row is for
MOST = 16  # paths that ask together: of a statement that is too long an engine thinks longer


def ask_together(paths: Sequence[AnyPath], step: Step) -> None:
    """Have the step know what the groups of these paths gain, as far as one statement can tell."""
    for first in range(0, len(paths) if len(paths) > 1 else 0, MOST):
        began = clock(step)
        asked = _alike([(path, sums) for path in paths[first : first + MOST] if (sums := gains_of(path, step)) is not None])
        with contextlib.suppress(SlackwaterError):  # alone, each says for itself what is wrong
            _ask(asked, step, began)


def _ask(asked: Sequence[tuple[AnyPath, Sums]], step: Step, began: float | None) -> None:
    if len(asked) < 2:
        return
    engine = asked[0][1].engine
    for name, (trace, reading) in {name: each for _, sums in asked for name, each in sums.readings.items()}.items():
        engine.register(name, trace, reading, step.warehouse.files, hidden=True)
    rows = engine.taken(_statement(asked), (Column(PATH, "int"), Column(SIDE, "string"), Column(ID, "string"), *_columns(asked)))
    if rows is None:
        return
    ended = clock(step)
    for number, (path, sums) in enumerate(asked):
        own = rows.filter(pc.equal(rows[PATH], number)).select([SIDE, ID, *(slot.name for slot in _slots(path).values())])
        step.gains[path.name] = sums.text, own.rename_columns([SIDE, ID, *(column.name for column in path.columns)])
        step.shared[path.name] = (ended - began) / len(asked) if began is not None and ended is not None else 0.0


def _alike(found: Sequence[tuple[AnyPath, Sums]]) -> list[tuple[AnyPath, Sums]]:
    """Those that one engine tells, and that mean the same rows by the same name."""
    alike: list[tuple[AnyPath, Sums]] = []
    readings: dict[str, tuple[Trace, Reading]] = {}
    for path, sums in found:
        fits = sums.engine is found[0][1].engine and all(readings.get(name, each) == each for name, each in sums.readings.items())
        if fits:
            alike.append((path, sums))
            readings |= sums.readings
    return alike


def _slots(path: AnyPath) -> dict[Column, Column]:
    """Where the columns of a path stand in an answer for several: by the first, second, ... of their types, which others have, too."""
    found: dict[Column, Column] = {}
    counts: Counter[str] = Counter()
    for column in path.columns:
        found[column] = Column(f"c{counts[column.type]} {column.type}", column.type)
        counts[column.type] += 1
    return found


def _columns(asked: Sequence[tuple[AnyPath, Sums]]) -> list[Column]:
    return list(dict.fromkeys(slot for path, _ in asked for slot in _slots(path).values()))


def _statement(asked: Sequence[tuple[AnyPath, Sums]]) -> str:
    parts = []
    for number, (path, sums) in enumerate(asked):
        own = {slot: quote(column.name) for column, slot in _slots(path).items()}
        shown = [f"{own.get(slot, f'CAST(NULL AS {slot.type})')} AS {quote(slot.name)}" for slot in _columns(asked)]
        parts.append(f"SELECT {number} AS {PATH}, {SIDE}, {ID}, {', '.join(shown)} FROM (\n{sums.text}\n)")
    return "\nUNION ALL\n".join(parts)
