"""What keeps a warehouse from being written, in our words: a disk that is full, a folder that is not ours to write to."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator

from slackwater.errors import WarehouseError

_OF_HDFS = re.compile(r'^(?:RPCError\("[^"]*", "(.*?)(?:, inode|\\n|")|DataTransferError\("([^:"]*))')
_OF_S3 = re.compile(r"AWS Error (\w+) during \w+ operation(?: \(.*?\))?: (.*)", re.S)
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
        unknown = "check its server and your permissions" if "://" in str(place) else "check its disk and its permissions"
        hint = HINTS.get(code, "check its disk") if code is not None else unknown
        super().__init__(f"cannot write to {place}: {said}", hint=f"{hint}; nothing was changed, so run the statement again afterwards")
        self.code = code


@contextlib.contextmanager
def writing(place: str | os.PathLike[str]) -> Iterator[None]:
    """Raise what the operating system says as ours."""
    try:
        yield
    except OSError as problem:
        raise Unwritable(place, problem.errno, said_by(problem)) from problem


def said_by(problem: Exception) -> str:
    """What the operating system says, or a server; of what S3 and HDFS say, the reason."""
    if code := getattr(problem, "errno", None):
        return os.strerror(code).lower()
    if found := _OF_S3.search(str(problem)):
        code, reason = found[1].replace("_", " ").lower(), re.sub(r"\s*\(Request ID: .*", "", found[2]).strip().rstrip(".")
        return code if reason == "No response body" else f"{code} ({reason})"
    if found := _OF_HDFS.search(str(problem)):
        return (found[1] or found[2]).lower()
    return str(problem).lower()
