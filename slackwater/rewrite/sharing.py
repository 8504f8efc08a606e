"""Subplans that stand at several places of a plan: rules change them once, for all places, or not at all."""

from __future__ import annotations

from collections import Counter

from slackwater.plan.nodes import Filter, Node, Project, Scan, Values


def shared_subplans(plan: Node) -> frozenset[Node]:
    """The nodes that several nodes read and that are work to compute: a filtered or projected scan is cheaper read twice."""
    readers: Counter[Node] = Counter()
    _count(plan, readers)
    return frozenset(node for node, count in readers.items() if count > 1 and _is_work(node))


def parents_first(plan: Node) -> list[Node]:
    """Every different node once, each before the nodes it reads."""
    done: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in done:
            for below in node.inputs:
                visit(below)
            done[node] = None

    visit(plan)
    return list(reversed(done))


def _count(node: Node, readers: Counter[Node]) -> None:
    readers[node] += 1
    if readers[node] == 1:
        for below in node.inputs:
            _count(below, readers)


def _is_work(node: Node) -> bool:
    while isinstance(node, Filter | Project):
        node = node.input
    return not isinstance(node, Scan | Values)
