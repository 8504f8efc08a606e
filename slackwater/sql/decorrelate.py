"""A subquery that refers to the query around it, as a plan that does not.

Two ways, tried in this order:

    pull up     Conditions that mention the outer row are taken out of the subquery and become the condition of the join with it. Works
                through filters, projections, joins and, for equalities, aggregates and windows.
    domain      D is the distinct combinations of the outer columns that the subquery uses. The subquery is computed for all of D at
                once: D joins its inputs, becomes part of every grouping, and the result is joined back by D, where NULL equals NULL.
                Works through every node (Neumann and Kemper, Unnesting Arbitrary Queries, 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from slackwater.errors import InternalError
from slackwater.plan.nodes import (
    Aggregate,
    Column,
    Expression,
    Filter,
    Generate,
    Join,
    Limit,
    Node,
    Output,
    Project,
    Union,
    Window,
    column,
    columns_in,
    conjunction,
    conjuncts,
)
from slackwater.sql.binding import Binding, Outer, map_expressions, passed, rebuild, without_brackets
from slackwater.sql.functions import value_over_nothing


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


def correlate(binding: Binding, offered: Node, plan: Node) -> Correlated:
    """`plan` for every row of `offered`."""
    pulled = _Pull(binding, frozenset(outer_names(plan, offered))).pull(plan)
    return by_domain(binding, offered, plan) if pulled is None else Correlated(pulled.plan, pulled.conditions, None)


def join_with(binding: Binding, plan: Node, kind: str, found: Correlated) -> tuple[Join, dict[str, str]]:
    """The plan joined with a subquery, and the names that the subquery's columns have there: a subquery met twice is renamed."""
    inner, renaming = found.plan, {name: name for name in found.plan.names}
    if set(plan.names) & set(inner.names):
        inner, renaming = binding.renamed(inner)
    conditions = [_renamed(condition, renaming) for condition in found.conditions]
    own = {name: name for name in plan.names}
    return Join(plan, inner, kind, conjunction(_substitute(condition, own) for condition in conditions)), renaming


def by_domain(binding: Binding, offered: Node, plan: Node) -> Correlated:
    """`plan` for every distinct combination of the outer columns it uses."""
    names = outer_names(plan, offered)
    result, mapping = _Domain(binding, offered, names).spread(plan)
    conditions = tuple(exp.NullSafeEQ(this=Outer(this=name), expression=column(mapping[name])) for name in names)
    return Correlated(result, conditions, tuple(mapping[name] for name in names))


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
    if any(_uses(measure.expression, names) for measure in plan.measures):
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
        return any(_uses(expression, self.names) for below in node.walk() for expression in below.expressions())

    def split(self, condition: Expression | None) -> tuple[list[Expression], list[Expression]]:
        """The conjuncts that mention outer columns, and the others."""
        parts = conjuncts(condition)
        return [part for part in parts if _uses(part, self.names)], [part for part in parts if not _uses(part, self.names)]

    def _filter(self, node: Filter) -> _Pulled | None:
        below = self.pull(node.input)
        if below is None:
            return None
        ours, rest = self.split(node.condition)
        return _Pulled(_filtered(below.plan, rest), (*below.conditions, *ours))

    def _project(self, node: Project) -> _Pulled | None:
        below = self.pull(node.input)
        if below is None or any(_uses(output.expression, self.names) for output in node.outputs):
            return None
        used = {name for condition in below.conditions for name in columns_in(condition)} - set(node.names)
        extra = passed(each for each in below.plan.columns if each.name in used)
        return _Pulled(Project(below.plan, node.outputs + extra), below.conditions)

    def _join(self, node: Join) -> _Pulled | None:
        left = self.pull(node.left)
        if left is None or node.kind == "full":
            return None
        if node.kind != "inner":
            if self.correlated(node.right) or node.condition is not None and _uses(node.condition, self.names):
                return None
            return _Pulled(replace(node, left=left.plan), left.conditions)
        right = self.pull(node.right)
        if right is None:
            return None
        ours, rest = self.split(node.condition)
        return _Pulled(Join(left.plan, right.plan, "inner", conjunction(rest)), (*left.conditions, *right.conditions, *ours))

    def _aggregate(self, node: Aggregate) -> _Pulled | None:
        if not node.keys or any(_uses(measure.expression, self.names) for measure in node.measures):
            return None  # without keys there is a row even where nothing matches
        below = self.pull(node.input)
        keyed = self.keyed(below) if below else None
        if keyed is None:
            return None
        keys = dict.fromkeys((*node.keys, *(condition.this.name for condition in keyed.conditions)))
        return _Pulled(Aggregate(keyed.plan, tuple(keys), node.measures), keyed.conditions)

    def _window(self, node: Window) -> _Pulled | None:
        if any(_uses(function.expression, self.names) for function in node.functions):
            return None
        below = self.pull(node.input)
        keyed = self.keyed(below) if below else None
        if keyed is None:
            return None
        keys = tuple(dict.fromkeys(condition.this.name for condition in keyed.conditions))
        return _Pulled(_partitioned(node, keyed.plan, keys), keyed.conditions)

    def _generate(self, node: Generate) -> _Pulled | None:
        below = self.pull(node.input)
        if below is None or _uses(node.generator, self.names):
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


