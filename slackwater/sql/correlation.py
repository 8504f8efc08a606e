"""What joins a subquery to the query around it: references, conditions, keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from slackwater.plan.nodes import Expression, Join, Node, Output, Window, column, conjunction
from slackwater.sql.binding import Binding, Outer, rebuild


@dataclass(frozen=True)
class Correlated:
    """A plan without references to the outer plan, and the conditions, with references, that pair its rows with the outer ones.

    `keys` are its columns in the conditions, when each of them is an equality with an outer expression.
    """

    plan: Node
    conditions: tuple[Expression, ...]
    keys: tuple[str, ...] | None


def outer_names(plan: Node, offered: Node) -> list[str]:
    """The columns of `offered` that `plan` refers to as outer ones, in order of first use."""
    names = set(offered.names)
    found: dict[str, None] = {}
    for node in plan.walk():
        for expression in node.expressions():
            found.update((outer.name, None) for outer in expression.find_all(Outer) if outer.name in names)
    return list(found)


def join_with(binding: Binding, plan: Node, kind: str, found: Correlated) -> tuple[Join, dict[str, str]]:
    """The plan joined with a subquery, and the names that the subquery's columns have there: a subquery met twice is renamed."""
    inner, renaming = found.plan, {name: name for name in found.plan.names}
    if set(plan.names) & set(inner.names):
        inner, renaming = binding.renamed(inner)
    conditions = [_renamed(condition, renaming) for condition in found.conditions]
    own = {name: name for name in plan.names}
    return Join(plan, inner, kind, conjunction(substituted(condition, own) for condition in conditions)), renaming


def uses_outer(expression: Expression, names: frozenset[str]) -> bool:
    return any(outer.name in names for outer in expression.find_all(Outer))


def substituted(expression: Expression, mapping: Mapping[str, str]) -> Expression:
    if not uses_outer(expression, frozenset(mapping)):
        return expression
    return expression.transform(lambda node: column(mapping[node.name]) if isinstance(node, Outer) and node.name in mapping else node)


def _renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    return expression.transform(lambda node: column(names[node.name]) if isinstance(node, exp.Column) and node.name in names else node)


def partitioned_also_by(node: Window, below: Node, keys: tuple[str, ...]) -> Window:
    """The window over another input, partitioned by `keys` as well."""
    added = tuple(key for key in keys if key not in node.keys)

    def partition(expression: Expression) -> Expression:
        parts = [*expression.args.get("partition_by", []), *(column(key) for key in added)]
        return rebuild(expression, {**expression.args, "partition_by": parts}).copy()

    functions = tuple(Output(function.column, partition(function.expression.copy())) for function in node.functions)
    return Window(below, node.keys + added, functions)
