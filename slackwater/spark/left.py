"""Rows that have left a table, as bits of words: to leave them out costs a look at a word for each row, however many they are.

A join would build a table of their numbers for every statement, and of many shuffle all that is read. Numbers lie close together, but
for gaps: every task of an engine that writes rows begins at a number of its own. So each cluster of numbers has words of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

MOST = 1 << 26  # bits: 8 MB
GAP = 1 << 16  # numbers: what is further apart is another cluster, as long as there are not too many
CLUSTERS = 64


@dataclass(frozen=True)
class Cluster:
    """Numbers from a first to a last one; the first is the bit number `at`, which begins a word."""

    first: int
    last: int
    at: int

    @property
    def bits(self) -> int:
        return (self.last - self.first) // 64 * 64 + 64


def clusters(numbers: np.ndarray) -> list[Cluster] | None:
    """Those of some numbers, which ascend. None if they are too far apart."""
    gap = GAP
    while True:
        cuts = np.flatnonzero(np.diff(numbers) > gap)
        if len(cuts) < CLUSTERS:
            break
        gap *= 8
    found: list[Cluster] = []
    for first, last in zip([0, *(cuts + 1)], [*cuts, len(numbers) - 1], strict=True):
        at = found[-1].at + found[-1].bits if found else 0
        found.append(Cluster(int(numbers[first]), int(numbers[last]), at))
    return found if found[-1].at + found[-1].bits <= MOST else None


def without(rows: DataFrame, name: str, left: np.ndarray, spark: SparkSession) -> DataFrame | None:
    """The rows whose number, in the column `name`, is not one of those that left. None: they have too many bits."""
    numbers = np.sort(left)
    found = clusters(numbers)
    if found is None:
        return None
    bits = np.zeros(found[-1].at + found[-1].bits, bool)
    for each in found:
        inside = numbers[np.searchsorted(numbers, each.first) : np.searchsorted(numbers, each.last, "right")]
        bits[inside - each.first + each.at] = True
    words = pa.array(np.packbits(bits, bitorder="little").view("<i8"))
    place = _place(name, found)
    word, bit = F.expr(f"CAST(shiftright({place}, 6) AS INT)"), F.expr(f"CAST({place} & 63 AS INT)")
    return rows.where(F.coalesce(F.getbit(F.get(_scalar(words, spark), word), bit), F.lit(0)) == 0)


def _place(name: str, found: list[Cluster]) -> str:
    """The bit of a number, found by halves. NULL, as is what has no word, for numbers of no cluster."""
    if len(found) > 1:
        half = len(found) // 2
        return f"IF({name} < {found[half].first}, {_place(name, found[:half])}, {_place(name, found[half:])})"
    return f"IF({name} BETWEEN {found[0].first} AND {found[0].last}, {name} - {found[0].first} + {found[0].at}, NULL)"


def _scalar(words: pa.Array, spark: SparkSession) -> Column:
    """All words as one value, which a statement gets as a subquery: as a literal it would be part of every text of its plan."""
    one = pa.table({"words": pa.ListArray.from_arrays(pa.array([0, len(words)], pa.int32()), words)})
    return spark.createDataFrame(one, "words ARRAY<BIGINT>").scalar()
