"""Sessions of one process share one Spark."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TWO = """
    import sys, slackwater
    from pyspark.sql import SparkSession

    one, two = (slackwater.connect(f"{sys.argv[1]}/{name}", engine="local[1]") for name in ("one", "two"))
    assert one.spark.sparkContext is two.spark.sparkContext
    two.sql("CREATE TABLE t (a INT)")
    one.close()
    one.close()
    two.insert("t", [(7,)])
    print(list(two.sql("SELECT a + 1 AS b FROM t")))
    two.close()
    print(SparkSession.getActiveSession())
"""


@pytest.mark.xdist_group("spark")
def test_the_last_session_that_is_closed_stops_spark(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(TWO), str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.splitlines() == ["[(8,)]", "None"], done.stderr