class _Domain:
    """Computes a plan for every combination of outer values at once."""

    def __init__(self, binding: Binding, offered: Node, names: list[str]) -> None:
        self.binding = binding
        self.names = names
        types = {each.name: each.type for each in offered.columns}
        fresh = {name: binding.fresh(name.rsplit("_", 1)[0], types[name]) for name in names}
        outputs = tuple(Output(fresh[name], column(name)) for name in names)
        self.plan: Node = Aggregate(Project(offered, outputs), tuple(fresh[name].name for name in names), ())

    def copy(self) -> tuple[Node, dict[str, str]]:
        """The domain under names of its own, and the name of each outer column in it."""
        plan, _ = self.binding.renamed(self.plan)
        return plan, dict(zip(self.names, plan.names, strict=True))

    def correlated(self, node: Node) -> bool:
        return any(_uses(expression, frozenset(self.names)) for below in node.walk() for expression in below.expressions())

    def spread(self, node: Node) -> tuple[Node, dict[str, str]]:
        """The node's rows for each combination, with the combination in columns of its own."""
        if not self.correlated(node):
            domain, mapping = self.copy()
            return Join(domain, node, "inner"), mapping
        method: Callable[[Node], tuple[Node, dict[str, str]]] | None = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            raise InternalError(f"no way to compute a {type(node).__name__.lower()} for all outer rows")
        return method(node)

    def own(self, expression: Expression, mapping: Mapping[str, str]) -> Expression:
        return _substitute(expression, mapping)

    def columns(self, mapping: Mapping[str, str], plan: Node) -> tuple[Column, ...]:
        by_name = {each.name: each for each in plan.columns}
        return tuple(by_name[mapping[name]] for name in self.names)

    def _filter(self, node: Filter) -> tuple[Node, dict[str, str]]:
        below, mapping = self.spread(node.input)
        return Filter(below, self.own(node.condition, mapping)), mapping

    def _project(self, node: Project) -> tuple[Node, dict[str, str]]:
        below, mapping = self.spread(node.input)
        changed = tuple(Output(output.column, self.own(output.expression, mapping)) for output in node.outputs)
        return Project(below, changed + passed(self.columns(mapping, below))), mapping

    def _join(self, node: Join) -> tuple[Node, dict[str, str]]:
        both = node.kind == "full" or self.correlated(node.right)
        if not both:
            left, mapping = self.spread(node.left)
            condition = node.condition and self.own(node.condition, mapping)
            return Join(left, node.right, node.kind, condition), mapping
        if node.kind == "inner" and not self.correlated(node.left):
            right, mapping = self.spread(node.right)
            condition = node.condition and self.own(node.condition, mapping)
            return Join(node.left, right, "inner", condition), mapping
        left, mapping = self.spread(node.left)
        right, other = self.spread(node.right)
        same = [exp.NullSafeEQ(this=column(mapping[name]), expression=column(other[name])) for name in self.names]
        condition = conjunction([*same, *conjuncts(node.condition and self.own(node.condition, mapping))])
        joined: Node = Join(left, right, node.kind, condition)
        if node.kind != "full":
            return joined, mapping
        return self._merged(joined, mapping, other)

    def _merged(self, joined: Node, left: Mapping[str, str], right: Mapping[str, str]) -> tuple[Node, dict[str, str]]:
        """After a full join the combination stands on either side."""
        merged = [exp.Coalesce(this=column(left[name]), expressions=[column(right[name])]) for name in self.names]
        plan, keys = self.binding.extend(joined, [("key", expression) for expression in merged])
        return plan, dict(zip(self.names, keys, strict=True))

    def _union(self, node: Union) -> tuple[Node, dict[str, str]]:
        branches = []
        for branch in node.branches:
            plan, mapping = self.spread(branch)
            branches.append(Project(plan, passed((*branch.columns, *self.columns(mapping, plan)))))
        added = self.binding.like(branches[0].columns[len(node.outputs) :])
        return Union(tuple(branches), node.outputs + added), {name: each.name for name, each in zip(self.names, added, strict=True)}

    def _aggregate(self, node: Aggregate) -> tuple[Node, dict[str, str]]:
        below, mapping = self.spread(node.input)
        measures = tuple(Output(measure.column, self.own(measure.expression, mapping)) for measure in node.measures)
        keys = tuple(mapping[name] for name in self.names)
        if node.keys:
            return Aggregate(below, node.keys + keys, measures), mapping
        raw = tuple(
            Output(self.binding.fresh(measure.name.rsplit("_", 1)[0], measure.column.type), measure.expression) for measure in measures
        )
        grouped = Aggregate(below, keys, raw)
        domain, names = self.copy()
        same = conjunction(exp.NullSafeEQ(this=column(names[name]), expression=column(mapping[name])) for name in self.names)
        joined = Join(domain, grouped, "left", same)
        whole = tuple(
            Output(measure.column, value_over_nothing(measure.expression, plain.name, plain.column.type))
            for measure, plain in zip(measures, raw, strict=True)
        )
        return Project(joined, whole + passed(domain.columns)), names

    def _window(self, node: Window) -> tuple[Node, dict[str, str]]:
        below, mapping = self.spread(node.input)
        changed = map_expressions(replace(node, input=below), lambda expression: self.own(expression, mapping))
        assert isinstance(changed, Window)
        return _partitioned(changed, below, tuple(mapping[name] for name in self.names)), mapping

    def _limit(self, node: Limit) -> tuple[Node, dict[str, str]]:
        below, mapping = self.spread(node.input)
        keys = tuple(mapping[name] for name in self.names)
        order = [self.own(key, mapping) for key in node.order] or [exp.Ordered(this=column(name)) for name in node.input.names[:1]]
        number = self.binding.fresh("row", "int")
        function = exp.Window(
            this=exp.RowNumber(), partition_by=[column(key) for key in keys], order=exp.Order(expressions=order), over="OVER"
        )
        numbered = Window(below, keys, (Output(number, function),))
        bounds: list[Expression] = []
        if node.offset:
            bounds.append(exp.GT(this=column(number.name), expression=exp.Literal.number(node.offset)))
        if node.count is not None:
            bounds.append(exp.LTE(this=column(number.name), expression=exp.Literal.number(node.offset + node.count)))
        return Filter(numbered, _all(bounds)), mapping

    def _generate(self, node: Generate) -> tuple[Node, dict[str, str]]:
        below, mapping = self.spread(node.input)
        return replace(node, input=below, generator=self.own(node.generator, mapping)), mapping


