"""Uniform samples without replacement: which rows to take of several parts, of which only the numbers of rows are known.

(Winter, Managing Dynamic Workloads, chapter 5.) A part tells how many rows it has, is told how many of them are wanted, and gives those: at
most 2p + n messages for p parts and n rows. How many each has to give follows the hypergeometric distribution, whichever way it is drawn.

The parts are files, and their footers tell how many rows they have before any is read. So no part has to fill a reservoir on the way
through its rows, as it would if it knew that only at the end: it draws its share among its places, and what is skipped is not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Luck = np.random.Generator
Places = np.ndarray  # which ascend

MOST = 1_000_000  # rows of a sample
ROW_BY_ROW = 10  # times as many rows as parts: up to here it is cheaper to draw the part of each row than the number for each part
LARGE = 10**9  # rows, from which on numpy knows no hypergeometric distribution


def shares(parts: Sequence[int], size: int, luck: Luck) -> list[int]:
    """How many rows each part gives to a sample of all of them; all they have, if that is not more."""
    size = min(size, sum(parts))
    if size <= ROW_BY_ROW * len(parts) or sum(parts) >= LARGE:
        return by_row(parts, size, luck)
    return by_part(parts, size, luck)


def by_row(parts: Sequence[int], size: int, luck: Luck) -> list[int]:
    """Row by row: each is in a part with the probability that the rows left in it give it."""
    ends = np.cumsum(np.asarray(parts, np.int64))
    drawn = luck.choice(ends[-1] if len(ends) else 0, size, replace=False, shuffle=False) if size else np.zeros(0, np.int64)
    return [int(count) for count in np.bincount(np.searchsorted(ends, drawn, side="right"), minlength=len(parts))]


def by_part(parts: Sequence[int], size: int, luck: Luck) -> list[int]:
    """Part by part: what one gives of what is still wanted, among all that is left."""
    rest, found = sum(parts), []
    for rows in parts:
        rest -= rows
        found.append(int(luck.hypergeometric(rows, rest, size)) if size else 0)
        size -= found[-1]
    return found


def draw(parts: Sequence[int], size: int, luck: Luck) -> list[Places]:
    """The places of a sample in each part."""
    return [_places(rows, share, luck) for rows, share in zip(parts, shares(parts, size, luck), strict=True)]


@dataclass(frozen=True)
class Grown:
    """A sample after more rows have come: which of its own rows stay, and what is taken of each new part."""

    stay: Places
    taken: list[Places]


def grow(sampled: int, population: int, came: Sequence[int], size: int, luck: Luck) -> Grown:
    """Let a sample that has so many of a population be one of it and of the parts that came. It has as many as it can: `size`, or all."""
    stay, *taken = shares((population, *came), size, luck)
    return Grown(_places(sampled, stay, luck), [_places(rows, share, luck) for rows, share in zip(came, taken, strict=True)])


def _places(rows: int, count: int, luck: Luck) -> Places:
    return np.sort(luck.choice(rows, count, replace=False, shuffle=False)) if count else np.zeros(0, np.int64)
