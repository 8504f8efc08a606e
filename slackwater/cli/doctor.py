"""`slackwater doctor`: is this machine able to run, and is the warehouse sound?

Each check is a small function that gives a `Check`; the list below is the order in which they are told.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from slackwater.cli.activity import Activity

LEAST_DISK = 1 << 30
BACKUP = "slackwater restore brings back a backup"
SIGNS = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@dataclass(frozen=True)
class Check:
    """What was looked at, how it is, and what to do when it is not well."""

    name: str
    status: Literal["ok", "warn", "fail"]
    message: str
    advice: str = ""


def run(options: argparse.Namespace) -> int:
    console, errors = Console(highlight=False, soft_wrap=True), Console(stderr=True)
    checks = []
    for check in _chosen(options):
        with Activity(errors, check.__name__.replace("_", " ")):
            found = check(options.warehouse)
        checks.append(found)
        if not options.json:
            console.print(told(found))
    if options.json:
        console.print(json.dumps([asdict(check) for check in checks], indent=2))
    return 1 if any(check.status == "fail" for check in checks) else 0


def _chosen(options: argparse.Namespace) -> tuple[Callable[[Path], Check], ...]:
    """Engines are left out when it has to be quick; a catalog on a server has checks of its own, and so has a warehouse."""
    from slackwater.trace import place_at

    checks = CHECKS if options.quick else (*CHECKS[:3], *ENGINES, *CHECKS[3:])
    if "://" in place_at(options.warehouse).name:
        from slackwater.cli.shared import reached

        checks = tuple(reached if check is folder else check for check in checks if check is not disk)
    if options.store is None:
        return checks
    from slackwater.cli.shared import shared_checks

    return (*(check for check in checks if check not in (catalog, writer)), *shared_checks(options.store))


def told(check: Check) -> Text:
    """A check as a line or two for people."""
    text = Text.assemble((f"{check.status:<5}", SIGNS[check.status]), f"{check.name:<12}{check.message}")
    if check.advice:
        text.append(f"\n{'':17}{check.advice}", style="dim")
    return text


def python(warehouse: Path) -> Check:
    version_info = tuple(sys.version_info[:3])  # a plain tuple: run from a folder, nobody else has checked it
    version = ".".join(map(str, version_info))
    if version_info < (3, 11):
        return Check("python", "fail", version, "install Python 3.11 or newer")
    return Check("python", "ok", version)


def java(warehouse: Path) -> Check:
    from slackwater.spark.java import NEWEST, OLDEST, candidates, find_java, version

    home = find_java()
    if home is not None:
        return Check("java", "ok", f"{version(home)} at {home}")
    seen = [f"{version(place) or 'none'} at {place} ({source})" for source, place in candidates()]
    message = "none that Spark can use" + (": " + ", ".join(seen) if seen else "")
    return Check("java", "fail", message, f'install Java {OLDEST} to {NEWEST}, or: pip install "slackwater[java]"; sail needs none')


def packages(warehouse: Path) -> Check:
    pyspark = metadata.version("pyspark")
    major, minor = (int(part) for part in pyspark.split(".")[:2])
    if not (4, 1) <= (major, minor) < (4, 3):
        return Check("packages", "fail", f"pyspark {pyspark}", 'pip install "pyspark[connect]>=4.1,<4.3"')
    try:
        pysail = metadata.version("pysail")
    except metadata.PackageNotFoundError:
        return Check("packages", "warn", f"pyspark {pyspark}, no pysail", "pip install pysail, for engine sail")
    return Check("packages", "ok", f"pyspark {pyspark}, pysail {pysail}")


def spark(warehouse: Path) -> Check:
    return _engine_runs("spark", "local[1]", "see the message above; check java and SPARK_HOME")


def sail(warehouse: Path) -> Check:
    return _engine_runs("sail", "sail", "pip install --force-reinstall pysail")


def disk(warehouse: Path) -> Check:
    free = shutil.disk_usage(_existing(warehouse)).free
    message = f"{free / (1 << 30):.1f} GiB free at {warehouse}"
    if free < LEAST_DISK:
        return Check("disk", "warn", message, "make room: every change and every refresh writes new files")
    return Check("disk", "ok", message)


def folder(warehouse: Path) -> Check:
    if not warehouse.exists():
        above = _existing(warehouse)
        if not os.access(above, os.W_OK):
            return Check("warehouse", "fail", f"{above} cannot be written", "choose another place with --warehouse")
        return Check("warehouse", "ok", f"{warehouse} does not exist yet; it is made at the first use")
    if not warehouse.is_dir():
        return Check("warehouse", "fail", f"{warehouse} is not a folder", "choose another place with --warehouse")
    if not os.access(warehouse, os.R_OK | os.X_OK):
        return Check("warehouse", "fail", f"{warehouse} cannot be read", "ask its owner for access")
    if not os.access(warehouse, os.W_OK):
        return Check("warehouse", "warn", f"{warehouse} cannot be written", "open it with --read-only")
    return Check("warehouse", "ok", str(warehouse))


def catalog(warehouse: Path) -> Check:
    """SQLite's own check of the store."""
    from slackwater.catalog.pairing import mark_of
    from slackwater.trace import place_at

    try:
        store = _open_store(warehouse)
        if store is None and (mark := mark_of(place_at(warehouse))):
            return Check("catalog", "warn", f"it is at {mark['store']}", "give its URL with --store")
        if store is None:
            return Check("catalog", "ok", "none yet")
        problems = [str(row[0]) for row in store.execute("PRAGMA integrity_check")]
        relations = store.execute("SELECT count(*) FROM relation").fetchone()[0]
        store.close()
    except sqlite3.Error as problem:
        return Check("catalog", "fail", str(problem), BACKUP)
    if problems != ["ok"]:
        return Check("catalog", "fail", "; ".join(problems[:3]), BACKUP)
    return Check("catalog", "ok", f"sound, {relations} tables and views")


