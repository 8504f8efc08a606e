"""`slackwater backup` and `slackwater restore`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.text import Text

from slackwater.cli.activity import Activity
from slackwater.cli.output import Output
from slackwater.cli.store import store_of
from slackwater.errors import SlackwaterError
from slackwater.run.backup import backup
from slackwater.run.copying import Copied
from slackwater.run.progress import Listener
from slackwater.run.restore import restore
from slackwater.trace.place import split


def run_backup(options: argparse.Namespace) -> int:
    return _run("backup", options.target, lambda tell: backup(options.warehouse, store_of(options), options.target, tell))


def run_restore(options: argparse.Namespace) -> int:
    # Not the environment's store: a backup comes back as a folder, unless it is said where else its catalog goes.
    copy = partial(restore, options.backup, options.warehouse, options.store or None, options.replace)
    return _run("restored", options.warehouse, copy)


def _run(done: str, place: Path, copy: Callable[[Listener], Copied]) -> int:
    output = Output("table")
    try:
        with Activity(output.errors, "reading the catalog") as activity:
            copied = copy(activity.tell)
    except SlackwaterError as problem:
        output.error(problem)
        return 1
    scheme, rest = split(place)
    output.rows.print(Text(f"{done} at {f'{scheme}://{rest}' if scheme else place}: {copied}"))
    return 0
