"""The same on Spark, which writes files by itself and says in Java what was the matter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import slackwater
from tests.batch import talking_to
from tests.disks import Disk
from tests.unwritable import check_that_nothing_is_lost, prepare


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
