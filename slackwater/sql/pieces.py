"""Text, and where its parts stand.

A `Piece` is a part of a statement that remembers its place, so that an error found much later can still point at it. Scanning knows
just enough of the language to tell code from strings, quoted names and comments; that is all that splitting a script needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Self

from slackwater.errors import Place, QueryError

SHORT = 2000  # characters of a text whose parts are remembered


class Piece(str):
    """A string and its place in the text it was taken from. For a quoted name the place includes the quotes, the string does not."""

    place: Place

    def __new__(cls, value: str, start: int, end: int | None = None) -> Self:
        piece = super().__new__(cls, value)
        piece.place = Place(start, start + len(value) if end is None else end)
        return piece

    @property
    def start(self) -> int:
        return self.place.start


def split(text: str) -> list[Piece]:
    """The statements of a script: cut at semicolons, without the semicolons, the empty ones left out."""
    statements = []
    first: int | None = None
    for kind, place in [*scan(text), (";", Place(len(text), len(text)))]:
        if kind == ";" and first is not None:
            statements.append(Piece(text[first : place.start].rstrip(), first))
            first = None
        elif kind not in (";", "comment") and first is None:
            first = place.start
    return statements


def is_complete(text: str) -> bool:
    """Whether the last statement of the text has its semicolon, so that nothing more is to be typed."""
    try:
        kinds = [kind for kind, _ in scan(text) if kind != "comment"]
    except QueryError:
        return False
    return not kinds or kinds[-1] == ";"


def scan(text: str) -> Sequence[tuple[str, Place]]:
    """The text's parts: `word`, `sign` (one character), `string`, `name` (quoted), `comment`, `;`."""
    return _scanned(text) if len(text) <= SHORT else tuple(_parts(text))


@lru_cache(maxsize=128)  # on its way a statement is scanned more than once, and one with parameters comes again and again
def _scanned(text: str) -> Sequence[tuple[str, Place]]:
    return tuple(_parts(text))


def _parts(text: str) -> Iterator[tuple[str, Place]]:
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            at += 1
            continue
        kind, end = str(match.lastgroup), match.end()
        if kind == "comment" and text.startswith("/*", at):
            end = _end_of_comment(text, at)
        elif kind == "open":
            what = "quoted name" if text[at] == "`" else "string"
            raise QueryError(f"this {what} is not closed", text=text, place=Place(at, len(text)), hint=f"add the missing {text[end - 1]}")
        yield kind if kind != "semicolon" else ";", Place(at, end)
        at = end


# A raw string takes its backslashes as they are, so it may end in one.
_PART = re.compile(
    r"""(?!\s)(?:
      (?P<comment> --[^\n]* | /\* )
    | (?P<string>  [rR]'[^']*' | [rR]"[^"]*" | '(?:\\.|''|[^'\\])*' | "(?:\\.|""|[^"\\])*" )
    | (?P<name>    `(?:``|[^`])*` )
    | (?P<open>    [rR]?['"] | ` )
    | (?P<semicolon> ; )
    | (?P<word>    \w+ )
    | (?P<sign>    . )
    )""",
    re.VERBOSE | re.DOTALL,
)


def _end_of_comment(text: str, start: int) -> int:
    """Where the comment that opens at `start` ends. Comments nest."""
    depth = 0
    for match in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return start + match.end()
    raise QueryError("this comment is not closed", text=text, place=Place(start, start + 2), hint="add the missing */")


def unquoted(written: str) -> str:
    """What a string or a quoted name means."""
    if written.startswith("`"):
        return written[1:-1].replace("``", "`")
    if written[0] in "rR":
        return written[2:-1]
    quote, inner = written[0], written[1:-1]

    def meaning(match: re.Match[str]) -> str:
        escaped = match.group(1)
        return quote if escaped is None else _ESCAPES.get(escaped, escaped)

    return re.sub(r"\\(.)|" + quote * 2, meaning, inner, flags=re.DOTALL)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b"}
