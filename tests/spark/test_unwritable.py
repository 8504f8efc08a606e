"""The same on Spark, which writes files by itself and says in Java what was the matter."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import slackwater
from tests.batch import talking_to
from tests.disks import Disk
from tests.unwritable import MANY, check_that_nothing_is_lost, prepare


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "disk")
    yield disk
    disk.remove()


@pytest.mark.parametrize("gives_way", ["full", "read only"])
def test_a_session_goes_on_when_the_disk_is_back(gives_way: str, disk: Disk, spark_session: Any) -> None:
    path = disk.folder / "warehouse"
    with talking_to("spark"), slackwater.connect(path, engine=spark_session) as db:
        prepare(db)
        check_that_nothing_is_lost(db, path, disk, gives_way)


TEMPORARY = """
    import sys
    from pathlib import Path

    import slackwater
    from slackwater.spark import engine
    from tests.batch import open_spark
    from tests.disks import full
    from tests.unwritable import prepare

    disk = Path(sys.argv[1])
    db = slackwater.connect(sys.argv[2], engine=open_spark(extra={"spark.local.dir": str(disk)}))
    prepare(db)
    for engine.HANDFUL in (100_000, 0):  # rows on their way to Spark, and rows that it sorts
        with full(disk):
            try:
                db.sql("REFRESH VIEW names")
            except slackwater.SlackwaterError as problem:
                print(type(problem).__name__, problem.message, problem.hint.partition(",")[0], sep=" | ")
    db.sql("REFRESH VIEW names")
    print(list(db.sql("SELECT count(*) FROM names")))
"""


def test_a_full_disk_of_temporary_files_is_told_and_no_view_is_blamed(disk: Disk, tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(TEMPORARY), str(disk.folder), str(tmp_path / "warehouse")]
    with talking_to("spark"):
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=300)
    told = "Unwritable | cannot write to the engine's temporary files: no space left on device | free some space there"
    assert done.stdout.splitlines() == [told, told, f"[({MANY},)]"], done.stderr
