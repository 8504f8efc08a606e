"""What was read not long ago. Files never change, so it is still what they say."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Values with their sizes, as many as there is room for; those that nobody has asked for longest make way."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.size = 0  # of all values
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> T | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def known(self) -> list[Hashable]:
        """What there are values for."""
        with self._lock:
            return list(self._values)

    def put(self, key: Hashable, value: T, size: int, room: int | None = None) -> None:
        """`room`: what there is now, where that changes."""
        with self._lock:
            self.size += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while self.size > (self._room if room is None else room):
                self.size -= self._values.popitem(last=False)[1][1]
