"""From a view's text to what keeps it: bound, rewritten, cut into paths.

A view that names another view reads what that view's paths keep, not its text: plans meet at traces. A query that cannot be maintained
incrementally becomes one path that computes it whole, and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from slackwater.catalog import Snapshot, Stream, Table, View
from slackwater.errors import InternalError, Place, QueryError, SlackwaterError, Unsupported
from slackwater.path import Path, cut
from slackwater.plan import Column, Node, Output, Project, Scan, column
from slackwater.plan.rename import rename
from slackwater.plan.render import quote
from slackwater.rewrite import rewrite
from slackwater.run.sail_faults import refuse_on_sail
from slackwater.spark import Engine
from slackwater.sql import relations_in, rename_relations
from slackwater.sql.bind import Query, bind
from slackwater.sql.functions import NonDeterministic


@dataclass(frozen=True)
class Whole:
    """A path that computes a query whole, from what the relations in its text hold."""

    name: str
    text: str
    columns: tuple[Column, ...]
    sources: tuple[str, ...]

    operator = "whole"

    @property
    def fingerprint(self) -> str:
        return self.text


AnyPath = Path | Whole


@dataclass(frozen=True)
class Compiled:
    """How a query is kept. `columns` are what a reader sees; `answer` gives them from what the paths keep, in this order."""

    text: str
    reads: tuple[str, ...]
    columns: tuple[Column, ...]
    paths: tuple[AnyPath, ...]
    answer: Node
    order: tuple[exp.Ordered, ...] = ()  # by columns that a reader sees
    query: Query | None = None
    reason: SlackwaterError | None = None
    plan: Node | None = None
    buffers: tuple[str, ...] = field(default=())
    streams: tuple[str, ...] = ()  # of which it reads rows as they come
    fixed: tuple[Path, ...] = ()  # flushed once, when the view is created

    @property
    def incremental(self) -> bool:
        return self.reason is None


def compile_query(
    name: str, text: str, snapshot: Snapshot, engine: Engine, answers: Callable[[str], Compiled], shown: tuple[str, ...] | None = None
) -> Compiled:
    """What keeps the query `text` as the view `name`. `answers` compiles views that it reads; `shown` are its columns' names."""
    reads = []
    for relation in relations_in(text):
        if relation.name.lower() not in reads:
            reads.append(relation.name.lower())
    streams = tuple(read for read in reads if isinstance(snapshot.relations.get(read), Stream))
    try:
        query = bind(text, snapshot, engine)
        if engine.is_sail:
            refuse_on_sail(query.plan)
        keys = {table.name.lower(): table.primary_key for table in snapshot.tables}
        plan = rewrite(_down_to_traces(query.plan, snapshot, answers), keys, bool(streams))
        paths = cut(plan, name, streams)
    except NonDeterministic:
        raise
    except Unsupported as reason:
        if streams:  # their rows cannot be read again, so there is no full refresh
            raise _at_stream(reason, text, streams) from reason
        return _whole(name, text, tuple(reads), snapshot, engine, answers, reason, shown)
    columns = _columns(query.names, query.plan.columns, shown)
    answer = _shown(paths.answer, query.plan.names, columns)
    order = _order(query, tuple(c.name for c in columns))
    return Compiled(
        text, tuple(reads), columns, paths.paths, answer, order, query, None, plan, _scanned(answer), streams, paths.fixed
    )  # fmt: skip


def _at_stream(reason: Unsupported, text: str, streams: tuple[str, ...]) -> Unsupported:
    """The reason, which points at the stream where it points at nothing else."""
    if reason.place is None:
        named = [found for found in relations_in(text) if found.name.lower() in streams]
        told = [found for found in named if f'"{found.name.lower()}"' in reason.message] or named
        reason = Unsupported(reason.message, text=text, place=told[0].place, hint=reason.hint)
    return reason


