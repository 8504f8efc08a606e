"""The files of a warehouse on their way to another place. Each is verified while it is copied."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from slackwater.catalog import reading_catalog, store_named
from slackwater.errors import WarehouseError
from slackwater.run.progress import FileDone, Listener, in_words
from slackwater.trace import Damaged, File, Files, Place
from slackwater.trace.disk import Disk
from slackwater.trace.durable import DIFFERS, MISSING
from slackwater.trace.unwritable import said_by

AT_ONCE = 64  # files that are asked for together, where asking takes long: who interrupts us waits for them


@dataclass(frozen=True)
class Copied:
    """What a copy holds, and how much of that was not there before."""

    files: int
    bytes: int
    new_files: int
    new_bytes: int

    def __str__(self) -> str:
        return f"{self.files} files, {in_words(self.bytes)}, of which {self.new_files}, {in_words(self.new_bytes)}, were copied now"


def files_named(url: str | None, warehouse: str | os.PathLike[str] | Place) -> tuple[File, ...]:
    """What the catalog of a warehouse or of a backup names now, which is of our format and the folder's own."""
    with reading_catalog(store_named(url, warehouse), warehouse) as catalog:
        return catalog.snapshot().files


def copy_files(
    source: Files, target: Files, named: tuple[File, ...], still: Callable[[], tuple[File, ...]], tell: Listener, deep: bool = False
) -> Copied | None:
    """Copy the files that the target lacks; None if one of them was folded away meanwhile.

    `still`: what the source's catalog names by now. `deep`: what the target has is looked at by its checksum, and not only by its size.
    """
    size, seen, new, gone = sum(file.bytes for file in named), 0, list[File](), list[File]()

    def copy(file: File) -> bool:
        """Whether it was not there before. Once one is gone, the others can wait for the next attempt."""
        if gone or target.damage(file, deep) is None:
            return False
        try:
            _copy_file(source, target, file)
        except Damaged:
            if file in still():
                raise
            gone.append(file)
            return False
        return True

    each = (target if isinstance(source.place, Disk) else source).place.each  # of the two, the one that may be far away
    for first in range(0, len(named), AT_ONCE):
        few = named[first : first + AT_ONCE]
        for number, (file, copied) in enumerate(zip(few, each(copy, few), strict=True), start=first + 1):
            new += [file] if copied else []
            seen += file.bytes
            if not gone:
                tell(FileDone("copying", number, len(named), seen, size))
        if gone:
            break
    target.sync({target.full(file).rsplit("/", 2)[0] for file in new})
    return Copied(len(named), size, len(new), sum(file.bytes for file in new)) if not gone else None


def _copy_file(source: Files, target: Files, file: File) -> None:
    """Copy one file, seeing that it is what was written."""
    target.place.put(target.full(file), _verified(source.place.pieces(source.full(file)), file))


def _verified(pieces: Iterable[bytes], file: File) -> Iterator[bytes]:
    """The same pieces. Damage is told when they end, before a disk gives the copy its name."""
    size = crc = 0
    try:
        for piece in pieces:
            size, crc = size + len(piece), zlib.crc32(piece, crc)
            yield piece
    except FileNotFoundError:
        raise Damaged(file.path, MISSING) from None
    except OSError as problem:
        raise Damaged(file.path, f"cannot be read: {said_by(problem)}") from problem
    if size != file.bytes:
        raise Damaged(file.path, f"has {size} bytes, {file.bytes} were written")
    if file.crc not in (None, crc):
        raise Damaged(file.path, DIFFERS)


@contextmanager
def problems_with(place: str | os.PathLike[str]) -> Iterator[None]:
    """What keeps files from being written there, in our words."""
    try:
        yield
    except OSError as problem:
        where = f" ({problem.filename})" if problem.filename else ""
        raise WarehouseError(f"cannot copy to {place}: {said_by(problem)}{where}") from problem
