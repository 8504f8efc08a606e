"""Rows from outside, as Arrow of a table's own types.

Whatever a user has (tuples, dicts, pandas, Arrow) becomes a table with exactly the wanted columns, or an error that names the column and,
where it can be known, the row. Nothing is ever rounded, cut off or turned into NULL on the way.
"""

from __future__ import annotations

import datetime
import glob
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from slackwater.errors import QueryError, did_you_mean
from slackwater.trace.write import cut

ARROW = (pa.Table, pa.RecordBatch)
ROWS = 10_000  # that are made Arrow at a time
_WIDE = Context(prec=76)  # the default context would refuse 38 digits


def to_arrow(data: Any, schema: pa.Schema) -> Iterator[pa.Table]:
    """A user's rows with the columns of `schema`, piece by piece. Columns that the data lack are NULL."""
    if type(data).__module__.startswith("pandas."):
        data = pa.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, pa.Table | pa.RecordBatch):
        data = [data]
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Sequence | Iterator | pa.RecordBatchReader):
        raise QueryError(
            f"cannot insert a {type(data).__name__}",
            hint="give a list of tuples or dicts, a pandas DataFrame, an Arrow table or a Spark DataFrame",
        )
    rest = iter(data)
    first = list(islice(rest, 1))
    if first and isinstance(first[0], ARROW):
        for piece in chain(first, rest):
            if not isinstance(piece, ARROW):
                raise QueryError(f"cannot insert a {type(piece).__name__} among Arrow batches", hint="give rows or batches, not both")
            yield from (fitted(part, schema) for part in cut(pa.table(piece)))
        return
    rows, number = chain(first, rest), 0
    while some := list(islice(rows, ROWS)):
        yield _from_rows(some, schema, number)
        number += len(some)


def is_few(data: Any, most: int) -> bool:
    """Whether all of it is here, and no more than so many rows."""
    if isinstance(data, ARROW):
        return bool(0 < data.num_rows <= most)
    return isinstance(data, Sequence) and 0 < len(data) <= most and not isinstance(data[0], ARROW)


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """An Arrow table with the schema's columns and types, by name."""
    given = {name.lower(): name for name in table.column_names}
    wanted = {name.lower() for name in schema.names}
    for lower, name in given.items():
        if lower not in wanted:
            raise QueryError(f'the table has no column "{name}"', hint=did_you_mean(name, schema.names))
    arrays = []
    for field in schema:
        if field.name.lower() not in given:
            arrays.append(pa.nulls(table.num_rows, field.type))
        else:
            arrays.append(_cast(table.column(given[field.name.lower()]), field))
    return pa.table(arrays, schema=schema)


