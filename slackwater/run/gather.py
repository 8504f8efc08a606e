"""The few rows of a large source that a flush looks for, fetched before it.

A flush meets a source where it is joined with a change, or with the keys that a change has touched; often at several places, for old and
new rows. The keys are known, so the rows that have stayed can be fetched once, and the flush reads these few instead: with what was added
they are the new rows of the keys, with what was removed the old ones.

This process fetches them itself if the engine is on the same machine: to look for keys in a file costs it a third of what it costs Spark.
Otherwise a statement does, which only pays for several places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from slackwater.delta import ADDED, ID, KEPT, NEW, OLD, OWN, SIDE
from slackwater.delta.conditions import Wanted
from slackwater.plan import Column
from slackwater.plan.render import quote
from slackwater.spark import Engine
from slackwater.trace import VERSION, File, Files, Reading, Trace


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
    also: Wanted = field(default_factory=dict)  # what is wanted of the rows of these keys
    around: bytes | None = None  # these keys and others, which other paths will look for

    def run(self, engine: Engine, files: Files, directory: str) -> Mapping[str, Reading]:
        """Fetch them; how the parts of the source are then read, as far as these keys go."""
        few = self._fetched(engine, files, f"{directory}/kept") if engine.is_elsewhere else self._found(files, f"{directory}/kept")
        parts = {KEPT: few, OWN: few}
        for part, moved in ((NEW, self.added), (OLD, self.removed)):
            parts[part] = Reading((*few.files, *_plain(moved, files, f"{directory}/{part}").files))
        return parts

    def _found(self, files: Files, directory: str) -> Reading:
        keys, around = (np.frombuffer(each, np.int64) for each in (self.keys, self.around or self.keys))
        pieces = files.rows_among(self.kept, self.columns, self.column.name, keys, self.also, around)
        written: list[File] = []
        # A file has one schema. Those of a source were written by several engines perhaps, each in its own way.
        for number, (_, alike) in enumerate(groupby(pieces, lambda piece: piece.schema)):
            files.write_arrow(alike, f"{directory}{number}")
            written += files.written(f"{directory}{number}")[0]
        return Reading(tuple(written))

    def _fetched(self, engine: Engine, files: Files, directory: str) -> Reading:
        name = engine.register(f"{self.trace.name}@gathered", self.trace, self.kept, files, hidden=True)
        keys = engine.name_keys(f"{self.trace.name}@keys", np.frombuffer(self.keys, np.int64), self.column.type, files, f"{directory}-keys")
        columns = ", ".join(quote(name) for name in dict.fromkeys((*self.columns, ID, VERSION)))
        hint = "/*+ BROADCAST(few) */ " if engine.takes_hints else ""
        engine.write(
            f"SELECT '{ADDED}' AS {SIDE}, {columns} FROM {quote(name)}\n"
            f"LEFT SEMI JOIN (SELECT {hint}key FROM {quote(keys)} AS few) ON {quote(self.column.name)} = key",
            directory,
            files,
            self.trace.columns,
        )
        return Reading(files.written(directory)[0])


def _plain(reading: Reading, files: Files, directory: str) -> Reading:
    """The same few rows, of files from which nothing is left out."""
    if not reading.without:
        return reading
    files.write_arrow(files.rows(reading), directory)
    return Reading(files.written(directory)[0])
