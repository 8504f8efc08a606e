"""Files that outlive a crash, and how one that did not is recognised.

All that a step wrote is on the disk before the step is committed: its files, the folders that name them, and the folders above. Each file's
size and checksum stand in the store, so that a file that is missing, cut short or changed is told from one that is sound.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, reduce
from pathlib import Path
from urllib.parse import unquote

from slackwater.errors import WarehouseError
from slackwater.trace.place import Place

MISSING = "is missing"
DIFFERS = "is not what was written: its checksum differs"
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


def checksum(pieces: Iterable[bytes]) -> int:
    return reduce(lambda crc, piece: zlib.crc32(piece, crc), pieces, 0)


def checksums(place: Place, files: Mapping[str, int]) -> Iterable[int]:
    """The checksums of some files with their sizes, in their order."""
    if len(files) < 2 or sum(files.values()) < FEW_BYTES:
        return [checksum(place.pieces(path)) for path in files]
    return _pool(os.getpid()).map(lambda path: checksum(place.pieces(path)), files)


def damage(place: Place, path: str, bytes: int, crc: int | None) -> str | None:
    """What is wrong with a file, if it should have this many bytes and, unless that is None, this checksum."""
    try:
        size = place.facts(path).bytes
        if size != bytes:
            return f"has {size} bytes, {bytes} were written"
        return DIFFERS if crc is not None and checksum(place.pieces(path)) != crc else None
    except FileNotFoundError:
        return MISSING
    except OSError as problem:
        return f"cannot be read: {problem.strerror or problem}"


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
