"""A warehouse on a server: in a bucket of an object store, or in HDFS.

Both have a file when it is closed, whole, or not at all: an object whose PUT was answered is durable, and so is a file of HDFS whose
datanodes sync what is closed. Asking takes milliseconds, so questions are asked side by side.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from slackwater.errors import WarehouseError
from slackwater.trace.place import Facts, R, T
from slackwater.trace.unwritable import said_by, writing

PIECE = 16 << 20  # every piece is a request
AT_ONCE = 16
CONNECT, ANSWER, ATTEMPTS = 5.0, 60.0, 4  # seconds until a server is taken to be away, or not to answer, and how often it is asked


@dataclass(frozen=True)
class Remote:
    """What a file system of Arrow's reaches. Its paths are those of the URL without `before`."""

    name: str
    before: str
    top: str  # what must be there before anything can be written: the bucket, or nothing
    system: FileSystem = field(compare=False, repr=False)

    def create(self) -> None:
        with self._asking():
            if self.top and self.system.get_file_info(self.top).type == FileType.NotFound:
                raise WarehouseError(f'there is no bucket "{self.top}"', hint="create it, or check its name, the endpoint and the region")
            if not self.top:
                self.system.create_dir(self._at(f"{self.name}/traces"), recursive=True)

    def facts(self, path: str) -> Facts:
        with self._asking():
            found = self.system.get_file_info(self._at(path))
        if found.type != FileType.File:
            raise FileNotFoundError(path)
        return _facts(found)

    def pieces(self, path: str) -> Iterator[bytes]:
        with self._asking(), self.system.open_input_file(self._at(path)) as file:
            while piece := file.read(PIECE):
                yield piece

    def source(self, path: str) -> Any:
        with self._asking():
            return self.system.open_input_file(self._at(path))

    @contextlib.contextmanager
    def sink(self, path: str) -> Iterator[Any]:
        try:
            with self.system.open_output_stream(self._at(path)) as stream:
                yield stream
        except RuntimeError as problem:
            if _is_of_server(problem):
                raise OSError(said_by(problem)) from problem
            raise

    def write(self, path: str, data: Any) -> None:
        self.put(path, [data])

    def put(self, path: str, pieces: Iterable[Any]) -> None:
        with self.sink(path) as stream:
            for piece in pieces:
                stream.write(piece)

    def replace(self, path: str, data: bytes) -> None:
        self.write(path, data)

    def below(self, directory: str) -> dict[str, Facts]:
        return {path: _facts(found) for path, found in self._listed(directory) if found.type == FileType.File}

    def batches(self) -> list[str]:
        traces = f"{self.name}/traces"
        levels = (path.removeprefix(f"{traces}/").split("/") for path, _ in self._listed(traces))
        return sorted({f"{traces}/{trace}/{step}" for trace, step, *_ in (names for names in levels if len(names) > 1)})

    def sync(self, directories: Iterable[str]) -> None:
        """All of it is there since it was closed."""

    def mark(self, path: str) -> None:
        with writing(path):
            self.write(path, b"")

    def remove(self, directory: str) -> None:
        # The directory above stays: nobody can remove it only if it is empty. It takes no space.
        with contextlib.suppress(OSError, RuntimeError):
            if self.system.get_file_info(self._at(directory)).type != FileType.NotFound:
                self.system.delete_dir(self._at(directory))

    def each(self, do: Callable[[T], R], items: Sequence[T]) -> Iterable[R]:
        return _pool(os.getpid()).map(do, items) if len(items) > 1 else map(do, items)

    def is_away(self, problem: Exception) -> WarehouseError | None:
        # Of HDFS, a server that answers and has no datanode that can give a file says so of that file.
        if isinstance(problem, FileNotFoundError) or not _is_of_server(problem) or str(problem).startswith("DataTransferError"):
            return None
        hint = "check that its server runs, its name and its port, and your credentials; nothing was changed"
        return WarehouseError(f"cannot reach {self.name}: {said_by(problem)}", hint=hint)

    def _listed(self, directory: str) -> list[tuple[str, FileInfo]]:
        with self._asking():
            found = self.system.get_file_info(FileSelector(self._at(directory), allow_not_found=True, recursive=True))
        return [(self.before + each.path, each) for each in found]

    def _at(self, path: str) -> str:
        return path.removeprefix(self.before)

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError) as problem:
            if (away := self.is_away(problem)) is not None:
                raise away from problem
            if isinstance(problem, RuntimeError):  # as the client of HDFS has it
                raise OSError(said_by(problem)) from problem
            raise


def s3(rest: str) -> Remote:
    """A bucket, by the variables that all tools for S3 know: AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL and so on."""
    from pyarrow.fs import AwsDefaultS3RetryStrategy, S3FileSystem

    bucket = rest.partition("/")[0]
    if not bucket:
        raise WarehouseError("there is no bucket in the name of the warehouse", hint="s3a://bucket/path")
    options: dict[str, Any] = {}
    if endpoint := endpoint_of_s3():
        url = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        options |= {"scheme": url.scheme, "endpoint_override": url.netloc, "region": "us-east-1"}
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        options["region"] = region
    retries = AwsDefaultS3RetryStrategy(max_attempts=ATTEMPTS)
    # Delayed: a file that is small is one request, not the three of an upload in parts.
    system = S3FileSystem(allow_delayed_open=True, connect_timeout=CONNECT, request_timeout=ANSWER, retry_strategy=retries, **options)
    # Spark knows it as s3a only, Sail as both.
    return Remote(f"s3a://{rest}", "s3a://", bucket, system)


def endpoint_of_s3() -> str | None:
    """The server, where it is not that of AWS."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


def hdfs(rest: str) -> Remote:
    """HDFS by its own protocol, without a JVM. HADOOP_CONF_DIR may say what a name stands for, HADOOP_USER_NAME who we are."""
    try:
        from pyarrow.fs import FSSpecHandler, PyFileSystem

        from slackwater.trace.hdfs import Hdfs
    except ImportError as problem:
        raise WarehouseError(f"HDFS needs a client: {problem}", hint='pip install "slackwater[hdfs]"') from problem
    server, _, path = rest.partition("/")
    if not server or not path:
        raise WarehouseError("a warehouse in HDFS needs a server and a path", hint="hdfs://host:port/path")
    host, _, port = server.partition(":")
    try:
        # One server is asked for seconds, those of a nameservice until one of them has taken over.
        once = {"dfs.client.failover.max.attempts": str(ATTEMPTS)} if port else {}
        system = PyFileSystem(FSSpecHandler(Hdfs(host, int(port) if port else None, **once)))
    except (RuntimeError, ValueError) as problem:
        hint = "hdfs://host:port/path; a name without a port is one of HADOOP_CONF_DIR"
        raise WarehouseError(f'there is no HDFS called "{server}": {problem}', hint=hint) from problem
    return Remote(f"hdfs://{rest}", f"hdfs://{server}", "", system)


def _facts(found: FileInfo) -> Facts:
    return Facts(found.size, found.mtime_ns / 1e9)


def _is_of_server(problem: Exception) -> bool:
    """Whether it is what S3's client says, or that of HDFS. A file that is damaged is an OSError of Arrow's, too."""
    return re.search(r"AWS Error|\(os error \d+\)|^\w+Error\(", str(problem)) is not None


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """A process that was forked has none of its parent's threads, and gets its own."""
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="slackwater-remote")
