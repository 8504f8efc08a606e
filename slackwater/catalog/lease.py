"""One writer per warehouse, by a lease in the store.

The holder renews it while it lives. Another process may take it when it has expired, or at once when its holder is a process of this
machine that is no longer there.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid

from slackwater.catalog.catalog import Catalog
from slackwater.errors import WarehouseError

LASTS = 30.0  # seconds without a sign of life after which a lease is free
RENEWED_EVERY = 10.0


class Lease:
    """The right to write, held until `release`."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.holder = uuid.uuid4().hex
        self._stop = threading.Event()
        self._take()
        self._thread = threading.Thread(target=self._keep, name="slackwater-lease", daemon=True)
        self._thread.start()

    def release(self) -> None:
        self._stop.set()
        self._thread.join()
        with self.catalog.transaction() as db:
            db.execute("DELETE FROM lease WHERE holder = ?", [self.holder])

    def check(self) -> None:
        """Before a commit: is the lease still ours?"""
        with self.catalog.transaction() as db:
            found = db.execute("SELECT holder FROM lease").fetchone()
        if found is None or found[0] != self.holder:
            raise WarehouseError("another process has taken over this warehouse", hint="close this session and connect again")

    def _take(self) -> None:
        with self.catalog.transaction() as db:
            held = db.execute("SELECT holder, host, pid, expires FROM lease").fetchone()
            if held is not None and held[3] > time.time() and not is_gone(held[1], held[2]):
                raise WarehouseError(
                    f"this warehouse is being written by process {held[2]} on {held[1]}",
                    hint="a warehouse has one writer: close the other session, or open this one with read_only=True",
                )
            self._put(db)

    def _put(self, db: object) -> None:
        db.execute(  # type: ignore[attr-defined]
            "INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?)", [self.holder, socket.gethostname(), os.getpid(), time.time() + LASTS]
        )

    def _keep(self) -> None:
        while not self._stop.wait(RENEWED_EVERY):
            with self.catalog.transaction() as db:
                db.execute("UPDATE lease SET expires = ? WHERE holder = ?", [time.time() + LASTS, self.holder])


def is_gone(host: str, pid: int) -> bool:
    """Whether a process has ended, as far as this machine can tell."""
    if host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
