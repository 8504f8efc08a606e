"""The doctor's checks of a warehouse whose catalog is on a server, or all of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from slackwater.catalog import reading_catalog, store_named
from slackwater.cli.doctor import Check, told_writer
from slackwater.errors import WarehouseError
from slackwater.trace import place_at


def reached(warehouse: Path) -> Check:
    """In the place of `disk` and `folder`: whether the server that holds the warehouse answers."""
    try:
        place = place_at(warehouse)
        batches = place.batches()
    except WarehouseError as problem:
        return Check("warehouse", "fail", problem.message, problem.hint or "")
    return Check("warehouse", "ok", f"{place.name}, {len(batches)} batches")


def shared_checks(url: str) -> tuple[Callable[[Path], Check], ...]:
    """In the place of `catalog` and `writer`."""

    def catalog(warehouse: Path) -> Check:
        try:
            with closing(store_named(url, warehouse)) as store:
                if not store.exists():
                    return Check("catalog", "ok", f"none yet at {store.place}")
                with reading_catalog(store, warehouse) as found:
                    return Check("catalog", "ok", f"{len(found.snapshot().relations)} tables and views at {store.place}")
        except WarehouseError as problem:
            return Check("catalog", "fail", problem.message, problem.hint or "")

    def writer(warehouse: Path) -> Check:
        try:
            with closing(store_named(url, warehouse)) as store:
                if not store.exists():
                    return told_writer(None)
                with store.reading() as db:
                    return told_writer(db.execute(f"SELECT pid, host, expires > {store.now} FROM lease").fetchone())
        except WarehouseError as problem:
            return Check("writer", "warn", f"unknown: {problem.message}")

    return catalog, writer
