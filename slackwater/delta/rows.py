"""What the change rules speak of: rows with identities, and how they are read.

A path reads each source between two versions, `old` (what it has seen) and `new` (what it reads now). Every row of a source is then in one
of three states, and a source can be read in these parts:

    kept      in old and in new            old = kept + removed
    added     in new only                  new = kept + added
    removed   in old only                  all = kept + added + removed, with each row's state

A change rule gives the moved rows of an operator from these parts of its inputs, such that no row is ever both added and removed: what is
written to a trace needs no netting, and no row is summed up to find out whether it still exists. Where rows of both states are read
together, a column tells which is which: true for a row that arrives, false for one that leaves, NULL for one that was there and stays.

An identity is one column. A table gives its rows a number; what is derived from several rows gets 128 bits of hash over their identities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from slackwater.plan import Column, Filter, Node, Output, Project, Union, column
from slackwater.plan.nodes import Expression

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation

OLD, NEW, KEPT, ADDED, REMOVED, ALL = "old", "new", "kept", "added", "removed", "all"

ID = "_id"  # what a trace calls the identity
OWN = "own"  # the part name under which a path reads what it has written so far
STATE = "_state"  # with which the names of columns begin that hold states
TOUCHED = "touched_"  # with which the names of columns begin that hold the keys of a change
SIDE = "_side"  # a flush's rows say whether they are added or removed


@dataclass(frozen=True)
class Rows:
    """A plan, the column of it that holds each row's identity (None when nobody asked for one), and the one that holds its state."""

    plan: Node
    id: str | None
    state: str | None = None

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that are ours."""
        return tuple(name for name in (self.id, self.state) if name is not None)


@dataclass(frozen=True)
class Change:
    """The rows that arrive or leave. `arrives`: all of them do, or none; None when each row's state tells."""

    rows: Rows
    arrives: bool | None = None

    def side(self, arrives: bool) -> Rows | None:
        """Those that arrive, or those that leave; None when it is known that there are none."""
        if self.arrives is not None:
            return self.rows if self.arrives is arrives else None
        state = column(str(self.rows.state))
        return Rows(Filter(self.rows.plan, state if arrives else exp.not_(state)), self.rows.id)

    def told(self, if_arrives: Expression, if_leaves: Expression) -> Expression:
        """One of two values, by what the row does."""
        if self.arrives is not None:
            return if_arrives if self.arrives else if_leaves
        return exp.If(this=column(str(self.rows.state)), true=if_arrives, false=if_leaves)


class Rule(Protocol):
    """What the file of an operator inside a path offers: its rows as of a part, and its change."""

    @property
    def at(self) -> Callable[[Any, str, bool, Derivation], Rows]: ...
    @property
    def change(self) -> Callable[[Any, bool, Derivation], Change | None]: ...


class Top(Protocol):
    """What the file of an operator that ends a path offers: all its rows, and the rows of a later flush (None: no change)."""

    @property
    def first(self) -> Callable[[Any, Derivation], Rows]: ...
    @property
    def flush(self) -> Callable[[Any, Rows, Derivation], Node | None]: ...


@dataclass(frozen=True)
class Moved:
    """What is known of a source before a flush: whether rows arrived and whether rows left."""

    added: bool
    removed: bool

    def __bool__(self) -> bool:
        return self.added or self.removed


def identity(*parts: Expression | None) -> Expression:
    """128 bits over the parts, NULL and missing parts included.

    The hash skips NULLs, so that each part comes with whether it is one: (a, NULL) and (NULL, a) are not the same, whatever a is.
    """
    halves = []
    for seed in ("1", "2"):
        arguments: list[Expression] = [exp.Literal.number(seed)]
        for part in parts:
            arguments += [exp.true()] if part is None else [exp.Is(this=part.copy(), expression=exp.null()), part.copy()]
        halves.append(exp.Anonymous(this="hex", expressions=[exp.Anonymous(this="xxhash64", expressions=arguments)]))
    return exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string("."), *halves])


def named_by(expression: Expression) -> list[str]:
    """The columns whose values an identity tells, if the expression is one."""
    found = (call for call in expression.find_all(exp.Anonymous) if call.this == "xxhash64")
    return [part.name for call in islice(found, 1) for part in call.expressions if isinstance(part, exp.Column)]


def with_identity(rows: Rows, names: Iterable[str], id_name: str, expression: Expression) -> Rows:
    """The rows cut down to `names` and their state, with an identity computed from their columns."""
    kept = keep_outputs(rows.plan, (*names, rows.state) if rows.state else names)
    return Rows(Project(rows.plan, (*kept, Output(Column(id_name, "string"), expression))), id_name, rows.state)


def keep_outputs(plan: Node, names: Iterable[str]) -> tuple[Output, ...]:
    """Outputs that hand the named columns on as they are."""
    known = {c.name: c for c in plan.columns}
    return tuple(Output(known[name], column(name)) for name in names)


def united(rows: Iterable[Rows], names: tuple[str, ...]) -> Rows:
    """Rows of one kind from several terms that share none: a plain union."""
    there = list(rows)
    if len(there) == 1:
        return there[0]
    first = there[0]
    branches = tuple(_aligned(part, (*names, *part.hidden)) for part in there)
    return Rows(Union(branches, branches[0].columns), first.id, first.state)


def together(changes: Iterable[Change | None], names: tuple[str, ...]) -> Change | None:
    """The change that several terms make up. Terms never share a row. `names`: the columns that all of them have."""
    there = [change for change in changes if change is not None]
    if len(there) < 2:
        return there[0] if there else None
    if there[0].arrives is not None and all(change.arrives is there[0].arrives for change in there):
        return Change(united((change.rows for change in there), names), there[0].arrives)
    return Change(united((_told(change, names) for change in there), names))


def _told(change: Change, names: tuple[str, ...]) -> Rows:
    """The rows of a change with their state in a column, whether or not they all do the same."""
    rows = change.rows
    if change.arrives is None:
        return rows
    state = f"{STATE}_{names[0]}"
    kept = keep_outputs(rows.plan, (*names, rows.id) if rows.id else names)
    return Rows(
        Project(rows.plan, (*kept, Output(Column(state, "boolean"), exp.true() if change.arrives else exp.false()))), rows.id, state
    )


def _aligned(rows: Rows, names: tuple[str, ...]) -> Node:
    """The rows' plan with exactly these columns in this order."""
    return rows.plan if rows.plan.names == names else Project(rows.plan, keep_outputs(rows.plan, names))
