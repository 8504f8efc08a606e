"""What keeps a warehouse from being written, in our words: a disk that is full, a folder that is not ours to write to."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from slackwater.errors import WarehouseError

_FREE = "free some space there, and where the engine keeps its temporary files"
_ALLOW = "check its permissions, and that its disk is mounted for writing"
HINTS = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: "allow this process larger files: ulimit -f",
    errno.EROFS: _ALLOW,
    errno.EACCES: _ALLOW,
    errno.EPERM: _ALLOW,
    errno.ENOTDIR: "a file stands where a folder should be",
    errno.EMFILE: "allow this process more open files: ulimit -n",
    errno.EIO: "check the disk",
}


class Unwritable(WarehouseError):
    """What a step was to write could not be written, and nothing of it was kept. The same session goes on when the cause is gone."""

    def __init__(self, place: str | os.PathLike[str], code: int | None, said: str) -> None:
        hint = HINTS.get(code, "check its disk") if code is not None else "check its disk and its permissions"
        super().__init__(f"cannot write to {place}: {said}", hint=f"{hint}; nothing was changed, so run the statement again afterwards")
        self.code = code


@contextlib.contextmanager
def writing(place: str | os.PathLike[str]) -> Iterator[None]:
    """Raise what the operating system says as ours."""
    try:
        yield
    except OSError as problem:
        code = problem.errno
        raise Unwritable(place, code, (os.strerror(code) if code else str(problem)).lower()) from problem
