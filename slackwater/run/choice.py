"""Incremental or in full: which flush of a path is cheaper this time.

    cost = a + b * rows        rows that are read, those that are derived eight times, and those that were only looked through less

for each way, a line through the path's own flushes that went that way, if they were of several sizes. Recent flushes count most; before
there are any, a guess that suits the engine stands for them, and a way that was not taken for long drifts back to that guess, so that it
is tried again. So is the incremental one when far more has changed than ever before, unless it looks hopeless: what rows cost that a filter
throws away at once, only trying tells. Costs are seconds of CPU, or of time where the work is done in other processes than ours.

The same is asked for a view as a whole: path by path, whichever way each of them goes, or anew, past all but the last (run/anew.py).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from slackwater.errors import QueryError
from slackwater.pace.given import learn_given
from slackwater.pace.price import CLEARLY, Sums, derived, learn_price, size

INCREMENTAL, FULL = "incremental", "full"
FIRST = "first"  # of a path's flushes: in full, on an engine that is seldom warm
WAYS = (INCREMENTAL, FULL, FIRST)
PRICE = "price "  # and a size, no way: what incremental flushes cost by rows that moved and among how many, see pace/price.py
ONCE_WARM = 0.6  # of what the first flush of a way took is what a later one is expected to take
GUESSED = 0.3  # what that counts
FADES = 0.7  # what an older flush still counts when a newer one is seen
FORGOTTEN = 0.85  # and when the other way was taken
WEIGHT = 0.1  # what the guess counts, as if it were a flush or two
VARIED = 0.25  # of the square of what flushes read, on average, is how far they must lie apart to tell what a row costs
SMALLER = 0.5  # of what flushes read, on average, is what one must read for them to tell all of what it costs
COLD = 0.1  # what the first flush of a way counts, for which an engine generates and compiles code
FAR = 4  # times as many rows as flushes usually read is what they say little about: their way is tried, and so learned of,
TRIED = 3  # if it is expected to cost no more than so many times the other
DOUBTED = 3  # times what was guessed may come of it: so much cheaper than what is known must a guess be
CATCH_UP_OVER = 5  # refreshes, over which it must pay that paths which have stayed behind catch up
AFRESH = 1.5  # times what it costs to compute a view anew is what it costs to compute all its paths from nothing, with what they keep

# By way: weight, and the weighted sums of rows, cost, rows², rows * cost. And PRICE, and what flushes gave.
Learned = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Guess:
    """What a flush costs before any was seen, in CPU seconds."""

    fixed: float
    per_row: float
    looked_through: float  # what a row costs that this process looks through for keys, of one that the engine reads

    def at(self, rows: float) -> float:
        return self.fixed + self.per_row * rows


GUESSES = {"sail": Guess(0.03, 1e-7, 0.3), "spark": Guess(0.3, 2.5e-7, 0.3)}  # the medians of TPC-H at scale factor 1


@dataclass(frozen=True)
class Choice:
    """Both estimates, the decision, and afterwards the truth."""

    how: str
    rows: int  # what the estimate goes by
    incremental: float
    full: float
    cost: float | None = None
    looked_through: int = 0  # rows of files in which something was looked for, before
    read: int | None = None  # and those that the statement read, after all that could be left out
    by: str = ""  # who ran it, if it was not the warehouse's engine

    def that_took(self, began: float | None, ended: float | None) -> Choice:
        """The choice with what it turned out to cost, if that can be told."""
        return self if began is None or ended is None else replace(self, cost=round(ended - began, 3))

    def that_read(self, looked_through: int, read: int) -> Choice:
        return replace(self, looked_through=looked_through, read=read)

    def __str__(self) -> str:
        spent = "" if self.cost is None else f", took {self.cost:.2f}"
        spent += "" if self.read is None else f", looked through {self.looked_through:,} rows, read {self.read:,}"
        spent += f", run by {self.by}" if self.by else ""
        if self.how == FIRST:
            return f"computed for the first time: {self.full:.2f} s expected{spent}"
        return f"{self.how}: {self.incremental:.2f} s expected, {self.full:.2f} in full{spent}"


class Chooser(Protocol):
    def __call__(
        self, rows: int, rows_in_full: int, learned: Learned, guess: Guess, catch_up: int = 0, expected: float | None = None
    ) -> Choice: ...


def chooser_named(name: str) -> Chooser:
    """How to choose: by `cost`; always `incremental`; or at `random`, for tests, also with a seed: answers must not depend on it."""
    kind, _, seed = name.partition(":")
    if kind == "random":
        return _at_random(random.Random(seed or None))
    if name not in CHOOSERS:
        raise QueryError(f'cannot choose by "{name}"', hint='use "cost", "incremental", "random" or "random:SEED"')
    return CHOOSERS[name]


def by_cost(rows: int, rows_in_full: int, learned: Learned, guess: Guess, catch_up: int = 0, expected: float | None = None) -> Choice:
    """The cheaper of two flushes that read so many rows. `catch_up`: what must be read once, before that is enough. `expected`: what the
    incremental one costs, if more is known about it than such rows."""
    if expected is not None:
        full = cost_in_full(rows_in_full, learned, guess)
        how, read = (FULL, rows_in_full) if full < CLEARLY * expected else (INCREMENTAL, rows)
        return Choice(how, read, expected, full)
    full = expected_cost(rows_in_full, learned.get(FULL) or learned.get(FIRST), guess)
    incremental = expected_cost(rows, learned.get(INCREMENTAL), guess)
    if catch_up > rows:
        once = min(expected_cost(catch_up, learned.get(INCREMENTAL), guess), AFRESH * full)
        incremental += (once - incremental) / CATCH_UP_OVER
    if full < CLEARLY * incremental and not (incremental < TRIED * full and catch_up <= rows and _is_far(rows, learned.get(INCREMENTAL))):
        return Choice(FULL, rows_in_full, incremental, full)
    return Choice(INCREMENTAL, rows, incremental, full)


def _incremental(rows: int, rows_in_full: int, learned: Learned, guess: Guess, catch_up: int = 0, expected: float | None = None) -> Choice:
    return replace(by_cost(rows, rows_in_full, learned, guess, catch_up, expected), how=INCREMENTAL, rows=rows)


def _at_random(luck: random.Random) -> Chooser:
    def choose(rows: int, rows_in_full: int, learned: Learned, guess: Guess, catch_up: int = 0, expected: float | None = None) -> Choice:
        how, read = luck.choice(((INCREMENTAL, rows), (FULL, rows_in_full)))
        return replace(by_cost(rows, rows_in_full, learned, guess, catch_up, expected), how=how, rows=read)

    return choose


CHOOSERS: dict[str, Chooser] = {"cost": by_cost, "incremental": _incremental}


def learn(choice: Choice, learned: Learned) -> dict[str, list[float]]:
    """What is known after a flush whose cost was seen."""
    if choice.how == FIRST:
        known = {way: list(sums) for way, sums in learned.items()}  # of a view whose paths began from nothing again
        return {**known, FIRST: _sums(choice.rows, ONCE_WARM * (choice.cost or choice.full), GUESSED)}
    if choice.cost is None:
        return {way: list(sums) for way, sums in learned.items()}
    is_first = choice.how not in learned
    before = learned.get(FIRST if is_first and choice.how == FULL else choice.how, (0.0,) * 5)
    kept = {way: [FORGOTTEN * part if way in WAYS else part for part in sums] for way, sums in learned.items() if way != choice.how}
    seen = _sums(choice.rows, ONCE_WARM * choice.cost, COLD) if is_first else _sums(choice.rows, choice.cost, 1.0)
    return {**kept, choice.how: [round(FADES * old + new, 6) for old, new in zip(before, seen, strict=True)]}


def learn_flush(
    choice: Choice | None, before: Sequence[int], moved: Sequence[int], there: int, given: int, learned: Learned
) -> dict[str, list[float]]:
    """What is known after a flush for rows that came and went, source by source, where so many were before, among rows that were there. It
    gave so many."""
    known = learn_given(before, moved, given, learned)
    if choice is None or choice.how != INCREMENTAL or choice.cost is None:
        return known
    # As with the ways: an engine generates and compiles code for the first one.
    weight, cost = (1.0, choice.cost) if prices(learned) else (COLD, ONCE_WARM * choice.cost)
    way, rows = f"{PRICE}{size(sum(moved))}", (float(sum(moved)), float(derived(sum(moved), given, len(moved) > 2)), float(there))
    return {**known, way: learn_price(*rows, cost, learned.get(way, ()), weight, choice.incremental)}


def prices(learned: Learned) -> list[Sums]:
    """What is known of incremental flushes, by their size."""
    return [sums for way, sums in learned.items() if way.startswith(PRICE)]


def _sums(rows: int, cost: float, weight: float) -> list[float]:
    """Those of one flush."""
    return [weight * part for part in (1.0, float(rows), cost, float(rows) * rows, rows * cost)]


def expected_cost(rows: int, sums: Sequence[float] | None, guess: Guess) -> float:
    """The line's value. Flushes of about one size tell nothing of its slope, and larger ones nothing of where it begins: what they took is
    moved along the guess."""
    n, x, y, xx, _ = sums or (0.0,) * 5
    usual = x / n if n else float(rows)
    if n * xx - x * x > VARIED * x * x and rows > SMALLER * usual:
        return _line(rows, sums or (), guess)
    there = guess.at(usual)
    known = (y + WEIGHT * there) / (n + WEIGHT)
    if rows < usual:
        return known * guess.at(rows) / there
    return known + min(guess.per_row, known / max(usual, 1.0)) * (rows - usual)  # no row costs more than it would if nothing else did


def cost_in_full(rows: int, learned: Learned, guess: Guess) -> float:
    """What a full flush costs, for who knows what incremental ones do.

    Where none was seen that read about so many rows, a guess would be held against what is known. It may be several times too low, for a
    path that joins and groups, and that would show just when an answer is due.
    """
    seen = learned.get(FULL) or learned.get(FIRST)
    cost = expected_cost(rows, seen, guess)
    return DOUBTED * cost if prices(learned) and (seen is None or _is_far(rows, seen)) else cost


def _is_far(rows: int, sums: Sequence[float] | None) -> bool:
    """Whether so many more rows are to be read than flushes usually did that what they took tells little of it."""
    return sums is not None and sums[0] > 0 and rows > FAR * sums[1] / sums[0]


def _line(rows: int, sums: Sequence[float], guess: Guess) -> float:
    """The guess weighs like two old flushes, one that read nothing and one that read a million rows."""
    million, far = 1e6, guess.at(1e6)
    ours = (2 * WEIGHT, WEIGHT * million, WEIGHT * (guess.fixed + far), WEIGHT * million * million, WEIGHT * million * far)
    n, x, y, xx, xy = (mine + seen for mine, seen in zip(ours, sums, strict=True))
    slope = max(0.0, (n * xy - x * y) / (n * xx - x * x))
    fixed = max(0.0, (y - slope * x) / n)
    usual = math.sqrt(sums[3] / sums[0])
    # Nor do they tell much about far more rows than they read.
    return fixed + (slope * rows if rows < 2 * usual else slope * usual + max(slope, guess.per_row) * (rows - usual))
