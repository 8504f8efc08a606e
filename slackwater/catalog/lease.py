"""One writer per warehouse, by a lease in the store.

The holder renews it while it lives, and with every commit, in the commit's own transaction: who has lost the lease commits nothing.
Another process may take it when it has expired by the store's clock, or at once when its holder is a process of this machine that is no
longer there.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from pathlib import Path

from slackwater.catalog.store import Statements, Store
from slackwater.errors import WarehouseError

LASTS = 30.0  # seconds without a sign of life after which a lease is free
RENEWED_EVERY = 10.0
RETRIED_EVERY = 1.0  # when the store cannot be reached
ASKED_EVERY = 1.0  # by those who wait for it


class LeaseLost(WarehouseError):
    """Another process writes now."""


class Lease:
    """The right to write, held until `release`. Waits up to `wait` seconds for a holder that leaves or dies."""

    def __init__(self, store: Store, wait: float = 0.0) -> None:
        self.store = store
        self.holder = f"{_machine()}/{uuid.uuid4().hex}"
        self._stop = threading.Event()
        self._take_within(wait)
        self._thread = threading.Thread(target=self._keep, name="slackwater-lease", daemon=True)
        self._thread.start()

    def renew(self, db: Statements) -> None:
        """As part of a transaction, which must not be committed if the lease is no longer ours."""
        renewed = db.execute(f"UPDATE lease SET expires = {self.store.now} + {LASTS} WHERE holder = ?", [self.holder])
        if renewed.rowcount != 1:
            raise LeaseLost("another process has taken over this warehouse", hint="close this session and connect again")

    def confirm(self) -> None:
        """See that the lease is still ours."""
        with self.store.writing() as db:
            self.renew(db)

    def release(self) -> None:
        self._stop.set()
        self._thread.join()
        with contextlib.suppress(WarehouseError), self.store.writing() as db:  # unreachable: it expires by itself
            db.execute("DELETE FROM lease WHERE holder = ?", [self.holder])

    def _take_within(self, wait: float) -> None:
        deadline = time.monotonic() + wait
        while (writer := self._take()) is not None:
            if time.monotonic() >= deadline:
                raise WarehouseError(
                    f"this warehouse is being written by {writer}",
                    hint="a warehouse has one writer: close the other session, or open this one with read_only=True",
                )
            time.sleep(min(ASKED_EVERY, max(0.0, deadline - time.monotonic())))

    def _take(self) -> str | None:
        """Take the lease; if that cannot be, the answer is who has it."""
        now = self.store.now
        with self.store.writing() as db:
            held = db.execute(f"SELECT holder, host, pid, expires > {now} FROM lease").fetchone()
            if held is not None and held[3] and not is_gone(held[0], held[2]):
                return f"process {held[2]} on {held[1]}"
            db.execute("DELETE FROM lease")
            values = [self.holder, socket.gethostname(), os.getpid()]
            db.execute(f"INSERT INTO lease (one, holder, host, pid, expires) VALUES (1, ?, ?, ?, {now} + {LASTS})", values)
        return None

    def _keep(self) -> None:
        pause = RENEWED_EVERY
        while not self._stop.wait(pause):
            try:
                self.confirm()
                pause = RENEWED_EVERY
            except LeaseLost:
                return  # the next commit says so
            except WarehouseError:
                pause = RETRIED_EVERY  # as long as nobody else takes it, the lease is ours


def _machine() -> str:
    """What tells this machine from others, and this container from others: only within it does the number of a process mean anything."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return f"{socket.gethostname()}/{uuid.getnode()}"


def is_gone(holder: str, pid: int) -> bool:
    """Whether a holder's process has ended, as far as this machine can tell."""
    if holder.rpartition("/")[0] != _machine():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
