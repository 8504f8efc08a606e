"""`slackwater sql`: statements from the command line, a file, standard input, or a person."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.cli.activity import Activity
from slackwater.cli.output import Output
from slackwater.errors import SlackwaterError
from slackwater.sql.pieces import split

if TYPE_CHECKING:
    from slackwater.session import Session


def run(options: argparse.Namespace) -> int:
    if options.execute and options.file:
        print("slackwater sql: give either -e or a file, not both", file=sys.stderr)
        return 2
    if not options.execute and options.file is None and sys.stdin.isatty():
        from slackwater.cli.shell import Shell

        output = Output(options.format, interactive=True)
        return _with_session(options, output, lambda db: Shell(db, output, options).run())
    try:
        scripts = options.execute or [_read(options.file)]
    except (OSError, UnicodeDecodeError) as problem:
        print(f"slackwater sql: cannot read {options.file}: {problem}", file=sys.stderr)
        return 2
    output = Output(options.format)
    return _with_session(options, output, lambda db: run_scripts(db, scripts, output, options.keep_going))


def run_scripts(db: Session, scripts: list[str], output: Output, keep_going: bool) -> int:
    """Run every statement of every script; stop at the first that fails, unless told otherwise. The answer is the exit code."""
    runner = Runner(db, output)
    code = number = 0
    for script in scripts:
        try:
            pieces = split(script)
        except SlackwaterError as problem:
            output.error(problem)
            return 1
        for piece in pieces:
            number += 1
            where = f"statement {number}, line {script.count(chr(10), 0, piece.start) + 1}: "
            if not runner.run(str(piece), where):
                code = 1
                if not keep_going:
                    return code
    return code


class Runner:
    """Runs statements one by one, showing what goes on and what came out."""

    def __init__(self, db: Session, output: Output) -> None:
        self.db = db
        self.output = output
        self._activity: Activity | None = None
        db.on_progress(self._tell)

    def run(self, statement: str, where: str = "") -> bool:
        """Whether the statement worked."""
        start = time.perf_counter()
        try:
            with self._watched(_first_words(statement)):
                result = self.db.sql(statement)
                result.to_arrow()
        except KeyboardInterrupt:
            if not self.output.interactive:
                raise
            self.output.note("cancelled")
            return False
        except Exception as problem:  # whatever an engine raises: the shell goes on, and a script says which statement it was
            self.output.error(problem, where)
            return False
        self.output.answer(result, time.perf_counter() - start)
        return True

    @contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        with Activity(self.output.errors, what) as self._activity:
            yield
        self._activity = None

    def _tell(self, event: object) -> None:
        if self._activity is not None:
            self._activity.tell(event)


def _with_session(options: argparse.Namespace, output: Output, use: Callable[[Session], int]) -> int:
    import slackwater

    try:
        with Activity(output.errors, f"starting {options.engine}"):
            db = slackwater.connect(
                options.warehouse,
                engine=options.engine,
                read_only=options.read_only,
                store=options.store,
                wait=options.wait,
                choose=options.choose,
                folding=options.folding,
                beside=options.beside,
            )
    except SlackwaterError as problem:
        output.error(problem)
        return 1
    with db:
        return use(db)


def _read(file: str | None) -> str:
    return sys.stdin.read() if file in (None, "-") else Path(str(file)).read_text(encoding="utf-8")


def _first_words(statement: str) -> str:
    line = " ".join(statement.split())
    return line if len(line) <= 60 else line[:57] + "..."
