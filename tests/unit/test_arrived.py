"""What machines wrote must be there: one that writes to a disk of its own is noticed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from slackwater.delta import ADDED, REMOVED
from slackwater.errors import WarehouseError
from slackwater.spark.parquet import check_arrived
from slackwater.trace import Files


@pytest.fixture
def arrived(tmp_path: Path) -> int:
    """A batch of five rows, beside one that an attempt left behind."""
    files = Files(tmp_path)
    directory = files.batch_directory("t", "step")
    files.write_arrow(pa.table({"a": [1, 2, 3]}), directory, ADDED)
    files.write_arrow(pa.table({"a": [1, 2]}), directory, REMOVED)
    files.write_arrow(pa.table({"a": [9]}), f"{directory}/_temporary/0/_temporary/attempt_1", ADDED)
    return files.rows_below(directory)


def test_rows_that_are_there_are_enough(arrived: int) -> None:
    check_arrived(5, arrived)


@pytest.mark.parametrize("written", [4, 6])
def test_rows_that_are_elsewhere_are_missed(arrived: int, written: int) -> None:
    with pytest.raises(WarehouseError, match=f"the cluster wrote {written} rows, and 5 are in the warehouse"):
        check_arrived(written, arrived)


def test_nothing_is_enough_for_nothing(tmp_path: Path) -> None:
    check_arrived(0, Files(tmp_path).rows_below(str(tmp_path / "not there")))
