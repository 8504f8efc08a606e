"""Rows that have left a table, as bits of words: to leave them out costs a look at a word for each row, however many they are.

A join would build a table of their numbers for every statement, and of many shuffle all that is read.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

MOST = 1 << 26  # numbers between the first and the last that left: 8 MB of words


def without(rows: DataFrame, name: str, left: np.ndarray, spark: SparkSession) -> DataFrame:
    """The rows whose number, in the column `name`, is not one of those that left."""
    first = int(left.min())
    bits = np.zeros((int(left.max()) - first) // 64 * 64 + 64, bool)
    bits[left - first] = True
    words = pa.array(np.packbits(bits, bitorder="little").view("<i8"))
    return rows.where(F.coalesce(F.getbit(F.get(_scalar(words, spark), _word(name, first)), _bit(name, first)), F.lit(0)) == 0)


def _scalar(words: pa.Array, spark: SparkSession) -> Column:
    """All words as one value, which a statement gets as a subquery: as a literal it would be part of every text of its plan."""
    one = pa.table({"words": pa.ListArray.from_arrays(pa.array([0, len(words)], pa.int32()), words)})
    return spark.createDataFrame(one, "words ARRAY<BIGINT>").scalar()


def _word(name: str, first: int) -> Column:
    """There is no word for a number before the first or far after the last, which gives NULL."""
    return F.expr(f"try_cast(shiftright({name} - {first}, 6) AS INT)")


def _bit(name: str, first: int) -> Column:
    return F.expr(f"CAST(({name} - {first}) & 63 AS INT)")
