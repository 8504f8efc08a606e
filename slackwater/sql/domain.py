"""Domain: a subquery computed for all outer rows at once.

D is the distinct combinations of the outer columns that the subquery uses. D joins the subquery's inputs, becomes part of every grouping
and partition, and the result is joined back by D, where NULL equals NULL. Works through every node (Neumann and Kemper, Unnesting
Arbitrary Queries, 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

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
    conjunction,
    conjuncts,
)
from slackwater.sql.binding import Binding, Outer, hint_of, map_expressions, passed
from slackwater.sql.correlation import Correlated, outer_names, partitioned_also_by, substituted, uses_outer
from slackwater.sql.functions import value_over_nothing


def by_domain(binding: Binding, offered: Node, plan: Node) -> Correlated:
    """`plan` for every distinct combination of the outer columns it uses."""
    names = outer_names(plan, offered)
    result, mapping = _Domain(binding, offered, names).spread(plan)
    conditions = tuple(exp.NullSafeEQ(this=Outer(this=name), expression=column(mapping[name])) for name in names)
    return Correlated(result, conditions, tuple(mapping[name] for name in names))


class _Domain:
    """Computes a plan for every combination of outer values at once."""

    def __init__(self, binding: Binding, offered: Node, names: list[str]) -> None:
        self.binding = binding
        self.names = names
        types = {each.name: each.type for each in offered.columns}
        fresh = {name: binding.fresh(hint_of(name), types[name]) for name in names}
        outputs = tuple(Output(fresh[name], column(name)) for name in names)
        self.plan: Node = Aggregate(Project(offered, outputs), tuple(fresh[name].name for name in names), ())

    def copy(self) -> tuple[Node, dict[str, str]]:
        """The domain under names of its own, and the name of each outer column in it."""
        plan, _ = self.binding.renamed(self.plan)
        return plan, dict(zip(self.names, plan.names, strict=True))

    def correlated(self, node: Node) -> bool:
        return any(uses_outer(expression, frozenset(self.names)) for below in node.walk() for expression in below.expressions())

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
        return substituted(expression, mapping)

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
        raw = tuple(Output(self.binding.fresh(hint_of(measure.name), measure.column.type), measure.expression) for measure in measures)
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
        return partitioned_also_by(changed, below, tuple(mapping[name] for name in self.names)), mapping

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


def _all(conditions: list[Expression]) -> Expression:
    condition = conjunction(conditions)
    assert condition is not None
    return condition
