"""How the rows of a flush are had: an engine writes them, or this process takes them from an engine, does the rest, and writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from slackwater.delta import ID, SIDE
from slackwater.path import Path
from slackwater.plan import Column
from slackwater.run.compile import AnyPath
from slackwater.run.net import changed_rows
from slackwater.run.sums import with_gains
from slackwater.run.warehouse import Step
from slackwater.spark import Engine
from slackwater.trace import VERSION, Reading, Trace

FEW = 50_000  # rows that a flush is expected to give: up to here this process takes them, where that is cheaper
NO_VERSION = f"CAST(0 AS BIGINT) AS {VERSION}"  # stands in a statement until it is run: there it would be another text every time


class Statement(Protocol):
    """What a flush runs; all that it names is registered."""

    def write(self, path: AnyPath, directory: str, step: Step) -> str:
        """Run it, and write what it changes below a directory. Who ran it, if it was not the warehouse's engine."""


@dataclass(frozen=True)
class Change:
    """A statement that gives a flush's change, and about how many rows that are; None if that is not known.

    It is the same text flush after flush, if it can be: what Spark generates and compiles for it, it has then.
    """

    text: str
    rows: float | None = None

    def write(self, path: AnyPath, directory: str, step: Step) -> str:
        few = _few(self.text, path, step) if self.rows is not None and self.rows <= FEW else None
        if few is None:
            text = self.text.replace(NO_VERSION, step.version_column(path.name))
            step.warehouse.engine.write(text, directory, step.warehouse.files, path.columns)
        else:
            _write_few(few, path, directory, step)
        return ""


@dataclass(frozen=True)
class Everything:
    """A statement that gives all rows that a path now has, where those before were few: this process finds what differs.

    An engine would plan and shuffle twice as much to do it. If they are not few any more, it has to: `change`.
    """

    text: str
    change: Callable[[], Statement]

    def write(self, path: AnyPath, directory: str, step: Step) -> str:
        trace, few = step.traces[path.name], _few(self.text, path, step)
        changed = None
        if few is not None:
            changed = changed_rows(few, step.warehouse.files.rows_as(trace.at(trace.version), few.schema.remove(0)))
        if changed is None:
            return self.change().write(path, directory, step)
        _write_few(changed, path, directory, step)
        return ""


@dataclass(frozen=True)
class Beside:
    """A statement that another engine answers as ours would, for much less. What it fails at is ours to run.

    Few rows this process takes and writes; more than that the other engine writes, with several cores and without handing them over.
    """

    text: str
    beside: Engine
    rows: float  # that it may give
    otherwise: Callable[[], Statement]

    def write(self, path: AnyPath, directory: str, step: Step) -> str:
        if self.rows > FEW:
            now = self.text.replace(NO_VERSION, f"CAST({step.next_version(path.name)} AS BIGINT) AS {VERSION}")
            if self.beside.has_written(self.text, now, directory, step.warehouse.files, path.columns):
                return self.beside.kind
            return self.otherwise().write(path, directory, step)
        rows = self.beside.exactly(self.text, (Column(SIDE, "string"), Column(ID, "string"), *path.columns))
        if rows is None:
            return self.otherwise().write(path, directory, step)
        _write_few(rows, path, directory, step)
        return self.beside.kind


@dataclass(frozen=True)
class Sums:
    """A statement that gives what groups gain: this process adds that to what their path keeps.

    An engine would join both, and think about that every time for longer than it takes to look at many thousand rows. What cannot be added
    here, a sum that overflows perhaps, is an engine's: `otherwise`.
    """

    text: str
    readings: Mapping[str, tuple[Trace, Reading]]  # what is meant by the names in it
    engine: Engine  # ours, or the one beside it
    otherwise: Callable[[], Statement | None]

    def write(self, path: AnyPath, directory: str, step: Step) -> str:
        trace = step.traces[path.name]
        known, gains = step.gains.pop(path.name, ("", None))
        if known != self.text or gains is None:
            gains = self.engine.taken(self.text, (Column(SIDE, "string"), Column(ID, "string"), *path.columns))
        changed = None
        if gains is not None and isinstance(path, Path):
            changed = with_gains(path, gains, step.warehouse.files.rows_as(trace.at(trace.version), gains.schema.remove(0)))
        if changed is None:
            statement = self.otherwise()
            return "" if statement is None else statement.write(path, directory, step)
        _write_few(changed, path, directory, step)
        return "" if self.engine is step.warehouse.engine else self.engine.kind


def _few(text: str, path: AnyPath, step: Step) -> pa.Table | None:
    """The rows of a statement, if this process can take them."""
    return step.warehouse.engine.few(text, (Column(SIDE, "string"), Column(ID, "string"), *path.columns))


def _write_few(rows: pa.Table, path: AnyPath, directory: str, step: Step) -> None:
    versions = pa.repeat(pa.scalar(step.next_version(path.name), pa.int64()), len(rows))
    step.warehouse.files.write_sides(rows.append_column(VERSION, versions), directory)
