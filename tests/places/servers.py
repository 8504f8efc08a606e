"""Servers of the tests' own that hold warehouses: MinIO for S3, Hadoop's namenode and datanode for HDFS. No mocks.

`python -m tests.places.servers` fetches and builds what is not there yet: MinIO by Go, which takes some minutes, and jars by Maven.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import pyspark
from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem, S3FileSystem

from slackwater.spark.java import find_java

ROOT = Path(__file__).parents[2]
THERE = ROOT / ".places"
MINIO = THERE / "bin" / "minio"
JARS = THERE / "jars"
MINIO_VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c"  # by commit: its releases have names that Go does not take for versions
SPARKS_JARS = Path(pyspark.__file__).parent / "jars"
PATIENCE = 180.0  # seconds for a server to start, on a machine that has other things to do
LOGGING = ("slf4j-api", "log4j-", "jcl-over-slf4j", "javax.servlet-api")


def fetch() -> None:
    """Have all that is needed in one folder; say what cannot be had."""
    hadoop = next(SPARKS_JARS.glob("hadoop-client-api-*.jar")).stem.removeprefix("hadoop-client-api-")
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={JARS}", f"-Dhadoop={hadoop}"]
    _fetch(MINIO, ["go", "install", f"github.com/minio/minio@{MINIO_VERSION}"], {"GOBIN": str(MINIO.parent)})
    _fetch(JARS / "ready", ["mvn", "-q", "-B", "-f", str(Path(__file__).with_name("pom.xml")), *copy], {})
    if JARS.exists() and any(JARS.glob("hadoop-aws-*.jar")):
        (JARS / "ready").touch()


def _fetch(wanted: Path, command: list[str], settings: dict[str, str]) -> None:
    if wanted.exists():
        return
    if shutil.which(command[0]) is None:
        print(f"{wanted.name} cannot be had: {command[0]} is not installed")
        return
    print(f"fetching {wanted.relative_to(ROOT)}: {' '.join(command[:3])}", flush=True)
    done = subprocess.run(command, env={**os.environ, **settings}, check=False)
    if done.returncode:
        print(f"{wanted.name} cannot be had: {command[0]} ended with {done.returncode}")


def missing(place: str) -> str | None:
    """Why there is no such server here, if there is none."""
    wanted = MINIO if place == "s3" else JARS / "ready"
    return None if wanted.exists() else f"{wanted.relative_to(ROOT)} is not there: make test-places fetches it, with Go or Maven"


class Program:
    """A server that runs as a process, can be stopped, and started again where it was."""

    def __init__(self, command: list[str], port: int, log: Path, settings: dict[str, str]) -> None:
        self._command, self._port, self._log, self._settings = command, port, log, settings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with open(self._log, "ab") as output:
            self._process = subprocess.Popen(
                self._command, env={**os.environ, **self._settings}, cwd=self._log.parent, stdout=output, stderr=subprocess.STDOUT
            )
        until = time.monotonic() + PATIENCE
        while not _answers(self._port):
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise AssertionError(f"{self._command[0]} does not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=60)
            self._process = None


class S3:
    """MinIO, with one user and as many buckets as are asked for."""

    away = 5.0  # seconds after which it is known that nobody answers

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slackwater-s3-"))
        self.port = free_port()
        self.settings = {
            "AWS_ACCESS_KEY_ID": "slackwater",
            "AWS_SECRET_ACCESS_KEY": uuid.uuid4().hex,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        own = {"MINIO_ROOT_USER": self.settings["AWS_ACCESS_KEY_ID"], "MINIO_ROOT_PASSWORD": self.settings["AWS_SECRET_ACCESS_KEY"]}
        address = ["--address", f"127.0.0.1:{self.port}", "--console-address", f"127.0.0.1:{free_port()}"]
        self._server = Program([str(MINIO), "server", str(self.folder / "data"), *address], self.port, self.folder / "log", own)
        self.start()

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def files(self) -> FileSystem:
        own = {"access_key": self.settings["AWS_ACCESS_KEY_ID"], "secret_key": self.settings["AWS_SECRET_ACCESS_KEY"]}
        address = f"127.0.0.1:{self.port}"
        return S3FileSystem(scheme="http", endpoint_override=address, allow_bucket_creation=True, region="us-east-1", **own)

    def new(self) -> str:
        """The name of a warehouse that is not there yet, in a bucket that is."""
        bucket = f"b{uuid.uuid4().hex}"
        self.files().create_dir(bucket)
        return f"s3a://{bucket}/plant/w"

    def at(self, url: str) -> str:
        """A path as `files` has it."""
        return url.removeprefix("s3a://")


class HDFS:
    """A namenode and a datanode, each a process."""

    away = 60.0
    settings: dict[str, str] = {}

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slackwater-hdfs-"))
        self.port, datas = free_port(), free_port()
        own = {
            "dfs.replication": "1",
            "dfs.namenode.name.dir": str(self.folder / "name"),
            "dfs.datanode.data.dir": str(self.folder / "data"),
            "dfs.datanode.address": f"127.0.0.1:{datas}",
            "dfs.datanode.synconclose": "true",  # as the documentation asks for
            "dfs.namenode.http-address": "127.0.0.1:0",
            "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
        }
        _write_settings(self.folder / "core-site.xml", {"fs.defaultFS": f"hdfs://127.0.0.1:{self.port}"})
        _write_settings(self.folder / "hdfs-site.xml", own)
        jars = [str(jar) for jar in SPARKS_JARS.glob("*.jar") if jar.name.startswith(("hadoop-client-", *LOGGING))]
        path = ":".join([str(self.folder), *map(str, JARS.glob("hadoop-client-minicluster-*.jar")), *jars])
        java = [str(Path(str(find_java())) / "bin" / "java"), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", path]
        name, data = (f"org.apache.hadoop.hdfs.server.{kind}" for kind in ("namenode.NameNode", "datanode.DataNode"))
        subprocess.run([*java, name, "-format", "-nonInteractive"], cwd=self.folder, check=True, capture_output=True)
        self._name = Program([*java, name], self.port, self.folder / "name.log", {})
        self._data = Program([*java, data], datas, self.folder / "data.log", {})
        try:
            self._name.start()
            self._data.start()
            self._wait()
        except BaseException:
            self.remove()
            raise

    def start(self) -> None:
        self._name.start()
        self._wait()

    def stop(self) -> None:
        self._name.stop()

    def remove(self) -> None:
        self._data.stop()
        self._name.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self) -> None:
        """A namenode that has just started lets nobody write until it has heard of its datanode."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(Exception), self.files().open_output_stream("/ready") as file:
                file.write(b"ready")
                return
            time.sleep(0.2)
        raise AssertionError("HDFS does not take files")

    def files(self) -> FileSystem:
        from hdfs_native.fsspec import HdfsFileSystem

        return PyFileSystem(FSSpecHandler(HdfsFileSystem("127.0.0.1", self.port)))

    def new(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}/plant/{uuid.uuid4().hex}"

    def at(self, url: str) -> str:
        return url.removeprefix(f"hdfs://127.0.0.1:{self.port}")


def spark_settings() -> dict[str, str]:
    """Spark with its way to S3."""
    jars = [str(jar) for jar in sorted(JARS.glob("*.jar")) if "minicluster" not in jar.name]
    return {"spark.jars": ",".join(jars), "spark.hadoop.fs.s3a.path.style.access": "true"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _write_settings(path: Path, settings: dict[str, Any]) -> None:
    each = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    path.write_text(f"<configuration>{each}</configuration>")


if __name__ == "__main__":
    fetch()
    sys.exit(0)
