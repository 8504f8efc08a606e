"""Group only what can be asked for.

    partsupp ⋈ part (name LIKE 'forest%')  ⋈  lineitem grouped by part and supplier
                                              └ (lineitem ⋉ part (name LIKE 'forest%')) grouped by part and supplier

A group that is joined by a key to a table of which a filter leaves few rows is never looked at unless its key is one of theirs. So rows
of other groups need not be grouped: they are neither computed nor kept, and a change of them ends where it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from slackwater.plan.nodes import (
    Aggregate,
    Expression,
    Filter,
    Join,
    Node,
    Output,
    Project,
    Scan,
    column,
    columns_compared,
    columns_in,
    conjuncts,
)
from slackwater.plan.rename import rename
from slackwater.rewrite.sharing import shared_subplans


def restrict_groups(plan: Node) -> Node:
    """The plan whose aggregates read only rows of groups that joins above can look at."""
    return _Restrict(shared_subplans(plan)).visit(plan)


@dataclass(frozen=True)
class _Few:
    """A filtered table, and the column in which it has every value that matters."""

    rows: Filter
    key: str

    @property
    def type(self) -> str:
        return next(each.type for each in self.rows.columns if each.name == self.key)


class _Restrict:
    def __init__(self, shared: frozenset[Node]) -> None:
        self.shared = shared  # several readers: what one of them does not look at another may
        self.count = 0
        self.done: dict[Node, Node] = {}

    def visit(self, node: Node) -> Node:
        if node not in self.done:
            top = self._restricted(node) if isinstance(node, Join) else node
            self.done[node] = top.with_inputs(*(self.visit(below) for below in top.inputs))
        return self.done[node]

    def _restricted(self, node: Join) -> Join:
        """The join with what its sides group restricted by each other: what a join keeps without a partner is not."""
        if node.kind == "full":
            return node
        left, right = node.left, node.right
        for a, b in _equal(node):
            theirs = _few(left, a)
            right = self._among(right, b, theirs) if theirs else right
            ours = _few(node.right, b) if node.kind == "inner" else None
            left = self._among(left, a, ours) if ours else left
        return replace(node, left=left, right=right)

    def _among(self, node: Node, name: str, few: _Few) -> Node:
        """The node, whose rows matter only if `name` is among the few, with what it groups restricted to them."""
        if node in self.shared:
            return node
        if isinstance(node, Filter):
            return replace(node, input=self._among(node.input, name, few))
        if isinstance(node, Project):
            below = _passed(node, name)
            return replace(node, input=self._among(node.input, below, few)) if below else node
        if isinstance(node, Join) and node.kind != "full":
            if name in node.left.names:
                return replace(node, left=self._among(node.left, name, few))
            return replace(node, right=self._among(node.right, name, few)) if node.kind == "inner" else node
        if isinstance(node, Aggregate) and name in node.keys:
            return self._semi_joined(node, name, few)
        return node

    def _semi_joined(self, node: Aggregate, name: str, few: _Few) -> Node:
        types = {each.name: each.type for each in node.columns}
        if types[name] != few.type or _few(node.input, name):
            return node  # rows that are few already need no others to be so
        self.count += 1
        ending = f"_among{self.count}"
        copy = rename(few.rows, lambda each: each + ending)
        keys = tuple(Output(each, column(each.name)) for each in copy.columns if each.name == few.key + ending)
        same = exp.EQ(this=column(name), expression=column(few.key + ending))
        return replace(node, input=self._met(node.input, name, Project(copy, keys), same))

    def _met(self, node: Node, name: str, few: Node, same: Expression) -> Node:
        """The rows of a node that meet one of the few, found where the column comes from."""
        if isinstance(node, Join) and node.kind != "full" and node not in self.shared:
            if name in node.left.names:
                return replace(node, left=self._met(node.left, name, few, same))
            if node.kind == "inner":
                return replace(node, right=self._met(node.right, name, few, same))
        return Join(node, few, "semi", same)


def _few(node: Node, name: str) -> _Few | None:
    """A filtered table below the node that has all values of its column `name`, if there is one."""
    if isinstance(node, Filter):
        if isinstance(node.input, Scan):
            return _Few(node, name) if any(_is_selective(each) for each in conjuncts(node.condition)) else None
        return _few(node.input, name)
    if isinstance(node, Project):
        below = _passed(node, name)
        return _few(node.input, below) if below else None
    if isinstance(node, Aggregate):
        return _few(node.input, name) if name in node.keys else None
    places: list[tuple[Node, str]] = []
    if isinstance(node, Join) and node.kind != "full":
        if name in node.left.names:
            partners = [(node.right, b) for a, b in _equal(node) if a == name] if node.kind in ("inner", "semi") else []
            places = [(node.left, name), *partners]
        elif node.kind == "inner":
            places = [(node.right, name), *((node.left, a) for a, b in _equal(node) if b == name)]
    return next((found for below, each in places if (found := _few(below, each))), None)


def _equal(node: Join) -> list[tuple[str, str]]:
    """The columns of the left and of the right that a join demands to be equal, of one type, and not NULL."""
    types = {each.name: each.type for each in (*node.left.columns, *node.right.columns)}
    found = []
    for condition in conjuncts(node.condition):
        names = columns_compared(condition) if isinstance(condition, exp.EQ) else None
        if names and types[names[0]] == types[names[1]]:
            a, b = names if names[0] in node.left.names else names[::-1]
            if a in node.left.names and b in node.right.names:
                found.append((a, b))
    return found


def _passed(node: Project, name: str) -> str | None:
    """The input's column that the projection passes on under a name."""
    expression = next(each.expression for each in node.outputs if each.name == name)
    return expression.name if isinstance(expression, exp.Column) else None


def _is_selective(condition: Expression) -> bool:
    """Whether a condition asks for certain values: of most columns those are few rows."""
    if isinstance(condition, exp.In):
        return bool(condition.expressions) and not any(columns_in(each) for each in condition.expressions)
    if isinstance(condition, exp.EQ | exp.Like) and not condition.args.get("negate"):
        return not (columns_in(condition.this) and columns_in(condition.expression))
    return False
