"""What incremental flushes cost, learned from those that were seen."""

from __future__ import annotations

import random

import numpy as np
import pytest

from slackwater.pace.price import Price, learn_price, price, weigh

GUESS = Price(0.03, 1e-7, 3e-8)


def learned(true: Price, flushes: list[tuple[float, float]]) -> Price:
    sums: list[float] = []
    for weighed, there in flushes:
        sums = learn_price(weighed, there, float(true.at(weighed, there)), sums)
    return price(sums, GUESS)


def test_a_guess_stands_for_what_was_not_seen() -> None:
    found = price((), GUESS)
    assert [found.fixed, found.of_weighed, found.of_there] == pytest.approx([GUESS.fixed, GUESS.of_weighed, GUESS.of_there])


def test_flushes_of_several_sizes_tell_what_rows_cost() -> None:
    luck = random.Random(3)
    true = Price(0.1, 1e-6, 2e-9)
    found = learned(true, [(luck.choice([1e4, 1e5, 1e6]), luck.uniform(1e6, 6e6)) for _ in range(60)])
    for weighed, there in ((1e4, 6e6), (3e5, 3e6), (1e6, 1e6)):
        assert float(found.at(weighed, there)) == pytest.approx(float(true.at(weighed, there)), rel=0.1)


def test_flushes_of_one_size_tell_what_that_costs() -> None:
    true = Price(0.5, 1e-6, 0.0)
    found = learned(true, [(2e5, 4e6)] * 20)
    assert float(found.at(2e5, 4e6)) == pytest.approx(0.7, rel=0.05)


def test_a_large_flush_does_not_hide_what_small_ones_cost() -> None:
    true = Price(0.06, 1e-7, 0.0)
    sums = learn_price(3e7, 1e4, 1.5 * float(true.at(3e7, 1e4)), ())  # by chance it took half as much again
    for _ in range(5):
        sums = learn_price(1e5, 1e4, float(true.at(1e5, 1e4)), sums)
    assert float(price(sums, GUESS).at(1e5, 1e4)) == pytest.approx(0.07, rel=0.1)


def test_what_flushes_happen_to_take_evens_out() -> None:
    luck, true, sums = random.Random(5), Price(0.1, 1e-7, 0.0), list[float]()
    for number in range(100):
        size = (1e5, 1e6)[number % 2]
        usual = float(true.at(size, 1e4))
        sums = learn_price(size, 1e4, luck.choice((0.6, 1.4)) * usual, sums, expected=usual)
    for size in (1e5, 1e6):
        assert float(price(sums, GUESS).at(size, 1e4)) == pytest.approx(float(true.at(size, 1e4)), rel=0.15)


def test_no_row_costs_less_than_nothing() -> None:
    sums: list[float] = []
    for there in range(1, 11):  # the more there was, the less it took: by chance
        sums = learn_price(1e5, there * 1e6, 1.0 / there, sums)
    found = price(sums, GUESS)
    assert min(found.fixed, found.of_weighed, found.of_there) >= 0


def test_what_is_joined_is_derived_before_it_is_summed_up() -> None:
    assert float(weigh(10, 2, joined=False)) == 10 + 7 * 2
    assert float(weigh(10, 2, joined=True)) == 10 + 7 * 10
    assert list(weigh(np.array([10.0, 10.0]), np.array([2.0, 20.0]), joined=True)) == [80, 150]


def test_flushes_of_few_rows_say_nothing_of_far_more() -> None:
    found = learned(Price(0.2, 0.0, 0.0), [(2e5, 1e6)] * 20)
    assert float(found.at(2e5, 1e6)) == pytest.approx(0.2, rel=0.1)
    assert float(found.at(8e6, 1e6)) > 0.2 + 0.9 * GUESS.of_weighed * 7e6
