"""What Spark calls a column that was given no alias: `region`, `sum(amount)`, `(a + 1)`."""

from __future__ import annotations

from sqlglot import exp

from slackwater.plan.nodes import Expression
from slackwater.sql.binding import without_brackets
from slackwater.sql.spelling import respelled


def output_name(tree: Expression) -> str:
    """The name of a select item as written by the user."""
    tree = without_brackets(tree)
    if isinstance(tree, exp.Column | exp.Dot):
        return tree.name
    if isinstance(tree, exp.Subquery):
        return "scalarsubquery()"
    if isinstance(tree, exp.Cast):
        return output_name(tree.this)
    return _pretty(tree)


def _pretty(tree: Expression) -> str:
    tree = respelled(tree)
    if isinstance(tree, exp.Paren):
        return _pretty(tree.this)
    if isinstance(tree, exp.Literal):
        return tree.name
    if isinstance(tree, exp.Count) and isinstance(tree.this, exp.Star):
        return "count(1)"
    if isinstance(tree, exp.Neg):
        return f"(- {_pretty(tree.this)})"
    if isinstance(tree, exp.Not):
        return f"(NOT {_pretty(tree.this)})"
    if isinstance(tree, exp.Is):
        return f"({_pretty(tree.this)} IS {tree.expression.sql(dialect='spark')})"
    if _is_operator(tree):
        return f"({_pretty(tree.this)} {_operator(tree)} {_pretty(tree.expression)})"
    return _call(tree)


def _operator(tree: Expression) -> str:
    x = type(tree)(this=exp.column("x"), expression=exp.column("y"))
    return x.sql(dialect="spark")[1:-1].strip()


def _call(tree: Expression) -> str:
    """A call with its name in lower case and its arguments as named above."""
    plain = tree.copy()
    for key, value in plain.args.items():
        if isinstance(value, Expression):
            plain.set(key, _named(value))
        elif isinstance(value, list):
            plain.set(key, [_named(item) if isinstance(item, Expression) else item for item in value])
    return plain.sql(dialect="spark", normalize_functions="lower", comments=False)


def _named(argument: Expression) -> Expression:
    return (
        exp.var(_pretty(argument))
        if _is_operator(argument) or isinstance(argument, exp.Literal | exp.Neg | exp.Paren | exp.Func)
        else argument
    )


def _is_operator(tree: Expression) -> bool:
    """Whether Spark writes this between its operands."""
    return isinstance(tree, exp.Connector) or isinstance(tree, exp.Binary) and not isinstance(tree, exp.Dot | exp.Func)
