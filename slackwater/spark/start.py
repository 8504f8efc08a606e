"""Start an engine, or take the one that was given.

"spark"                     Spark in this process, all cores
"local[2]", "spark://..."   a Spark master
"sc://host:port"            a Spark Connect server
"sail"                      Sail in this process
a SparkSession              yours: we neither configure nor stop it
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from slackwater.errors import WarehouseError
from slackwater.spark.beside import ROOM, start_beside
from slackwater.spark.engine import Engine
from slackwater.spark.java import find_java
from slackwater.trace.remote import endpoint_of_s3

LOG = Path(__file__).with_name("log4j2.properties")

# Settings of the Spark that we start, each with its reason.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",  # the same answer on every machine
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # a trace names its files: no listing job
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",  # fewer, larger files
    # Against 10m, Spark's own: 6% less CPU over TPC-H at scale factor 1, a third to a half less where a side fits (q7, q9, q18, q21).
    "spark.sql.autoBroadcastJoinThreshold": "32m",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96, the default, has no statistics and only Spark reads it right
    # The classes that Spark generates and keeps. Two dozen views have more than 100, the default: they would be compiled at each refresh.
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.driver.memory": os.environ.get("SLACKWATER_MEMORY", "4g"),
    # ParallelGC takes about 10% less CPU than G1; what fails is raised, so the log stays quiet.
    "spark.driver.extraJavaOptions": f"-XX:+UseParallelGC -Dlog4j2.configurationFile={LOG.as_uri()}",
    "spark.sql.debug.maxToStringFields": "200",
    "spark.ui.showConsoleProgress": "false",  # progress is ours to show
}

# And those of one that has this process for a machine. A cluster has more cores than we can count here, and a page that shows them at work.
LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",  # a port and a thread pool that an embedded engine does not need
    "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),  # 200 tasks for a small flush cost more than the flush
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}

# Settings of the Sail that we start.
SAIL_SETTINGS = {
    # With statistics Sail takes a column that has one value for a constant, and panics over it in some functions (max_by) and joins (<=>).
    "SAIL_EXECUTION__COLLECT_STATISTICS": "false",
    # Sail forgets a session that was idle for five minutes. Ours lives as long as its user's: ten years.
    "SAIL_SPARK__SESSION_TIMEOUT_SECS": "315360000",
}

# And of the one beside Spark. Whatever it fails at, Spark runs, so it may have statistics: it takes the small side of a join for the
# small one, for which full flushes of TPC-H cost up to 1.7 times less, and half the memory. What does not fit fails, or goes to the disk.
BESIDE_SETTINGS = {
    "SAIL_EXECUTION__COLLECT_STATISTICS": "true",
    "SAIL_RUNTIME__MEMORY_POOL__TYPE": "fair",
    "SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": str(ROOM),
}

# gRPC, through which Sail and Connect are reached, revives its threads in every forked child. One in twenty of them aborts over
# files that the child has closed before it becomes another program: spark-submit, for one. Before gRPC is loaded is the time to say no.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

_stopped: list[Any] = []
_users: list[object] = []  # sessions of this process on the Spark that one of them has started
_lock = threading.Lock()


def start(engine: str | SparkSession | Any, beside: str | None = None) -> Engine:
    """The engine that `connect(engine=..., beside=...)` names."""
    if beside not in (None, "sail", "none"):
        raise WarehouseError(f'"{beside}" cannot run flushes beside the engine', hint='use "sail" or "none"')
    started = _started(engine)
    # A session that was given may be set to see some things in its own way.
    if (beside or ("none" if started.kind == "given" else "sail")) == "sail" and started.may_have_one_beside:
        started.start_beside = _beside
    return started


def _started(engine: str | SparkSession | Any) -> Engine:
    if not isinstance(engine, str):
        return Engine(engine, "given", lambda: None)
    if engine == "sail":
        return _sail()
    if engine.startswith("sc://"):
        return _connect(engine)
    return _spark("local[*]" if engine == "spark" else engine)


def _spark(master: str) -> Engine:
    if not master.startswith(("local", "spark://", "yarn", "k8s://")):
        raise WarehouseError(
            f'unknown engine "{master}"', hint='use "spark", "sail", a master such as "local[2]", or a Connect URL "sc://..."'
        )
    java = find_java()
    if java is None:
        raise WarehouseError("Spark needs Java 17 or newer, and none was found", hint='install one, or: pip install "slackwater[java]"')
    os.environ["JAVA_HOME"] = str(java)
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)  # set by pyspark when this process has talked to a server
    builder = SparkSession.builder.master(master).appName("slackwater")
    for key, value in {**SETTINGS, **(LOCAL_SETTINGS if master.startswith("local") else {})}.items():
        builder = builder.config(key, value)
    if endpoint_of_s3():
        # Spark takes the endpoint itself from the environment. A server of one's own has buckets in paths, not in names of hosts.
        builder = builder.config("spark.hadoop.fs.s3a.path.style.access", "true")
    builder = builder.config("spark.sql.warehouse.dir", os.path.join(tempfile.gettempdir(), "slackwater-spark"))
    return _shared(builder)


def _shared(builder: SparkSession.Builder) -> Engine:
    """Spark, which all sessions of this process share: the last one that is closed stops it, unless it was there before the first."""
    with _lock:
        is_ours = bool(_users) or SparkSession.getActiveSession() is None
        spark = builder.getOrCreate()
        user = object()
        if is_ours:
            _users.append(user)

    def leave() -> None:
        with _lock:
            if user in _users:
                _users.remove(user)
                if not _users:
                    spark.stop()

    return Engine(spark, "spark", leave)


def _connect(url: str) -> Engine:
    """A session on a server is ours, its Spark is not: what belongs to a session is set, the rest is as the server was started."""
    spark = SparkSession.builder.remote(url).create()
    for key, value in SETTINGS.items():
        if key.startswith("spark.sql."):
            spark.conf.set(key, value)
    return Engine(spark, "connect", spark.stop)


def _sail() -> Engine:
    try:
        from pysail.spark import SparkConnectServer
    except ImportError as problem:
        raise WarehouseError("the engine sail is not installed", hint="pip install pysail") from problem
    for name, value in _sail_settings().items():
        os.environ.setdefault(name, value)
    server = SparkConnectServer(port=0)
    server.start(background=True)
    return _on_sail(server.listening_address[1], server.stop)


def _sail_settings() -> dict[str, str]:
    by_http = (endpoint_of_s3() or "").startswith("http://")
    # What fails is raised; set RUST_LOG to see the server's own log.
    return {**SAIL_SETTINGS, **({"AWS_ALLOW_HTTP": "true"} if by_http else {}), "RUST_LOG": "off"}


def _beside() -> Engine:
    engine = start_beside(_on_sail, {**_sail_settings(), **os.environ, **BESIDE_SETTINGS})
    engine.sees_sizes = True  # by its statistics
    # A server that has ended is not worth waiting for: Spark answers instead.
    engine.spark.client.set_retry_policies([])
    return engine


def _on_sail(port: int, stop_server: Callable[[], None]) -> Engine:
    logging.getLogger("pyspark.sql.connect").setLevel(logging.ERROR)
    spark = SparkSession.builder.remote(f"sc://localhost:{port}").create()
    spark.conf.set("spark.sql.session.timeZone", "UTC")

    def stop() -> None:
        with contextlib.suppress(Exception):  # it may have ended
            spark.stop()
        stop_server()
        # A Connect session that is collected while another one starts a thread can hang both: it is never collected.
        _stopped.append(spark)

    return Engine(spark, "sail", stop)
