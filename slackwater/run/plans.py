"""A flush's plan on its way to a statement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from slackwater.delta import ID, SIDE, first_flush, whole_flush
from slackwater.path import Path
from slackwater.plan import Column, Node, Output, Project, column
from slackwater.rewrite import merge_projections, prune_columns
from slackwater.trace import VERSION


@dataclass(frozen=True)
class InFull:
    """A flush that computes everything: as it is now, or compared with what the path has."""

    everything: Node
    change: Node


@lru_cache(maxsize=4096)
def in_full(path: Path) -> InFull:
    """Of one path."""
    everything, change = (slim(stored(plan, path.columns)) for plan in (first_flush(path.top), whole_flush(path.top, path.name)))
    return InFull(everything, change)


def stored(plan: Node, columns: tuple[Column, ...]) -> Node:
    """A flush's rows as they are written: of the trace's types, with a version that is not known yet."""

    def as_type(c: Column) -> Output:
        return Output(c, exp.cast(column(c.name), c.type, dialect="spark"))

    here = {c.name: c.type for c in plan.columns}
    outputs = [Output(Column(SIDE, "string"), column(SIDE)), as_type(Column(ID, "string"))]
    outputs += [as_type(c) if c.name in here else Output(c, column(c.name)) for c in columns]
    outputs.append(Output(Column(VERSION, "bigint"), exp.cast(exp.Literal.number(0), "bigint")))
    return Project(plan, tuple(outputs))


def slim(plan: Node) -> Node:
    """The same rows in fewer words: an engine thinks about every column and every level of a statement."""
    return merge_projections(prune_columns(plan))
