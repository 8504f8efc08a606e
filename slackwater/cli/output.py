"""Where answers and errors are written, and in which form."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from slackwater.cli.rows import WIDEST, as_csv, as_json, as_table
from slackwater.errors import SlackwaterError

if TYPE_CHECKING:
    from slackwater.result import Result

MOST_ROWS = 200  # in a terminal; a script gets all


class Output:
    """Rows go to standard output; what is said about them, and errors, go to standard error, so that a script can tell them apart."""

    def __init__(self, form: str, interactive: bool = False) -> None:
        self.form = form
        self.interactive = interactive
        self.errors = Console(stderr=True, highlight=False, soft_wrap=True)
        self.rows = Console(highlight=False, soft_wrap=True)

    def answer(self, result: Result, seconds: float) -> None:
        """What a statement answered."""
        if self.form != "table":
            self._data(result)
        elif result.message:
            self.rows.print(Text(result.message))
            if self.interactive and not result.columns:
                self.note(f"({seconds:.2f} s)")
        elif result.columns:
            self._table(result, seconds)

    def error(self, problem: BaseException, where: str = "") -> None:
        """What went wrong, red in a terminal."""
        text = str(problem) if isinstance(problem, SlackwaterError) else f"{type(problem).__name__}: {problem}"
        message, _, details = text.partition("\n")
        told = Text(f"{where}{message}", style="bold red")
        for line in details.split("\n") if details else []:
            told.append("\n" + line, style="red" if set(line.strip()) == {"^"} else "not bold default")
        self.errors.print(told)

    def note(self, text: str) -> None:
        self.errors.print(Text(text, style="dim"))

    def _table(self, result: Result, seconds: float) -> None:
        rows = result.to_arrow()
        in_terminal = self.rows.is_terminal
        self.rows.print(as_table(rows, MOST_ROWS if self.interactive else None, WIDEST if in_terminal else None))
        count = f"{rows.num_rows} row{'' if rows.num_rows == 1 else 's'}"
        if self.interactive:
            self.note(f"({count}, {seconds:.2f} s)")

    def _data(self, result: Result) -> None:
        if result.columns:
            sys.stdout.write(as_csv(result.to_arrow()) if self.form == "csv" else as_json(result.to_arrow()))
        elif result.message:
            self.errors.print(Text(result.message))
