"""TPC-H on Sail: all 22 queries as views in one warehouse, right after every step of loading and of changing every table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import slackwater
from bench import tpch
from tests.tpch_steps import check_all, create_all, load_steps, mixed_steps

SCALE_FACTOR = 0.01
STEPS = 10


@pytest.mark.parametrize("schedule", ["eager", "lazy", "random:22"])
def test_all_22_views_equal_batch_after_every_step(schedule: str, sail_session: Any, tmp_path: Path) -> None:
    data = tpch.load(SCALE_FACTOR)
    sizes = []
    with slackwater.connect(tmp_path / "warehouse", engine=sail_session, schedule=schedule) as db:
        create_all(db, SCALE_FACTOR)
        for number, step in enumerate(load_steps(data, STEPS, seed=1), 1):
            for change in step:
                change.apply(db)
            sizes.append(check_all(db, f"after load step {number} with schedule {schedule}", SCALE_FACTOR))
        for number, step in enumerate(mixed_steps(data, STEPS, seed=2, merged=schedule != "lazy"), 1):
            for change in step:
                change.apply(db)
            sizes.append(check_all(db, f"after mixed step {number} with schedule {schedule}", SCALE_FACTOR))
    # A view that never has a row is right whatever it does.
    assert not [name for name in tpch.QUERIES if not any(size[name] for size in sizes)]
