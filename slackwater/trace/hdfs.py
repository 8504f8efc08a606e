"""HDFS as Arrow sees it, through a client that needs no Java."""

from __future__ import annotations

from typing import Any

from hdfs_native.fsspec import HdfsFileSystem


class Hdfs(HdfsFileSystem):  # type: ignore[misc]
    """With the time at which a file was written, as Arrow looks for it. A server that is away is told from a file that is not there."""

    cachable = False  # fsspec would give one client to all who name this server, with the user of the first

    def _convert_file_status(self, file_status: Any) -> dict[str, Any]:
        return {**super()._convert_file_status(file_status), "mtime": file_status.modification_time / 1000}

    def isfile(self, path: str) -> bool:
        return self._kind(path) == "file"

    def isdir(self, path: str) -> bool:
        return self._kind(path) == "directory"

    def _kind(self, path: str) -> object:
        try:
            return self.info(path)["type"]
        except FileNotFoundError:
            return None
