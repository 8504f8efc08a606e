"""What the tests of the binder share: a small catalog, types without an engine, and plans as short text."""

from __future__ import annotations

from collections.abc import Iterable

from slackwater.plan.nodes import Aggregate, Column, Filter, Generate, Join, Limit, Node, Project, Scan, Union, Values, Window
from slackwater.sql.bind import GuessTyper, Query, bind
from slackwater.sql.syntax import tree_of

TABLES = {
    "orders": "id int, region string, amount decimal(12,2), tags array<string>, place struct<city:string,zip:int>",
    "items": "id int, order_id int, price double",
    "Customers": "Id int, Name string",
}


class Catalog:
    """Relations from the declarations above."""

    def columns(self, name: str) -> tuple[Column, ...] | None:
        declared = {known.lower(): text for known, text in TABLES.items()}.get(name.lower())
        if declared is None:
            return None
        pairs = (part.strip().split(" ", 1) for part in _split(declared))
        return tuple(Column(column, type_) for column, type_ in pairs)

    def names(self) -> Iterable[str]:
        return list(TABLES)


class CountingTyper(GuessTyper):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def types(self, expressions, columns):  # type: ignore[no-untyped-def]
        self.calls += 1
        return super().types(expressions, columns)


def bound(text: str) -> Query:
    return bind(text, Catalog(), GuessTyper())


def bound_with_tree(text: str) -> Query:
    return bind(text, Catalog(), GuessTyper(), tree=tree_of(text))


def shape(node: Node, projections: bool = True) -> str:
    """The nodes of a plan without their expressions: `project(join:semi(scan orders, scan items))`."""
    inside = ", ".join(shape(below, projections) for below in node.inputs)
    match node:
        case Project() if not projections:
            return inside
        case Scan():
            return f"scan {node.relation}"
        case Values():
            return f"values {len(node.rows)}"
        case Join():
            return f"join:{node.kind}({inside})"
        case Aggregate():
            return f"aggregate:{len(node.keys)}:{len(node.measures)}({inside})"
        case Window() | Filter() | Project() | Limit() | Union() | Generate():
            return f"{type(node).__name__.lower()}({inside})"
    raise AssertionError(node)


def kinds(node: Node) -> list[str]:
    """The kinds of the joins of a plan, top-down."""
    return [each.kind for each in node.walk() if isinstance(each, Join)]


def find(node: Node, kind: type[Node]) -> Node:
    """The first node of that kind, top-down."""
    return next(each for each in node.walk() if isinstance(each, kind))


def _split(declared: str) -> list[str]:
    parts, depth = [""], 0
    for char in declared:
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts
