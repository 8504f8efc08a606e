"""Streams on Spark: some of what tests/sail asks of Sail."""

from __future__ import annotations

import pytest

from slackwater import Session
from tests.sail.test_streams import (
    db,
    test_a_read_has_every_insert_that_was_acknowledged_before,
    test_a_row_that_a_view_fails_at_stops_that_view_alone,
    test_a_table_below_the_groups_is_read_once_and_one_above_as_it_changes,
    test_a_view_counts_all_rows_that_ever_came_and_the_ring_keeps_the_newest,
    test_a_view_sees_nothing_that_came_before_it,
    test_a_view_that_is_suspended_misses_nothing,
)

__all__ = [
    "db",
    "test_a_read_has_every_insert_that_was_acknowledged_before",
    "test_a_row_that_a_view_fails_at_stops_that_view_alone",
    "test_a_table_below_the_groups_is_read_once_and_one_above_as_it_changes",
    "test_a_view_counts_all_rows_that_ever_came_and_the_ring_keeps_the_newest",
    "test_a_view_sees_nothing_that_came_before_it",
    "test_a_view_that_is_suspended_misses_nothing",
]

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def sail_db(spark_db: Session) -> Session:
    """What these tests are given for Sail."""
    return spark_db
