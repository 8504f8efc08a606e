"""Reading a text from left to right, word by word."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from slackwater.errors import Place, QueryError
from slackwater.sql.pieces import Piece, scan, unquoted

QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "(", "TABLE")
# Words that begin a clause: they are not taken for a name, so that a forgotten name is noticed where it is missing.
RESERVED = frozenset(
    """
    SELECT FROM WHERE SET VALUES INTO USING ON WHEN THEN AS WITH TABLE VIEW CREATE DROP AND OR NOT NULL PRIMARY CONSTRAINT
    JOIN GROUP ORDER HAVING UNION EXCEPT INTERSECT CASE END IN IS LIKE BETWEEN EXISTS TRUE FALSE
    """.split()
)

T = TypeVar("T")


class Token(NamedTuple):
    """A word, a sign, a string or a quoted name, as it is written."""

    kind: str
    text: str
    place: Place

    def piece(self) -> Piece:
        value = unquoted(self.text) if self.kind in ("string", "name") else self.text
        return Piece(value, self.place.start, self.place.end)


class Words:
    """A position among the tokens of `text`. Words are compared without regard to case; what is in quotes is never a keyword."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [Token(kind, text[place.start : place.end], place) for kind, place in scan(text) if kind != "comment"]
        self.at = 0

    # Looking

    @property
    def token(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    @property
    def done(self) -> bool:
        return self.token is None

    @property
    def start(self) -> int:
        """Where the next token begins; the end of the last one when there is none."""
        return self.token.place.start if self.token is not None else self.end

    @property
    def end(self) -> int:
        """Where the previous token ended."""
        return self.tokens[self.at - 1].place.end if self.at else 0

    def place(self) -> Place:
        """The place of the next token, or of the end."""
        return self.token.place if self.token is not None else Place(self.end, self.end + 1)

    def word(self, ahead: int = 0) -> str:
        """The word or sign some tokens ahead, in upper case; empty at the end and for what is in quotes."""
        if self.at + ahead >= len(self.tokens):
            return ""
        token = self.tokens[self.at + ahead]
        return token.text.upper() if token.kind in ("word", "sign") else ""

    def sees(self, *words: str) -> bool:
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def sees_name(self) -> bool:
        """Whether what comes next can be a name."""
        token = self.token
        if token is None:
            return False
        return token.kind == "name" or (token.kind == "word" and not token.text.isdigit() and token.text.upper() not in RESERVED)

    # Taking

    def accept(self, *words: str) -> bool:
        """Take these words if they come next."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.error(f"expected {word}")

    def name(self, what: str) -> Piece:
        """The name of something, without its quotes."""
        if self.token is None or not self.sees_name():
            raise self.error(f"expected the name of {what}")
        piece = self.token.piece()
        self.at += 1
        if self.sees("."):
            last = self.tokens[min(self.at + 1, len(self.tokens) - 1)].piece()
            place = Place(piece.start, last.place.end)
            raise QueryError("a warehouse has one namespace: names have no qualifier", text=self.text, place=place, hint=f'write "{last}"')
        return piece

    def qualifier(self) -> Piece | None:
        """Take `t.` of `t.column`, if there is one."""
        if self.token is None or not self.sees_name() or self.word(1) != ".":
            return None
        self.at += 2
        return self.tokens[self.at - 2].piece()

    def string(self, what: str) -> Piece:
        if self.token is None or self.token.kind != "string":
            raise self.error(f"expected {what} in quotes")
        self.at += 1
        return self.tokens[self.at - 1].piece()

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Items in parentheses, commas between them."""
        self.expect("(")
        items = [item()]
        while self.accept(","):
            items.append(item())
        self.expect(")")
        return tuple(items)

    def names(self, what: str) -> tuple[Piece, ...]:
        return self.listed(lambda: self.name(what))

    def until(self, *words: str) -> Piece:
        """The text up to one of these words outside parentheses and CASE ... END, or to the end."""
        begin, depth = self.start, 0
        while not self.done:
            word = self.word()
            if depth == 0 and (word in words or word in (")", "]", "}")):
                break
            depth += (word in ("(", "[", "{", "CASE")) - (word in (")", "]", "}", "END"))
            self.at += 1
        return Piece(self.text[begin : max(begin, self.end)], begin)

    def skip_to(self, end: int) -> None:
        """Pass all tokens before this place of the text."""
        while self.token is not None and self.token.place.start < end:
            self.at += 1

    def finish(self, statement: T) -> T:
        """The statement, if nothing is left over."""
        if not self.done:
            raise self.error("expected the end of the statement")
        return statement

    def error(self, message: str, hint: str | None = None) -> QueryError:
        """A syntax error at the next token."""
        if self.token is None:
            return QueryError(f"syntax error: {message}, found the end", text=self.text, place=self.place(), hint=hint)
        return QueryError(f'syntax error at "{self.token.text}": {message}', text=self.text, place=self.place(), hint=hint)
