"""Rows that have left a table, as bits of words: to leave them out costs a look at a word for each row, however many they are.

A join would build a table of their numbers for every statement, and of many shuffle all that is read. Tasks of Spark number their rows
from multiples of 2^33 on, so numbers lie close together but for that: those of each multiple have words of their own. No number stands in
the statement, for which Spark would generate and compile code anew.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

TASK = 33  # bits of a number that tell the rows of a task apart
MOST = 1 << 26  # bits: 8 MB
TASKS = 1 << 16  # of all that ever numbered rows: the words of each have a place, if they are none


def words_of(numbers: np.ndarray) -> list[np.ndarray] | None:
    """By task, words with a bit for each of some numbers, which ascend. None if they are too far apart."""
    tasks, rows = numbers >> TASK, numbers & ((1 << TASK) - 1)
    if tasks[-1] >= TASKS:
        return None
    found = [np.zeros(0, np.int64)] * (int(tasks[-1]) + 1)
    starts = np.flatnonzero(np.diff(tasks, prepend=-1))
    lasts = np.maximum.reduceat(rows, starts)
    if (lasts + 1).sum() > MOST:
        return None
    for task, inside, last in zip(tasks[starts], np.split(rows, starts[1:]), lasts, strict=True):
        bits = np.zeros(int(last) // 64 * 64 + 64, bool)
        bits[inside] = True
        found[int(task)] = np.packbits(bits, bitorder="little").view("<i8")
    return found


def without(rows: DataFrame, name: str, left: np.ndarray, spark: SparkSession) -> DataFrame | None:
    """The rows whose number, in the column `name`, is not one of those that left. None: they are too far apart."""
    words = words_of(np.sort(left))
    if words is None:
        return None
    number = F.col(name)
    row = number.bitwiseAND((1 << TASK) - 1)
    word = F.get(F.get(_scalar(words, spark), F.shiftright(number, TASK).cast("int")), F.shiftright(row, 6).cast("int"))
    # Where there is no word nothing has left.
    return rows.where(F.coalesce(F.getbit(word, row.bitwiseAND(63).cast("int")), F.lit(0)) == 0)


def _scalar(words: list[np.ndarray], spark: SparkSession) -> Column:
    """All words as one value, which a statement gets as a subquery: as a literal it would be part of every text of its plan."""
    ends = np.cumsum([0, *map(len, words)])
    tasks = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(np.concatenate(words)))
    one = pa.table({"words": pa.ListArray.from_arrays(pa.array([0, len(tasks)], pa.int32()), tasks)})
    return spark.createDataFrame(one, "words ARRAY<ARRAY<BIGINT>>").scalar()
