"""Numbers of rows that left, as bits: every number has a bit of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.spark import left


@given(st.sets(st.one_of(st.integers(0, 500), st.integers(1 << 33, (1 << 33) + 500), st.integers(0, 1 << 40)), min_size=1))
def test_clusters_hold_every_number_once_and_begin_words(numbers: set[int]) -> None:
    ascending = np.array(sorted(numbers), np.int64)
    found = left.clusters(ascending)
    if found is None:
        return
    assert len(found) <= left.CLUSTERS
    assert all(each.at % 64 == 0 for each in found)
    bits = [number - each.first + each.at for number in ascending.tolist() for each in found if each.first <= number <= each.last]
    assert len(bits) == len(set(bits)) == len(numbers)
    assert max(bits) < found[-1].at + found[-1].bits <= left.MOST


def test_numbers_that_tasks_gave_need_few_bits() -> None:
    numbers = np.concatenate([np.arange(1000), (1 << 33) + np.arange(1000), (3 << 33) + np.arange(1000)])
    found = left.clusters(numbers)
    assert found is not None and len(found) == 3
    assert found[-1].at + found[-1].bits == 3 * 1024


def test_numbers_all_over_are_too_far_apart() -> None:
    assert left.clusters(np.arange(1000) << 33) is None


@pytest.mark.parametrize("numbers", [[7], [0, 1 << 50]])
def test_a_number_alone(numbers: list[int]) -> None:
    assert left.clusters(np.array(numbers)) is not None
