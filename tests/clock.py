"""A clock that tests move."""

from __future__ import annotations

NOON = 1_800_000_000.0  # a whole multiple of ten minutes


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now
