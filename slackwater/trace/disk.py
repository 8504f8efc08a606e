"""A warehouse in a folder, also on a disk that machines share."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slackwater.delta import SIDE
from slackwater.errors import WarehouseError
from slackwater.trace.durable import PIECE, sync
from slackwater.trace.place import Facts, R, T
from slackwater.trace.unwritable import HINTS, writing


@dataclass(frozen=True)
class Disk:
    """What the operating system offers, and nothing in between."""

    root: Path  # absolute

    @property
    def name(self) -> str:
        return str(self.root)

    def create(self) -> None:
        folders = (self.root / "traces", *(self.root / "traces").parents)
        new = [folder for folder in folders if not folder.exists()]
        try:
            folders[0].mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            hint = HINTS.get(problem.errno or 0)
            raise WarehouseError(f"cannot create the warehouse at {self.root}: {problem.strerror}", hint=hint) from problem
        if not os.access(self.root, os.W_OK):
            raise WarehouseError(
                f"cannot write to the warehouse at {self.root}", hint="open it with read_only=True, or check its permissions"
            )
        with writing(self.root):
            sync(folder.parent for folder in new)

    def facts(self, path: str) -> Facts:
        found = os.stat(path)
        return Facts(found.st_size, found.st_mtime)

    def pieces(self, path: str) -> Iterator[bytes]:
        with open(path, "rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def source(self, path: str) -> str:
        return path

    def sink(self, path: str) -> AbstractContextManager[str]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return contextlib.nullcontext(path)

    def write(self, path: str, data: Any) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)

    def put(self, path: str, pieces: Iterable[bytes]) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        unfinished = f"{path}.new"
        try:
            with open(unfinished, "wb") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            raise
        os.replace(unfinished, path)

    def replace(self, path: str, data: bytes) -> None:
        self.put(path, [data])
        sync([os.path.dirname(path)])

    def below(self, directory: str) -> dict[str, Facts]:
        found = {}
        for folder, _, names in os.walk(directory):
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # gone while we look
                    path = os.path.join(folder, name)
                    found[path] = self.facts(path)
        return found

    def batches(self) -> list[str]:
        return [str(step) for step in sorted((self.root / "traces").glob("*/*"))]

    def sync(self, directories: Iterable[str]) -> None:
        paths: set[str] = set()
        for directory in directories:
            if os.path.isdir(directory):
                trace = os.path.dirname(directory)
                paths |= {os.path.dirname(trace), trace, directory}
                # Not all that is there: an attempt that an engine has given up may still be writing beside.
                for side in (entry.path for entry in os.scandir(directory) if entry.name.startswith(f"{SIDE}=")):
                    paths |= {side, *(entry.path for entry in os.scandir(side))}
        with writing(self.root):
            sync(paths)

    def mark(self, path: str) -> None:
        with writing(path), contextlib.suppress(FileNotFoundError):
            Path(path).touch()

    def remove(self, directory: str) -> None:
        if os.path.exists(directory):
            shutil.rmtree(directory, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(directory))

    def each(self, do: Callable[[T], R], items: Sequence[T]) -> Iterable[R]:
        return map(do, items)

    def is_away(self, problem: Exception) -> None:
        """A disk that fails says so of each file."""
