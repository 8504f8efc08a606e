"""Functions that make rows: explode, posexplode and inline, in LATERAL VIEW and in the select list."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from slackwater.errors import QueryError, Unsupported
from slackwater.plan.nodes import Column, Expression, Generate, Node, column
from slackwater.sql.binding import Binding
from slackwater.sql.expression_types import elements_of, fields_of
from slackwater.sql.functions import generator_kind
from slackwater.sql.place import place_of
from slackwater.sql.scope import access


@dataclass(frozen=True)
class Generated:
    """The plan with the new rows, and the columns the generator offers: their usual names and their values."""

    plan: Node
    columns: tuple[tuple[str, Expression, str], ...]


def generate(binding: Binding, plan: Node, call: Expression, written: Expression, outer: bool) -> Generated:
    """One row per element; `call` is over the plan's columns, `written` is where an error points."""
    kind = generator_kind(call)
    if kind is None:
        raise Unsupported("a generator other than explode, posexplode and inline", place=place_of(written))
    name, outer_form = kind
    argument = call.expressions[0] if isinstance(call, exp.Anonymous) else call.this
    type_ = binding.types_of([argument])[0]
    elements = elements_of(type_)
    if not elements or name == "inline" and not fields_of(elements[0]):
        needed = "an array of structs" if name == "inline" else "an array or a map"
        raise QueryError(f"{name}() needs {needed}, not {type_}", place=place_of(written))
    position = binding.fresh("pos", "int")
    words = ["col"] if len(elements) == 1 else ["key", "value"]
    outputs = tuple(binding.fresh(word, element) for word, element in zip(words, elements, strict=True))
    node = Generate(plan, argument, position, outputs, outer or outer_form)
    return Generated(node, _offered(name, position, words, outputs))


def _offered(name: str, position: Column, words: list[str], outputs: tuple[Column, ...]) -> tuple[tuple[str, Expression, str], ...]:
    if name == "inline":
        return tuple((field, access(column(outputs[0].name), [field]), kind) for field, kind in fields_of(outputs[0].type))
    values = tuple((word, column(each.name), each.type) for word, each in zip(words, outputs, strict=True))
    return ((("pos", column(position.name), "int"), *values)) if name == "posexplode" else values
