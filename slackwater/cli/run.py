"""`slackwater run`: answer the views of a warehouse when their triggers are due, and show how that goes."""

from __future__ import annotations

import argparse
import math
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING

from rich.live import Live
from rich.table import Table

from slackwater.cli.activity import Activity
from slackwater.cli.output import Output
from slackwater.errors import SlackwaterError

if TYPE_CHECKING:
    from slackwater.catalog import Done
    from slackwater.session import Session

SHOWN_EVERY = 0.5  # seconds
LAST = 100  # answers of a view that are shown
PATIENCE = 1.0  # seconds for which it waits, each time that it asks for the right to write


def run(options: argparse.Namespace) -> int:
    import slackwater

    output = Output("table")
    try:
        with Activity(output.errors, f"starting {options.engine}"):
            # Folds are part of a turn: between turns others may be writing.
            db = slackwater.connect(
                options.warehouse,
                engine=options.engine,
                store=options.store,
                wait=options.wait,
                folding="refresh",
                choose=options.choose,
                beside=options.beside,
            )
    except SlackwaterError as problem:
        output.error(problem)
        return 1
    with db:
        return _run(db, output)


def _run(db: Session, output: Output) -> int:
    from slackwater.run.loop import Running

    warehouse = db._warehouse
    if not any(view.trigger.is_watched for view in warehouse.catalog.snapshot().views):
        output.note("no view has a trigger that is watched for yet; there may be some later")
    warehouse.lend()
    stopped = threading.Event()
    with _interrupts(stopped), Running(warehouse, right=lambda: warehouse.back(PATIENCE)):
        if output.errors.is_terminal:
            with Live(table(db), console=output.errors, refresh_per_second=1 / SHOWN_EVERY) as live:
                while not stopped.wait(SHOWN_EVERY):
                    live.update(table(db))
        else:
            db.on_progress(lambda event: output.note(str(event)) if type(event).__name__ in ("Answered", "Working") else None)
            stopped.wait()
    output.note("stopped")
    return 0


def table(db: Session) -> Table:
    """Each view whose trigger is watched for: what it asks for, how its last answers went, and what was spent for the next since then."""
    shown = Table(box=None, header_style="bold")
    for name in ("view", "trigger", "goal", "next", "last", "in time", "CPU s", "since"):
        shown.add_column(name, justify="left" if name in ("view", "trigger", "goal") else "right")
    catalog, now = db._warehouse.catalog, time.time()
    for view in catalog.snapshot().views:
        if not view.trigger.is_watched:
            continue
        answers = catalog.history(view.name, LAST, due=True)
        since = takewhile(lambda line: line.due is None, catalog.history(view.name, LAST))
        met = sum(line.goal_met not in ("missed", "failed") for line in answers)
        due = view.trigger.next_after(now)
        shown.add_row(
            view.name,
            view.options["trigger"],
            view.options.get("goal", "batch"),
            "" if math.isinf(due) else f"in {due - now:.0f} s",
            f"{answers[0].latency:.2f} s" if answers else "",
            f"{met} of {len(answers)}" if answers else "",
            f"{_cpu(answers):.2f}",
            f"{_cpu(line for line in since if line.action == 'flush'):.2f}",
        )
    return shown


def _cpu(lines: Iterable[Done]) -> float:
    return sum(line.cpu_seconds or 0.0 for line in lines)


@contextmanager
def _interrupts(stopped: threading.Event) -> Iterator[None]:
    """An interrupt, or being asked to end, lets what is under way finish."""
    before = {each: signal.signal(each, lambda *_: stopped.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
