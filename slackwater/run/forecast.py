"""How many rows will come to a table, and leave it, until the next trigger, by what came before.

    lately    as many as came in as much time
    season    as many as came at this time of the weeks before, or of the days before, where the history tells of two of them or more

A season is looked for where triggers come several times in it. Lines of the history are read once, and from then on those that are new.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slackwater.catalog import Catalog
from slackwater.pace.flow import Numbers
from slackwater.pace.simulate import Arriving

USUAL = 0.01  # of a table's rows come, where nothing is known
LATELY = 200  # changes of a table, which tell the rate
DAY = 86400.0
SEASONS = (7 * DAY, DAY)  # seconds, the longest first
REPEATED = 2  # times is a season seen before it is believed
LATEST = 4  # of its times count
OFTEN = 2  # times in a season, or more, do triggers come for which it counts


@dataclass(frozen=True)
class _Past:
    """What moved in a table, change by change: up to which line of the history, when, and how many rows came and went."""

    number: int
    at: Numbers
    added: Numbers
    removed: Numbers

    def within(self, since: float, until: float) -> tuple[float, float]:
        found = (since <= self.at) & (self.at < until)
        return float(self.added[found].sum()), float(self.removed[found].sum())


NOTHING = _Past(-1, *np.zeros((3, 0)))


class Forecast:
    """For the tables of a warehouse."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[str, _Past] = {}

    def arriving(self, table: str, rows: float, seconds: float, now: float) -> Arriving:
        """A table of so many rows, with what is expected to come and go in so many seconds from now on."""
        past = self._past(table)
        if len(past.at) < 2:  # what a table begins with is no sign of what will come
            return Arriving(rows, inserts=max(1.0, USUAL * rows))
        added, removed = _in_season(past, seconds, now) or _as_lately(past, seconds, now)
        changed = min(added, removed)
        return Arriving(rows, added - changed, changed, removed - changed)

    def _past(self, table: str) -> _Past:
        known = self._known.get(table, NOTHING)
        lines = self._catalog.history_after(table, known.number)
        if lines:
            moved = [(done.at, done.added, done.removed) for _, done in lines if done.added or done.removed]
            at, added, removed = np.array(moved, dtype=float).reshape(-1, 3).T
            known = _Past(
                lines[-1][0],
                np.append(known.at, at),
                np.append(known.added, added),
                np.append(known.removed, removed),
            )
            self._known[table] = known
        return known


def _in_season(past: _Past, seconds: float, now: float) -> tuple[float, float] | None:
    """What came and went at such times on average, or nothing if that cannot be told."""
    for season in SEASONS:
        times = int((now - past.at[1]) // season)
        if times >= REPEATED and OFTEN * seconds <= season:
            begins = [now - season * number for number in range(1, min(times, LATEST) + 1)]
            added, removed = zip(*(past.within(begin, begin + seconds) for begin in begins), strict=True)
            return sum(added) / len(begins), sum(removed) / len(begins)
    return None


def _as_lately(past: _Past, seconds: float, now: float) -> tuple[float, float]:
    at, added, removed = (each[1:][-LATELY:] for each in (past.at, past.added, past.removed))
    share = seconds / max(1.0, now - float(at.min()))
    return float(added.sum()) * share, float(removed.sum()) * share
