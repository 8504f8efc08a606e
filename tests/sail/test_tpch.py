"""TPC-H on Sail: all 22 queries as views in one warehouse, right after every step of loading and of changing every table."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest

import slackwater
from bench import tpch
from tests.tpch_steps import check_all, create_all, load_steps, mixed_steps

SCALE_FACTOR = 0.01
STEPS = 10


@pytest.mark.parametrize("schedules", [("eager",), ("lazy", "random:22")], ids=" ".join)  # which take about the same time
def test_all_22_views_equal_batch_after_every_step(schedules: tuple[str, ...], sail_session: Any, tmp_path: Path) -> None:
    """Under every schedule, in warehouses to which the same happens: what the queries give from scratch is computed once for some."""
    data = tpch.load(SCALE_FACTOR)
    sizes = []
    with ExitStack() as stack:
        dbs = [stack.enter_context(slackwater.connect(tmp_path / name, engine=sail_session, schedule=name)) for name in schedules]
        for db in dbs:
            create_all(db, SCALE_FACTOR)
        for number, step in enumerate(chain(load_steps(data, STEPS, seed=1), mixed_steps(data, STEPS, seed=2, merged=True)), 1):
            for change, db in product(step, dbs):
                change.apply(db)
            sizes.append(check_all(dbs, f"after step {number}", SCALE_FACTOR))
    # A view that never has a row is right whatever it does.
    assert not [name for name in tpch.QUERIES if not any(size[name] for size in sizes)]
