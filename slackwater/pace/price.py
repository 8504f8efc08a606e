"""What an incremental flush of a path costs, by how many rows have moved and among how many.

    cost = a + b * weighed + c * there

`weighed` are rows that came or went, those that are derived, named and compared counting more; `there` those among which what moved finds
its partners and its groups. The line goes through the path's own flushes by least squares, with none of the three below zero. What counts
is by which part of what was expected of it each of them is missed, or a few large flushes would hide what small ones cost; by a part of
what it took, those that happened to take little would. Recent ones count most. A guess stands for flushes that were not seen, and flushes
of few rows say nothing of far more: of those, each costs no less than was guessed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slackwater.pace.flow import Numbers

MOVED = 8  # times as much as a row that is read does one cost that has moved and is joined: it is derived, named and compared
FADES = 0.9  # what an older flush still counts when a newer one is seen
LEAST = 0.005  # CPU seconds: what a flush costs less than that does not matter
OFF = 2  # times what was expected, or more, counts for less: what was expected was wrong
WEIGHT = 0.1  # what the guess counts, as if it were some flushes
CLEARLY = 0.8  # a full flush must be this much cheaper to be chosen: the incremental one writes less for others to read
USUAL = 1e6  # rows, of which a guess is made where none were seen
FAR = 2  # times as many rows as flushes usually weighed is what they say little about

Sums = Sequence[float]  # weight, and weighted sums of weighed, there, weighed², weighed * there, there², cost, weighed * cost, there * cost


@dataclass(frozen=True)
class Price:
    """CPU seconds of a flush, and of each of its rows; `further`, for rows beyond so many, what each costs more."""

    fixed: float
    of_weighed: float
    of_there: float
    beyond: float = 0.0
    further: float = 0.0

    def at(self, weighed: Numbers | float, there: Numbers | float) -> Numbers:
        near = self.fixed + self.of_weighed * weighed + self.of_there * there
        return np.asarray(near + self.further * np.maximum(weighed - self.beyond, 0.0))


def weigh(moved: Numbers | float, given: Numbers | float, joined: bool) -> Numbers:
    """Rows that came or went in the sources of a path, and that it gave for that. Those of a join are derived before they are summed up."""
    return np.asarray(moved + (MOVED - 1) * np.maximum(given, moved if joined else 0.0))


def learn_price(weighed: float, there: float, cost: float, before: Sums, weight: float = 1.0, expected: float = 0.0) -> list[float]:
    """What is known after a flush."""
    seen = (1.0, weighed, there, weighed * weighed, weighed * there, there * there, cost, weighed * cost, there * cost)
    known = before if len(before) == len(seen) else (0.0,) * len(seen)
    counts = weight / max(expected, cost / OFF, LEAST) ** 2
    return [round(FADES * old + counts * new, 6) for old, new in zip(known, seen, strict=True)]


def price(sums: Sums, guess: Price) -> Price:
    """The line through what was seen."""
    n, w, t, ww, wt, tt, y, wy, ty = sums or (0.0,) * 9
    scales = np.array([1.0, w / n if n and w else USUAL, t / n if n and t else USUAL])
    products = np.array([[n, w, t], [w, ww, wt], [t, wt, tt]]) / np.outer(scales, scales)
    costs = np.array([y, wy, ty]) / scales
    for point in ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 0.0, 1.0)):  # where the guess is asked
        expected = float(guess.at(point[1] * scales[1], point[2] * scales[2]))
        counts = WEIGHT / max(expected, y / n if n else 0.0, LEAST) ** 2  # no more than if it were one of them
        products += counts * np.outer(point, point)
        costs += counts * expected * np.array(point)
    fixed, of_weighed, of_there = (float(each) for each in _least_squares(products, costs) / scales)
    beyond = FAR * math.sqrt(ww / n) if n else 0.0
    return Price(fixed, of_weighed, of_there, beyond, max(0.0, guess.of_weighed - of_weighed))


def _least_squares(products: Numbers, costs: Numbers) -> Numbers:
    """The factors that fit best, none of them below zero: of those that may be above it, all choices are tried."""
    best, least = np.zeros(3), np.inf
    for some in itertools.chain.from_iterable(itertools.combinations(range(3), count) for count in (3, 2, 1)):
        found = np.zeros(3)
        found[list(some)] = np.linalg.lstsq(products[np.ix_(some, some)], costs[list(some)], rcond=None)[0]
        error = float(found @ products @ found - 2 * found @ costs)
        if (found >= 0).all() and error < least:
            best, least = found, error
    return best
