"""How much of a stream is kept: so many of the newest rows, or as many as fit into so many bytes of files; and when it is quiet."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from slackwater.errors import QueryError
from slackwater.pace.trigger import seconds_named

USUAL = "1 million rows"
QUIET = "1 second"
_CAPACITY = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?) *(thousand|million|billion)? *(rows?|bytes?|[kmgt]i?b)?")
_TIMES = {"": 1, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_PREFIXES = tuple(enumerate("kmgt", start=1))
_BYTES = {"byte": 1, "bytes": 1} | {f"{p}b": 10 ** (3 * n) for n, p in _PREFIXES} | {f"{p}ib": 1 << 10 * n for n, p in _PREFIXES}


@dataclass(frozen=True)
class Capacity:
    """One of both is what a user has said; the other sets no limit."""

    rows: float = math.inf
    bytes: float = math.inf


@lru_cache(maxsize=1024)
def capacity_named(text: str) -> Capacity:
    """The capacity that an option names."""
    found = _CAPACITY.fullmatch(" ".join(text.lower().split()))
    if found is None:
        raise QueryError(f"'{text}' is no capacity", hint="write it as in '1 million rows', '50000 rows' or '256 MB'")
    number, times, unit = found[1], found[2] or "", found[3] or "rows"
    size = int(float(number.replace("_", "").replace(",", "")) * _TIMES[times] * _BYTES.get(unit, 1))
    if size < 1:
        raise QueryError(f"'{text}' is no capacity", hint="a stream keeps one row at least")
    return Capacity(bytes=size) if unit in _BYTES else Capacity(rows=size)


@lru_cache(maxsize=1024)
def quiet_named(text: str) -> float:
    """In seconds, how long nothing comes to a stream that is taken to be quiet. 0: queries do not wait for more."""
    return seconds_named(text)
