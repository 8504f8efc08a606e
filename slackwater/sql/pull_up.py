"""Pull up: conditions that mention the outer row leave the subquery and become the condition of the join with it.

Works through filters, projections and joins, and, when they are equalities, through aggregates and windows, whose keys they join.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from slackwater.plan.nodes import (
    Aggregate,
    Expression,
    Filter,
    Generate,
    Join,
    Node,
    Project,
    Window,
    column,
    columns_in,
    conjunction,
    conjuncts,
)
from slackwater.sql.binding import Binding, Outer, passed, without_brackets
from slackwater.sql.correlation import Correlated, outer_names, partitioned_also_by, uses_outer


def pulled_up(binding: Binding, offered: Node, plan: Node) -> Correlated | None:
    """The plan without references to `offered`, and the conditions that held them; None where that would change its meaning."""
    pulled = _Pull(binding, frozenset(outer_names(plan, offered))).pull(plan)
    return Correlated(pulled.plan, pulled.conditions, None) if pulled else None


def grouped_by_equalities(binding: Binding, offered: Node, plan: Node) -> Correlated | None:
    """Pull up, only if every condition is `inner = outer`; the inner sides become columns of the plan, named in `keys`."""
    names = frozenset(outer_names(plan, offered))
    pull = _Pull(binding, names)
    pulled = pull.pull(plan)
    keyed = pull.keyed(pulled) if pulled else None
    if keyed is None:
        return None
    return Correlated(keyed.plan, keyed.conditions, tuple(condition.this.name for condition in keyed.conditions))


def aggregate_by_equalities(binding: Binding, offered: Node, plan: Aggregate) -> Correlated | None:
    """An aggregate without keys over a correlated input: grouped by the inner sides of the equalities. Groups without rows are missing."""
    names = frozenset(outer_names(plan, offered))
    if any(uses_outer(measure.expression, names) for measure in plan.measures):
        return None
    below = grouped_by_equalities(binding, offered, plan.input)
    if below is None or not below.keys:
        return None
    keys = tuple(dict.fromkeys(below.keys))
    return Correlated(Aggregate(below.plan, keys, plan.measures), below.conditions, keys)


@dataclass(frozen=True)
class _Pulled:
    plan: Node
    conditions: tuple[Expression, ...]


class _Pull:
    """Takes the conditions that mention outer columns out of a plan; None where that would change its meaning."""

    def __init__(self, binding: Binding, names: frozenset[str]) -> None:
        self.binding = binding
        self.names = names

    def pull(self, node: Node) -> _Pulled | None:
        if not self.correlated(node):
            return _Pulled(node, ())
        method: Callable[[Node], _Pulled | None] | None = getattr(self, "_" + type(node).__name__.lower(), None)
        return method(node) if method else None

    def correlated(self, node: Node) -> bool:
        return any(uses_outer(expression, self.names) for below in node.walk() for expression in below.expressions())

    def split(self, condition: Expression | None) -> tuple[list[Expression], list[Expression]]:
        """The conjuncts that mention outer columns, and the others."""
        parts = conjuncts(condition)
        return [part for part in parts if uses_outer(part, self.names)], [part for part in parts if not uses_outer(part, self.names)]

    def _filter(self, node: Filter) -> _Pulled | None:
        below = self.pull(node.input)
        if below is None:
            return None
        ours, rest = self.split(node.condition)
        return _Pulled(_filtered(below.plan, rest), (*below.conditions, *ours))

    def _project(self, node: Project) -> _Pulled | None:
        below = self.pull(node.input)
        if below is None or any(uses_outer(output.expression, self.names) for output in node.outputs):
            return None
        used = {name for condition in below.conditions for name in columns_in(condition)} - set(node.names)
        extra = passed(each for each in below.plan.columns if each.name in used)
        return _Pulled(Project(below.plan, node.outputs + extra), below.conditions)

    def _join(self, node: Join) -> _Pulled | None:
        left = self.pull(node.left)
        if left is None or node.kind == "full":
            return None
        if node.kind != "inner":
            if self.correlated(node.right) or node.condition is not None and uses_outer(node.condition, self.names):
                return None
            return _Pulled(replace(node, left=left.plan), left.conditions)
        right = self.pull(node.right)
        if right is None:
            return None
        ours, rest = self.split(node.condition)
        return _Pulled(Join(left.plan, right.plan, "inner", conjunction(rest)), (*left.conditions, *right.conditions, *ours))

    def _aggregate(self, node: Aggregate) -> _Pulled | None:
        if not node.keys or any(uses_outer(measure.expression, self.names) for measure in node.measures):
            return None  # without keys there is a row even where nothing matches
        below = self.pull(node.input)
        keyed = self.keyed(below) if below else None
        if keyed is None:
            return None
        keys = dict.fromkeys((*node.keys, *(condition.this.name for condition in keyed.conditions)))
        return _Pulled(Aggregate(keyed.plan, tuple(keys), node.measures), keyed.conditions)

    def _window(self, node: Window) -> _Pulled | None:
        if any(uses_outer(function.expression, self.names) for function in node.functions):
            return None
        below = self.pull(node.input)
        keyed = self.keyed(below) if below else None
        if keyed is None:
            return None
        keys = tuple(dict.fromkeys(condition.this.name for condition in keyed.conditions))
        return _Pulled(partitioned_also_by(node, keyed.plan, keys), keyed.conditions)

    def _generate(self, node: Generate) -> _Pulled | None:
        below = self.pull(node.input)
        if below is None or uses_outer(node.generator, self.names):
            return None
        return _Pulled(replace(node, input=below.plan), below.conditions)

    def keyed(self, pulled: _Pulled) -> _Pulled | None:
        """The same with every condition spelled `inner column = outer expression`; None if one is not such an equality."""
        sides = [_equality(condition, self.names) for condition in pulled.conditions]
        if any(side is None for side in sides):
            return None
        pairs = [side for side in sides if side is not None]
        plan, keys = self.binding.extend(pulled.plan, [("key", inner) for inner, _ in pairs])
        return _Pulled(plan, tuple(exp.EQ(this=column(key), expression=outer) for key, (_, outer) in zip(keys, pairs, strict=True)))


def _equality(condition: Expression, names: frozenset[str]) -> tuple[Expression, Expression] | None:
    """`inner = outer` as its two sides; None for any other condition."""
    if not isinstance(condition, exp.EQ):
        return None
    for inner, outer in ((condition.this, condition.expression), (condition.expression, condition.this)):
        if inner.find(Outer) is None and inner.find(exp.Column) is not None and outer.find(exp.Column) is None and uses_outer(outer, names):
            return without_brackets(inner), without_brackets(outer)
    return None


def _filtered(plan: Node, conditions: list[Expression]) -> Node:
    condition = conjunction(conditions)
    return plan if condition is None else Filter(plan, condition)
