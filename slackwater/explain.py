"""EXPLAIN: the plan, printed. Running and explaining read the same paths and the same statements.

PLAN    the relational plan, and why a view is refreshed in full if it is
PATHS   where it is cut, what each path reads and keeps, how each is flushed
DELTA   the statement of each flush
SPARK   the engine's own plan of those statements
TRADEOFF  what it costs to leave less work for the trigger, and how often each path would be flushed
PACES   how often each path of a view is flushed for its goal, and why
"""

from __future__ import annotations

from dataclasses import fields

from slackwater.catalog import Snapshot
from slackwater.delta import Moved, first_flush, how, next_flush
from slackwater.path import Path
from slackwater.plan import Node, Scan, render
from slackwater.plan.nodes import Column, Expression, Output
from slackwater.plan.render import sql
from slackwater.result import Result
from slackwater.run.beside import difference
from slackwater.run.compile import AnyPath, Compiled, Whole, compile_query
from slackwater.run.compiled import compiled
from slackwater.run.paces import planned, trade_off
from slackwater.run.plans import in_full, stored
from slackwater.run.reading import readable
from slackwater.run.shown_paces import shown, shown_plan
from slackwater.run.views import how_kept, preview
from slackwater.run.warehouse import Warehouse
from slackwater.sql.kinds import Explain
from slackwater.trace import Trace

NAME = "query"  # what the paths of a query that is no view are called


def explain(statement: Explain, warehouse: Warehouse) -> Result:
    """EXPLAIN PLAN | DELTA | PATHS | TRADEOFF | PACES | SPARK of a view, a query, or a view that is not created yet."""
    snapshot = warehouse.catalog.snapshot()
    if statement.what == "paces":
        view = snapshot.view(str(statement.view))
        return Result.of_text("paces", shown_plan(view, planned(view, snapshot, warehouse)))
    form = _form(statement, snapshot, warehouse)
    if statement.what == "tradeoff":
        of = snapshot.view(statement.view) if statement.view is not None else None
        return Result.of_text("tradeoff", shown(trade_off(form, of, snapshot, warehouse)))
    if statement.what == "spark":
        text = _spark(form, snapshot, warehouse)
    elif statement.what == "paths":
        text = _paths(form, warehouse)
    else:
        text = {"plan": _plan, "delta": _delta}[statement.what](form)
    return Result.of_text(statement.what, f"{how_kept(form)}\n\n{text}")


def _form(statement: Explain, snapshot: Snapshot, warehouse: Warehouse) -> Compiled:
    if statement.view is not None:
        return compiled(snapshot.view(statement.view).name, snapshot, warehouse)
    if statement.create is not None:
        return preview(statement.create, snapshot, warehouse)
    assert statement.query is not None
    return compile_query(NAME, str(statement.query), snapshot, warehouse.engine, lambda read: compiled(read, snapshot, warehouse))


def _plan(form: Compiled) -> str:
    return tree(form.plan) if form.plan is not None else form.text


def _paths(form: Compiled, warehouse: Warehouse) -> str:
    blocks = [f"path {path.name}: kept as it was when the view was created\n  reads    {', '.join(path.sources)}" for path in form.fixed]
    for path in form.paths:
        lines = [
            f"path {path.name}: {path.operator}",
            f"  reads    {', '.join(path.sources)}",
            f"  keeps    {', '.join(c.name for c in path.columns)}",
        ]
        if isinstance(path, Whole):
            lines.append("  flush    computes the query whole")
        else:
            arriving, leaving = (how(path.top, _moved(path, form, rows_leave)) for rows_leave in (False, True))
            lines.append(f"  flush    {arriving}" if arriving == leaving else f"  flush    {arriving}; {leaving} when rows leave")
            if warehouse.engine.has_one_beside:
                differs = difference(in_full(path).change)
                lines.append(f"  run by   {'sail, where it fits' if differs is None else f'spark: sail may differ in {differs}'}")
            lines += ["  " + line for line in tree(path.top).split("\n")]
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, f"answer\n  {tree(form.answer)}".replace("\n", "\n  ").rstrip()])


def _delta(form: Compiled) -> str:
    blocks = []
    for path in form.paths:
        blocks.append(f"-- path {path.name}: {path.operator}, reads {', '.join(path.sources)}\n{_statement(path, form)}")
    return "\n\n".join(blocks)


def _statement(path: AnyPath, form: Compiled) -> str:
    """A later flush of a path, when rows have arrived in and left every source from which they can."""
    if isinstance(path, Whole):
        return path.text
    plan = next_flush(path.top, path.name, _moved(path, form))
    return render(stored(plan, path.columns)) if plan is not None else "-- its sources never change"


def _moved(path: Path, form: Compiled, rows_leave: bool = True) -> dict[str, Moved]:
    """What may be new for a path: no row leaves a stream, and what it is joined with does not change."""
    fixed = {each.name for each in form.fixed}
    lasting = fixed | set(form.streams)
    return {source: Moved(source not in fixed, rows_leave and source not in lasting) for source in path.sources}


def _spark(form: Compiled, snapshot: Snapshot, warehouse: Warehouse) -> str:
    blocks = []
    for path in form.paths:
        if isinstance(path, Whole):
            statement = readable(path.text, snapshot, warehouse)
        else:
            exists = path.name in snapshot.traces
            plan = next_flush(path.top, path.name, _moved(path, form)) if exists else first_flush(path.top)
            if plan is None:
                continue
            _register(plan, form, snapshot, warehouse)
            statement = render(stored(plan, path.columns), warehouse.engine.prefix)
        blocks.append(f"-- path {path.name}\n{warehouse.engine.explain(statement)}")
    return "\n\n".join(blocks)


def _register(plan: Node, form: Compiled, snapshot: Snapshot, warehouse: Warehouse) -> None:
    """Names for what a statement reads, as of now: enough to plan it."""
    empty = {path.name: Trace(path.name, path.columns) for path in (*form.paths, *form.fixed)}
    for node in plan.walk():
        if isinstance(node, Scan):
            source = node.relation.rpartition("@")[0]
            trace = snapshot.traces.get(source) or empty[source]
            warehouse.engine.register(node.relation, trace, trace.at(trace.version), warehouse.files, hidden=True)


def tree(plan: Node, indent: str = "") -> str:
    """A plan as an indented tree, top first."""
    facts = []
    for field in fields(plan):
        if field.name not in (*plan.input_fields, "branches"):
            text = _fact(getattr(plan, field.name))
            if text:
                facts.append(f"{field.name}={text}" if field.name not in ("relation", "condition", "kind") else text)
    line = f"{indent}{type(plan).__name__.lower()} {' '.join(facts)}".rstrip()
    return "\n".join([line, *(tree(node, indent + "  ") for node in plan.inputs)])


def _fact(value: object) -> str:
    if isinstance(value, Output):
        text = sql(value.expression)
        return value.name if text.strip("`") == value.name else f"{value.name}: {text}"
    if isinstance(value, Column):
        return value.name
    if isinstance(value, Expression):
        return sql(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_fact(item) for item in value)}]" if value else ""
    return "" if value in (None, False, 0) else str(value)
