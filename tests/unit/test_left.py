"""Numbers of rows that left, as bits: each has one, and no other has."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slackwater.spark import left

NUMBERS = st.one_of(st.integers(0, 500), st.integers(1 << 33, (1 << 33) + 500), st.integers(5 << 33, (5 << 33) + 100_000))


@given(st.sets(NUMBERS, min_size=1))
def test_the_bits_are_the_numbers(numbers: set[int]) -> None:
    words = left.words_of(np.array(sorted(numbers), np.int64))
    assert words is not None
    found = {
        (task << left.TASK) + 64 * at + bit
        for task, each in enumerate(words)
        for at, word in enumerate(each.tolist())
        for bit in range(64)
        if word >> bit & 1
    }
    assert found == numbers


def test_numbers_that_are_too_far_apart_have_no_words() -> None:
    assert left.words_of(np.array([0, left.MOST])) is None
    assert left.words_of(np.array([0, left.TASKS << left.TASK])) is None