def _uses(expression: Expression, names: frozenset[str]) -> bool:
    return any(outer.name in names for outer in expression.find_all(Outer))


def _substitute(expression: Expression, mapping: Mapping[str, str]) -> Expression:
    if not _uses(expression, frozenset(mapping)):
        return expression
    return expression.transform(lambda node: column(mapping[node.name]) if isinstance(node, Outer) and node.name in mapping else node)


def _renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    return expression.transform(lambda node: column(names[node.name]) if isinstance(node, exp.Column) and node.name in names else node)


def _equality(condition: Expression, names: frozenset[str]) -> tuple[Expression, Expression] | None:
    """`inner = outer` as its two sides; None for any other condition."""
    if not isinstance(condition, exp.EQ):
        return None
    for inner, outer in ((condition.this, condition.expression), (condition.expression, condition.this)):
        if inner.find(Outer) is None and inner.find(exp.Column) is not None and outer.find(exp.Column) is None and _uses(outer, names):
            return without_brackets(inner), without_brackets(outer)
    return None


def _filtered(plan: Node, conditions: list[Expression]) -> Node:
    condition = conjunction(conditions)
    return plan if condition is None else Filter(plan, condition)


def _all(conditions: list[Expression]) -> Expression:
    condition = conjunction(conditions)
    assert condition is not None
    return condition


def _partitioned(node: Window, below: Node, keys: tuple[str, ...]) -> Window:
    """The window over another input, partitioned by `keys` as well."""
    added = tuple(key for key in keys if key not in node.keys)

    def partition(expression: Expression) -> Expression:
        parts = [*expression.args.get("partition_by", []), *(column(key) for key in added)]
        return rebuild(expression, {**expression.args, "partition_by": parts}).copy()

    functions = tuple(Output(function.column, partition(function.expression.copy())) for function in node.functions)
    return Window(below, node.keys + added, functions)
