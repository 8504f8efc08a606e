"""Scans that read no more files than those in which a change can find a partner.

The values of a change are known before its flush is written. From there they are carried along equalities to the other sides of joins,
and down to what is read there; what a filter drops is not carried along:

    σ(Δorders) ⋈ lineitem on l_orderkey = o_orderkey        only files of lineitem whose keys meet those of the changed orders that pass

This is no rule about rows: the plan gives the same ones, whichever of the files that cannot matter are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from slackwater.delta.conditions import Wanted, both, conditions
from slackwater.delta.rows import ID, OWN, TOUCHED, named_by
from slackwater.delta.spans import KINDS, Spans, Words
from slackwater.plan import Aggregate, Filter, Generate, Join, Node, Project, Scan, Union, Window
from slackwater.plan.nodes import columns_compared, conjuncts

Known = Callable[[str, str, Wanted], Spans | None]  # of a relation's column, in rows of which nothing but this is wanted
Choose = Callable[[str, Wanted], str]  # the relation to read instead, by what is wanted of its columns


def narrow(plan: Node, known: Known, choose: Choose) -> Node:
    """The plan, reading of each relation what `choose` finds to be enough. `known` tells where values lie, as far as that is known."""
    return _Narrowed(known, choose).plan(plan, {})


_NOTHING: Wanted = {}  # is known to be wanted: all of it
_Key = frozenset[tuple[str, Spans | Words]]


class _Narrowed:
    def __init__(self, known: Known, choose: Choose) -> None:
        self.known = known
        self.choose = choose
        self._spans: dict[tuple[Node, str, _Key], Spans | None] = {}
        self._plans: dict[tuple[Node, _Key], Node] = {}

    def plan(self, node: Node, wanted: Wanted) -> Node:
        key = (node, frozenset(wanted.items()))
        if key not in self._plans:
            self._plans[key] = self._plan(node, wanted)
        return self._plans[key]

    def _plan(self, node: Node, wanted: Wanted) -> Node:
        if isinstance(node, Scan):
            of_source = _of_source(node, wanted)
            relation = self.choose(node.relation, of_source) if of_source else node.relation
            return node if relation == node.relation else Scan(relation, node.source, node.outputs)
        if isinstance(node, Join):
            left, right = self._sides(node, wanted)
            return node.with_inputs(self.plan(node.left, left), self.plan(node.right, right))
        if isinstance(node, Union):
            places = [(node.names.index(name), spans) for name, spans in wanted.items()]
            return node.with_inputs(*(self.plan(branch, {branch.names[at]: spans for at, spans in places}) for branch in node.branches))
        return node.with_inputs(*(self.plan(each, _wanted_below(node, wanted)) for each in node.inputs))

    def _sides(self, node: Join, wanted: Wanted) -> tuple[Wanted, Wanted]:
        """What matters of the two sides of a join."""
        on_left = _among(wanted, node.left) if node.kind != "full" else {}
        on_right = _among(wanted, node.right) if node.kind == "inner" else {}
        left, right = dict(on_left), dict(on_right)
        for mine, other, nulls in _equalities(node):
            here = _and(left.get(mine), self.spans(node.left, mine, on_left))
            if node.kind in ("inner", "semi"):
                here = _and(here, _and(right.get(other), self.spans(node.right, other, on_right)))
            # A row of a kept side stays without a partner, too; of the other side only partners matter.
            if node.kind in ("inner", "semi") and here is not None:
                left[mine] = here if nulls else here.without_nulls
            if node.kind != "full" and here is not None:
                right[other] = here if nulls else here.without_nulls
        for side, matters, partners in ((node.left, left, node.right), (node.right, right, node.left)):
            if node.kind in ("inner", "semi") or node.kind != "full" and side is node.right:
                for name, spans in self._groups(node, side, partners):
                    matters |= both(matters, {name: spans})
        return left, right

    def _groups(self, node: Join, own: Node, partners: Node) -> Iterator[tuple[str, Spans]]:
        """Where the columns of a path's own rows lie that are joined with others of the same identity: groups of the same values."""
        if isinstance(own, Scan) and own.relation.endswith(f"@{OWN}"):
            shown = dict(zip(own.source, own.names, strict=True))
            for pair in map(columns_compared, conjuncts(node.condition)):
                if pair is not None and shown.get(ID) in pair:
                    for name, spans in self._told(partners, pair[1] if pair[0] == shown[ID] else pair[0]):
                        name = name if name in shown else name.removeprefix(TOUCHED)
                        if name in shown and spans is not None:
                            yield shown[name], spans

    def _told(self, node: Node, name: str) -> Iterator[tuple[str, Spans | None]]:
        """The columns that an identity tells, by the names that they have where it is made, and where their values lie."""
        if isinstance(node, Project):
            made = next(output.expression for output in node.outputs if output.name == name)
            if isinstance(made, exp.Column):
                yield from self._told(node.input, made.name)
            else:
                yield from ((each, self.spans(node.input, each)) for each in named_by(made))

    def spans(self, node: Node, name: str, wanted: Wanted = _NOTHING) -> Spans | None:
        """Where the values of a column can lie, in rows of which nothing but this is wanted; None if that is not known."""
        key = (node, name, frozenset(wanted.items()))
        if key not in self._spans:
            self._spans[key] = self._found(node, name, wanted)
        return self._spans[key]

    def _found(self, node: Node, name: str, wanted: Wanted) -> Spans | None:
        if isinstance(node, Scan):
            at = node.names.index(name)
            return self.known(node.relation, node.source[at], _of_source(node, wanted)) if node.outputs[at].type in KINDS else None
        if isinstance(node, Union):
            at, places = node.names.index(name), [(node.names.index(each), spans) for each, spans in wanted.items()]
            found = [self.spans(branch, branch.names[at], {branch.names[i]: spans for i, spans in places}) for branch in node.branches]
            told = [spans for spans in found if spans is not None]
            return _either(told) if len(told) == len(found) else None
        if isinstance(node, Join):
            return self._joined(node, name, wanted)
        below = _below(node)
        return self.spans(node.inputs[0], below[name], _wanted_below(node, wanted)) if name in below else None

    def _joined(self, node: Join, name: str, wanted: Wanted) -> Spans | None:
        on_left = name in node.left.names
        if node.kind == "full" or not on_left and node.kind != "inner":
            return None  # a row without a partner has NULL there
        side = node.left if on_left else node.right
        here = _among(wanted, side)
        equalities = _equalities(node) if node.kind in ("inner", "semi") else []
        for mine, other, nulls in equalities:
            own, partners = (mine, self.spans(node.right, other)) if on_left else (other, self.spans(node.left, mine))
            if partners is not None:
                here = both(here, {own: partners if nulls else partners.without_nulls})
        found = _and(here.get(name), self.spans(side, name, here))
        needs_value = any(name in (mine, other) and not nulls for mine, other, nulls in equalities)
        return found.without_nulls if found is not None and needs_value else found


