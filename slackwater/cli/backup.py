"""`slackwater backup` and `slackwater restore`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rich.text import Text

from slackwater.cli.activity import Activity
from slackwater.cli.output import Output
from slackwater.errors import SlackwaterError
from slackwater.run.backup import Copied, backup, restore
from slackwater.run.progress import Listener


def run_backup(options: argparse.Namespace) -> int:
    return _run("backup", options.target, lambda tell: backup(options.warehouse, options.target, tell))


def run_restore(options: argparse.Namespace) -> int:
    return _run("restored", options.warehouse, lambda tell: restore(options.backup, options.warehouse, options.replace, tell))


def _run(done: str, place: Path, copy: Callable[[Listener], Copied]) -> int:
    output = Output("table")
    try:
        with Activity(output.errors, "reading the catalog") as activity:
            copied = copy(activity.tell)
    except SlackwaterError as problem:
        output.error(problem)
        return 1
    output.rows.print(Text(f"{done} at {place}: {copied}"))
    return 0
