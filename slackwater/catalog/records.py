"""What exists: tables, views, what was done. Plain data, stored as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from slackwater.pace import Goal, Trigger, goal_named, rows_named, trigger_named
from slackwater.plan import Column
from slackwater.stream import QUIET, USUAL, Capacity, capacity_named, quiet_named


@dataclass(frozen=True)
class Table:
    """Rows that may be inserted, updated, deleted."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    required: tuple[str, ...] = ()  # columns that may not be NULL
    options: dict[str, str] = field(default_factory=dict)
    next_id: int = 1  # the identity of the next row that arrives

    @property
    def kind(self) -> str:
        """What it is, in a word of users."""
        return type(self).__name__.lower()

    @property
    def append_only(self) -> bool:
        return self.options.get("append_only", "false").lower() == "true"

    @property
    def busy(self) -> float:
        """Seconds for which an insert waits for its turn."""
        return quiet_named(self.options["busy"]) if "busy" in self.options else math.inf


@dataclass(frozen=True)
class Stream(Table):
    """Rows that arrive and are not kept for ever: the newest, as many as its capacity says, and those that a view has yet to take."""

    @property
    def append_only(self) -> bool:
        return True

    @property
    def capacity(self) -> Capacity:
        return capacity_named(self.options.get("capacity", USUAL))

    @property
    def quiet(self) -> float:
        """Seconds without a new row, after which a query that reads the stream has read all of it."""
        return quiet_named(self.options.get("quiet", QUIET))


@dataclass(frozen=True)
class Sample(Table):
    """So many rows of a table or a stream, each as likely to be among them as any other, kept up to date."""

    source: str = ""
    size: int = 0
    population: int = 0  # of how many rows it is a sample
    seed: int = 0


@dataclass(frozen=True)
class Answer:
    """What readers of a view see: its buffers at these versions, which reflect the tables at those."""

    buffers: dict[str, int]
    as_of: dict[str, int]
    at: float


@dataclass(frozen=True)
class View:
    """A query kept up to date. `reason` says why it is refreshed in full, if it is."""

    name: str
    text: str
    columns: tuple[Column, ...]
    options: dict[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()  # the tables and views its text names
    incremental: bool = True
    reason: str | None = None
    place: tuple[int, int] | None = None  # where in the text the reason stands
    fingerprints: dict[str, str] = field(default_factory=dict)  # of its paths, to recognise what an earlier release wrote
    learned: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # by path: what its flushes cost, see run/choice.py
    answer: Answer | None = None
    error: str | None = None  # why its last refresh failed
    suspended: bool = False  # it keeps its answer, and what comes waits for it

    kind = "view"

    @property
    def trigger(self) -> Trigger:
        """When an answer is due."""
        return trigger_named("manual" if self.suspended else self.options.get("trigger", "on read"))

    @property
    def goal(self) -> Goal:
        """And how soon after."""
        return goal_named(self.options.get("goal", "batch"))

    @property
    def expects(self) -> int | None:
        """How many rows are said to arrive or leave between two triggers."""
        return rows_named(self.options["expect"]) if "expect" in self.options else None

    @property
    def on_read(self) -> bool:
        """Whether reading the view brings it up to date first."""
        return self.trigger.kind == "on read"


@dataclass(frozen=True)
class Done:
    """A line of the history: one statement or refresh, what it did and what it cost."""

    action: str
    target: str
    statement: str
    at: float
    seconds: float
    cpu_seconds: float | None = None
    added: int = 0
    removed: int = 0
    how: str = ""
    reason: str = ""
    step: str = ""
    choices: list[str] = field(default_factory=list)  # path by path: what was expected, what was chosen, what it took
    due: float | None = None  # when the answer was, if a trigger has asked for it,
    trigger: str = ""  # which one,
    goal: str = ""  # how soon after it the answer was to be there,
    expected: float | None = None  # after how many seconds that was expected,
    batch: float | None = None  # and what it would have cost if all work had waited for the trigger

    @property
    def latency(self) -> float:
        """Seconds from when it was due."""
        return self.at + self.seconds - (self.due or 0.0)

    @property
    def goal_met(self) -> str:
        """Whether a goal was met or missed, in a word; nothing if there was none."""
        share = self.cpu_seconds / self.batch if self.cpu_seconds is not None and self.batch else None
        return "failed" if self.how == "failed" else goal_named(self.goal or "batch").word(self.latency, share)


Relation = Table | View
TABLES: dict[str, type[Table]] = {"table": Table, "stream": Stream, "sample": Sample}  # by the word in a record


def to_json(record: Relation | Done) -> str:
    return json.dumps({"kind": type(record).__name__.lower(), **vars(record)}, default=vars)


def relation_from_json(text: str) -> Relation:
    facts: dict[str, Any] = json.loads(text)
    kind = facts.pop("kind")
    facts["columns"] = tuple(Column(**c) for c in facts["columns"])
    for name in ("primary_key", "required", "reads", "place"):
        if facts.get(name) is not None:
            facts[name] = tuple(facts[name])
    if kind in TABLES:
        return TABLES[kind](**facts)
    if facts["answer"] is not None:
        facts["answer"] = Answer(**facts["answer"])
    return View(**facts)


def done_from_json(text: str) -> Done:
    facts: dict[str, Any] = json.loads(text)
    facts.pop("kind")
    return Done(**facts)
