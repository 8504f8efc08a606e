"""Where the values of a column lie: a few spans of whole numbers, and whether NULL is among them; which they are, if that is known.

Keys are mostly numbers or dates, given in the order of arrival: the keys of a change lie close together, or in a few places, and so do
those of a file. What shares no span with a change holds no partner for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

MOST = 8  # spans: more would tell little more
FIRST, LAST = -(1 << 63), (1 << 63) - 1  # of all whole numbers
KINDS = {"tinyint": "number", "smallint": "number", "int": "number", "bigint": "number", "date": "date"}  # types with spans: which compare


@dataclass(frozen=True)
class Spans:
    """Values from a first to a last one each, in ascending order and apart from each other. A date counts as its day since 1970.

    `known`: the values themselves but NULL, ascending, as bytes of BIGINTs, so that they can be compared and hashed. `origins`: columns
    of relations that they were taken from.
    """

    spans: tuple[tuple[int, int], ...]
    nulls: bool = False
    known: bytes | None = None
    origins: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False)

    @property
    def values(self) -> np.ndarray | None:
        return None if self.known is None else np.frombuffer(self.known, np.int64)

    def __and__(self, other: Spans) -> Spans:
        both = [
            (max(first, start), min(last, end))
            for first, last in self.spans
            for start, end in other.spans
            if first <= end and start <= last
        ]
        mine, others = self.values, other.values
        if mine is not None and others is not None:
            common: np.ndarray | None = np.intersect1d(mine, others, assume_unique=True)
        else:
            common = other._among(mine) if mine is not None else self._among(others) if others is not None else None
        known = None if common is None else common.tobytes()
        return Spans(tuple(both), self.nulls and other.nulls, known, self.origins | other.origins)

    def __or__(self, other: Spans) -> Spans:
        mine, others = self.values, other.values
        known = None if mine is None or others is None else _either(mine, others).tobytes()
        return Spans(apart([*self.spans, *other.spans]), self.nulls or other.nulls, known, self.origins | other.origins)

    def _among(self, values: np.ndarray) -> np.ndarray:
        """Those of some values that lie in the spans."""
        inside = np.zeros(len(values), bool)
        for first, last in self.spans:
            inside |= (values >= first) & (values <= last)
        return values[inside]

    def meets(self, other: Spans) -> bool:
        """Whether a value may be in both."""
        found = self & other
        return bool(found.spans) or found.nulls

    @property
    def without_nulls(self) -> Spans:
        return Spans(self.spans, False, self.known, self.origins)


@dataclass(frozen=True)
class Words:
    """Values of a column of words: these, or those that begin with one of them."""

    words: frozenset[str]
    are_prefixes: bool = False


def distinct(values: np.ndarray) -> np.ndarray:
    """The different values, ascending. numpy's own `unique` hashes them first, which takes several times as long."""
    ordered = np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def _either(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not len(a) or not len(b):
        return a if len(a) else b
    return distinct(np.concatenate((a, b)))


def apart(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same values as few spans that do not touch: neighbours become one until there are no more than allowed."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    while len(found) > MOST:
        at = min(range(len(found) - 1), key=lambda i: found[i + 1][0] - found[i][1])
        found[at : at + 2] = [(found[at][0], found[at + 1][1])]
    return tuple(found)
