"""Rows that a flush would look for several times, fetched once.

Where old and new rows of touched keys are compared, or a table is joined with itself, a flush reads the same large source at several
places, each time for the rows of a few keys. Those keys are known, so one statement fetches the rows that have stayed, and the flush reads
these few instead: with what was added they are the new rows of the keys, with what was removed the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slackwater.delta import ADDED, ID, KEPT, NEW, OLD, SIDE
from slackwater.plan import Column
from slackwater.plan.render import quote
from slackwater.spark import Engine
from slackwater.trace import VERSION, Files, Reading, Trace


@dataclass(frozen=True)
class Gather:
    """The rows of a source whose `column` is among `keys`: which files may hold those that stayed, and what has moved."""

    trace: Trace
    column: Column
    keys: bytes  # BIGINTs; of a date, its days
    columns: tuple[str, ...]
    kept: Reading
    added: Reading
    removed: Reading

    def run(self, engine: Engine, files: Files, directory: str) -> Mapping[str, Reading]:
        """Fetch them; how the parts of the source are then read, as far as these keys go."""
        few = Reading(self._fetched(engine, files, f"{directory}/kept").files)
        parts = {KEPT: few}
        for part, moved in ((NEW, self.added), (OLD, self.removed)):
            parts[part] = Reading((*few.files, *_plain(moved, files, f"{directory}/{part}").files))
        return parts

    def _fetched(self, engine: Engine, files: Files, directory: str) -> Reading:
        name = engine.register(f"{self.trace.name}@gathered", self.trace, self.kept, files, hidden=True)
        keys = engine.name_keys(f"{self.trace.name}@keys", np.frombuffer(self.keys, np.int64), self.column.type, f"{directory}-keys")
        columns = ", ".join(quote(name) for name in dict.fromkeys((*self.columns, ID, VERSION)))
        hint = "/*+ BROADCAST(few) */ " if engine.takes_hints else ""
        engine.write(
            f"SELECT '{ADDED}' AS {SIDE}, {columns} FROM {quote(name)}\n"
            f"LEFT SEMI JOIN (SELECT {hint}key FROM {quote(keys)} AS few) ON {quote(self.column.name)} = key",
            directory,
        )
        return Reading(files.written(directory)[0])


def _plain(reading: Reading, files: Files, directory: str) -> Reading:
    """The same few rows, of files from which nothing is left out."""
    if not reading.without:
        return reading
    files.write_arrow(files.rows(reading), directory)
    return Reading(files.written(directory)[0])