def writer(warehouse: Path) -> Check:
    """Who holds the lease."""
    try:
        store = _open_store(warehouse)
        held = store.execute("SELECT pid, host, expires > ? FROM lease", [time.time()]).fetchone() if store is not None else None
    except sqlite3.Error as problem:
        return Check("writer", "warn", f"unknown: {problem}")
    return told_writer(held)


def told_writer(held: tuple[int, str, bool] | None) -> Check:
    """The process, its host, and whether it has given a sign of life."""
    if held is None:
        return Check("writer", "ok", "nobody is writing")
    pid, host, alive = held
    if not alive:
        return Check("writer", "ok", f"process {pid} on {host} left without a word; the next session takes over")
    return Check("writer", "ok", f"process {pid} on {host}; other sessions need --read-only")


CHECKS: tuple[Callable[[Path], Check], ...] = (python, java, packages, disk, folder, catalog, writer)
ENGINES: tuple[Callable[[Path], Check], ...] = (spark, sail)


def _engine_runs(name: str, engine: str, advice: str) -> Check:
    """Start a session in a folder of its own and run a query through it."""
    import slackwater

    start = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as place, slackwater.connect(Path(place) / "warehouse", engine=engine) as db:
            answer: list[tuple[Any, ...]] = list(db.sql("SELECT 1 + 1 AS two"))
    except Exception as problem:  # whatever it is, it is what the user wants to know
        return Check(name, "fail", str(problem).split("\n")[0], advice)
    if answer != [(2,)]:
        return Check(name, "fail", f"1 + 1 gave {answer}", advice)
    return Check(name, "ok", f"starts and answers in {time.perf_counter() - start:.1f} s")


def _open_store(warehouse: Path) -> sqlite3.Connection | None:
    path = warehouse / "catalog.db"
    if not path.exists():
        return None
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)


def _existing(path: Path) -> Path:
    """The nearest folder above that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
