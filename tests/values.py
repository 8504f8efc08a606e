"""Values as a case file writes them, as Python holds them, and as Spark SQL writes them.

A cell's type is always known: from the table's definition, or from the answer it is compared with. So strings need no quotes unless
they could be taken for something else, and dates and timestamps are written bare. Nested values are written as Spark writes them:
`array(1, null)`, `struct(1, 'x')`, `map('a', 1)`; strings inside them are always quoted.

Python's side is hashable, so that rows can be counted: arrays are tuples, structs tuples of fields, maps tuples of pairs sorted by key.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

Value = Any
Row = tuple[Value, ...]

# One object for all of them: Python finds a NaN in a dictionary only by its identity.
NAN = float("nan")

_SCALARS: dict[str, pa.DataType] = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "TEXT": pa.string(),
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
    "TIMESTAMPLTZ": pa.timestamp("us", tz="UTC"),
    "TIMESTAMPNTZ": pa.timestamp("us"),
    "BINARY": pa.binary(),
}


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type of a Spark type such as `array<decimal(12,2)>`."""
    return _arrow_type(exp.DataType.build(text, dialect="spark"))


def _arrow_type(type_: exp.DataType) -> pa.DataType:
    name = type_.this.name
    inner = type_.expressions
    if name == "ARRAY":
        return pa.list_(_arrow_type(inner[0]))
    if name == "STRUCT":
        return pa.struct([(field.name, _arrow_type(field.args["kind"])) for field in inner])
    if name == "MAP":
        return pa.map_(_arrow_type(inner[0]), _arrow_type(inner[1]))
    if name == "DECIMAL":
        precision, scale = (int(part.name) for part in inner) if inner else (10, 0)
        return pa.decimal128(precision, scale)
    return _SCALARS[name]


def freeze(value: Any, type_: pa.DataType) -> Value:
    """What pyarrow's `to_pylist` gives, hashable and with one NaN."""
    if value is None:
        return None
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return tuple(freeze(item, type_.value_type) for item in value)
    if pa.types.is_struct(type_):
        return tuple(freeze(value[field.name], field.type) for field in type_)
    if pa.types.is_map(type_):
        pairs = [(freeze(key, type_.key_type), freeze(item, type_.item_type)) for key, item in value]
        return tuple(sorted(pairs, key=lambda pair: repr(pair[0])))
    if isinstance(value, float) and math.isnan(value):
        return NAN
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    return value


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table. By position, because a query may give two columns one name."""
    columns = [[freeze(value, column.type) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def arrow_table(rows: Sequence[Row], names: Sequence[str], types: Sequence[pa.DataType]) -> pa.Table:
    """Rows as an Arrow table of the given types."""
    columns = [pa.array([_thaw(row[i], type_) for row in rows], type_) for i, type_ in enumerate(types)]
    return pa.Table.from_arrays(columns, names=list(names))


def _thaw(value: Value, type_: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_list(type_):
        return [_thaw(item, type_.value_type) for item in value]
    if pa.types.is_struct(type_):
        return {field.name: _thaw(item, field.type) for field, item in zip(type_, value, strict=True)}
    if pa.types.is_timestamp(type_) and type_.tz:
        return value.replace(tzinfo=dt.UTC)
    return value


def split_cells(text: str) -> list[str]:
    """A row's cells: what stands between the bars that are not inside quotes."""
    return _split(text, "|")


def _split(text: str, separator: str) -> list[str]:
    parts, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(text):
        if char == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == separator and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def read_value(text: str, type_: pa.DataType) -> Value:
    """A cell's text as a value of the type."""
    if text == "null":
        return None
    for word, is_type in (("array", pa.types.is_list), ("struct", pa.types.is_struct), ("map", pa.types.is_map)):
        if is_type(type_):
            if not (text.startswith(word + "(") and text.endswith(")")):
                raise ValueError(f"expected {word}(...), got {text}")
            body = text[len(word) + 1 : -1].strip()
            return _read_nested(_split(body, ",") if body else [], type_)
    return _read_scalar(text, type_)


