"""What a query answers: computed when its rows are asked for, or from memory.

Small answers are kept while nothing that they were read from changes. One is found again by its statement, by what every relation in it is
and which files its rows are in, and by the settings of the engine that have a say in it: so an answer that is out of date is never found,
whoever made the change. Those that were not asked for longest are forgotten first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from slackwater.catalog import Snapshot
from slackwater.pace.trigger import seconds_named
from slackwater.result import Result
from slackwater.run.defining import Allowed, check_options
from slackwater.run.reading import notes, readable, state
from slackwater.run.stored import stored
from slackwater.run.streams import check_not_overtaken, streams_in
from slackwater.run.warehouse import Warehouse
from slackwater.spark import Engine
from slackwater.sql.kinds import Select
from slackwater.sql.repeatable import is_repeatable
from slackwater.sql.sampling import samplings_in
from slackwater.trace import Damaged

MOST_BYTES = 64 << 20  # of all answers
ANSWER_BYTES = 1 << 20  # of one
ANSWER_ROWS = 10_000
SELECT_OPTIONS: Mapping[str, Allowed] = {"staleness": seconds_named}
STATEMENTS = 1000  # of which is known what was said last


@dataclass(frozen=True)
class Said:
    """What a statement was answered from memory, as of a step: while there is no other, that is the answer."""

    step: int
    settings: Hashable
    rows: pa.Table
    message: str
    statement: Callable[[], str]  # for the engine


def staleness(statement: Select) -> float:
    """How many seconds the answers may be old that a query reads."""
    check_options(statement.options, SELECT_OPTIONS, statement.text)
    text = statement.options.get("staleness")
    return 0.0 if text is None else seconds_named(str(text))


class Answers:
    """What was answered lately, as far as it is small."""

    def __init__(self) -> None:
        self.said: dict[str, Said] = {}  # by the text of a whole statement
        self._kept: OrderedDict[Hashable, pa.Table] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> pa.Table | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, rows: pa.Table) -> None:
        if rows.num_rows > ANSWER_ROWS or rows.nbytes > ANSWER_BYTES:
            return
        with self._lock:
            if key not in self._kept:
                self._kept[key] = rows
                self._bytes += rows.nbytes
            while self._bytes > MOST_BYTES:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


def answered_again(text: str, warehouse: Warehouse, answers: Answers) -> Result | None:
    """The answer that a statement had, if nothing has happened since; without as much as parsing it."""
    said = answers.said.get(text)
    if said is None or said.step != warehouse.catalog.snapshot().number or said.settings != warehouse.engine.settings():
        return None
    return Result(said.rows.column_names, lambda: said.rows, said.message, spark=lambda: warehouse.engine.frame(said.statement()))


def answer(text: str, query: str, snapshot: Snapshot, warehouse: Warehouse, answers: Answers) -> Result:
    """The rows of a user's query, as of a snapshot. `text`: the whole statement."""
    engine, message = warehouse.engine, notes(query, snapshot)
    known: list[str] = []

    def statement() -> str:
        if not known:  # to name for the engine what it reads takes longer than to read a small answer
            known.append(readable(query, snapshot, warehouse))
        return known[0]

    settings = engine.settings()
    key = (state(query, snapshot, warehouse), settings) if is_repeatable(str(query)) else None
    if key is not None and (kept := answers.get(key)) is not None:
        if not streams_in(query, snapshot):  # of which more may come while one waits
            if len(answers.said) >= STATEMENTS:
                answers.said.clear()
            answers.said[text] = Said(snapshot.number, settings, kept, message, statement)
        return Result(kept.column_names, lambda: kept, message, spark=lambda: engine.frame(statement()))
    if samplings_in(query):
        drawn = engine.arrow(statement())  # at once: what was drawn is not kept
        return Result(drawn.column_names, lambda: drawn, message, spark=lambda: engine.spark.createDataFrame(drawn))

    def fetch(read: Callable[[], pa.Table], most: int | None = None) -> pa.Table:
        try:
            rows = read()
        except Damaged:
            now = warehouse.catalog.snapshot()
            if now.number == snapshot.number:
                raise
            check_not_overtaken(query, snapshot, now)
            # Whoever asks for rows long after the statement may find them folded away: then as of now.
            return engine.arrow(readable(query, now, warehouse), most=most)
        if key is not None and (most is None or rows.num_rows < most):
            answers.put(key, rows)
        return rows

    if (there := stored(query, snapshot, warehouse)) is not None:
        return Result(list(there.names), lambda: fetch(lambda: there.rows(warehouse)), message, spark=lambda: engine.frame(statement()))
    return computed(statement(), engine, message, lambda frame, most=None: fetch(lambda: engine.arrow(statement(), frame, most), most))


def computed(statement: str, engine: Engine, message: str = "", fetch: Callable[..., pa.Table] | None = None) -> Result:
    """What the engine answers to a statement of its own."""
    frame = engine.frame(statement)
    rows = fetch or partial(engine.arrow, statement)
    return Result(list(frame.columns), lambda: rows(frame), message, spark=lambda: frame, fetch_some=lambda count: rows(frame, count))