def _of_source(node: Scan, wanted: Wanted) -> Wanted:
    """What is wanted, by the names that columns have where they come from."""
    return {source: wanted[shown] for source, shown in zip(node.source, node.names, strict=True) if shown in wanted}


def _among(wanted: Wanted, node: Node) -> dict[str, Spans | Words]:
    """What is wanted of a node's columns."""
    return {name: spans for name, spans in wanted.items() if name in node.names}


def _wanted_below(node: Node, wanted: Wanted) -> Wanted:
    """What is wanted of a node's only input."""
    below = _below(node)
    passed = {below[name]: wanted[name] for name in wanted if name in below}
    return both(passed, conditions(node)) if isinstance(node, Filter) else passed


def _below(node: Node) -> dict[str, str]:
    """The columns of a node that are its input's, under their names there. Rows that differ in one of them do not know of each other."""
    if isinstance(node, Project):
        return {output.name: output.expression.name for output in node.outputs if isinstance(output.expression, exp.Column)}
    if isinstance(node, Filter):
        return {name: name for name in node.names}
    if isinstance(node, Generate):
        return {name: name for name in node.input.names}
    if isinstance(node, Aggregate | Window):
        return {name: name for name in node.keys}
    return {}


def _equalities(node: Join) -> list[tuple[str, str, bool]]:
    """The columns of the left and of the right that a join compares, and whether NULL is equal to NULL."""
    types = {column.name: column.type for side in node.inputs for column in side.columns}
    found = []
    for condition in conjuncts(node.condition):
        pair = columns_compared(condition)
        if pair is not None and types[pair[0]] in KINDS and KINDS[types[pair[0]]] == KINDS.get(types[pair[1]]):
            nulls = isinstance(condition, exp.NullSafeEQ)
            if pair[0] in node.left.names and pair[1] in node.right.names:
                found.append((*pair, nulls))
            elif pair[1] in node.left.names and pair[0] in node.right.names:
                found.append((pair[1], pair[0], nulls))
    return found


def _and(a: Spans | Words | None, b: Spans | None) -> Spans | None:
    return a & b if isinstance(a, Spans) and b is not None else a if isinstance(a, Spans) else b


def _either(spans: list[Spans]) -> Spans:
    found = spans[0]
    for each in spans[1:]:
        found = found | each
    return found
