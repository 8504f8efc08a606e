"""When an answer is due.

on read             when somebody asks
manual              when REFRESH says so
every 10 minutes    at whole multiples of it, by the clock: ten past, twenty past
every 1000 rows     when so many have arrived or left in the tables that the view rests on
cron 0 6 * * 1-5    at the times of a crontab line, in UTC
marker loaded       when MARK loaded says that the data are complete

every 10 minutes of orders.at    when a row arrives whose time is in a later window of ten minutes than any before: those are complete then
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from cronsim import CronSim, CronSimError

from slackwater.errors import QueryError

ON_READ, MANUAL, EVERY, ROWS, WINDOW, CRON, MARKER = "on read", "manual", "every", "rows", "window", "cron", "marker"
UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
EXAMPLES = "'on read', 'manual', 'every 10 minutes', 'every 1000 rows', 'every hour of orders.at', 'cron 0 6 * * *' or 'marker loaded'"
_EVERY = re.compile(r"every (?:(\S+) )?([a-z]+)(?: of (\w+)\.(\w+))?")
_TIME = re.compile(r"(\d+(?:\.\d+)?|\.\d+) ?([a-z]+)")
_NAME = re.compile(r"[a-z_]\w*")


@dataclass(frozen=True)
class Trigger:
    """What makes an answer due. `seconds`, `rows`, `cron` or `marker` says how often, by its kind; `table` and `column`, by whose times."""

    kind: str
    seconds: float = 0.0
    rows: int = 0
    cron: str = ""
    marker: str = ""
    table: str = ""
    column: str = ""

    @property
    def is_watched(self) -> bool:
        """Whether somebody has to watch for it: `slackwater run` does."""
        return self.kind not in (ON_READ, MANUAL)

    def next_after(self, moment: float) -> float:
        """The next time that it is due, in seconds since 1970; never, if that does not depend on the clock."""
        if self.kind == EVERY:
            return (math.floor(moment / self.seconds) + 1) * self.seconds
        if self.kind == CRON:
            return next(CronSim(self.cron, datetime.fromtimestamp(moment, UTC))).timestamp()
        return math.inf


@lru_cache(maxsize=1024)
def trigger_named(text: str) -> Trigger:
    """The trigger that an option names."""
    words = " ".join(text.lower().split())
    if words in (ON_READ, MANUAL):
        return Trigger(words)
    kind, _, rest = words.partition(" ")
    if kind == CRON:
        return Trigger(CRON, cron=_checked(rest, text))
    if kind == MARKER and _NAME.fullmatch(rest):
        return Trigger(MARKER, marker=rest)
    every = _EVERY.fullmatch(words)
    if every is None:
        raise QueryError(f"there is no trigger '{text}'", hint=f"it may be {EXAMPLES}")
    count, unit, table, column = every.groups(default="")
    if unit in ("row", "rows") and not table:
        return Trigger(ROWS, rows=_whole(count or "1", text, "every 1000 rows"))
    seconds = seconds_of(f"{count or 1} {unit}", text)
    if seconds < 0.1:
        raise QueryError(f"'{text}' is more often than can be", hint="write a tenth of a second or more")
    return Trigger(WINDOW if table else EVERY, seconds=seconds, table=table, column=column)


def rows_named(text: str) -> int:
    """How many rows an option such as `1000 rows` names."""
    count, _, unit = " ".join(text.lower().split()).partition(" ")
    return _whole(count if unit in ("", "row", "rows") else "", text, "1000 rows")


def _whole(count: str, text: str, example: str) -> int:
    digits = count.replace("_", "").replace(",", "")
    if not digits.isdecimal() or int(digits) < 1:
        raise QueryError(f"'{text}' names no number of rows", hint=f"write a whole number, as in '{example}'")
    return int(digits)


def seconds_named(text: str) -> float:
    """How many seconds an option such as `5 minutes` names."""
    return seconds_of(" ".join(text.lower().split()), text)


def seconds_of(words: str, text: str) -> float:
    """A time such as `5 seconds`, in seconds. `text`: what it stands in."""
    found = _TIME.fullmatch(words)
    unit = found[2].removesuffix("s") if found else ""
    if found is None or unit not in UNITS:
        raise QueryError(
            f"'{text}' names no time", hint=f"a time is a number and {', '.join(f'{name}s' for name in UNITS)}, as in '5 minutes'"
        )
    return float(found[1]) * UNITS[unit]


def _checked(line: str, text: str) -> str:
    """A crontab line with a time that will come."""
    try:
        next(CronSim(line, datetime.now(UTC)))
    except (CronSimError, StopIteration) as problem:
        raise QueryError(
            f"'{text}' is no line of a crontab{f': {problem}' if str(problem) else ''}",
            hint="write minute, hour, day of the month, month and day of the week, as in 'cron 0 6 * * *'",
        ) from problem
    return line
