"""Rows as text: a table to read, CSV, or JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from rich.cells import cell_len, set_cell_size
from rich.text import Text

WIDEST = 60  # characters of one value, in a terminal
NULL = "NULL"


def as_table(rows: pa.Table, most_rows: int | None = None, widest: int | None = None) -> Text:
    """A table to read: numbers at the right, NULL dimmed, what is too long cut with a sign that it was."""
    shown = rows if most_rows is None else rows.slice(0, most_rows)
    names = [_cut(name, widest) for name in rows.schema.names]
    columns = [[_cut(as_text(value, kind), widest) for value in values] for values, kind in _columns(shown)]
    empty = [[value is None for value in values] for values, _ in _columns(shown)]
    widths = [max(map(cell_len, [name, *column])) for name, column in zip(names, columns, strict=True)]
    right = [_is_number(field.type) for field in rows.schema]
    text = Text(no_wrap=True, end="")
    text.append(" | ".join(_pad(name, width, False) for name, width in zip(names, widths, strict=True)).rstrip(), style="bold")
    text.append("\n" + "-+-".join("-" * width for width in widths), style="dim")
    for row in range(shown.num_rows):
        text.append("\n")
        for column in range(len(names)):
            last = column == len(names) - 1
            cell = _pad(columns[column][row], widths[column], right[column])
            text.append(cell.rstrip() if last else cell, style="dim" if empty[column][row] else "")
            text.append("" if last else " | ", style="dim")
    if shown.num_rows < rows.num_rows:
        text.append(f"\n... {rows.num_rows - shown.num_rows} more rows", style="dim")
    return text


def as_csv(rows: pa.Table) -> str:
    """CSV with a header; NULL is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.schema.names)
    columns = [["" if value is None else as_text(value, kind) for value in values] for values, kind in _columns(rows)]
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def as_json(rows: pa.Table) -> str:
    """One JSON object a line. What JSON has no number for, such as NaN and decimals, is written as text."""
    names = rows.schema.names
    columns = [[_plain(value, kind) for value in values] for values, kind in _columns(rows)]
    return "".join(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in zip(*columns, strict=True))


def as_text(value: Any, kind: pa.DataType) -> str:
    """One value as a reader expects it."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return "0x" + value.hex().upper()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")  # sessions live in UTC
    if isinstance(value, Decimal):
        return format(value, "f")
    if pa.types.is_map(kind):
        return "{" + ", ".join(f"{as_text(key, kind.key_type)}: {as_text(item, kind.item_type)}" for key, item in value) + "}"
    if pa.types.is_struct(kind):
        return "{" + ", ".join(f"{name}: {as_text(item, kind.field(name).type)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_text(item, kind.value_type) for item in value) + "]"
    return str(value)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A value as JSON has it."""
    if pa.types.is_map(kind) and value is not None:
        return {as_text(key, kind.key_type): _plain(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind) and value is not None:
        return {name: _plain(item, kind.field(name).type) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, kind.value_type) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bytes | date | Decimal):
        return as_text(value, kind)
    return value


def _columns(rows: pa.Table) -> list[tuple[list[Any], pa.DataType]]:
    return [(rows.column(index).to_pylist(), field.type) for index, field in enumerate(rows.schema)]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cut(text: str, widest: int | None) -> str:
    # A line break inside a value would tear the table apart.
    line = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t") if any(sign in text for sign in "\n\t") else text
    return line if widest is None or cell_len(line) <= widest else set_cell_size(line, widest - 1) + "…"


def _pad(text: str, width: int, right: bool) -> str:
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding
