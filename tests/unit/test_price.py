"""What incremental flushes cost, learned from those that were seen."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest

from slackwater.pace.price import Price, derived, learn_price, price, size

GUESS = Price(0.03, 1e-7, 7e-7, 3e-8)


def learned(true: Price, flushes: Iterable[tuple[float, float, float]]) -> Price:
    sizes: dict[int, list[float]] = {}
    for moved, given, there in flushes:
        sums = sizes.get(size(moved), [])
        sizes[size(moved)] = learn_price(moved, given, there, float(true.at(moved, given, there)), sums)
    return price(sizes.values(), GUESS)


def test_a_guess_stands_for_what_was_not_seen() -> None:
    found = price((), GUESS)
    factors = [found.fixed, found.of_moved, found.of_derived, found.of_there]
    assert factors == pytest.approx([GUESS.fixed, GUESS.of_moved, GUESS.of_derived, GUESS.of_there])


def test_flushes_of_several_sizes_tell_what_rows_cost() -> None:
    luck = random.Random(3)
    true = Price(0.1, 1e-7, 1e-6, 2e-9)
    found = learned(true, [(luck.choice([1e4, 1e5, 1e6]), luck.uniform(0, 1e5), luck.uniform(1e6, 6e6)) for _ in range(60)])
    for moved, given, there in ((1e4, 1e3, 6e6), (3e5, 1e5, 3e6), (1e6, 5e4, 1e6)):
        assert float(found.at(moved, given, there)) == pytest.approx(float(true.at(moved, given, there)), rel=0.1)


def test_rows_that_are_given_cost_as_much_more_than_those_that_moved_as_flushes_tell() -> None:
    """Lines that are summed up by one of ten thousand suppliers: the more lines at once, the fewer suppliers for each."""
    true = Price(0.03, 1.6e-8, 2e-6, 0.0)
    flushes = [(6e6, 1e4), *[(1e6, 2e4)] * 6, *[(1.5e5, 8.5e3)] * 40]
    found = learned(true, [(moved, given, 1e4) for moved, given in flushes])
    for moved, given in (*flushes, (2.4e5, 1.2e4), (3.7e5, 1.5e4)):
        assert float(found.at(moved, given, 1e4)) == pytest.approx(float(true.at(moved, given, 1e4)), rel=0.1)


def test_flushes_of_one_size_tell_what_that_costs() -> None:
    found = learned(Price(0.5, 1e-6, 0.0, 0.0), [(2e5, 0.0, 4e6)] * 20)
    assert float(found.at(2e5, 0.0, 4e6)) == pytest.approx(0.7, rel=0.05)


def test_a_large_flush_does_not_hide_what_small_ones_cost() -> None:
    true = Price(0.06, 1e-7, 0.0, 0.0)
    large = learn_price(3e7, 0.0, 1e4, 1.5 * float(true.at(3e7, 0.0, 1e4)), ())  # by chance it took half as much again
    small: list[float] = []
    for _ in range(5):
        small = learn_price(1e5, 0.0, 1e4, float(true.at(1e5, 0.0, 1e4)), small)
    assert float(price((large, small), GUESS).at(1e5, 0.0, 1e4)) == pytest.approx(0.07, rel=0.1)


def test_what_many_rows_cost_at_once_is_not_forgotten_over_many_flushes_of_few() -> None:
    found = learned(Price(0.05, 1e-8, 0.0, 0.0), [(1e7, 0.0, 1e4), *[(1e5, 0.0, 1e4)] * 200])
    assert float(found.at(1e7, 0.0, 1e4)) == pytest.approx(0.15, rel=0.3)


def test_what_flushes_happen_to_take_evens_out() -> None:
    luck, true, sums = random.Random(5), Price(0.1, 1e-7, 0.0, 0.0), list[float]()
    for number in range(100):
        moved = (1e5, 1e6)[number % 2]
        usual = float(true.at(moved, 0.0, 1e4))
        sums = learn_price(moved, 0.0, 1e4, luck.choice((0.6, 1.4)) * usual, sums, expected=usual)
    for moved in (1e5, 1e6):
        assert float(price((sums,), GUESS).at(moved, 0.0, 1e4)) == pytest.approx(float(true.at(moved, 0.0, 1e4)), rel=0.15)


def test_no_row_costs_less_than_nothing() -> None:
    sums: list[float] = []
    for there in range(1, 11):  # the more there was, the less it took: by chance
        sums = learn_price(1e5, 0.0, there * 1e6, 1.0 / there, sums)
    found = price((sums,), GUESS)
    assert min(found.fixed, found.of_moved, found.of_derived, found.of_there) >= 0


def test_what_is_joined_is_derived_before_it_is_summed_up() -> None:
    assert (float(derived(10, 2, joined=False)), float(derived(10, 2, joined=True))) == (2, 10)
    assert list(derived(np.array([10.0, 10.0]), np.array([2.0, 20.0]), joined=True)) == [10, 20]


def test_flushes_of_few_rows_say_nothing_of_far_more() -> None:
    found = learned(Price(0.2, 0.0, 0.0, 0.0), [(2e5, 1e3, 1e6)] * 20)
    assert float(found.at(2e5, 1e3, 1e6)) == pytest.approx(0.2, rel=0.1)
    assert float(found.at(8e6, 1e3, 1e6)) > 0.2 + 0.9 * GUESS.of_moved * 7e6
    assert float(found.at(2e5, 1e6, 1e6)) > 0.2 + 0.9 * GUESS.of_derived * 9e5
