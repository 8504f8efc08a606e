"""The shell: a person types statements, over as many lines as they need."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from slackwater import __version__
from slackwater.cli.complete import Names, SqlCompleter
from slackwater.cli.output import Output
from slackwater.cli.sql import Runner
from slackwater.sql.pieces import is_complete, split

if TYPE_CHECKING:
    from slackwater.session import Session

PROMPT = "slackwater> "
CONTINUATION = "        ...> "
HELP = """\
A statement ends with a semicolon and may go over many lines.
  \\d          list tables, streams, samples and views
  \\d NAME     describe one of them
  \\?          this help
  \\q          leave (also: exit, quit, Ctrl-D)
  Tab         complete a word             Ctrl-R   search the history
  Ctrl-C      drop the line, or cancel what is running"""
QUIT = ("\\q", "exit", "quit")


class Shell:
    """Reads, runs, answers, until told to leave."""

    def __init__(self, db: Session, output: Output, options: argparse.Namespace) -> None:
        self.output = output
        self.runner = Runner(db, output)
        self.names = Names(db)
        self.where = f"slackwater {__version__}, {options.engine}, {options.warehouse}" + (" (read only)" if options.read_only else "")

    def run(self) -> int:
        self.output.note(f"{self.where}\n\\? for help")
        prompt = prompt_session(self.names)
        while True:
            try:
                text = prompt.prompt(PROMPT).strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            if text.rstrip("; ").lower() in QUIT:
                return 0
            self.obey(text)

    def obey(self, text: str) -> None:
        """Run what was typed: one of our short commands, or statements."""
        if text == "\\?":
            self.output.note(HELP)
        elif text.startswith("\\d"):
            self.describe(text[2:].strip(" ;"))
        elif text.startswith("\\"):
            self.output.note(f"{text.split()[0]} is not a command; \\? lists them")
        else:
            # The prompt hands over only what is closed, so this cannot fail.
            for statement in split(text):
                if not self.runner.run(str(statement)):
                    break
            self.names.forget()

    def describe(self, name: str) -> None:
        if name:
            self.runner.run(f"DESCRIBE {name}")
        else:
            for what in ("TABLES", "STREAMS", "SAMPLES", "VIEWS"):
                self.runner.run(f"SHOW {what}")


def prompt_session(names: Names) -> PromptSession[str]:
    return PromptSession(
        history=history(),
        completer=SqlCompleter(names),
        complete_while_typing=False,
        multiline=True,
        key_bindings=_bindings(),
        prompt_continuation=CONTINUATION,
        lexer=PygmentsLexer(SqlLexer),
        enable_history_search=True,
    )


def history() -> History:
    """What was typed before, kept in the user's state folder; in memory where that cannot be written."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "slackwater"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "history").touch()
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(folder / "history"))


def is_finished(text: str) -> bool:
    """Whether Enter runs the text rather than starting a new line."""
    text = text.strip()
    return not text or text.startswith("\\") or text.lower() in QUIT or is_complete(text)


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif is_finished(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return bindings
