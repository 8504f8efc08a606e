"""`slackwater check`: is a warehouse all that its catalog says?"""

from __future__ import annotations

import argparse

from rich.text import Text

from slackwater.cli.activity import Activity
from slackwater.cli.output import Output
from slackwater.cli.store import store_of
from slackwater.errors import SlackwaterError
from slackwater.run.check import check
from slackwater.run.progress import in_words


def run(options: argparse.Namespace) -> int:
    output = Output("table")
    console = output.rows
    try:
        with Activity(output.errors, "checking the catalog") as activity:
            found = check(options.warehouse, store_of(options), options.fast, activity.tell)
    except SlackwaterError as problem:
        output.error(problem)
        return 1
    for damage in found.problems:
        console.print(Text.assemble(("damaged  ", "bold red"), damage))
    for note in found.notes:
        console.print(Text.assemble(("note     ", "yellow"), note))
    looked_at = f"{found.files} files, {in_words(found.bytes)}" + (", sizes only" if options.fast else "")
    if found.problems:
        console.print(Text.assemble(("failed   ", "bold red"), f"{looked_at}: {len(found.problems)} problems"))
        output.note("hint: slackwater restore brings back a backup; a view whose tables are sound can be created again")
        return 1
    console.print(Text.assemble(("sound    ", "green"), looked_at))
    return 0
