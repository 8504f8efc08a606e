"""What the catalog asks of its store: the little in which SQLite and PostgreSQL differ.

Statements are the same for both, with `?` for a value. Every one runs inside a transaction: `reading` sees one moment, `writing` is alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from slackwater.errors import WarehouseError


class Unsettled(WarehouseError):
    """A commit was asked for and no answer came: the step is there whole or not at all, and it is not known which."""


class Rows(Protocol):
    """What a statement gives."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Statements(Protocol):
    """An open transaction."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Rows: ...
    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> object: ...


class Store(Protocol):
    """A place for the catalog. All methods may be called from any thread, and raise WarehouseError when the store cannot be used."""

    place: str  # how messages name it
    shared: bool  # whether it is outside of the warehouse's folder
    now: str  # an expression: seconds by the store's own clock

    def exists(self) -> bool:
        """Whether there is something. Raises WarehouseError if there should be, by what else there is."""

    def create(self, schema: str) -> None:
        """Make what is not there yet, all or nothing.

        `{number}` in the schema is a key that counts up, `{by_key}` keeps rows in the order of their key.
        """

    def reading(self) -> AbstractContextManager[Statements]:
        """Everything as of one moment, however long it takes to read."""

    def writing(self) -> AbstractContextManager[Statements]:
        """All or nothing, one at a time. Raises Unsettled if nothing came back when it was to be committed."""

    def fill(self, db: Statements, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Put rows into a table that bring all of their values along. Keys that count up go on after the largest of them."""

    def vacuum(self) -> None:
        """Give back the space of rows that are gone."""

    def close(self) -> None: ...
