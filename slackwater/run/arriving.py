"""Many rows on their way into a table: what it demands of them is looked at as they pass.

A NULL where none may be is found at once. Keys are remembered as codes, eight bytes a row; when all of them are new for certain, the
engine need not look for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from slackwater.catalog import Table
from slackwater.run.constraints import check_here, check_rows
from slackwater.run.keys import MOST, Codes, Keys, codes
from slackwater.run.warehouse import Step
from slackwater.trace import Batch


class Arriving:
    """The rows of one insert."""

    def __init__(self) -> None:
        self._codes: list[Codes] = []
        self._sorted: Codes = np.zeros(0, dtype=np.uint64)
        self._keys: Keys | None = None

    def passing(self, pieces: Iterable[pa.Table], step: Step, table: Table) -> Iterator[pa.Table]:
        """The same pieces."""
        self._keys = step.warehouse.keys.of(table, step.traces[table.name.lower()])
        passed = 0
        for piece in pieces:
            check_here(table, piece)
            if self._keys is not None:
                self._codes.append(codes(piece, table.primary_key))
                passed += piece.num_rows
                if passed > MOST:
                    self._keys, self._codes = None, []  # they would not be kept either
            yield piece

    def check(self, step: Step, table: Table, batch: Batch) -> None:
        """Whether the table can take them, now that all have passed and are written as a batch."""
        if not table.primary_key:
            return
        if self._keys is not None:
            self._sorted = np.concatenate(self._codes)
            self._codes = []
            self._sorted.sort()
            if not (self._sorted[1:] == self._sorted[:-1]).any() and not self._keys.seen(self._sorted).any():
                return
        check_rows(step, table, batch)

    def committed(self, batch: Batch) -> None:
        if self._keys is not None:
            self._keys.add(self._sorted, batch.version)