def _cast(values: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        if pa.types.is_timestamp(field.type) and pa.types.is_timestamp(values.type) and values.type.unit == "ns":
            # Spark's timestamps have microseconds; finer ones are pandas' habit, not information.
            return values.cast(pa.timestamp("us", tz=values.type.tz), safe=False).cast(field.type)
        return values.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as problem:
        raise QueryError(f'column "{field.name}" is {_name(field.type)}, the data are {_name(values.type)}: {_first(problem)}') from problem


def _from_rows(rows: Sequence[Any], schema: pa.Schema, before: int) -> pa.Table:
    """Rows from Python as Arrow; `before` is how many came before them."""
    if rows and isinstance(rows[0], Mapping):
        names = {name.lower(): name for name in schema.names}
        listed = []
        for number, row in enumerate(rows, start=before + 1):
            for key in row:
                if str(key).lower() not in names:
                    raise QueryError(f'row {number}: the table has no column "{key}"', hint=did_you_mean(str(key), schema.names))
            lower = {str(key).lower(): value for key, value in row.items()}
            listed.append(tuple(lower.get(name.lower()) for name in schema.names))
        rows = listed
    for number, row in enumerate(rows, start=before + 1):
        if not isinstance(row, Sequence) or isinstance(row, str | bytes) or len(row) != len(schema):
            count = len(row) if isinstance(row, Sequence) and not isinstance(row, str | bytes) else 1
            raise QueryError(f"row {number} has {count} values, the table has {len(schema)} columns", hint=", ".join(schema.names))
    return pa.table([_array([row[i] for row in rows], field, before) for i, field in enumerate(schema)], schema=schema)


def _array(values: list[Any], field: pa.Field, before: int) -> pa.Array:
    try:
        return pa.array([_plain(value, field.type) for value in values], field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError, ArithmeticError) as problem:
        for number, value in enumerate(values, start=before + 1):
            try:
                pa.array([_plain(value, field.type)], field.type)
            except Exception:
                raise QueryError(f'row {number}: {value!r} does not fit column "{field.name}" of type {_name(field.type)}') from problem
        raise QueryError(f'column "{field.name}" of type {_name(field.type)}: {_first(problem)}') from problem


def _plain(value: Any, type: pa.DataType) -> Any:
    """Numbers for decimals and ISO text for dates are what people write; Arrow wants them in its own types."""
    if value is None:
        return None
    if pa.types.is_decimal(type):
        number = Decimal(str(value)) if isinstance(value, int | float | str) and not isinstance(value, bool) else value
        exact = number.quantize(Decimal(1).scaleb(-type.scale), context=_WIDE)
        if exact != number:
            raise ValueError(f"{value} has more than {type.scale} digits after the point")
        return exact
    if pa.types.is_date(type) and isinstance(value, str):
        return datetime.date.fromisoformat(value)
    if pa.types.is_timestamp(type) and isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    if pa.types.is_timestamp(type) and type.tz and isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    if pa.types.is_integer(type) and isinstance(value, bool | str):
        raise TypeError("not a number")
    return value


def read_files(path: str, format: str, options: Mapping[str, str], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of the files that COPY names, piece by piece. A value that does not fit is an error that names the file."""
    unknown = next((key for key in options if key not in OPTIONS[format]), None)
    if unknown is not None:
        known = ", ".join(sorted(OPTIONS[format])) or "none"
        raise QueryError(f'COPY from {format} has no option "{unknown}"', hint=f"there are: {known}")
    found = sorted(glob.glob(path)) if any(c in path for c in "*?[") else [path]
    expanded = [str(p) for each in found for p in (sorted(Path(each).glob(f"*.{format}*")) if Path(each).is_dir() else [Path(each)])]
    if not expanded or not all(Path(each).is_file() for each in expanded):
        missing = next((each for each in expanded if not Path(each).is_file()), path)
        raise QueryError(f'there is no file "{missing}"')
    for each in expanded:
        try:
            yield from (fitted(piece, schema) for piece in READERS[format](each, options, schema))
        except QueryError as problem:
            raise QueryError(f"{each}: {problem.message}", hint=problem.hint) from problem
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OSError, ValueError) as problem:
            raise QueryError(f"{each}: {_first(problem)}", hint="nothing of it was loaded") from problem


def _csv(path: str, options: Mapping[str, str], schema: pa.Schema) -> Iterator[pa.Table]:
    header = options.get("header", "true").lower() == "true"
    reader = pa.csv.open_csv(
        path,
        read_options=pa.csv.ReadOptions(column_names=None if header else schema.names),
        parse_options=pa.csv.ParseOptions(delimiter=options.get("delimiter", options.get("sep", ","))),
        convert_options=pa.csv.ConvertOptions(
            column_types={**{f.name: f.type for f in schema}, **{f.name.lower(): f.type for f in schema}},
            null_values=[options.get("null", "")], strings_can_be_null=True, quoted_strings_can_be_null=False,
        ),
    )  # fmt: skip
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _json(path: str, options: Mapping[str, str], schema: pa.Schema) -> Iterator[pa.Table]:
    # Numbers for decimals arrive as text or double: read as the file has them, then fit.
    parse = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    for batch in pa.json.open_json(path, parse_options=parse):
        yield pa.Table.from_batches([batch])


def _parquet(path: str, options: Mapping[str, str], schema: pa.Schema) -> Iterator[pa.Table]:
    with pq.ParquetFile(path, pre_buffer=False) as file:  # which would read a row group ahead, however large
        for batch in file.iter_batches():
            yield pa.Table.from_batches([batch])


OPTIONS = {"csv": {"header", "delimiter", "sep", "null"}, "json": set(), "parquet": set()}
READERS = {"csv": _csv, "json": _json, "parquet": _parquet}


def _name(type: pa.DataType) -> str:
    return str(type).replace("[us, tz=UTC]", "").replace("decimal128", "decimal")


def _first(problem: Exception) -> str:
    text = str(problem).splitlines()[0].rstrip(".") if str(problem) else type(problem).__name__
    return text[:1].lower() + text[1:]