def _read_nested(parts: list[str], type_: pa.DataType) -> Value:
    if pa.types.is_list(type_):
        return tuple(read_value(part, type_.value_type) for part in parts)
    if pa.types.is_struct(type_):
        return tuple(read_value(part, field.type) for part, field in zip(parts, type_, strict=True))
    values = [read_value(part, type_.item_type if i % 2 else type_.key_type) for i, part in enumerate(parts)]
    return tuple(sorted(zip(values[::2], values[1::2], strict=True), key=lambda pair: repr(pair[0])))


def _read_scalar(text: str, type_: pa.DataType) -> Value:
    if pa.types.is_string(type_):
        return text[1:-1].replace("''", "'") if text.startswith("'") else text
    if pa.types.is_boolean(type_):
        return {"true": True, "false": False}[text]
    if pa.types.is_integer(type_):
        return int(text)
    if pa.types.is_floating(type_):
        return freeze(float(text), type_)
    if pa.types.is_decimal(type_):
        return Decimal(text)
    if pa.types.is_date(type_):
        return dt.date.fromisoformat(text)
    if pa.types.is_timestamp(type_):
        return dt.datetime.fromisoformat(text)
    if pa.types.is_binary(type_):
        return bytes.fromhex(text.removeprefix("X'").removesuffix("'"))
    raise ValueError(f"a case file cannot hold a value of type {type_}")


def write_value(value: Value, type_: pa.DataType, nested: bool = False) -> str:
    """A value as a cell's text; `read_value` gives it back."""
    if value is None:
        return "null"
    if pa.types.is_list(type_):
        return f"array({', '.join(write_value(item, type_.value_type, True) for item in value)})"
    if pa.types.is_struct(type_):
        return f"struct({', '.join(write_value(item, field.type, True) for item, field in zip(value, type_, strict=True))})"
    if pa.types.is_map(type_):
        flat = [(part, type_.item_type if i else type_.key_type) for pair in value for i, part in enumerate(pair)]
        return f"map({', '.join(write_value(part, part_type, True) for part, part_type in flat)})"
    if pa.types.is_string(type_) and (nested or _needs_quotes(value)):
        return "'" + str(value).replace("'", "''") + "'"
    return _write_scalar(value)


def _write_scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), repr(value))
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value)


def _needs_quotes(text: str) -> bool:
    return text in ("", "null") or text != text.strip() or any(mark in text for mark in ("|", "'", "#", "->", "\n"))


def write_row(row: Row, types: Sequence[pa.DataType]) -> str:
    """A row as the cells of a case file."""
    return " | ".join(write_value(value, type_) for value, type_ in zip(row, types, strict=True))


def read_row(text: str, types: Sequence[pa.DataType]) -> Row:
    """The cells of a case file as a row."""
    cells = split_cells(text)
    if len(cells) != len(types):
        raise ValueError(f"{len(cells)} cells for {len(types)} columns: {text}")
    return tuple(read_value(cell, type_) for cell, type_ in zip(cells, types, strict=True))


def sql_literal(value: Value, spark_type: str) -> str:
    """A value as a Spark SQL expression of exactly the given type."""
    type_ = arrow_type(spark_type)
    if value is None or pa.types.is_nested(type_):
        return f"CAST({_sql_text(value, type_)} AS {spark_type})"
    if type_ in (pa.string(), pa.int32(), pa.bool_(), pa.date32(), pa.binary()):
        return _sql_text(value, type_)
    return f"CAST('{_write_scalar(value)}' AS {spark_type})"


def _sql_text(value: Value, type_: pa.DataType) -> str:
    if value is None:
        return "NULL"
    if pa.types.is_list(type_):
        return f"array({', '.join(_sql_text(item, type_.value_type) for item in value)})"
    if pa.types.is_struct(type_):
        fields = (f"'{field.name}', {_sql_text(item, field.type)}" for item, field in zip(value, type_, strict=True))
        return f"named_struct({', '.join(fields)})"
    if pa.types.is_string(type_):
        # A backslash starts an escape in Spark's strings.
        return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    if pa.types.is_date(type_):
        return f"DATE '{value}'"
    if pa.types.is_timestamp(type_):
        return f"TIMESTAMP '{value}'"
    if pa.types.is_floating(type_):
        return f"CAST('{_write_scalar(value)}' AS {'FLOAT' if type_ == pa.float32() else 'DOUBLE'})"
    return _write_scalar(value)
