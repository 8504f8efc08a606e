"""The warehouse's files as Spark reads and writes them: all of them and nothing else, on whichever machines and in whoever's session.

Spark runs a task again when its machine is lost, and may run one twice at a time. A machine that does not see the warehouse's disk writes
to its own, and Spark does not notice: the rows would be lost in silence. A session that was given may be set to overlook what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from slackwater.delta import SIDE
from slackwater.errors import WarehouseError
from slackwater.trace import Files

READING = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}

WRITING = {
    # Tasks leave their files in a folder of each attempt, and the driver gives them their names when all are done: an attempt that died
    # or was overtaken leaves none. The other version lets every task do that for itself.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "partitionOverwriteMode": "static",
}


def read_parquet(spark: SparkSession, schema: str, paths: Iterable[str]) -> DataFrame:
    """The rows of some files."""
    return spark.read.schema(schema).options(**READING).parquet(*map(_uri, paths))


def write_parquet(rows: DataFrame, directory: str, files: Files, spread: bool) -> None:
    """Rows as files below a directory, each side in a folder of its own. If machines are `spread`, see that what they wrote is there."""
    counted: Any = None
    if spread:
        counted = Observation()
        rows = rows.observe(counted, F.count(F.lit(1)).alias("rows"))
    rows.write.mode("overwrite").options(**WRITING).partitionBy(SIDE).parquet(_uri(directory))
    if spread:
        # Where Spark sees beforehand that there will be no rows, there is nothing to count either.
        check_arrived(counted.get.get("rows", 0), files.rows_below(directory))


def write_by_sail(rows: DataFrame, directory: str, files: Files, may_hold_nan: bool) -> None:
    """The same by Sail. Its footers leave NaN out of a column's smallest and largest value, and Sail believes them: a filter for NaN would
    skip the rows that hold it. So files of columns that may hold NaN are written anew, by us, who tell no such values."""
    place = f"{directory}-as-written" if may_hold_nan else directory
    try:
        rows.write.mode("overwrite").partitionBy(SIDE).parquet(sail_uri(place))
        if may_hold_nan:
            files.write_anew(place, directory)
    finally:
        if may_hold_nan:
            files.remove(place)


def _uri(path: str) -> str:
    """A cluster takes a path without a scheme for one of its default file system, which often is HDFS."""
    return f"file://{path}" if path.startswith("/") else path


def sail_uri(path: str) -> str:
    """Sail takes paths as they are, and decodes URLs. A trace's name has percent signs of its own."""
    return path if path.startswith("/") else path.replace("%", "%25")


def check_arrived(written: int, arrived: int) -> None:
    """Compare what an engine says that it wrote with what is there."""
    if arrived != written:
        raise WarehouseError(
            f"the cluster wrote {written} rows, and {arrived} are in the warehouse",
            hint="all machines of the cluster and this one must see the same disk under the warehouse's path; nothing was changed",
        )
