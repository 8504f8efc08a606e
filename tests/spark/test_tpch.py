"""TPC-H on Spark: the 22 views of the Sail test, over fewer steps, because every statement costs Spark a good part of a second."""

from __future__ import annotations

import pytest

import slackwater
from bench import tpch
from tests.tpch_steps import check_all, create_all, load_steps, mixed_steps

SCALE_FACTOR = 0.01
STEPS = 3


@pytest.mark.xdist_group("spark")
def test_all_22_views_equal_batch_after_every_step(spark_db: slackwater.Session) -> None:
    data = tpch.load(SCALE_FACTOR)
    create_all(spark_db, SCALE_FACTOR)
    for number, step in enumerate(load_steps(data, STEPS, seed=1), 1):
        for change in step:
            change.apply(spark_db)
        check_all([spark_db], f"after load step {number}", SCALE_FACTOR)
    for number, step in enumerate(mixed_steps(data, STEPS, seed=2), 1):
        for change in step:
            change.apply(spark_db)
        check_all([spark_db], f"after mixed step {number}", SCALE_FACTOR)
