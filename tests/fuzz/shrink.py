"""Make a failing trial small: leave out whatever can be left out while it still fails in the same way.

Steps, changes, views and tables go first, because they make every later attempt cheaper; then the queries lose parts, on sqlglot's trees. A
candidate that makes no sense fails in another way or not at all, and is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import sqlglot
from sqlglot import exp

from tests.cases import Case, Change, Step, View
from tests.fuzz.trial import Outcome, Trial

Attempt = Callable[[Trial], Outcome]
# sqlglot's trees, whose types it keeps changing.
Tree = Any


def shrink(trial: Trial, outcome: Outcome, attempt: Attempt, tries: int = 400) -> Trial:
    """The smallest trial found that ends as `outcome` does."""
    left = tries
    progress = True
    while progress and left > 0:
        progress = False
        for candidate in _smaller(trial):
            left -= 1
            if _same_failure(candidate, outcome, attempt):
                trial, progress = candidate, True
                break
            if left <= 0:
                break
    return trial


def _same_failure(trial: Trial, outcome: Outcome, attempt: Attempt) -> bool:
    try:
        found = attempt(trial)
    except ValueError:
        # The case is no longer one: a row would leave that is not there.
        return False
    return found.kind == outcome.kind and (outcome.kind == "wrong" or found.summary[:40] == outcome.summary[:40])


def _smaller(trial: Trial) -> Iterator[Trial]:
    if trial.schedule != "lazy":
        yield replace(trial, schedule="lazy")
    if trial.late:
        yield replace(trial, late=False)
    for case in _smaller_cases(trial.case):
        yield replace(trial, case=case)


def _smaller_cases(case: Case) -> Iterator[Case]:
    for at in range(len(case.steps) - 1, -1, -1):
        yield _with_steps(case, case.steps[:at] + case.steps[at + 1 :])
    for at in range(len(case.steps) - 1):
        first, second = case.steps[at : at + 2]
        yield _with_steps(case, (*case.steps[:at], Step(first.changes + second.changes, second.reads), *case.steps[at + 2 :]))
    yield from _fewer_views(case)
    yield from _fewer_tables(case)
    yield from _fewer_changes(case)
    for at, view in enumerate(case.views):
        for text in smaller_queries(view.text):
            yield replace(case, views=(*case.views[:at], View(view.name, text), *case.views[at + 1 :]))
    yield from _fewer_columns(case)


def _with_steps(case: Case, steps: tuple[Step, ...]) -> Case:
    return replace(case, steps=steps)


def _fewer_views(case: Case) -> Iterator[Case]:
    for view in case.views:
        others = tuple(each for each in case.views if each != view)
        if others and not any(f"{view.name} " in f"{each.text} " for each in others):
            names = {each.name for each in others}
            steps = tuple(Step(step.changes, tuple(name for name in step.reads if name in names)) for step in case.steps)
            yield replace(case, views=others, steps=steps)


def _fewer_tables(case: Case) -> Iterator[Case]:
    for table in case.tables:
        if not any(f"{table.name} " in f"{view.text} " for view in case.views):
            steps = tuple(Step(tuple(c for c in step.changes if c.table != table.name), step.reads) for step in case.steps)
            yield replace(case, tables=tuple(each for each in case.tables if each != table), steps=steps)


def _fewer_changes(case: Case) -> Iterator[Case]:
    """Without half of a step's changes, then without one."""
    for size in (8, 4, 2, 1):
        for at, step in enumerate(case.steps):
            if len(step.changes) < size:
                continue
            for start in range(0, len(step.changes), size):
                fewer = step.changes[:start] + step.changes[start + size :]
                yield _with_steps(case, (*case.steps[:at], Step(fewer, step.reads), *case.steps[at + 1 :]))


def _fewer_columns(case: Case) -> Iterator[Case]:
    """Without a column that no view names."""
    for at, table in enumerate(case.tables):
        for position, (name, _) in enumerate(table.columns):
            if len(table.columns) == 1 or any(f".{name}" in view.text for view in case.views):
                continue
            slim = replace(table, columns=table.columns[:position] + table.columns[position + 1 :])
            steps = tuple(
                Step(tuple(_without(c, position) if c.table == table.name else c for c in step.changes), step.reads) for step in case.steps
            )
            yield replace(case, tables=(*case.tables[:at], slim, *case.tables[at + 1 :]), steps=steps)


def _without(change: Change, position: int) -> Change:
    return replace(change, row=change.row[:position] + change.row[position + 1 :], new=change.new[:position] + change.new[position + 1 :])


def smaller_queries(text: str) -> Iterator[str]:
    """The query with one part less, for each part it has; large parts first."""
    tree = sqlglot.parse_one(text, dialect="spark")
    seen = {text}
    nodes = list(tree.walk())
    for at in range(len(nodes)):
        for change in CHANGES:
            copy = tree.copy()
            root = change(list(copy.walk())[at], copy)
            smaller = _text(root) if root is not None else None
            if smaller is not None and smaller not in seen and len(smaller) < len(text) + 5:
                seen.add(smaller)
                yield smaller


def _text(tree: Tree) -> str | None:
    """The tree as text, unless taking something out of it left nothing that can be written."""
    try:
        return str(tree.sql(dialect="spark"))
    except ValueError:
        return None


def _drop_clause(node: Tree, root: Tree) -> Tree | None:
    """No WHERE, HAVING, ORDER BY, LIMIT, DISTINCT, JOIN, LATERAL VIEW, FILTER."""
    if (
        isinstance(node, exp.Where | exp.Having | exp.Limit | exp.Offset | exp.Join | exp.Lateral | exp.Distinct)
        and node.parent is not None
    ):
        node.pop()
        return root
    if isinstance(node, exp.Filter):
        node.replace(node.this)
        return root
    return None


def _keep_one_side(node: Tree, root: Tree) -> Tree | None:
    """A set operation becomes its left branch."""
    if isinstance(node, exp.SetOperation):
        if node.parent is None:
            return node.left
        node.replace(node.left)
        return root
    return None


def _keep_other_side(node: Tree, root: Tree) -> Tree | None:
    """A set operation becomes its right branch; AND and OR lose their left side."""
    if isinstance(node, exp.SetOperation) and node.parent is None:
        return node.right
    if isinstance(node, exp.SetOperation | exp.And | exp.Or):
        node.replace(node.expression)
        return root
    return None


def _unwrap(node: Tree, root: Tree) -> Tree | None:
    """A function becomes its first argument, a condition its first part, a subquery in FROM stands alone."""
    if isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From) and node.parent.parent is root:
        return node.this
    wraps = exp.Paren | exp.Not | exp.And | exp.Or | exp.Case | exp.Coalesce | exp.Cast | exp.Func | exp.Add | exp.Sub | exp.Mul | exp.Mod
    if (
        isinstance(node, wraps)
        and node.parent is not None
        and isinstance(node.this, exp.Expression)
        and not isinstance(node.parent, exp.Table)
    ):
        node.replace(node.this)
        return root
    return None


def _drop_output(node: Tree, root: Tree) -> Tree | None:
    """One output, group key or sort key less."""
    parent = node.parent
    if isinstance(parent, exp.Select) and node.arg_key == "expressions" and len(parent.expressions) > 1:
        node.pop()
        return root
    if isinstance(parent, exp.Group | exp.Order) and node.arg_key == "expressions":
        node.pop()
        if not parent.expressions:
            parent.pop()
        return root
    return None


CHANGES = (_keep_one_side, _keep_other_side, _drop_clause, _drop_output, _unwrap)
