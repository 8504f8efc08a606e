"""What a subplan means, whatever its columns are called.

Two subplans with one fingerprint compute the same rows. Column names are replaced by numbers in the order in which they first appear, so
the text of a plan becomes independent of what else stood in the query.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields

from sqlglot import exp

from slackwater.plan import Column, Node, Output, column
from slackwater.plan.nodes import Expression


def fingerprint(plan: Node) -> str:
    """Equal for equal subplans, in every process and version of Python."""
    numbers: dict[str, str] = {}
    return hashlib.sha256(_text(plan, numbers).encode()).hexdigest()[:32]


def _text(value: object, numbers: dict[str, str]) -> str:
    if isinstance(value, Node):
        inputs = [_text(node, numbers) for node in value.inputs]
        own = [_text(getattr(value, f.name), numbers) for f in fields(value) if f.name not in (*value.input_fields, "branches")]
        return f"{type(value).__name__}({', '.join(inputs + own)})"
    if isinstance(value, Output):
        return f"{_text(value.expression, numbers)} AS {_text(value.column, numbers)}"
    if isinstance(value, Column):
        return f"{_number(value.name, numbers)}:{value.type}"
    if isinstance(value, Expression):
        return value.transform(lambda node: _renumbered(node, numbers)).sql(dialect="spark")
    if isinstance(value, tuple):
        return f"[{', '.join(_text(item, numbers) for item in value)}]"
    if isinstance(value, str):
        return numbers.get(value, value)
    return repr(value)


def _number(name: str, numbers: dict[str, str]) -> str:
    return numbers.setdefault(name, f"c{len(numbers)}")


def _renumbered(node: Expression, numbers: dict[str, str]) -> Expression:
    return column(_number(node.name, numbers)) if isinstance(node, exp.Column) else node
