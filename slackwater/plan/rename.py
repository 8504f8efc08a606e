"""The same plan under other column names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from sqlglot import exp

from slackwater.plan.nodes import Column, Expression, Node, Output, Scan, column


def rename(plan: Node, name: Callable[[str], str]) -> Node:
    """The plan with every column called what `name` makes of its name. Relations and their own columns keep theirs."""

    def renamed(value: object) -> object:
        if isinstance(value, Node):
            return rename(value, name)
        if isinstance(value, Output):
            return Output(Column(name(value.name), value.column.type), _expression(value.expression, name))
        if isinstance(value, Column):
            return Column(name(value.name), value.type)
        if isinstance(value, Expression):
            return _expression(value, name)
        if isinstance(value, tuple):
            return tuple(renamed(item) for item in value)
        return value

    changed: dict[str, object] = {}
    for field in fields(plan):
        value = getattr(plan, field.name)
        if isinstance(plan, Scan) and field.name in ("relation", "source"):
            continue
        changed[field.name] = tuple(name(key) for key in value) if field.name == "keys" else renamed(value)
    return replace(plan, **changed)


def _expression(expression: Expression, name: Callable[[str], str]) -> Expression:
    return expression.transform(lambda node: column(name(node.name)) if isinstance(node, exp.Column) else node)
