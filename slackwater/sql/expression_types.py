"""Types of expressions: what can be known without asking the engine, and whom to ask for the rest.

A type is written as Spark's `simpleString` writes it: `int`, `decimal(12,2)`, `array<struct<a:int>>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from slackwater.plan.nodes import Column, Expression
from slackwater.sql.functions import call_of, function_name


class Typer(Protocol):
    """Whoever knows the types of expressions: an engine."""

    def types(self, expressions: Sequence[Expression], columns: Sequence[Column]) -> list[str]:
        """The type of each expression (scalar, aggregate or window) over columns of the given types."""
        ...


class GuessTyper:
    """Types as sqlglot infers them: no engine, near enough for tests of names and shapes."""

    def types(self, expressions: Sequence[Expression], columns: Sequence[Column]) -> list[str]:
        known = {column.name: column.type for column in columns}
        return [self._guess(expression, known) for expression in expressions]

    def _guess(self, expression: Expression, known: Mapping[str, str]) -> str:
        typed = expression.transform(
            lambda node: exp.cast(exp.Null(), known[node.name], dialect="spark") if isinstance(node, exp.Column) else node
        )
        kind = annotate_types(typed, dialect="spark").type
        if kind is None or kind.this == exp.DataType.Type.UNKNOWN:
            return "string"
        return spark_type(kind)


_TYPE_WORDS = {
    "text": "string",
    "varchar": "string",
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "null": "void",
}
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_BOOLEAN = (exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.Exists)


def spark_type(kind: exp.DataType) -> str:
    """A parsed type as Spark's simpleString."""
    text = kind.sql(dialect="spark").lower()
    if kind.this in exp.DataType.STRUCT_TYPES:
        return f"struct<{','.join(f'{field.name}:{spark_type(_kind(field))}' for field in kind.expressions)}>"
    if kind.this in (exp.DataType.Type.ARRAY, exp.DataType.Type.MAP, exp.DataType.Type.LIST):
        word = "map" if kind.this == exp.DataType.Type.MAP else "array"
        return f"{word}<{','.join(spark_type(inner) for inner in kind.expressions)}>"
    if text in ("decimal", "numeric", "dec"):
        return "decimal(10,0)"
    return _TYPE_WORDS.get(text, text).replace(", ", ",")


def _kind(field: Expression) -> exp.DataType:
    kind = field.args.get("kind") or field
    assert isinstance(kind, exp.DataType)
    return kind


def known_type(expression: Expression, columns: Mapping[str, str]) -> str | None:
    """The type, where it follows from the shape alone; None when the engine must say."""
    if isinstance(expression, exp.Column):
        return columns.get(expression.name)
    if isinstance(expression, exp.Paren | exp.Alias):
        return known_type(expression.this, columns)
    if isinstance(expression, exp.Neg):
        inner = known_type(expression.this, columns)
        return inner if inner in (*_INTEGERS, "float", "double") else None
    if isinstance(expression, exp.Dot):
        whole = known_type(expression.this, columns)
        return next((kind for name, kind in fields_of(whole or "") if name.lower() == expression.name.lower()), None)
    if isinstance(expression, _BOOLEAN):
        return "boolean"
    if isinstance(expression, exp.Literal):
        return _literal_type(expression)
    if isinstance(expression, exp.Null):
        return "void"
    if isinstance(expression, exp.Cast) and type(expression) in (exp.Cast, exp.TryCast):
        return _cast_type(expression)
    if isinstance(expression, exp.Window):
        return known_type(expression.this, columns)
    if isinstance(expression, exp.Coalesce | exp.If | exp.Case):
        return _branches_type(expression, columns)
    return _call_type(call_of(expression), columns)


def _literal_type(literal: exp.Literal) -> str | None:
    if literal.is_string:
        return "string"
    text = literal.name
    if text.isdigit():
        return "int" if int(text) < 2**31 else "bigint" if int(text) < 2**63 else None
    return None


_CAST_TYPES = frozenset("tinyint smallint int bigint float double string boolean date timestamp binary".split())


def _cast_type(cast: exp.Cast) -> str | None:
    text = spark_type(cast.to)
    return text if text in _CAST_TYPES or text.startswith("decimal(") and "," in text else None


def _branches_type(expression: Expression, columns: Mapping[str, str]) -> str | None:
    """The one type that all branches have, if they have one."""
    if isinstance(expression, exp.Coalesce):
        branches = [expression.this, *expression.expressions]
    elif isinstance(expression, exp.If):
        branches = [expression.args["true"], expression.args.get("false") or exp.Null()]
    else:
        branches = [when.args["true"] for when in expression.args["ifs"]] + [expression.args.get("default") or exp.Null()]
    types = {known_type(branch, columns) for branch in branches} - {"void"}
    return types.pop() if len(types) == 1 else None


def _call_type(call: Expression, columns: Mapping[str, str]) -> str | None:
    if isinstance(call, exp.Count | exp.CountIf | exp.ApproxDistinct) or function_name(call) in ("count", "count_if"):
        return "bigint"
    if isinstance(call, exp.RowNumber | exp.Rank | exp.DenseRank):
        return "int"
    if isinstance(call, exp.Max | exp.Min) and not call.expressions:
        return known_type(call.this, columns)
    if isinstance(call, exp.Sum | exp.Avg):
        argument = call.this.expressions[0] if isinstance(call.this, exp.Distinct) else call.this
        inner = known_type(argument, columns)
        if inner in _INTEGERS:
            return "bigint" if isinstance(call, exp.Sum) else "double"
        return "double" if inner in ("float", "double") else None
    return None


def elements_of(type_: str) -> list[str]:
    """What an array holds (one type) or a map (two); nothing for other types."""
    if type_.startswith("array<") or type_.startswith("map<"):
        return split_top(type_[type_.index("<") + 1 : -1])
    return []


def fields_of(type_: str) -> list[tuple[str, str]]:
    """The names and types of a struct's fields; nothing for other types."""
    if not type_.startswith("struct<"):
        return []
    pairs = (part.split(":", 1) for part in split_top(type_[len("struct<") : -1]) if part)
    return [(name.strip("`"), kind) for name, kind in pairs]


def split_top(text: str) -> list[str]:
    """Split at the commas that stand outside of brackets."""
    parts, depth, begin = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append(text[begin:index])
            begin = index + 1
    return [part.strip() for part in [*parts, text[begin:]]]
