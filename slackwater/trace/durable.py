"""Files that outlive a crash, and how one that did not is recognised.

All that a step wrote is on the disk before the step is committed: its files, the folders that name them, and the folders above. Each file's
size and checksum stand in the store, so that a file that is missing, cut short or changed is told from one that is sound.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from slackwater.errors import WarehouseError

MISSING = "is missing"
PIECE = 1 << 20
AT_ONCE = 8  # a disk writes what is synced together about as fast as one file alone
FEW_BYTES = 1 << 20  # up to here a checksum takes no longer than to ask another thread for it


class Damaged(WarehouseError):
    """A file of the warehouse is missing, or is not what was written. `path` is relative to the warehouse."""

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        self.trace = unquote(Path(path).parts[1])
        relation = re.sub(r"/\d+$", "", self.trace)
        hint = "slackwater check lists all that is damaged, slackwater restore brings back a backup"
        if what == MISSING:
            hint = f"if it was folded away by another process, run the statement again; otherwise {hint}"
        if relation != self.trace:
            hint += f'; "{relation}" can also be created again'
        super().__init__(f'file {path} of "{relation}" {what}', hint=hint)


def sync(paths: Iterable[str | Path]) -> None:
    """Have these files and folders on the disk."""
    list(_pool(os.getpid()).map(_sync, paths))


def checksum(path: str | os.PathLike[str]) -> int:
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            crc = zlib.crc32(piece, crc)
    return crc


def checksums(paths: Iterable[str]) -> Iterator[int]:
    """The checksums of some files, in their order."""
    known = list(paths)
    if len(known) < 2 or sum(os.stat(path).st_size for path in known) < FEW_BYTES:
        return map(checksum, known)
    return _pool(os.getpid()).map(checksum, known)


def damage(path: str | os.PathLike[str], bytes: int, crc: int | None) -> str | None:
    """What is wrong with a file, if it should have this many bytes and, unless that is None, this checksum."""
    try:
        size = os.stat(path).st_size
        if size != bytes:
            return f"has {size} bytes, {bytes} were written"
        return "is not what was written: its checksum differs" if crc is not None and checksum(path) != crc else None
    except FileNotFoundError:
        return MISSING
    except OSError as problem:
        return f"cannot be read: {problem.strerror}"


def _sync(path: str | Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that stay: to start them takes longer than to sync. A process that was forked has none of its parent's, and gets its own."""
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="slackwater-disk")
