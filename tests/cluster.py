"""A Spark cluster of the tests' own: a master, two workers with an executor each, all of them processes; and a Connect server in front.

`pytest --spark` says where the Spark of tests is: in this process, on such a cluster, or behind its Connect server.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark

from slackwater.spark.java import find_java
from slackwater.spark.start import LOG, SETTINGS
from tests.batch import open_spark, talking_to

WORKERS = 2
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"

# A JVM of tests compiles much and runs it once.
JAVA_OPTIONS = f"-XX:TieredStopAtLevel=1 -Xss8m -Dlog4j2.configurationFile={LOG.as_uri()}"
# What an application asks of the cluster.
OPTIONS = {
    "spark.cores.max": str(WORKERS),
    "spark.sql.shuffle.partitions": str(WORKERS),
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    # No task runs before both executors are there: otherwise the first does all the work of a short test.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    # Tests are small: tasks would all go to where the first rows were.
    "spark.locality.wait": "0s",
    # More than a broadcast takes, and less than the tables of tests on a cluster: none of them is ever fetched whole.
    "spark.sql.autoBroadcastJoinThreshold": "4m",
    "spark.driver.maxResultSize": "8m",
    "spark.task.maxFailures": "2",  # a task may lose its executor once: so a test that takes more away need not wait for long
}


class Cluster:
    """Runs on this machine, below a folder of its own, which it takes with it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slackwater-cluster-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        # To the last worker this folder is a disk of its own, if the system lets us do that.
        self.unshared = self.folder / "unshared"
        self.unshared.mkdir()
        self.has_unshared = subprocess.run([*_hiding(self.unshared), "true"], capture_output=True, check=False).returncode == 0
        port = _free_port()
        self.master = f"spark://127.0.0.1:{port}"
        try:
            self._run("spark-class", MASTER, "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0", answers=port)
            self._workers = [self._start_worker(number) for number in range(WORKERS)]
        except BaseException:
            self.remove()
            raise

    def start_connect(self) -> str:
        """A Connect server whose statements run on this cluster; returns its address."""
        port = _free_port()
        options = {
            **SETTINGS,
            **OPTIONS,
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
        }
        settings = [word for name, value in options.items() for word in ("--conf", f"{name}={value}")]
        self._run("spark-submit", "--class", CONNECT, "--master", self.master, *settings, answers=port)
        return f"sc://127.0.0.1:{port}"

    def executors(self) -> list[int]:
        """The process ids of the executors."""
        workers = {worker.pid for worker in self._workers}
        return sorted(pid for pid, parent, command in _processes() if parent in workers and EXECUTOR in command)

    def kill(self, count: int = WORKERS) -> None:
        """End executors as if their machines had lost power."""
        for pid in self.executors()[:count]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        for process in reversed(self._processes):
            process.terminate()  # a worker takes its executors with it
        for process in self._processes:
            process.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        place = ["--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(self.folder / f"worker-{number}")]
        hidden = self.unshared if self.has_unshared and number == WORKERS - 1 else None
        return self._run("spark-class", WORKER, *place, "--cores", "1", "--memory", "1g", self.master, hidden=hidden)

    def _run(self, program: str, *arguments: str, answers: int | None = None, hidden: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a program of Spark's, with a folder hidden from it, and wait until it answers at a port."""
        home = Path(pyspark.__file__).parent
        own = {"SPARK_HOME": str(home), "JAVA_HOME": str(find_java()), "SPARK_LOCAL_IP": "127.0.0.1"}
        own |= {"SPARK_DAEMON_MEMORY": "1g", "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS}
        log = self.folder / f"{len(self._processes)}.log"
        with open(log, "wb") as output:
            command = [*(_hiding(hidden) if hidden else ()), str(home / "bin" / program), *arguments]
            process = subprocess.Popen(command, env={**os.environ, **own}, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT)
        self._processes.append(process)
        until = time.monotonic() + 600  # on a machine that may be busy with something else
        while answers is not None and not _answers(answers):
            if process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"{program} {arguments[0]} does not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)
        return process


def is_remote(place: str) -> bool:
    """Whether the driver is not in this process, but on a server."""
    return place == "connect" or place.startswith("sc://")


def open_at(place: str) -> Any:
    """A Spark session in this process, on a master, or on a server."""
    if place == "local":
        return open_spark()
    if not is_remote(place):
        return open_spark(place, OPTIONS)
    from pyspark.sql import SparkSession

    with talking_to("connect"):
        return SparkSession.builder.remote(place).create()


def _hiding(folder: Path) -> list[str]:
    """Before a command: it runs with an empty disk in the place of a folder."""
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(folder)]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _processes() -> Iterator[tuple[int, int, str]]:
    """Every process, the one that started it, and what it runs; one that has ended runs nothing."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # The name, in brackets, may hold blanks and brackets.
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            yield int(folder.name), int(parent), (folder / "cmdline").read_text()
