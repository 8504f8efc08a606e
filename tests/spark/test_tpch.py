"""TPC-H on Spark: the 22 views of the Sail test, over fewer steps, because every statement costs Spark a good part of a second."""

from __future__ import annotations

from pathlib import Path

import slackwater
from bench import tpch
from tests.tpch_steps import check_all, create_all, load_steps, mixed_steps

SCALE_FACTOR = 0.01
STEPS = 3


def test_all_22_views_equal_batch_after_every_step(tmp_path: Path) -> None:
    data = tpch.load(SCALE_FACTOR)
    with slackwater.connect(tmp_path / "warehouse", engine="spark", schedule="lazy") as db:
        create_all(db, SCALE_FACTOR)
        for number, step in enumerate(load_steps(data, STEPS, seed=1), 1):
            for change in step:
                change.apply(db)
            check_all(db, f"after load step {number}", SCALE_FACTOR)
        for number, step in enumerate(mixed_steps(data, STEPS, seed=2), 1):
            for change in step:
                change.apply(db)
            check_all(db, f"after mixed step {number}", SCALE_FACTOR)
