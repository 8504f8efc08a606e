"""What Spark calls a column that was given no alias: `region`, `sum(amount)`, `(a + 1)`."""

from __future__ import annotations

from sqlglot import exp

from slackwater.plan.nodes import Expression

_WORDS = {exp.And: "AND", exp.Or: "OR"}


def output_name(tree: Expression) -> str:
    """The name of a select item as written by the user."""
    tree = tree.unnest() if isinstance(tree, exp.Paren) else tree
    if isinstance(tree, exp.Column | exp.Dot):
        return tree.name
    if isinstance(tree, exp.Subquery):
        return "scalarsubquery()"
    if type(tree) is exp.Cast:
        return output_name(tree.this)
    return _pretty(tree)


def _pretty(tree: Expression) -> str:
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
    if isinstance(tree, exp.Binary) and not isinstance(tree, exp.Dot | exp.Func) or isinstance(tree, exp.Connector):
        return f"({_pretty(tree.this)} {_operator(tree)} {_pretty(tree.expression)})"
    return _call(tree)


def _operator(tree: Expression) -> str:
    x = type(tree)(this=exp.column("x"), expression=exp.column("y"))
    return x.sql(dialect="spark")[1:-1].strip()


def _call(tree: Expression) -> str:
    """A call with its name in lower case and its arguments as named above."""
    plain = tree.transform(lambda node: exp.var(_pretty(node)) if node is not tree and _worth_naming(node) else node) if _worth_naming(tree) else tree
    return plain.sql(dialect="spark", normalize_functions="lower", comments=False)


def _worth_naming(node: Expression) -> bool:
    return isinstance(node, exp.Binary | exp.Literal | exp.Neg) and not isinstance(node, exp.Dot)
