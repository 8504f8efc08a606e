"""The kinds of statements, as data.

Names, queries and expressions are `Piece`s: strings that know their place in the statement's `text`. A query or an expression is the
user's own text, for the engine or the binder to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from slackwater.sql.pieces import Piece

Options = Mapping[str, str]


@dataclass(frozen=True)
class Statement:
    """One statement and its text, to which all places refer."""

    text: str = field(repr=False)


@dataclass(frozen=True)
class ColumnDef:
    """A column of a new table; its type as Spark writes it."""

    name: Piece
    type: Piece
    nullable: bool = True


@dataclass(frozen=True)
class CreateTable(Statement):
    """CREATE TABLE t (id BIGINT NOT NULL, ..., PRIMARY KEY (id)) WITH (...) AS SELECT ...

    With a query the columns may be left out; those given must fit it.
    """

    name: Piece
    columns: tuple[ColumnDef, ...]
    primary_key: tuple[Piece, ...] = ()
    query: Piece | None = None
    if_not_exists: bool = False
    or_replace: bool = False
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class CreateStream(Statement):
    """CREATE STREAM s (part STRING, ...) WITH (capacity = '1 million rows'), or CREATE FOREIGN TABLE s (...) SERVER stream"""

    name: Piece
    columns: tuple[ColumnDef, ...]
    if_not_exists: bool = False
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class CreateSample(Statement):
    """CREATE SAMPLE s ON t SIZE 1000 [ROWS] WITH (seed = 7)"""

    name: Piece
    source: Piece
    size: int
    if_not_exists: bool = False
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Insert(Statement):
    """INSERT [OR REPLACE] INTO t (columns) VALUES ... | SELECT ..."""

    table: Piece
    columns: tuple[Piece, ...] | None
    query: Piece
    or_replace: bool = False


Assignment = tuple[Piece, Piece]
"""A column and the expression it is set to."""


@dataclass(frozen=True)
class Update(Statement):
    """UPDATE t AS alias SET column = expression, ... WHERE condition"""

    table: Piece
    alias: Piece | None
    assignments: tuple[Assignment, ...]
    where: Piece | None = None


@dataclass(frozen=True)
class Delete(Statement):
    """DELETE FROM t AS alias WHERE condition"""

    table: Piece
    alias: Piece | None = None
    where: Piece | None = None


@dataclass(frozen=True)
class MergeClause:
    """WHEN ... [AND condition] THEN action. `star` stands for all columns, by name; an insert has `columns` and `values`."""

    kind: Literal["matched", "not_matched", "not_matched_by_source"]
    action: Literal["update", "delete", "insert"]
    condition: Piece | None = None
    star: bool = False
    assignments: tuple[Assignment, ...] = ()
    columns: tuple[Piece, ...] = ()
    values: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Merge(Statement):
    """MERGE INTO target USING source ON condition WHEN ...: `source` is a table's name, or a query in parentheses."""

    target: Piece
    target_alias: Piece | None
    source: Piece
    source_alias: Piece | None
    on: Piece
    clauses: tuple[MergeClause, ...]


@dataclass(frozen=True)
class Copy(Statement):
    """COPY t (columns) FROM 'path' FORMAT csv WITH (header = true)"""

    table: Piece
    columns: tuple[Piece, ...] | None
    path: Piece
    format: Literal["csv", "json", "parquet"]
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Drop(Statement):
    """DROP TABLE | STREAM | SAMPLE | VIEW [IF EXISTS] name"""

    kind: Literal["table", "stream", "sample", "view"]
    name: Piece
    if_exists: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE [MATERIALIZED] VIEW v (columns) WITH (...) AS query. Without MATERIALIZED there must be a stream in it."""

    name: Piece
    query: Piece
    options: Options = field(default_factory=dict)
    or_replace: bool = False
    if_not_exists: bool = False
    columns: tuple[Piece, ...] | None = None
    materialized: bool = True


@dataclass(frozen=True)
class AlterView(Statement):
    """ALTER [MATERIALIZED] VIEW v SET (option = value, ...) | SUSPEND | RESUME"""

    name: Piece
    options: Options = field(default_factory=dict)
    suspended: bool | None = None


@dataclass(frozen=True)
class Mark(Statement):
    """MARK m"""

    name: Piece


@dataclass(frozen=True)
class Refresh(Statement):
    """REFRESH VIEW v, or REFRESH ALL when the name is None."""

    name: Piece | None = None


@dataclass(frozen=True)
class Select(Statement):
    """A query to answer now, from views that may be so much out of date: SELECT ... WITH (staleness = '10 seconds')"""

    query: Piece
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Show(Statement):
    """SHOW TABLES | STREAMS | SAMPLES | VIEWS | PATHS"""

    what: Literal["tables", "streams", "samples", "views", "paths"]


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE name, DESCRIBE HISTORY [name], DESCRIBE GOALS [name]"""

    name: Piece | None
    history: bool = False
    goals: bool = False


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN PLAN | DELTA | PATHS | TRADEOFF | PACES | SPARK of a view, a query, or a view to be created (`create`, with its `query`)."""

    what: Literal["plan", "delta", "paths", "tradeoff", "paces", "spark"] = "plan"
    view: Piece | None = None
    query: Piece | None = None
    create: CreateView | None = None


@dataclass(frozen=True)
class Vacuum(Statement):
    """VACUUM"""
