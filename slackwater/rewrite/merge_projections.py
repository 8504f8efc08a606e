"""Two projections on top of each other as one.

A column that the lower one computes is written into the upper one where it is used, if it is cheap to write twice or used only once.
A projection that hands its input through unchanged disappears.
"""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from slackwater.plan.nodes import Expression, Node, Output, Project
from slackwater.rewrite.sharing import shared_subplans


def merge_projections(plan: Node) -> Node:
    """The plan with adjacent projections merged."""
    merge = _Merge(shared_subplans(plan))
    return merge.merge(plan)


class _Merge:
    def __init__(self, shared: frozenset[Node]) -> None:
        self.shared = shared
        self.done: dict[Node, Node] = {}

    def merge(self, node: Node) -> Node:
        if node not in self.done:
            self.done[node] = self._merged(node)
        return self.done[node]

    def _merged(self, node: Node) -> Node:
        while (
            isinstance(node, Project) and isinstance(node.input, Project) and node.input not in self.shared and _mergeable(node, node.input)
        ):
            node = _one(node, node.input)
        if isinstance(node, Project) and _hands_through(node):
            return self.merge(node.input)
        return node.with_inputs(*(self.merge(below) for below in node.inputs))


def _mergeable(upper: Project, lower: Project) -> bool:
    uses = Counter(reference.name for output in upper.outputs for reference in output.expression.find_all(exp.Column))
    return all(uses[output.name] <= 1 or isinstance(output.expression, exp.Column | exp.Literal) for output in lower.outputs)


def _one(upper: Project, lower: Project) -> Project:
    values = {output.name: output.expression for output in lower.outputs}

    def value(node: Expression) -> Expression:
        if not isinstance(node, exp.Column):
            return node
        new = values[node.name].copy()
        return new if isinstance(new, exp.Column | exp.Literal) or node.parent is None else exp.Paren(this=new)

    return Project(lower.input, tuple(Output(output.column, output.expression.transform(value)) for output in upper.outputs))


def _hands_through(node: Project) -> bool:
    """Whether the projection gives its input's columns, all of them in their order, under their names."""
    if node.columns != node.input.columns:
        return False
    return all(isinstance(output.expression, exp.Column) and output.expression.name == output.name for output in node.outputs)
