"""The type of a column, as the user writes it and as Spark does.

`DECIMAL( 12 , 2)`, `Array<Struct<a: Integer>>` become `decimal(12,2)`, `array<struct<a:int>>`: Spark's simple string, by which two types
are equal when their texts are.
"""

from __future__ import annotations

import re

from slackwater.errors import Place, QueryError, did_you_mean
from slackwater.sql.pieces import Piece

# What may be written, and what Spark calls it.
SIMPLE = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "byte": "tinyint",
    "smallint": "smallint",
    "short": "smallint",
    "int": "int",
    "integer": "int",
    "bigint": "bigint",
    "long": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "string": "string",
    "binary": "binary",
    "variant": "variant",
}
DECIMALS = ("decimal", "dec", "numeric")
# Kept as strings: their length is not checked.
CHARACTERS = ("char", "character", "varchar")
NESTED = ("array", "map", "struct")
# What people coming from other databases write.
ELSEWHERE = {
    "text": "STRING",
    "int4": "INT",
    "int8": "BIGINT",
    "bool": "BOOLEAN",
    "datetime": "TIMESTAMP",
    "blob": "BINARY",
    "number": "DECIMAL",
}

_TOKEN = re.compile(r"\s*(`(?:``|[^`])*`|\w+|[<>(),:])")


def read_type(text: str, start: int) -> Piece:
    """The type that begins at `start` of `text`."""
    reader = _Reader(text, start)
    begin = reader.peek_start()
    return Piece(reader.type(), begin, reader.at)


class _Reader:
    """Reads one type from left to right."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start

    def type(self) -> str:
        start, word = self.peek_start(), self.take().lower()
        if word in DECIMALS:
            return self.decimal(start)
        if word in NESTED:
            return self.nested(word)
        if word in CHARACTERS:
            self.numbers()
            return "string"
        if word == "double" and self.peek().lower() == "precision":
            self.take()
        if word in SIMPLE:
            return SIMPLE[word]
        raise self.unknown(word, start)

    def decimal(self, start: int) -> str:
        numbers = self.numbers() or [10]
        precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else 0
        if not 1 <= precision <= 38 or scale > precision or len(numbers) > 2:
            raise self.error("a decimal has 1 to 38 digits, and no more of them behind the point", start)
        return f"decimal({precision},{scale})"

    def nested(self, word: str) -> str:
        self.expect("<")
        if word == "array":
            inside = self.type()
        elif word == "map":
            key = self.type()
            self.expect(",")
            inside = f"{key},{self.type()}"
        else:
            fields: list[str] = []
            while self.peek() != ">":
                if fields:
                    self.expect(",")
                fields.append(self.field())
            inside = ",".join(fields)
        self.expect(">")
        return f"{word}<{inside}>"

    def field(self) -> str:
        name = self.take()
        if self.peek() == ":":
            self.take()
        return f"{name}:{self.type()}"

    def numbers(self) -> list[int]:
        """`(12, 2)` as a list; nothing without parentheses."""
        found: list[int] = []
        if self.peek() != "(":
            return found
        self.take()
        while True:
            start, word = self.peek_start(), self.take()
            if not word.isdigit():
                raise self.error("expected a number", start)
            found.append(int(word))
            if self.peek() != ",":
                break
            self.take()
        self.expect(")")
        return found

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match.group(1) if match else ""

    def peek_start(self) -> int:
        match = _TOKEN.match(self.text, self.at)
        return match.start(1) if match else self.at

    def take(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise self.error("expected a type", self.at)
        self.at = match.end()
        return match.group(1)

    def expect(self, sign: str) -> None:
        start = self.peek_start()
        if self.peek() != sign:
            raise self.error(f"expected {sign} in the type", start)
        self.take()

    def error(self, message: str, start: int) -> QueryError:
        return QueryError(message, text=self.text, place=Place(start, max(start + 1, self.at)))

    def unknown(self, word: str, start: int) -> QueryError:
        error = self.error(f'type "{word}" does not exist', start)
        error.hint = f"use {ELSEWHERE[word]}" if word in ELSEWHERE else did_you_mean(word, [*SIMPLE, *DECIMALS, *NESTED])
        return error
