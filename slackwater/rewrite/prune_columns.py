"""Leave out the columns that nothing above needs.

What each node must give is collected from all its readers first, so that a shared subplan keeps what any of them needs and stays one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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
    Scan,
    Union,
    Window,
    column,
    columns_in,
)
from slackwater.rewrite.sharing import parents_first


def prune_columns(plan: Node) -> Node:
    """The plan without unused columns; its own columns stay."""
    needed: dict[Node, set[str]] = {plan: set(plan.names)}
    for node in parents_first(plan):
        for below, names in zip(node.inputs, _demands(node, needed[node]), strict=True):
            needed.setdefault(below, set()).update(names)
    return _exactly(_Prune(needed).prune(plan), plan.columns)


def _demands(node: Node, names: set[str]) -> list[set[str]]:
    """What a node that must give `names` needs of each of its inputs."""
    if isinstance(node, Filter):
        return [names | columns_in(node.condition)]
    if isinstance(node, Project):
        return [_used(output.expression for output in _kept(node.outputs, names))]
    if isinstance(node, Join):
        used = names | (columns_in(node.condition) if node.condition is not None else set())
        return [used & set(node.left.names), used & set(node.right.names)]
    if isinstance(node, Union):
        places = _places(node, names)
        return [{branch.names[place] for place in places} for branch in node.branches]
    if isinstance(node, Aggregate):
        return [set(node.keys) | _used(measure.expression for measure in _kept_measures(node, names))]
    if isinstance(node, Window):
        functions = [each for each in node.functions if each.name in names]
        keys = set(node.keys) if functions else set()
        return [(names & set(node.input.names)) | keys | _used(each.expression for each in functions)]
    if isinstance(node, Limit):
        return [names | _used(node.order)]
    if isinstance(node, Generate):
        return [(names & set(node.input.names)) | columns_in(node.generator)]
    return [set(below.names) for below in node.inputs]


class _Prune:
    def __init__(self, needed: dict[Node, set[str]]) -> None:
        self.needed = needed
        self.done: dict[Node, Node] = {}

    def prune(self, node: Node) -> Node:
        """The node giving at least what is needed of it."""
        if node not in self.done:
            self.done[node] = self._pruned(node, self.needed[node])
        return self.done[node]

    def _pruned(self, node: Node, names: set[str]) -> Node:
        if isinstance(node, Scan):
            return _scan(node, names)
        if isinstance(node, Union):
            return self._union(node, names)
        inputs = [self.prune(below) for below in node.inputs]
        if isinstance(node, Project):
            return Project(inputs[0], _kept(node.outputs, names))
        if isinstance(node, Aggregate):
            return Aggregate(inputs[0], node.keys, _kept_measures(node, names))
        if isinstance(node, Window):
            functions = tuple(each for each in node.functions if each.name in names)
            return replace(node, input=inputs[0], functions=functions) if functions else inputs[0]
        return node.with_inputs(*inputs)

    def _union(self, node: Union, names: set[str]) -> Node:
        """Branches are aligned by position: each gives exactly the columns that stay."""
        places = _places(node, names)
        branches = tuple(_exactly(self.prune(branch), [branch.columns[place] for place in places]) for branch in node.branches)
        return Union(branches, tuple(node.outputs[place] for place in places))


def _scan(node: Scan, names: set[str]) -> Scan:
    """At least one column stays: rows must still be counted."""
    kept = [pair for pair in zip(node.source, node.outputs, strict=True) if pair[1].name in names]
    kept = kept or list(zip(node.source, node.outputs, strict=True))[:1]
    return (
        node
        if len(kept) == len(node.outputs)
        else Scan(node.relation, tuple(source for source, _ in kept), tuple(output for _, output in kept))
    )


def _kept(outputs: tuple[Output, ...], names: set[str]) -> tuple[Output, ...]:
    return tuple(output for output in outputs if output.name in names) or outputs[:1]


def _kept_measures(node: Aggregate, names: set[str]) -> tuple[Output, ...]:
    kept = tuple(measure for measure in node.measures if measure.name in names)
    return kept or (() if node.keys else node.measures[:1])


def _places(node: Union, names: set[str]) -> list[int]:
    return [place for place, name in enumerate(node.names) if name in names] or ([0] if node.outputs else [])


def _used(expressions: Iterable[Expression]) -> set[str]:
    return {name for expression in expressions for name in columns_in(expression)}


def _exactly(node: Node, columns: Iterable[Column]) -> Node:
    """The node with these columns in this order and no others."""
    wanted = tuple(columns)
    return node if node.columns == wanted else Project(node, tuple(Output(each, column(each.name)) for each in wanted))
