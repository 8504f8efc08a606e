"""What an incremental flush of a path costs, by how many rows have moved and among how many.

    cost = a + b * moved + c * derived + d * there

`moved` are rows that came or went; `derived` those that are written for them, named and compared, which cost many times as much, how many
an engine tells; `there` those among which what moved finds its partners and its groups. The line goes through the path's own flushes by
least squares, with none of the four below zero. What counts is by which part of what was expected of it each of them is missed, or a few
large flushes would hide what small ones cost; by a part of what it took, those that happened to take little would. Recent ones count most,
among those of about as many rows: what many rows cost at once is not forgotten over many flushes of few. A guess stands for flushes that
were not seen, and flushes of few rows say nothing of far more: of those, each costs no less than was guessed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from slackwater.pace.flow import Numbers

MOVED = 8  # times as much as a row that is read does one cost that has moved and is joined: it is derived, named and compared. A guess
FADES = 0.9  # what an older flush still counts when a newer one is seen
LEAST = 0.005  # CPU seconds: what a flush costs less than that does not matter
OFF = 2  # times what was expected, or more, counts for less: what was expected was wrong
WEIGHT = 0.1  # what the guess counts, as if it were some flushes
CLEARLY = 0.8  # a full flush must be this much cheaper to be chosen: the incremental one writes less for others to read
USUAL = 1e6  # rows, of which a guess is made where none were seen
FAR = 2  # times as many rows as the largest flushes usually had is what they say little about
ALIKE = 8  # times as many rows make a flush one of another size

# Weight, weighted sums of moved, derived, there, of the six products of two of them, of cost, and of its products with them.
Sums = Sequence[float]
_PRODUCTS = tuple(itertools.combinations_with_replacement(range(4), 2))  # of 1, moved, derived and there


@dataclass(frozen=True)
class Price:
    """CPU seconds of a flush, and of each of its rows. Each of those that moved, and of those derived, `beyond` so many costs `further`."""

    fixed: float
    of_moved: float
    of_derived: float
    of_there: float
    beyond: tuple[float, float] = (0.0, 0.0)
    further: tuple[float, float] = (0.0, 0.0)

    def at(self, moved: Numbers | float, derived: Numbers | float, there: Numbers | float) -> Numbers:
        near = self.fixed + self.of_moved * moved + self.of_derived * derived + self.of_there * there
        for rows, beyond, further in zip((moved, derived), self.beyond, self.further, strict=True):
            near = near + further * np.maximum(rows - beyond, 0.0)
        return np.asarray(near)


def derived(moved: Numbers | float, given: Numbers | float, joined: bool) -> Numbers:
    """Rows that a flush derives, of which it gives some: those of a join are derived before they are summed up."""
    return np.asarray(np.maximum(given, moved if joined else 0.0))


def size(moved: float) -> int:
    """Flushes of one size say the same of what rows cost."""
    return int(math.log(max(moved, 1.0), ALIKE))


def learn_price(
    moved: float, derived: float, there: float, cost: float, before: Sums, weight: float = 1.0, expected: float = 0.0
) -> list[float]:
    """What is known after a flush of those of its size."""
    rows = (1.0, moved, derived, there)
    seen = (*(rows[one] * rows[other] for one, other in _PRODUCTS), *(cost * each for each in rows))
    known = before if len(before) == len(seen) else (0.0,) * len(seen)
    counts = weight / max(expected, cost / OFF, LEAST) ** 2
    return [round(FADES * old + counts * new, 6) for old, new in zip(known, seen, strict=True)]


def price(sizes: Iterable[Sums], guess: Price) -> Price:
    """The line through what was seen, of all sizes."""
    known = [_matrix(sums) for sums in sizes if len(sums) == len(_PRODUCTS) + 4]
    products = sum((each for each, _ in known), np.zeros((4, 4)))
    costs = sum((each for _, each in known), np.zeros(4))
    n = products[0, 0]
    scales = np.array([1.0, *(products[0, each] / n if n and products[0, each] else USUAL for each in (1, 2, 3))])
    usual = costs[0] / n if n else 0.0
    products, costs = products / np.outer(scales, scales), costs / scales
    for point in np.eye(4) + np.outer((0, 1, 1, 1), (1, 0, 0, 0)):  # where the guess is asked
        expected = float(guess.at(*(point[1:] * scales[1:])))
        counts = WEIGHT / max(expected, usual, LEAST) ** 2  # no more than if it were one of them
        products = products + counts * np.outer(point, point)
        costs = costs + counts * expected * point
    fixed, of_moved, of_derived, of_there = (float(each) for each in _least_squares(products, costs) / scales)
    usually = [max((math.sqrt(each[row, row] / each[0, 0]) for each, _ in known if each[0, 0]), default=0.0) for row in (1, 2)]
    further = (max(0.0, guess.of_moved - of_moved), max(0.0, guess.of_derived - of_derived))
    return Price(fixed, of_moved, of_derived, of_there, (FAR * usually[0], FAR * usually[1]), further)


def _matrix(sums: Sums) -> tuple[Numbers, Numbers]:
    """The products of rows, and those of rows and costs."""
    products = np.zeros((4, 4))
    for (one, other), each in zip(_PRODUCTS, sums, strict=False):
        products[one, other] = products[other, one] = each
    return products, np.array(sums[len(_PRODUCTS) :])


def _least_squares(products: Numbers, costs: Numbers) -> Numbers:
    """The factors that fit best, none of them below zero: of those that may be above it, all choices are tried."""
    every = range(len(costs))
    best, least = np.zeros(len(costs)), np.inf
    for some in itertools.chain.from_iterable(itertools.combinations(every, count) for count in range(len(costs), 0, -1)):
        found = np.zeros(len(costs))
        found[list(some)] = np.linalg.lstsq(products[np.ix_(some, some)], costs[list(some)], rcond=None)[0]
        error = float(found @ products @ found - 2 * found @ costs)
        if (found >= 0).all() and error < least:
            best, least = found, error
    return best
