"""Where the files of a warehouse are: on a disk, in a bucket, in HDFS.

A place does the little that is asked of it for all files of a warehouse. It is chosen once, by the warehouse's name; `Files` asks it, and
nobody else knows that there are several. Nothing depends on a rename, or on a folder being there: object stores have neither.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from slackwater.errors import WarehouseError

T = TypeVar("T")
R = TypeVar("R")


class Facts(NamedTuple):
    """What is known of a file without reading it."""

    bytes: int
    since: float  # when it was written, in seconds


class Place(Protocol):
    """Paths are whole, as engines are given them: they begin with the name of the place."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """An absolute path, or a URL."""

    def create(self) -> None:
        """Make what a warehouse needs, or say why that cannot be."""

    def facts(self, path: str) -> Facts:
        """Raises FileNotFoundError if there is no such file."""

    def pieces(self, path: str) -> Iterator[bytes]:
        """All that is in a file."""

    def source(self, path: str) -> Any:
        """What Arrow reads a file from."""

    def sink(self, path: str) -> AbstractContextManager[Any]:
        """What Arrow writes a new file to."""

    def write(self, path: str, data: Any) -> None:
        """Write a new file of a batch."""

    def put(self, path: str, pieces: Iterable[bytes]) -> None:
        """Write a file that may be there, piece by piece. On a disk it has its name only when it is whole, and `sync` makes that last."""

    def replace(self, path: str, data: bytes) -> None:
        """The same at once, with a file that outlives a power loss when this returns."""

    def below(self, directory: str) -> dict[str, Facts]:
        """All files below a directory, however deep; none if it is not there."""

    def batches(self) -> list[str]:
        """All directories two levels below `traces`."""

    def sync(self, directories: Iterable[str]) -> None:
        """Have the batches in these directories outlive a power loss."""

    def mark(self, path: str) -> None:
        """An empty file, as of now, where its directory is there."""

    def remove(self, directory: str) -> None:
        """Without a trace, the directory above included if nothing else is in it. What cannot be removed stays."""

    def each(self, do: Callable[[T], R], items: Sequence[T]) -> Iterable[R]:
        """Do something that asks this place for each of some items; at once, where asking takes long."""

    def is_away(self, problem: Exception) -> WarehouseError | None:
        """What to say if this came up because the place cannot be asked, and not because of a file."""


def place_at(warehouse: str | os.PathLike[str] | Place) -> Place:
    """The place that a warehouse's name means: a path, `file://`, `s3://` and `s3a://`, `hdfs://`."""
    from slackwater.trace.disk import Disk
    from slackwater.trace.remote import hdfs, s3

    if not isinstance(warehouse, str | os.PathLike):
        return warehouse
    scheme, rest = split(warehouse)
    if scheme in ("", "file"):
        return Disk(Path(rest).absolute())
    if scheme in ("s3", "s3a"):
        return s3(rest)
    if scheme == "hdfs":
        return hdfs(rest)
    raise WarehouseError(f'a warehouse cannot be at "{scheme}://"', hint="use a folder, s3a://bucket/path or hdfs://host:port/path")


def split(warehouse: str | os.PathLike[str]) -> tuple[str, str]:
    """The scheme of a name, if it has one, and what comes after it. A Path has made one slash of two."""
    name = os.fspath(warehouse)
    found = re.match(r"([a-z][a-z0-9+.-]+):/{1,2}", name)
    if found is None:
        return "", name
    rest = name[found.end() :].rstrip("/")
    return found[1], f"/{rest.lstrip('/')}" if found[1] == "file" else rest


def folder_of(warehouse: str | os.PathLike[str] | Place, purpose: str) -> Path:
    """The folder of a warehouse that has to be on a disk."""
    from slackwater.trace.disk import Disk

    place = place_at(warehouse)
    if not isinstance(place, Disk):
        raise WarehouseError(f"{purpose} cannot be at {place.name}", hint="use a folder on a disk")
    return place.root
