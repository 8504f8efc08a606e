"""Spark's types as Arrow's."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from pyspark.sql import types as T

from slackwater.errors import QueryError
from slackwater.plan import Column
from slackwater.plan.render import quote

_PLAIN: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", tz="UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
}


@lru_cache(maxsize=1024)
def arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of a table's columns."""
    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in columns])


@lru_cache(maxsize=1024)  # Connect asks its server what a type's text means
def arrow_type(type: str) -> pa.DataType:
    """A type as Spark writes it, as Arrow has it."""
    parsed = T.StructType.fromDDL(f"{quote('c')} {type}").fields[0].dataType
    return _arrow(parsed)


def _arrow(type: T.DataType) -> pa.DataType:
    if isinstance(type, T.DecimalType):
        return pa.decimal128(type.precision, type.scale)
    if isinstance(type, T.ArrayType):
        return pa.list_(_arrow(type.elementType))
    if isinstance(type, T.MapType):
        return pa.map_(_arrow(type.keyType), _arrow(type.valueType))
    if isinstance(type, T.StructType):
        return pa.struct([pa.field(field.name, _arrow(field.dataType)) for field in type.fields])
    for spark, arrow in _PLAIN.items():
        if isinstance(type, spark):
            return arrow
    raise QueryError(f"a table cannot hold columns of type {type.simpleString()}")
