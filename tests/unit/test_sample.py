"""Samples are uniform: each row, and each pair of rows, is in as many of them as any other, whatever the parts, however they have grown."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from slackwater.stream.sample import Luck, by_part, by_row, draw, grow, shares

SAMPLES = 20_000
PARTS = (1, 17, 2, 0, 9, 3)  # skewed, and one has nothing
ROWS, SIZE = sum(PARTS), 6
STARTS = np.cumsum([0, *PARTS])
SURE = 6  # standard deviations of a count: the chance that one of a thousand counts lies beyond is one in a million


def members(places: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([start + part for start, part in zip(STARTS, places, strict=False)])


def drawn(luck: Luck) -> np.ndarray:
    return members(draw(PARTS, SIZE, luck))


def drawn_by(share: Callable[[tuple[int, ...], int, Luck], list[int]]) -> Callable[[Luck], np.ndarray]:
    def taken(luck: Luck) -> np.ndarray:
        return members([luck.choice(rows, count, replace=False) for rows, count in zip(PARTS, share(PARTS, SIZE, luck), strict=True)])

    return taken


def grown(luck: Luck) -> np.ndarray:
    """From nothing, over fewer rows than the sample has room for, to all."""
    sample, population = np.zeros(0, int), 0
    for came in (PARTS[:1], PARTS[1:3], PARTS[3:]):
        done = grow(len(sample), population, came, SIZE, luck)
        ends = np.cumsum([population, *came])
        news = [start + taken for start, taken in zip(ends, done.taken, strict=False)]
        sample = np.concatenate([sample[done.stay], *news])
        population += sum(came)
    return sample


def counted(taken: Callable[[Luck], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    luck = np.random.default_rng(11)
    rows, pairs = np.zeros(ROWS, int), np.zeros((ROWS, ROWS), int)
    for _ in range(SAMPLES):
        sample = taken(luck)
        assert len(set(sample.tolist())) == SIZE
        rows[sample] += 1
        pairs[np.ix_(sample, sample)] += 1
    return rows, np.array([pairs[pair] for pair in combinations(range(ROWS), 2)])


def check(counts: np.ndarray, chance: float) -> None:
    """As many as there should be, as far as luck allows; and not strangely even either."""
    spread = math.sqrt(SAMPLES * chance * (1 - chance))
    off = (counts - SAMPLES * chance) / spread
    assert abs(off).max() < SURE
    assert 0.5 < off.std() < 1.5


@pytest.mark.parametrize("taken", [drawn, drawn_by(by_row), drawn_by(by_part), grown], ids=["drawn", "row by row", "part by part", "grown"])
def test_each_row_and_each_pair_is_as_likely_as_any_other(taken: Callable[[Luck], np.ndarray]) -> None:
    rows, pairs = counted(taken)
    check(rows, SIZE / ROWS)
    check(pairs, SIZE * (SIZE - 1) / (ROWS * (ROWS - 1)))


def test_the_check_notices_a_sample_that_is_not_uniform() -> None:
    """As many of each half are uniform row by row, and not pair by pair."""

    def by_halves(luck: Luck) -> np.ndarray:
        return np.concatenate(
            [luck.choice(ROWS // 2, SIZE // 2, replace=False), ROWS // 2 + luck.choice(ROWS // 2, SIZE // 2, replace=False)]
        )

    def without_the_last(luck: Luck) -> np.ndarray:
        return luck.choice(ROWS - 1 if luck.random() < 0.5 else ROWS, SIZE, replace=False)

    rows, pairs = counted(by_halves)
    check(rows, SIZE / ROWS)
    with pytest.raises(AssertionError):
        check(pairs, SIZE * (SIZE - 1) / (ROWS * (ROWS - 1)))
    with pytest.raises(AssertionError):
        check(counted(without_the_last)[0], SIZE / ROWS)


@pytest.mark.parametrize("share", [by_row, by_part])
def test_shares_follow_the_hypergeometric_distribution(share: Callable[[tuple[int, ...], int, Luck], list[int]]) -> None:
    parts, size, luck = (30, 5, 65), 20, np.random.default_rng(5)
    found = np.array([share(parts, size, luck) for _ in range(SAMPLES)])
    assert (found.sum(axis=1) == size).all()
    for part, counts in zip(parts, found.T, strict=True):
        for count in range(min(part, size) + 1):
            chance = math.comb(part, count) * math.comb(100 - part, size - count) / math.comb(100, size)
            if SAMPLES * chance > 20:
                assert abs((counts == count).sum() - SAMPLES * chance) < SURE * math.sqrt(SAMPLES * chance)


def test_a_sample_of_more_than_there_is_has_all_of_it() -> None:
    luck = np.random.default_rng(1)
    assert shares((3, 0, 4), 100, luck) == [3, 0, 4]
    assert [places.tolist() for places in draw((3, 0, 4), 7, luck)] == [[0, 1, 2], [], [0, 1, 2, 3]]
    assert shares((), 5, luck) == [] and shares((0,), 5, luck) == [0]
    done = grow(3, 3, (2,), 10, luck)
    assert done.stay.tolist() == [0, 1, 2] and done.taken[0].tolist() == [0, 1]


def test_parts_may_have_more_rows_than_numpy_knows_a_distribution_for() -> None:
    found = shares((10**12, 1, 10**12), 100_000, np.random.default_rng(3))
    assert sum(found) == 100_000 and abs(found[0] - 50_000) < 2000


def test_a_merge_takes_two_messages_for_each_part_and_one_for_each_row() -> None:
    """Numbers of rows go up, shares go down, rows go up: nobody is asked for a row that is not in the sample."""
    asked = draw(PARTS, SIZE, np.random.default_rng(2))
    assert len(PARTS) + len(asked) + sum(map(len, asked)) == 2 * len(PARTS) + SIZE
