"""All work with the files of a warehouse goes through here.

A batch is written below `traces/<trace>/<step>`, and is real once the store has a row for it. What no row names is an orphan of a step that
did not finish.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.delta import ADDED, REMOVED, SIDE
from slackwater.errors import WarehouseError
from slackwater.trace.trace import File


class Files:
    """The files below one warehouse."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).absolute()

    def create(self) -> None:
        """Make the warehouse's folders, or say why that cannot be."""
        try:
            (self.root / "traces").mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise WarehouseError(f"cannot create the warehouse at {self.root}: {problem.strerror}") from problem
        if not os.access(self.root, os.W_OK):
            raise WarehouseError(f"cannot write to the warehouse at {self.root}", hint="open it with read_only=True, or check its permissions")

    def batch_directory(self, trace: str, step: str) -> str:
        """Where a step writes its batch of a trace."""
        return str(self.root / "traces" / quote(trace, safe="") / step)

    def full(self, file: File) -> str:
        return str(self.root / file.path)

    def write_arrow(self, table: pa.Table, directory: str, side: str = ADDED) -> None:
        """One Parquet file on its way to a batch, synced: what is acknowledged survives a crash."""
        folder = Path(directory) / f"{SIDE}={side}"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "part-0.parquet", "wb") as sink:
            pq.write_table(table, sink, compression="zstd")
            sink.flush()
            os.fsync(sink.fileno())

    def written(self, directory: str) -> tuple[tuple[File, ...], tuple[File, ...]]:
        """The files of a batch that was written below `directory`: those of arrivals, those of departures. Empty files do not count."""
        return self._side(directory, ADDED), self._side(directory, REMOVED)

    def _side(self, directory: str, side: str) -> tuple[File, ...]:
        folder = Path(directory) / f"{SIDE}={side}"
        if not folder.is_dir():
            return ()
        found = []
        for path in sorted(folder.glob("*.parquet")):
            rows = pq.read_metadata(path).num_rows
            if rows:
                found.append(File(str(path.relative_to(self.root)), rows, path.stat().st_size))
        return tuple(found)

    def remove(self, directory: str) -> None:
        shutil.rmtree(directory, ignore_errors=True)

    def remove_trace(self, trace: str) -> None:
        self.remove(str(self.root / "traces" / quote(trace, safe="")))

    def remove_orphans(self, known: Iterable[tuple[str, str]]) -> int:
        """Remove what no (trace, step) in the store names; returns how many directories that were."""
        real = {(quote(trace, safe=""), step) for trace, step in known}
        removed = 0
        for folder in sorted((self.root / "traces").glob("*")):
            steps = list(folder.iterdir()) if folder.is_dir() else []
            for step in steps:
                if (folder.name, step.name) not in real:
                    shutil.rmtree(step, ignore_errors=True)
                    removed += 1
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        return removed
