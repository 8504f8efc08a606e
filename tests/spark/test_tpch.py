"""TPC-H on Spark: the 22 views of the Sail test, over fewer steps, because every statement costs Spark a good part of a second."""

from __future__ import annotations

import pytest

import slackwater
from bench import tpch
from tests.tpch_steps import check_all, create_all, load_steps, mixed_steps

SCALE_FACTOR = 0.01


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("name", "steps"), [("spark_db", 2), ("beside_db", 3)], ids=["alone", "with_sail_beside"])
def test_all_22_views_equal_batch_after_every_step(name: str, steps: int, request: pytest.FixtureRequest) -> None:
    db: slackwater.Session = request.getfixturevalue(name)
    data = tpch.load(SCALE_FACTOR)
    create_all(db, SCALE_FACTOR)
    for number, step in enumerate(load_steps(data, steps, seed=1), 1):
        for change in step:
            change.apply(db)
        check_all([db], f"after load step {number}", SCALE_FACTOR)
    for number, step in enumerate(mixed_steps(data, steps, seed=2), 1):
        for change in step:
            change.apply(db)
        check_all([db], f"after mixed step {number}", SCALE_FACTOR)
