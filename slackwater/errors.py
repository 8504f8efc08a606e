"""What can go wrong, and whose fault it is.

Every error says what happened, where in the text, and what to do about it. The same facts are attributes, so that the terminal,
a server and a test can each use them in their own way.

    QueryError      the user's: an unknown name, a wrong type, a duplicate key
    Unsupported     the user's too, but the construct is sound: it names the nearest thing that works
    WarehouseError  the surroundings': a second writer, a missing file, a full disk
    InternalError   ours: it asks for a report
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A stretch of a statement's text: characters `start` up to, not including, `end`."""

    start: int
    end: int


class SlackwaterError(Exception):
    """The base of everything that is raised on purpose."""

    def __init__(self, message: str, *, text: str | None = None, place: Place | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.place = place
        self.hint = hint

    def within(self, text: str) -> SlackwaterError:
        """The same error, now knowing the text its place refers to."""
        if self.text is None:
            self.text = text
        return self

    def __str__(self) -> str:
        lines = [self.message]
        if self.text is not None and self.place is not None:
            lines += caret(self.text, self.place)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class QueryError(SlackwaterError):
    """The statement or its data are wrong."""


class Unsupported(SlackwaterError):
    """The construct is sound, but not something we do."""


class WarehouseError(SlackwaterError):
    """The warehouse or the machine does not allow it."""


class Busy(WarehouseError):
    """There is too much to do already. Nothing was done; `retry_after` is after how many seconds it may be asked for again."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, hint=f"nothing was written; try again in about {retry_after:.1f} seconds")
        self.retry_after = retry_after


class InternalError(SlackwaterError):
    """A defect of ours."""

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message, hint="this is a defect in slackwater: please report it with the statement that led here")
        self.facts = facts


def caret(text: str, place: Place) -> list[str]:
    """The line of `text` that holds `place`, and a line of carets under it."""
    begin = text.rfind("\n", 0, place.start) + 1
    end = text.find("\n", place.start)
    line = text[begin:] if end < 0 else text[begin:end]
    column = place.start - begin
    width = max(1, min(place.end, begin + len(line)) - place.start)
    indent = len(line) - len(line.lstrip())
    return ["  " + line.strip(), "  " + " " * (column - indent) + "^" * width]


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint naming the known name nearest to `name`, if one is near."""
    near = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else None
