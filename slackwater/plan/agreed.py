"""Plans on which engines agree to the last digit.

Spark charges some tenths of a CPU second for a statement over a few rows, Sail some hundredths. They give quotients other digits, Sail
wraps around where Spark fails, and both have functions that the other knows less well. So a plan is taken to Sail only if nothing in it is
left to opinion:

    columns      BOOLEAN, whole numbers, DECIMAL, STRING, DATE
    operators    comparisons, AND, OR, NOT, IS NULL, IN, BETWEEN, LIKE, CASE, coalesce, least, greatest, parts of strings and of dates
    arithmetic   +, - and * where no digit can be lost, and quotients whose digits are known to be those of Spark
    aggregates   count, min, max, and sums of exact numbers

What may overflow is written so that it fails when it does: whole numbers are added as decimals and cast back, a long decimal sum is watched
by a sum of doubles. Who runs the plan takes any failure for a reason to ask Spark, whose errors are the ones that a user knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from slackwater.plan.agreed_values import Differs, Told, Types, common, condition, expression, known, measure
from slackwater.plan.nodes import Aggregate, Few, Filter, Generate, Join, Limit, Node, Output, Project, Scan, Union, Values

__all__ = ["Differs", "agreed"]


def agreed(plan: Node) -> Node:
    """The plan, written so that another engine gives the same rows or fails. Raises `Differs` for what it may see differently."""
    return _Agreed().plan(plan)[0]


class _Agreed:
    """Walks a plan. Types are those that expressions have: what a plan says of columns that only it looks at may be less exact."""

    def __init__(self) -> None:
        self._done: dict[Node, tuple[Node, Types]] = {}  # what occurs at several places stays one

    def plan(self, node: Node) -> tuple[Node, Types]:
        if node not in self._done:
            rule = _RULES.get(type(node))
            if rule is None:
                raise Differs(type(node).__name__.upper())
            self._done[node] = rule(self, node)
        return self._done[node]

    def scan(self, node: Scan) -> tuple[Node, Types]:
        return node, {c.name: Told(known(c.type)) for c in node.outputs}

    def values(self, node: Values) -> tuple[Node, Types]:
        told = [[expression(value, {}) for value in row] for row in node.rows]
        types = {c.name: known(c.type) for c in node.outputs}
        if any(common([types[c.name], type_]) != types[c.name] for row in told for c, (_, type_) in zip(node.outputs, row, strict=True)):
            raise Differs("VALUES of several types")
        return replace(node, rows=tuple(tuple(value for value, _ in row) for row in told)), types

    def filter(self, node: Filter) -> tuple[Node, Types]:
        below, types = self.plan(node.input)
        return Filter(below, condition(node.condition, types)), types

    def project(self, node: Project) -> tuple[Node, Types]:
        below, types = self.plan(node.input)
        told = {output.name: expression(output.expression, types) for output in node.outputs}
        outputs = tuple(Output(output.column, told[output.name][0]) for output in node.outputs)
        return Project(below, outputs), {name: type_ for name, (_, type_) in told.items()}

    def join(self, node: Join) -> tuple[Node, Types]:
        (left, here), (right, there) = self.plan(node.left), self.plan(node.right)
        both = {**here, **there}
        on = None if node.condition is None else condition(node.condition, both)
        return Join(left, right, node.kind, on), here if node.kind in ("semi", "anti") else both

    def union(self, node: Union) -> tuple[Node, Types]:
        told = [self.plan(branch) for branch in node.branches]
        columns = zip(
            *([types[name] for name in branch.names] for branch, (_, types) in zip(node.branches, told, strict=True)), strict=True
        )
        types = dict(zip((c.name for c in node.outputs), map(common, columns), strict=True))
        return Union(tuple(below for below, _ in told), node.outputs), types

    def aggregate(self, node: Aggregate) -> tuple[Node, Types]:
        below, types = self.plan(node.input)
        told = {each.name: measure(each.expression, types) for each in node.measures}
        measures = tuple(Output(each.column, told[each.name][0]) for each in node.measures)
        return Aggregate(below, node.keys, measures), {key: types[key] for key in node.keys} | {name: t for name, (_, t) in told.items()}

    def limit(self, node: Limit) -> tuple[Node, Types]:
        below, types = self.plan(node.input)
        for key in node.order:
            expression(key.this, types)
        return replace(node, input=below), types

    def generate(self, node: Generate) -> tuple[Node, Types]:
        below, types = self.plan(node.input)
        if not isinstance(node.generator, exp.Array) or any(not isinstance(each, exp.Boolean) for each in node.generator.expressions):
            raise Differs("explode")
        return replace(node, input=below), {**types, node.position.name: "int", node.outputs[0].name: "boolean"}

    def few(self, node: Few) -> tuple[Node, Types]:
        return self.plan(node.input)


_RULES: Mapping[type[Node], Callable[..., tuple[Node, Types]]] = {
    Scan: _Agreed.scan,
    Values: _Agreed.values,
    Filter: _Agreed.filter,
    Project: _Agreed.project,
    Join: _Agreed.join,
    Union: _Agreed.union,
    Aggregate: _Agreed.aggregate,
    Limit: _Agreed.limit,
    Generate: _Agreed.generate,
    Few: _Agreed.few,
}