def _whole(
    name: str,
    text: str,
    reads: tuple[str, ...],
    snapshot: Snapshot,
    engine: Engine,
    answers: Callable[[str], Compiled],
    reason: Unsupported,
    shown: tuple[str, ...] | None,
) -> Compiled:
    """A query that is computed whole, and why."""
    given = _columns_by_engine(text, reads, snapshot, engine)
    columns = _columns(tuple(c.name for c in given), given, shown)
    sources: list[str] = []
    for read in reads:
        relation = snapshot.relation(read)
        sources += [relation.name.lower()] if isinstance(relation, Table) else answers(relation.name).buffers
    path = Whole(f"{name}/1", text, columns, tuple(dict.fromkeys(sources)))
    answer = Scan(path.name, tuple(c.name for c in columns), columns)
    return Compiled(text, reads, columns, (path,), answer, (), None, reason.within(text), None, (path.name,))


def _columns_by_engine(text: str, reads: tuple[str, ...], snapshot: Snapshot, engine: Engine) -> tuple[Column, ...]:
    """The columns of a query that only the engine understands, over relations without rows."""
    names = {}
    for read in reads:
        empty = ", ".join(f"CAST(NULL AS {c.type}) AS {quote(c.name)}" for c in snapshot.relation(read).columns)
        names[read] = engine.define(f"{read}@nothing", f"SELECT {empty} WHERE false")
    return engine.columns_of(rename_relations(text, lambda found: names[found.name.lower()]))


def _down_to_traces(plan: Node, snapshot: Snapshot, answers: Callable[[str], Compiled]) -> Node:
    """The plan with every scan of a view replaced by that view's answer over its traces."""
    count = 0

    def replaced(node: Node) -> Node:
        nonlocal count
        if not isinstance(node, Scan):
            return node
        relation = snapshot.relation(node.relation)
        if isinstance(relation, Table):
            return Scan(relation.name.lower(), node.source, node.outputs)
        count += 1
        number = count
        # The other view's plan was bound on its own: its names get an ending that this plan cannot have.
        answer = rename(answers(relation.name).answer, lambda name: f"{name}__{number}")
        by_source = {source.lower(): f"{source}__{number}" for source in (c.name for c in relation.columns)}
        return Project(
            answer, tuple(Output(out, column(by_source[source.lower()])) for source, out in zip(node.source, node.outputs, strict=True))
        )

    return plan.transform(replaced)


def _columns(names: tuple[str, ...], given: tuple[Column, ...], shown: tuple[str, ...] | None) -> tuple[Column, ...]:
    """The columns that readers see: under the names the user listed, or those of the query."""
    if shown is not None and len(shown) != len(given):
        raise QueryError(f"{len(shown)} names for {len(given)} columns")
    columns = tuple(Column(name, c.type) for name, c in zip(shown or names, given, strict=True))
    lower = [c.name.lower() for c in columns]
    for name in lower:
        if lower.count(name) > 1:
            raise QueryError(f'there would be two columns called "{name}"', hint="give one of them another name with AS")
    for c in columns:
        if "void" in c.type:
            raise QueryError(f'column "{c.name}" has no type', hint=f"give it one, as in CAST(NULL AS STRING) AS {c.name}")
    return columns


def _shown(answer: Node, names: tuple[str, ...], columns: tuple[Column, ...]) -> Node:
    """The answer under the names that readers see."""
    return Project(answer, tuple(Output(shown, column(name)) for shown, name in zip(columns, names, strict=True)))


def _scanned(plan: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node.relation for node in plan.walk() if isinstance(node, Scan)))


def _order(query: Query, names: tuple[str, ...]) -> tuple[exp.Ordered, ...]:
    """The order of the text, over the names that readers see."""
    shown = dict(zip(query.plan.names, names, strict=True))
    ordered = []
    for key in query.order:
        try:
            renamed = key.transform(lambda node: column(shown[node.name]) if isinstance(node, exp.Column) else node)
        except KeyError as missing:
            raise InternalError(f"the order of a query uses a column it does not show: {missing}") from missing
        assert isinstance(renamed, exp.Ordered)
        ordered.append(renamed)
    return tuple(ordered)


def record(name: str, compiled: Compiled, options: dict[str, str]) -> View:
    """The catalog's record of a compiled view."""
    reason, place = None, None
    if compiled.reason is not None:
        reason = compiled.reason.message
        at: Place | None = compiled.reason.place
        place = (at.start, at.end) if at else None
    return View(
        name, compiled.text, compiled.columns, options, compiled.reads, compiled.incremental, reason, place,
        {path.name: path.fingerprint for path in compiled.paths},
    )  # fmt: skip
