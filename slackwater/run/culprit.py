"""Which expression of a view failed.

Engines say that a division by zero happened, not always where. After a failure the path's expressions are tried one by one, from the
sources upwards, until one fails: slow, but only ever done when something is wrong, and it is what the user needs to know.
"""

from __future__ import annotations

import re

from sqlglot import exp

from slackwater.delta import NEW
from slackwater.delta.derive import RULES, Derivation
from slackwater.errors import QueryError
from slackwater.plan import Aggregate, Column, Filter, Node, Output, Project, Scan, Window, render
from slackwater.plan.nodes import Expression
from slackwater.plan.render import sql
from slackwater.run.compile import AnyPath, Whole
from slackwater.run.warehouse import Step


def name_culprit(failure: QueryError, path: AnyPath, step: Step) -> QueryError:
    """The failure, with the expression that caused it, in the user's words as far as they are known."""
    if isinstance(path, Whole):
        return failure
    expression = _find(path.top, step)
    if expression is not None:
        engine_said = failure.message.partition(": ")[0]  # behind it stands our own statement's text
        failure.message = f"{engine_said} in {in_users_words(expression)}"
    return failure


def in_users_words(expression: Expression) -> str:
    """The text of an expression without the numbers that make our column names unique."""
    return re.sub(r"`(\w+?)_\d+`", r"\1", sql(expression))


def _find(node: Node, step: Step) -> Expression | None:
    for below in node.inputs:
        found = _find(below, step)
        if found is not None:
            return found
    if not node.inputs or not all(type(below) in RULES for below in node.walk() if below is not node):
        return None
    for expression in _tried(node):
        if _fails(expression, node, step):
            return expression
    return None


def _tried(node: Node) -> list[Expression]:
    if isinstance(node, Filter):
        return [node.condition]
    if isinstance(node, Project):
        return [output.expression for output in node.outputs if not isinstance(output.expression, exp.Column)]
    if isinstance(node, Aggregate):
        return [measure.expression for measure in node.measures]
    return [function.expression for function in node.functions] if isinstance(node, Window) else []


def _fails(expression: Expression, node: Node, step: Step) -> bool:
    rows = Derivation({}).at(node.inputs[0], NEW, named=False).plan
    output = Output(Column("tried", "string"), expression)
    plan: Node = Aggregate(rows, (), (output,)) if isinstance(node, Aggregate) else Project(rows, (output,))
    warehouse = step.warehouse
    for scan in plan.walk():
        if isinstance(scan, Scan):
            trace = step.traces[scan.relation.rpartition("@")[0]]
            warehouse.engine.register(scan.relation, trace, trace.at(trace.version), warehouse.files, hidden=True)
    try:
        # Counting would let an engine skip the expression; a maximum of its text does not.
        warehouse.engine.arrow(f"SELECT max(CAST(tried AS STRING)) FROM (\n{render(plan, warehouse.engine.prefix)}\n)")
    except QueryError:
        return True
    return False
