"""Samples on Spark: some of what tests/sail asks of Sail, and what Sail cannot do."""

from __future__ import annotations

import pytest

from slackwater import Session
from tests.sail.test_samples import (
    OF_QUERY,
    OF_WITH,
    db,
    ids,
    test_a_kept_sample_follows_its_table,
    test_a_sample_of_a_stream_is_of_all_that_ever_came,
    test_a_sample_stands_wherever_a_relation_does,
    test_views_read_samples,
    test_weights_scale_what_is_estimated,
    test_where_too_few_rows_pass_more_are_drawn,
)

__all__ = [
    "db",
    "test_a_kept_sample_follows_its_table",
    "test_a_sample_of_a_stream_is_of_all_that_ever_came",
    "test_a_sample_stands_wherever_a_relation_does",
    "test_views_read_samples",
    "test_weights_scale_what_is_estimated",
    "test_where_too_few_rows_pass_more_are_drawn",
]

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def sail_db(spark_db: Session) -> Session:
    """What these tests are given for Sail."""
    return spark_db


def test_what_a_with_clause_has_named_is_sampled(db: Session) -> None:
    assert len(set(ids(db, OF_WITH))) == 20


def test_with_a_seed_a_query_gives_the_same_sample(db: Session) -> None:
    seeded = f"{OF_QUERY} REPEATABLE (7)"
    assert ids(db, seeded) == ids(db, seeded)
    assert len({tuple(ids(db, f"{OF_QUERY} REPEATABLE ({seed})")) for seed in range(4)}) > 1
