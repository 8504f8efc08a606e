"""Which paths are due right after a change.

    eager     all that have something new
    lazy      none: they wait until somebody refreshes or reads
    random    a random choice, for tests: whatever it chooses, answers must not differ

A schedule sees path names only; what is not due now is caught up at the next refresh.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from slackwater.errors import QueryError


class Schedule(Protocol):
    """Decides; holds nothing that a restart would miss."""

    def due(self, stale: Sequence[str]) -> list[str]: ...


class Eager:
    def due(self, stale: Sequence[str]) -> list[str]:
        return list(stale)


class Lazy:
    def due(self, stale: Sequence[str]) -> list[str]:
        return []


class Random:
    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def due(self, stale: Sequence[str]) -> list[str]:
        return [path for path in stale if self._random.random() < 0.5]


def schedule_named(name: str | Schedule) -> Schedule:
    """The schedule for `eager`, `lazy`, `random` or `random:7`."""
    if not isinstance(name, str):
        return name
    kind, _, seed = name.partition(":")
    if kind == "random":
        return Random(int(seed) if seed else None)
    if kind in ("eager", "lazy") and not seed:
        return Eager() if kind == "eager" else Lazy()
    raise QueryError(f'unknown schedule "{name}"', hint='use "eager", "lazy", "random" or "random:SEED"')
