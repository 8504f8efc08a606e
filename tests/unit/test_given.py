"""What flushes gave sets right what is expected of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sqlglot import exp, parse_one

from slackwater.pace.given import MOST, fitted, learn_given, moved
from slackwater.pace.price import Price
from slackwater.pace.simulate import PathModel
from slackwater.plan import Aggregate, Column, Filter, Output, Scan

LINES = Scan("lines", ("line",), (Column("line", "bigint"),))
ORDERS = Aggregate(LINES, ("line",), (Output(Column("n", "bigint"), exp.Count(this=exp.Star())),))
ALL, GROUPS = 4_000_000, 1_000_000
PATH = PathModel("v/1", ORDERS, {LINES: ALL, ORDERS: GROUPS}, Price(0.1, 1e-6, 7e-6, 0.0), lambda rows: rows)


def taught(paces: tuple[int, ...], give: object) -> PathModel:
    """The path after runs at some paces, whose flushes gave what a function says of rows before them and of rows that came."""
    known: dict[str, list[float]] = {}
    for pace in paces:
        step = ALL // pace
        for number in range(pace):
            known = learn_given((number * step,), (step, 0), round(give(number * step, step)), known)  # type: ignore[operator]
    return fitted(PATH, known)


def given(path: PathModel, pace: int) -> float:
    step = ALL / pace
    return float(path.flow({"lines": moved(np.arange(pace, dtype=float) * step, np.full(pace, step), np.zeros(pace))}).moves.read.sum())


def test_where_nothing_was_seen_operators_tell() -> None:
    assert fitted(PATH, {}) is PATH
    assert given(PATH, 1) == pytest.approx(GROUPS, rel=0.05)


def test_lines_of_an_order_that_come_together_are_not_expected_to_touch_it_again() -> None:
    """Operators take them to come at any time, so that most orders change whenever something comes."""
    path = taught((1, 6, 40), lambda before, came: came / 4)
    assert given(PATH, 100) > 4 * GROUPS
    assert given(path, 100) == pytest.approx(GROUPS, rel=0.1)
    assert given(path, 40) == pytest.approx(GROUPS, rel=0.1)


def test_what_shrinks_as_more_is_there_is_expected_to() -> None:
    path = taught((6, 40), lambda before, came: 100_000_000 / (1 + before / came))
    early, late = (float(path.flow({"lines": moved(rows, 40_000, 0)}).moves.read[0]) for rows in (200_000, 3_900_000))
    assert late < early / 5


def test_flushes_of_one_kind_set_others_right_by_the_same_factor() -> None:
    known: dict[str, list[float]] = {}
    for _ in range(10):
        known = learn_given((ALL,), (1000, 0), 1000, known)
    path = fitted(PATH, known)
    for rows in (1000, 3000):
        assert float(path.flow({"lines": moved(ALL, rows, 0)}).moves.read[0]) == pytest.approx(rows, rel=0.1)


def test_no_flush_is_believed_beyond_reason() -> None:
    path = taught((40,), lambda before, came: 0)
    told, found = (float(each.flow({"lines": moved(0, 1e12, 0)}).moves.read[0]) for each in (PATH, path))
    assert found >= told * np.exp(-MOST) * 0.999


def test_how_many_rows_reach_groups_is_told_by_how_many_groups_they_touch() -> None:
    """Of a filter that was taken to let a thousand times as many pass."""
    passing = Filter(LINES, parse_one("line < 5"))
    few = Aggregate(passing, ("line",), ORDERS.measures)
    guessed = PathModel("v/1", few, {LINES: ALL, passing: ALL / 2, few: 200}, PATH.incremental, PATH.full)
    real = replace(guessed, sizes={**guessed.sizes, passing: ALL / 2000})
    known: dict[str, list[float]] = {}
    for pace in (1, 6, 40):
        step = ALL // pace
        for number in range(pace):
            given = real.flow({"lines": moved(number * step, step, 0)}).moves.read[0]
            known = learn_given((number * step,), (step, 0), round(given), known)
    steps = {"lines": moved(np.arange(100, dtype=float) * (ALL / 100), np.full(100, ALL / 100), np.zeros(100))}
    seen, found, before = (float(path.flow(steps).moves.read.sum()) for path in (real, fitted(guessed, known), guessed))
    assert before > 2 * seen and found == pytest.approx(seen, rel=0.1)


def test_what_was_learned_of_other_sources_is_left_alone() -> None:
    assert fitted(PATH, learn_given((1, 2), (1, 0, 1, 0), 5, {})) is PATH
