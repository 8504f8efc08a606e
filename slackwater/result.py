"""What a statement answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas

SHOWN = 20


class Result:
    """Rows, a message, or both. Rows are fetched when they are first asked for, and then kept; to show some, no more are fetched."""

    def __init__(
        self,
        columns: list[str],
        fetch: Callable[[], pa.Table],
        message: str = "",
        spark: Callable[[], Any] | None = None,
        fetch_some: Callable[[int], pa.Table] | None = None,
    ) -> None:
        self.columns = columns
        self.message = message
        self._fetch = fetch
        self._fetch_some = fetch_some
        self._spark = spark
        self._rows: pa.Table | None = None
        self._is_text = False

    @classmethod
    def of_message(cls, message: str) -> Result:
        return cls([], lambda: pa.table({}), message)

    @classmethod
    def of_text(cls, column: str, text: str) -> Result:
        """Lines of text, such as a plan."""
        result = cls([column], lambda: pa.table({column: text.split("\n")}), text)
        result._is_text = True
        return result

    @classmethod
    def of_rows(cls, columns: list[str], rows: list[tuple[Any, ...]]) -> Result:
        arrays = [pa.array([row[i] for row in rows]) for i in range(len(columns))]
        return cls(columns, lambda: pa.table(arrays, names=columns))

    def to_arrow(self) -> pa.Table:
        if self._rows is None:
            self._rows = self._fetch()
        return self._rows

    def to_pandas(self) -> pandas.DataFrame:
        return self.to_arrow().to_pandas()

    def to_spark(self) -> Any:
        """The rows as a DataFrame of the engine, without fetching them; only for queries."""
        return self._spark() if self._spark is not None else None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        yield from _tuples(self.to_arrow())

    def __len__(self) -> int:
        return int(self.to_arrow().num_rows)

    def show(self, rows: int = SHOWN) -> None:
        print(self.text(rows))

    def text(self, rows: int = SHOWN) -> str:
        """As a table for people."""
        if not self.columns or self._is_text:
            return self.message
        first = self._first(rows + 1)
        shown = [["NULL" if value is None else str(value) for value in row] for row in _tuples(first.slice(0, rows))]
        widths = [max([len(name), *(len(row[i]) for row in shown)]) for i, name in enumerate(self.columns)]
        lines = ["  ".join(name.ljust(width) for name, width in zip(self.columns, widths, strict=True)).rstrip()]
        lines.append("  ".join("-" * width for width in widths))
        lines += ["  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip() for row in shown]
        if first.num_rows > rows:
            lines.append("... more rows" if self._rows is None else f"... {len(self) - rows} more rows")
        if self.message:
            lines.append(self.message)
        return "\n".join(lines)

    def _first(self, count: int) -> pa.Table:
        if self._rows is None and self._fetch_some is not None:
            first = self._fetch_some(count)
            if first.num_rows < count:
                self._rows = first  # which is all of them
            return first
        return self.to_arrow().slice(0, count)

    __str__ = text

    def __repr__(self) -> str:
        return f"Result({self.message!r})" if self.message else f"Result(columns={self.columns})"


def _tuples(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    yield from zip(*(column.to_pylist() for column in table.columns), strict=True) if table.num_columns else ()
