"""MERGE: one full join of target and source; the first clause that fits a pair says what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slackwater.catalog import Table
from slackwater.delta import ID
from slackwater.errors import QueryError
from slackwater.plan.render import quote
from slackwater.run.change import Changed, change_table, head, write_actions
from slackwater.run.constraints import refuse_append_only, table_column
from slackwater.run.expressions import checked
from slackwater.run.reading import readable
from slackwater.run.tables import assigned
from slackwater.run.warehouse import Step, Warehouse
from slackwater.sql import Piece
from slackwater.sql.kinds import Merge, MergeClause


def merge(statement: Merge, warehouse: Warehouse) -> Changed:
    """MERGE INTO t USING s ON p WHEN ..."""

    def write(step: Step, table: Table) -> int:
        target, source = statement.target_alias or statement.target, statement.source_alias or statement.source
        if any(clause.action != "insert" for clause in statement.clauses):
            refuse_append_only(table, "merge")
        marked = f"(SELECT *, true AS sw_source FROM {readable(_source(statement), step.before, warehouse)} AS {quote(source)})"
        action = _merge_action(statement.clauses, target, lambda text: readable(text, step.before, warehouse))
        news = []
        for i, c in enumerate(table.columns):
            news.append(f"CAST({_merge_value(statement, table, c.name, target, source, step)} AS {c.type}) AS new_{i}")
        olds = [f"{quote(target)}.{quote(c.name)} AS old_{i}" for i, c in enumerate(table.columns)]
        on = readable(statement.on, step.before, warehouse)
        columns = f"{action} AS clause, {quote(target)}.{ID}, {', '.join(news + olds)}"
        joined = f"SELECT {columns} FROM {quote(head(step, table))} AS {quote(target)} FULL JOIN {marked} AS {quote(source)} ON {on}"
        kinds = " ".join(f"WHEN {i} THEN '{clause.action}'" for i, clause in enumerate(statement.clauses, start=1))
        columns = ", ".join(f"new_{i}, old_{i}" for i in range(len(table.columns)))
        rows = f"SELECT CASE clause {kinds} END AS action, {ID}, {columns} FROM ({joined}) WHERE clause > 0"
        twice = f"SELECT {ID} FROM ({rows}) WHERE action <> 'insert' GROUP BY {ID} HAVING count(*) > 1 LIMIT 1"
        both = f"{quote(table.name)} AS {quote(target)} CROSS JOIN {_source(statement)} AS {quote(source)}"
        with checked(_expressions(statement), both, step):
            if warehouse.engine.arrow(twice).num_rows:
                raise QueryError("two source rows match one row of the target", hint="make the source unique on the columns of ON")
            return write_actions(step, table, rows)

    return change_table(statement.target, warehouse, statement.text, "merge", write, [_source(statement)])


def _expressions(statement: Merge) -> list[Piece | None]:
    found: list[Piece | None] = [statement.on]
    for clause in statement.clauses:
        found += [clause.condition, *(value for _, value in clause.assignments), *clause.values]
    return found


def _source(statement: Merge) -> str:
    return statement.source if statement.source.startswith("(") else f"(SELECT * FROM {quote(statement.source)})"


def _merge_action(clauses: Sequence[MergeClause], target: str, read: Callable[[str], str]) -> str:
    """The number of the first clause that fits a pair; 0 for none."""
    here, there = f"{quote(target)}.{ID} IS NOT NULL", "sw_source IS NOT NULL"
    pairs = {
        "matched": f"{here} AND {there}",
        "not_matched": f"{quote(target)}.{ID} IS NULL",
        "not_matched_by_source": f"{here} AND sw_source IS NULL",
    }
    cases = []
    for number, clause in enumerate(clauses, start=1):
        fits = pairs[clause.kind] + (f" AND ({read(clause.condition)})" if clause.condition is not None else "")
        cases.append(f"WHEN {fits} THEN {number}")
    return f"CASE {' '.join(cases)} ELSE 0 END"


def _merge_value(statement: Merge, table: Table, name: str, target: str, source: str, step: Step) -> str:
    """A column's new value, by the clause that fits."""
    cases = []
    action = _merge_action(statement.clauses, target, lambda text: readable(text, step.before, step.warehouse))
    for number, clause in enumerate(statement.clauses, start=1):
        if clause.action == "delete":
            continue
        if clause.star:
            value = f"{quote(source)}.{quote(name)}"
        elif clause.action == "update":
            value = assigned(table, clause.assignments, step, statement.text).get(name, f"{quote(target)}.{quote(name)}")
        else:
            columns = [table_column(table, piece, statement.text) for piece in clause.columns] or [c.name for c in table.columns]
            if len(columns) != len(clause.values):
                raise QueryError(f"{len(clause.values)} values for {len(columns)} columns", text=statement.text)
            values = dict(zip(columns, clause.values, strict=True))
            value = f"({readable(values[name], step.before, step.warehouse)})" if name in values else "NULL"
        cases.append(f"WHEN {number} THEN {value}")
    return f"CASE {action} {' '.join(cases)} END" if cases else "NULL"
