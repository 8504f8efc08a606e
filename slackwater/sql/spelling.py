"""Calls that the parser takes apart and cannot put together again as Spark wrote them: kept as plain calls instead.

Found by running Spark's own documentation examples as they stand and as they come back from the parser.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from slackwater.errors import Unsupported
from slackwater.plan.nodes import Expression
from slackwater.sql.place import place_of


def respelled(node: Expression) -> Expression:
    """The node, as a plain call where the parser's form would not come back as it was."""
    if isinstance(node, exp.ParseJSON):
        return _call(node, "parse_json", [node.this])
    if isinstance(node, exp.ToChar):
        return _call(node, "to_char", [node.this, node.args.get("format")])
    if isinstance(node, exp.UnixDate):
        return _call(node, "unix_date", [node.this])
    if isinstance(node, exp.GroupConcat):
        return _listagg(node)
    if isinstance(node, exp.WithinGroup):
        return _within_group(node)
    if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.TIME:
        raise Unsupported("the type TIME", place=place_of(node), hint="use a string or a timestamp")
    return node


def _call(node: Expression, name: str, arguments: Sequence[Expression | None]) -> Expression:
    call = exp.Anonymous(this=name, expressions=[each.copy() for each in arguments if each is not None])
    call.meta.update(node.meta)
    return call


def _listagg(node: exp.GroupConcat) -> Expression:
    ordered = node.this if isinstance(node.this, exp.Order) else None
    call = _call(node, "listagg", [ordered.this if ordered is not None else node.this, node.args.get("separator")])
    if ordered is None:
        return call
    return exp.WithinGroup(this=call, expression=exp.Order(expressions=[key.copy() for key in ordered.expressions]))


def _within_group(node: exp.WithinGroup) -> Expression:
    """percentile_cont(p) WITHIN GROUP (ORDER BY x) is percentile(x, p), which more engines have."""
    call, keys = node.this, node.expression.expressions
    if isinstance(call, exp.PercentileCont) and len(keys) == 1:
        share = call.this
        if keys[0].args.get("desc"):
            share = exp.Sub(this=exp.Literal.number(1), expression=exp.Paren(this=share.copy()))
        return _call(call, "percentile", [keys[0].this, share])
    if isinstance(call, exp.PercentileDisc):
        return exp.WithinGroup(this=_call(call, "percentile_disc", [call.this]), expression=node.expression.copy())
    return node
