"""Reading a statement: word by word, and the queries and expressions in it as a whole."""

from __future__ import annotations

from slackwater.sql import syntax
from slackwater.sql.literals import are_literals
from slackwater.sql.pieces import Piece
from slackwater.sql.words import QUERY_WORDS, Words

__all__ = ["QUERY_WORDS", "Cursor"]


class Cursor(Words):
    """A position in a statement. What is a query or an expression must be one."""

    def expression(self, *ends: str) -> Piece:
        """An expression up to one of these words."""
        piece = self.until(*ends)
        if not piece:
            raise self.error("expected an expression")
        syntax.check_expression(piece, self.text)
        return piece

    def query(self) -> Piece:
        """All that is left, which must be a query. `TABLE t` is short for `SELECT * FROM t` and becomes that."""
        if self.word() not in QUERY_WORDS:
            raise self.error("expected a query")
        start = self.start
        if self.accept("TABLE"):
            name = self.name("a table or view")
            return self.finish(Piece(f"SELECT * FROM {self.text[name.place.start : name.place.end]}", start, self.end))
        self.at = len(self.tokens)
        piece = Piece(self.text[start:], start)
        if not are_literals(piece):  # in which nothing can be wrong; to read them takes longer than to insert them
            syntax.check_query(piece, self.text)
        return piece
