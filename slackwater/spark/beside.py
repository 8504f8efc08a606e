"""Sail beside Spark, for what is small, in a process of its own: its memory is not ours, and if it ends, nobody else does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from slackwater.errors import WarehouseError
from slackwater.spark.engine import Engine

SERVER = Path(__file__).with_name("sail_server.py")
ROOM = 2 << 30  # bytes of memory for its statements. If it holds on to more it is ended, and another one started when it is needed
PATIENCE = 10  # seconds that it has to end
CONNECTED = "SPARK_CONNECT_MODE_ENABLED"


def start_beside(connect: Callable[[int, Callable[[], None]], Engine], environment: Mapping[str, str]) -> Engine:
    """An engine on a Sail that is started for it. `connect`: makes one of a port, and of what to do when it is stopped."""
    process = subprocess.Popen(
        [sys.executable, str(SERVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # an interrupt is for us, not for it
    )
    assert process.stdin is not None and process.stdout is not None
    told = process.stdout.readline().strip()

    def stop() -> None:
        try:
            process.communicate(timeout=PATIENCE)  # which closes its input, and waits for its end
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    if not told.isdigit():
        stop()
        raise WarehouseError("Sail could not be started beside Spark", hint='set beside="none" to do without it')
    before = os.environ.get(CONNECTED)
    try:
        engine = connect(int(told), stop)
    except BaseException:
        stop()
        raise
    finally:
        # pyspark sets it for good when it has talked to a server, and takes its own functions for those of Connect from then on.
        if before is None:
            os.environ.pop(CONNECTED, None)
    engine.is_fit = lambda: process.poll() is None and _memory(process.pid) < ROOM
    return engine


def _memory(process: int) -> int:
    """How many bytes a process holds; 0 where the system does not tell."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
