"""Disks that give way: small ones that can be filled, and folders that can be made read-only. Real ones, where mounting is allowed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest


class Disk:
    """A few megabytes of their own."""

    def __init__(self, folder: Path, megabytes: int = 8) -> None:
        self.folder = folder
        folder.mkdir()
        try:
            _mount("-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no disk can be mounted here: that needs Linux and root")

    def full(self, but: int = 0) -> AbstractContextManager[None]:
        """With no more than so many bytes left."""
        return full(self.folder, but)

    @contextmanager
    def read_only(self, below: Path) -> Iterator[None]:
        """A folder that nobody can write to, not even root."""
        _mount("--bind", below, below)
        try:
            _mount("-o", "remount,bind,ro", below)
            yield
        finally:
            subprocess.run(["umount", below], check=True)

    def remove(self) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=True)


@contextmanager
def full(folder: Path, but: int = 0) -> Iterator[None]:
    """The disk of a folder, with no more than so many bytes left."""
    fill = folder / "fill"
    with open(fill, "wb") as file:
        left = os.statvfs(folder)
        file.write(bytes(left.f_bavail * left.f_frsize - but))
    try:
        yield
    finally:
        fill.unlink()


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)
