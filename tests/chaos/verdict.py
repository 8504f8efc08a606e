"""What may be there after a kill, and whether it is.

Of a statement that was begun and not answered the tables show all or nothing. A view shows the tables as they were at some moment since
it was last known to be refreshed: no more, and not a mixture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.chaos.model import EMPTY, VIEWS, Row, Tables, answer
from tests.chaos.work import Work

KINDS = ("lost", "twice", "torn", "wrong_answers", "orphans", "damaged", "broken")
MOST = 5


@dataclass(frozen=True)
class Finding:
    """Something that must not be."""

    kind: str  # one of KINDS
    text: str


class Memory:
    """What was begun and what was acknowledged."""

    def __init__(self) -> None:
        self._moments: list[Tables] = [EMPTY]  # the last one is acknowledged
        self._since = dict.fromkeys(VIEWS, 0)  # the oldest of them that a view may show
        self._begun: Tables | None = None

    @property
    def tables(self) -> Tables:
        return self._moments[-1]

    def begin(self, work: Work) -> None:
        self._begun = work.effect(self.tables)

    def acknowledge(self, work: Work, eager: bool) -> None:
        assert self._begun is not None
        self._moments.append(self._begun)
        self._begun = None
        for view in VIEWS if eager else work.refreshes:
            self._since[view] = len(self._moments) - 1

    def refuse(self) -> None:
        """What was begun was told not to be."""
        self._begun = None

    def compare(self, seen: dict[str, Any]) -> list[Finding]:
        """Judge what a process has found, and take it for what is there."""
        tables: Tables = {name: tuple(map(tuple, rows)) for name, rows in seen["tables"].items()}
        found = [*self._tables(tables), *self._answers(seen["answers"]), *_views(seen, tables)]
        found += [Finding("orphans", path) for path in seen["orphans"]]
        found += [Finding("damaged", problem) for problem in seen["problems"]]
        self._moments, self._since, self._begun = [tables], dict.fromkeys(VIEWS, 0), None
        return found

    def _tables(self, seen: Tables) -> Iterator[Finding]:
        old, new = _bags(self.tables), _bags(self.tables if self._begun is None else self._begun)
        there = _bags(seen)
        if there in (old, new):
            return
        for name, rows in there.items():
            lost, twice = (old[name] & new[name]) - rows, rows - (old[name] | new[name])
            if lost:
                yield Finding("lost", f"{name}: {_few(lost)}")
            if twice:
                yield Finding("twice", f"{name}: {_few(twice)}")
            if not lost and not twice and rows not in (old[name], new[name]):
                yield Finding("torn", f"{name} has {_few(rows - old[name])} and lacks {_few(new[name] - rows)}")

    def _answers(self, seen: dict[str, list[list[Any]]]) -> Iterator[Finding]:
        for view, rows in seen.items():
            moments = self._moments[self._since[view] :] + ([] if self._begun is None else [self._begun])
            if not any(_bag(rows) == answer(view, moment) for moment in moments):
                yield Finding("wrong_answers", f"{view} shows what it never had to: {_few(_bag(rows))}")


def _views(seen: dict[str, Any], tables: Tables) -> Iterator[Finding]:
    for view, rows in seen["refreshed"].items():
        for how, right in (("the engine", _bag(seen["scratch"][view])), ("the model", answer(view, tables))):
            if (bag := _bag(rows)) != right:
                yield Finding("wrong_answers", f"{view} has {_few(bag - right)} and lacks {_few(right - bag)}, as {how} computes it")


def _bags(tables: Tables) -> dict[str, Counter[Row]]:
    return {name: Counter(rows) for name, rows in tables.items()}


def _bag(rows: Iterable[list[Any]]) -> Counter[Row]:
    return Counter(map(tuple, rows))


def _few(rows: Counter[Row]) -> str:
    listed = list(rows.elements())
    return f"{listed[:MOST]}" + (f" and {len(listed) - MOST} more" if len(listed) > MOST else "")
