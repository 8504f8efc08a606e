"""What an engine says, in our words."""

from __future__ import annotations

import errno
import os

import pytest

from slackwater.errors import WarehouseError
from slackwater.spark.failures import translated, writing_files
from slackwater.trace import Damaged, Unwritable

STACK = """An error occurred while calling o454.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.ThreadUtils$.awaitResult(ThreadUtils.scala:56)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2844)
Caused by: java.io.IOException: No space left on device
\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)
"""


LOST_SAID = "SparkException: Job aborted due to stage failure: ExecutorLostFailure (executor 4 exited) Reason: Command exited with code 137"
LOST = f"""An error occurred while calling o728.parquet.
: org.apache.spark.{LOST_SAID}
Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2844)
"""


def failing(message: str) -> Exception:
    """An error as the bridge to Java raises it, which it cannot without a JVM."""
    kind: type[Exception] = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})
    return kind(message)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (STACK.replace("No space left on device", "Broken pipe"), "IOException: Broken pipe"),
        (LOST, LOST_SAID),
        ("Answer from Java side is empty", "Answer from Java side is empty"),
    ],
)
def test_the_last_cause_is_told(message: str, said: str) -> None:
    with pytest.raises(WarehouseError) as told, translated("SELECT 1"):
        raise failing(message)
    assert told.value.message == f"the engine failed: {said}"


UNREADABLE = """An error occurred while calling o106.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file \
file:///data/traces/w/traces/totals%252F1/0001/_side=added/part-0.parquet.  SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:835)
Caused by: java.io.IOException: corrupted zstd frame
"""


def test_a_file_that_spark_cannot_read_is_named() -> None:
    with pytest.raises(Damaged) as told, translated("SELECT 1"):
        raise failing(UNREADABLE)
    named = 'file traces/totals%2F1/0001/_side=added/part-0.parquet of "totals" cannot be read: IOException: corrupted zstd frame'
    assert told.value.message == named


def test_what_the_disk_refuses_an_engine_is_told_as_if_we_had_written() -> None:
    with pytest.raises(Unwritable) as told, writing_files("/data/traces/t/1"), translated("SELECT 1"):
        raise failing(STACK)
    assert told.value.message == "cannot write to /data/traces/t/1: no space left on device"
    assert "free some space" in str(told.value.hint)


@pytest.mark.parametrize("failure", [failing(STACK), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))])
def test_a_query_that_finds_no_space_for_what_it_sorts_is_told_so(failure: Exception) -> None:
    with pytest.raises(Unwritable) as told, translated("SELECT 1"):
        raise failure
    assert told.value.message == "cannot write to the engine's temporary files: no space left on device"


def test_a_file_that_an_engine_may_not_read_is_not_taken_for_one_that_it_cannot_write() -> None:
    with pytest.raises(WarehouseError) as told, translated("SELECT 1"):
        raise failing(STACK.replace("No space left on device", "Permission denied"))
    assert not isinstance(told.value, Unwritable)


@pytest.mark.parametrize("damaged", [True, False])
def test_a_value_that_speaks_of_disks_is_not_taken_for_one(damaged: bool) -> None:
    cast = "Caused by: org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'No space left on device' cannot be cast"
    with pytest.raises(WarehouseError) as told, writing_files("/data/traces/t/1"), translated("SELECT 1"):
        raise failing(UNREADABLE if damaged else STACK.replace("Caused by: java.io.IOException: No space left on device", cast))
    assert isinstance(told.value, Damaged) == damaged and not isinstance(told.value, Unwritable)
