"""What may be there after a kill, and whether it is.

Of a statement that was begun and not answered the tables show all or nothing. A view shows the tables as they were at some moment since
it was last known to be refreshed: no more, and not a mixture.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tests.chaos.model import EMPTY, PASSED, VIEWS, Row, Tables, answer
from tests.chaos.work import Effect, Work

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
        self._begun: Work | None = None
        self._heard: set[int] = set()  # which parts of it were acknowledged
        self._backups: list[Tables | None] = [None]  # what the backup may hold; None: there is none

    @property
    def tables(self) -> Tables:
        return self._moments[-1]

    def begin(self, work: Work) -> None:
        self._begun, self._heard = work, set()
        if work.kind == "backup":
            self._backups = [*self._backups, self.tables]

    def hear(self, parts: Iterable[int]) -> None:
        """Parts of what was begun are acknowledged."""
        self._heard |= set(parts)

    def acknowledge(self, work: Work, eager: bool) -> None:
        # A schedule may have brought views up to date after any of its parts.
        between = _any_of(work.parts, self.tables, ())[1:-1]
        self._moments += [*between, _after(work.parts, self.tables)]
        self._begun = None
        for view in VIEWS if eager else work.refreshes:
            self._since[view] = len(self._moments) - 1
        if work.kind == "backup":
            self._backups = [self.tables]

    def refuse(self) -> None:
        """What was begun was told not to be, but for the parts that were acknowledged."""
        if self._begun is not None:
            self._moments.append(_after([self._begun.parts[part] for part in self._heard], self.tables))
        self._begun = None

    def _possible(self) -> list[Tables]:
        """All that may be there: each part of what was begun as a whole or not at all."""
        return _any_of(self._begun.parts if self._begun is not None else (), self.tables, self._heard)

    def compare(self, seen: dict[str, Any]) -> list[Finding]:
        """Judge what a process has found, and take it for what is there."""
        tables: Tables = {name: tuple(map(tuple, rows)) for name, rows in seen["tables"].items()}
        copied: Tables | None = seen["backup"] and {name: tuple(map(tuple, rows)) for name, rows in seen["backup"].items()}
        found = [*self._tables(tables), *self._answers(seen["answers"]), *_views(seen, tables), *self._copies(copied)]
        found += [Finding("orphans", path) for path in seen["orphans"]]
        found += [Finding("damaged", problem) for problem in seen["problems"]]
        self._moments, self._since, self._begun, self._backups = [tables], dict.fromkeys(VIEWS, 0), None, [copied]
        return found

    def _tables(self, seen: Tables) -> Iterator[Finding]:
        possible, there = [_bags(tables) for tables in self._possible()], _bags(seen)
        if there in possible:
            return
        for name, rows in there.items():
            every = [tables[name] for tables in possible]
            least, most = reduce(operator.and_, every), reduce(operator.or_, every)
            lost, twice = least - rows, rows - most
            if lost:
                yield Finding("lost", f"{name}: {_few(lost)}")
            if twice:
                yield Finding("twice", f"{name}: {_few(twice)}")
            if not lost and not twice and rows not in every:
                yield Finding("torn", f"{name} has {_few(rows - least)} and lacks {_few(most - rows)}")

    def _answers(self, seen: dict[str, list[list[Any]]]) -> Iterator[Finding]:
        for view, rows in seen.items():
            moments = self._moments[self._since[view] :] + self._possible()
            if not any(_bag(rows) == answer(view, moment) for moment in moments):
                yield Finding("wrong_answers", f"{view} shows what it never had to: {_few(_bag(rows))}")

    def _copies(self, seen: Tables | None) -> Iterator[Finding]:
        if not any(seen == may if seen is None or may is None else _kept(seen) == _kept(may) for may in self._backups):
            yield Finding("lost", f"the backup has {seen}")


def _after(parts: Iterable[Effect], tables: Tables) -> Tables:
    return reduce(lambda tables, part: part(tables), parts, tables)


def _any_of(parts: Sequence[Effect], tables: Tables, surely: Collection[int]) -> list[Tables]:
    """What tables become by any choice of parts, those that are there `surely` among them: by none first, by all last."""
    found = [tables]
    for number, part in enumerate(parts):
        done = [part(tables) for tables in found]
        found = done if number in surely else found + done
    return found


def _views(seen: dict[str, Any], tables: Tables) -> Iterator[Finding]:
    for view, rows in seen["refreshed"].items():
        scratch = seen["scratch"].get(view)
        for how, right in (("the engine", _bag(scratch) if scratch is not None else None), ("the model", answer(view, tables))):
            if right is not None and (bag := _bag(rows)) != right:
                yield Finding("wrong_answers", f"{view} has {_few(bag - right)} and lacks {_few(right - bag)}, as {how} computes it")


def _bags(tables: Tables) -> dict[str, Counter[Row]]:
    return {name: Counter(rows) for name, rows in tables.items()}


def _kept(tables: Tables) -> dict[str, Counter[Row]]:
    """Without streams: a backup has of them what views have taken."""
    return {name: bag for name, bag in _bags(tables).items() if name not in PASSED}


def _bag(rows: Iterable[list[Any]]) -> Counter[Row]:
    return Counter(map(tuple, rows))


def _few(rows: Counter[Row]) -> str:
    listed = list(rows.elements())
    return f"{listed[:MOST]}" + (f" and {len(listed) - MOST} more" if len(listed) > MOST else "")
