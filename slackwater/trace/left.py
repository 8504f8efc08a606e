"""Identities that have left, and the rows that remain."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.delta import ID
from slackwater.trace.trace import VERSION


class Left:
    """What a reading leaves out: its identities and versions, and whether they count for rows of earlier batches, or of later ones."""

    def __init__(self, rows: pa.Table, later: bool) -> None:
        self._later = later
        self._numbers: np.ndarray | None = None
        if pa.types.is_integer(rows[ID].type):
            self._numbers = np.sort(rows[ID].to_numpy())
        else:
            # Of several rows with one identity the last to leave decides, or the first to come: `index_in` finds the first.
            self._rows = rows.sort_by([(VERSION, "descending" if later else "ascending")])

    @property
    def are_numbers(self) -> bool:
        return self._numbers is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """What must be known of rows to tell."""
        return (ID,) if self.are_numbers else (ID, VERSION)

    def remaining(self, rows: pa.Table) -> pa.Table:
        """Without the rows that have left."""
        stays = self._stays(rows)
        return rows if stays.all() else rows.filter(pa.array(stays))

    def places(self, rows: pa.Table) -> np.ndarray:
        """Where the rows are that have left."""
        return np.flatnonzero(~self._stays(rows))

    def _stays(self, rows: pa.Table) -> np.ndarray:
        if self._numbers is None:
            found = pc.index_in(rows[ID], value_set=self._rows[ID].cast(rows[ID].type).combine_chunks())
            compare = pc.greater_equal if self._later else pc.less_equal
            stays: np.ndarray = pc.fill_null(compare(rows[VERSION], self._rows[VERSION].take(found)), True).to_numpy()
            return stays
        # A number is never given twice, so no version matters.
        numbers = rows[ID].to_numpy()
        at = np.searchsorted(self._numbers, numbers)
        return self._numbers[np.minimum(at, len(self._numbers) - 1)] != numbers if len(self._numbers) else np.ones(len(rows), bool)
