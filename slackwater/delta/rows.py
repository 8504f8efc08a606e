"""What the change rules speak of: rows with identities, and how they are read.

A path reads each source between two versions, `old` (what it has seen) and `new` (what it reads now). Every row of a source is then in one
of three states, and a source can be read in five parts:

    kept      in old and in new            old = kept + removed
    added     in new only                  new = kept + added
    removed   in old only

A change rule gives `added` and `removed` of an operator from these parts of its inputs, such that no row is ever in both: what is written
to a trace needs no netting, and no row is summed up to find out whether it still exists.

An identity is one column. A table gives its rows a number; what is derived from several rows gets 128 bits of hash over their identities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from slackwater.plan import Column, Node, Output, Project, Union, column
from slackwater.plan.nodes import Expression

if TYPE_CHECKING:
    from slackwater.delta.derive import Derivation

OLD, NEW, KEPT, ADDED, REMOVED = "old", "new", "kept", "added", "removed"

ID = "_id"  # what a trace calls the identity
OWN = "own"  # the part name under which a path reads what it has written so far
SIDE = "_side"  # a flush's rows say whether they are added or removed


@dataclass(frozen=True)
class Rows:
    """A plan, and the column of it that holds each row's identity (None when nobody asked for one)."""

    plan: Node
    id: str | None


@dataclass(frozen=True)
class Change:
    """The rows that arrive and those that leave. None: there are none, and no work is needed to know it."""

    added: Rows | None = None
    removed: Rows | None = None

    def __bool__(self) -> bool:
        return self.added is not None or self.removed is not None


class Rule(Protocol):
    """What the file of an operator inside a path offers: its rows as of a part, and its change."""

    @property
    def at(self) -> Callable[[Any, str, bool, Derivation], Rows]: ...
    @property
    def change(self) -> Callable[[Any, bool, Derivation], Change]: ...


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

    The hash skips NULLs, so a number after each part keeps (a, NULL) and (NULL, a) apart.
    """
    halves = []
    for seed in ("1", "2"):
        arguments: list[Expression] = [exp.Literal.number(seed)]
        for position, part in enumerate(parts, start=3):
            if part is not None:
                arguments.append(part.copy())
            arguments.append(exp.Literal.number(position))
        halves.append(exp.Anonymous(this="hex", expressions=[exp.Anonymous(this="xxhash64", expressions=arguments)]))
    return exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string("."), *halves])


def with_identity(plan: Node, names: Iterable[str], id_name: str, expression: Expression) -> Rows:
    """`plan` cut down to `names`, with an identity computed from its columns."""
    kept = keep_outputs(plan, names)
    return Rows(Project(plan, (*kept, Output(Column(id_name, "string"), expression))), id_name)


def keep_outputs(plan: Node, names: Iterable[str]) -> tuple[Output, ...]:
    """Outputs that hand the named columns on as they are."""
    known = {c.name: c for c in plan.columns}
    return tuple(Output(known[name], column(name)) for name in names)


def aligned(rows: Rows, names: tuple[str, ...]) -> Node:
    """The rows' plan with exactly these columns in this order, then the identity if there is one."""
    wanted = (*names, rows.id) if rows.id is not None else names
    return rows.plan if rows.plan.names == wanted else Project(rows.plan, keep_outputs(rows.plan, wanted))


def together(parts: Iterable[Rows | None], names: tuple[str, ...]) -> Rows | None:
    """The rows of several terms of one change. Terms never share a row, so this is a plain union."""
    there = [part for part in parts if part is not None]
    if not there:
        return None
    if len(there) == 1:
        return there[0]
    first = aligned(there[0], names)
    branches = tuple(aligned(part, names) for part in there)
    return Rows(Union(branches, first.columns), there[0].id)
