"""From a plan to the plan of its parts and of its change.

`Derivation` walks the operators between two buffers and asks each operator's file for its rule. It remembers what it has derived, so that a
subplan used in several terms stays one subplan, and prunes: what has not moved has no change, and its old, new and kept rows are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from slackwater.delta import filter as filter_rule
from slackwater.delta import generate, join, project, scan, union, values
from slackwater.delta.rows import KEPT, NEW, OLD, OWN, Change, Moved, Rows, Rule
from slackwater.errors import InternalError
from slackwater.plan import Filter, Generate, Join, Node, Project, Scan, Union, Values

RULES: Mapping[type[Node], Rule] = {
    Scan: scan,
    Values: values,
    Filter: filter_rule,
    Project: project,
    Union: union,
    Generate: generate,
    Join: join,
}


@dataclass(frozen=True)
class Known:
    """What is known of a source: about how many rows it has, and columns in which no two of them agree, if there are."""

    rows: int
    key: tuple[str, ...] | None = None


class Derivation:
    """One flush's view of the sources: which of them moved, and everything derived so far."""

    def __init__(self, moved: Mapping[str, Moved], known: Mapping[str, Known] | None = None) -> None:
        self.moved = moved
        self.known = known or {}
        self._at: dict[tuple[Node, str, bool], Rows] = {}
        self._change: dict[tuple[Node, bool], Change | None] = {}
        self._fresh = 0

    def at(self, node: Node, part: str, named: bool = True) -> Rows:
        """The rows of `node` as of `part` (old, new, kept or all), with identities if `named`."""
        key = (node, self._plainest(node, part), named)
        if key not in self._at:
            self._at[key] = self._rule(node).at(node, key[1], named, self)
        return self._at[key]

    def change(self, node: Node, named: bool = True) -> Change | None:
        """The rows of `node` that are only in new or only in old; None when it is known that there are none."""
        key = (node, named)
        if key not in self._change:
            self._change[key] = self._rule(node).change(node, named, self) if self.moves(node) else None
        return self._change[key]

    def moves(self, node: Node) -> Moved:
        """Whether any source below `node` gained or lost rows."""
        sources = [self.moved.get(below.relation, Moved(False, False)) for below in node.walk() if isinstance(below, Scan)]
        return Moved(any(source.added for source in sources), any(source.removed for source in sources))

    def tells_states(self, node: Node) -> bool:
        """Whether old and new rows of `node` can be read at once with their states: what a row gives depends on no other row."""
        return all(isinstance(below, Scan | Filter | Project | Generate) for below in node.walk())

    def size(self, node: Node) -> int:
        """How many rows the sources of `node` have, as far as that is known."""
        sources = [self.known.get(below.relation.removesuffix(f"@{OWN}")) for below in node.walk() if isinstance(below, Scan)]
        return sum(source.rows for source in sources if source is not None)

    def unique(self, node: Node, columns: set[str]) -> bool:
        """Whether it is known that no two rows of `node` agree in the columns."""
        if isinstance(node, Filter):
            return self.unique(node.input, columns)
        if isinstance(node, Project):
            taken = {
                output.expression.name for output in node.outputs if output.name in columns and isinstance(output.expression, exp.Column)
            }
            return self.unique(node.input, taken)
        source = self.known.get(node.relation) if isinstance(node, Scan) else None
        if not isinstance(node, Scan) or source is None or not columns:
            return False
        names = {name for name, shown in zip(node.source, node.names, strict=True) if shown in columns}
        return source.key is not None and set(source.key) <= names

    def fresh(self, stem: str) -> str:
        """A column name that nothing else in this flush has."""
        self._fresh += 1
        return f"{stem}{self._fresh}"

    def _plainest(self, node: Node, part: str) -> str:
        """The same rows under one name, so that equal parts become equal plans."""
        moved = self.moves(node)
        if not moved:
            return NEW
        if part == KEPT and _monotone(node):
            if not moved.removed:
                return OLD
            if not moved.added:
                return NEW
        return part

    def _rule(self, node: Node) -> Rule:
        rule = RULES.get(type(node))
        if rule is None:
            raise InternalError(f"no change rule for {type(node).__name__} inside a path")
        return rule


def _monotone(node: Node) -> bool:
    """Whether more input rows can only mean more output rows: then nothing removed below means nothing removed here."""
    outer: Callable[[Node], bool] = lambda below: isinstance(below, Join) and below.kind in ("left", "full", "anti")  # noqa: E731
    return not any(outer(below) for below in node.walk())
