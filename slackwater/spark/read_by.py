"""Which files a statement reads.

Sail takes a file that is not there for an empty one, and what it says of a damaged one does not name it. So the files behind every name
that a statement may use are remembered: they are looked at before the statement runs, and their checksums when it has failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from slackwater.trace import File, Files

_NAME = re.compile(r"`((?:[^`]|``)+)`")


class ReadBy:
    """The files behind the names that an engine was given. Every such name needs backticks in a statement."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[Files, tuple[File, ...]]] = {}
        self._names: dict[str, set[str]] = {}  # of a query with a name: the names in it

    def put(self, name: str, files: Files, read: Iterable[File]) -> None:
        self._files[name] = (files, tuple(read))

    def put_query(self, name: str, statement: str) -> None:
        self._names[name] = names_in(statement)

    def forget(self, name: str) -> None:
        self._files.pop(name, None)
        self._names.pop(name, None)

    def check(self, statement: str, deep: bool = False) -> None:
        """Raise `Damaged` for a file that is not as it was written: by its size, or, when `deep`, by its checksum."""
        waiting, seen = names_in(statement), set[str]()
        while waiting:
            name = waiting.pop()
            seen.add(name)
            waiting |= self._names.get(name, set()) - seen
            if name in self._files:
                files, read = self._files[name]
                files.check(read, deep)


def names_in(statement: str) -> set[str]:
    """All that stands in backticks."""
    return {name.replace("``", "`") for name in _NAME.findall(statement)}
