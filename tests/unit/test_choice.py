"""Incremental or in full: what is expected, what is chosen, what is learned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater.errors import QueryError
from slackwater.run.choice import FIRST, FULL, INCREMENTAL, PRICE, Guess, Learned, by_cost, chooser_named, learn

GUESS = Guess(fixed=0.3, per_row=1e-6, looked_through=1.0)
MILLION = 1_000_000


def seen(costs: dict[int, float], how: str, learned: Learned | None = None, times: int = 5) -> dict[str, list[float]]:
    """What is known after flushes that read so many rows and took so long."""
    known: Learned = learned or {}
    for _ in range(times):
        for rows, cost in costs.items():
            known = learn(replace(by_cost(rows, rows, known, GUESS), how=how, rows=rows, cost=cost), known)
    return dict(known)  # type: ignore[arg-type]


def test_before_anything_was_seen_rows_decide() -> None:
    assert by_cost(1000, 10 * MILLION, {}, GUESS).how == INCREMENTAL
    assert by_cost(10 * MILLION, 1000, {}, GUESS).how == FULL


def test_of_two_that_cost_about_the_same_the_incremental_one_is_taken() -> None:
    assert by_cost(MILLION, int(0.9 * MILLION), {}, GUESS).how == INCREMENTAL


def test_when_far_more_has_changed_than_ever_the_incremental_way_is_tried_once() -> None:
    """A filter may throw away most of what has changed: what that costs is only known when it was done."""
    known = seen({10_000: 0.2}, INCREMENTAL, seen({MILLION: 0.5}, FULL))
    tried = by_cost(800_000, MILLION, known, GUESS)
    assert tried.how == INCREMENTAL and tried.full < 0.8 * tried.incremental
    assert by_cost(5 * MILLION, MILLION, known, GUESS).how == FULL  # it looks hopeless
    assert by_cost(800_000, MILLION, known, GUESS, catch_up=2 * MILLION).how == FULL
    dear, cheap = (learn(replace(tried, cost=cost), known) for cost in (1.5, 0.3))
    assert by_cost(800_000, MILLION, dear, GUESS).how == FULL
    assert by_cost(800_000, MILLION, cheap, GUESS).how == INCREMENTAL


def test_what_a_flush_really_costs_is_learned() -> None:
    known = seen({MILLION: 9.0, 2 * MILLION: 18.0}, INCREMENTAL, seen({MILLION: 2.0, 2 * MILLION: 4.0}, FULL))
    choice = by_cost(MILLION, MILLION, known, GUESS)
    assert choice.how == FULL
    assert choice.incremental == pytest.approx(9.0, rel=0.2) and choice.full == pytest.approx(2.0, rel=0.2)


def test_the_first_flush_tells_what_a_full_one_will_cost_on_a_warm_engine() -> None:
    first = learn(replace(by_cost(MILLION, MILLION, {}, GUESS), how=FIRST, cost=9.0), {})
    choice = by_cost(1000, MILLION, first, GUESS)
    assert choice.full == pytest.approx(5.4, rel=0.25) and choice.incremental == pytest.approx(0.3, rel=0.1)


def test_of_the_first_flush_that_went_a_way_little_is_learned_and_of_the_next_much() -> None:
    once, twice = (
        seen({MILLION: 20.0}, INCREMENTAL, times=1),
        seen({MILLION: 20.0}, INCREMENTAL, seen({MILLION: 20.0}, INCREMENTAL, times=1), 1),
    )
    assert once[INCREMENTAL][0] == pytest.approx(0.1) and twice[INCREMENTAL][0] > 1


def test_what_a_large_change_costs_is_not_told_by_small_ones() -> None:
    known = seen({1000: 0.5}, INCREMENTAL)
    assert by_cost(10 * MILLION, 2 * MILLION, known, GUESS).how == FULL


def test_a_fixed_cost_is_not_taken_for_a_cost_of_rows() -> None:
    known = seen({100: 0.5, 2000: 0.5}, INCREMENTAL)
    assert by_cost(MILLION, 10 * MILLION, known, GUESS).incremental < 5


def test_flushes_of_one_size_that_grow_cheaper_do_not_make_rows_dear() -> None:
    known: dict[str, list[float]] = {}
    for rows, cost in ((1_010_000, 3.0), (1_005_000, 1.5), (1_000_000, 1.0), (995_000, 0.9)):  # an engine that grows warm
        known = seen({rows: cost}, INCREMENTAL, known, times=1)
    assert by_cost(2 * MILLION, 10 * MILLION, known, GUESS).incremental < 4
    assert by_cost(1000, 10 * MILLION, known, GUESS).incremental < 1


def test_a_way_that_was_not_taken_for_long_is_tried_again() -> None:
    known = seen({MILLION: 9.0}, INCREMENTAL, seen({MILLION: 2.0}, FULL))
    assert by_cost(MILLION, MILLION, known, GUESS).how == FULL
    later = seen({MILLION: 2.0}, FULL, known, times=200)
    assert by_cost(MILLION, MILLION, later, GUESS).how == INCREMENTAL


def test_the_first_flush_of_a_way_counts_little() -> None:
    once = seen({MILLION: 13.0}, FULL, times=1)
    assert by_cost(MILLION, MILLION, once, GUESS).full < 8


def test_a_cost_that_is_not_known_teaches_nothing() -> None:
    choice = by_cost(MILLION, MILLION, {}, GUESS)
    assert choice.cost is None and by_cost(MILLION, MILLION, learn(choice, {}), GUESS).incremental == choice.incremental


def test_an_unknown_way_to_choose_is_refused() -> None:
    with pytest.raises(QueryError, match='cannot choose by "dice"'):
        chooser_named("dice")


def test_what_is_known_better_stands_for_what_rows_tell() -> None:
    full = by_cost(MILLION, MILLION, {}, GUESS).full
    assert by_cost(100 * MILLION, MILLION, {}, GUESS).how == FULL
    assert by_cost(100 * MILLION, MILLION, {}, GUESS, expected=full).how == INCREMENTAL
    assert by_cost(1000, MILLION, {}, GUESS, expected=2 * full).how == FULL


def test_a_guess_of_a_full_flush_must_be_far_cheaper_than_what_is_known() -> None:
    """The first flush of a path that began from nothing tells nothing of one that reads all that has come since."""
    known = seen({0: 0.01}, FIRST, seen({10_000: 0.2, 100_000: 1.0}, INCREMENTAL), times=1)
    known[PRICE] = [1.0] * 9
    guessed = by_cost(100_000, MILLION, {}, GUESS).full
    assert by_cost(100_000, MILLION, known, GUESS, expected=2 * guessed).how == INCREMENTAL
    assert by_cost(100_000, MILLION, known, GUESS, expected=6 * guessed).how == FULL
    tried = seen({MILLION: guessed}, FULL, known)
    assert by_cost(100_000, MILLION, tried, GUESS, expected=2 * guessed).how == FULL
