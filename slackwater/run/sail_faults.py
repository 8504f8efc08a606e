"""What Sail fails at when it is kept incrementally, though it computes it whole. docs/sail.md has the examples."""

from __future__ import annotations

from sqlglot import exp

from slackwater.errors import Unsupported
from slackwater.plan import Aggregate, Node, Project, Window
from slackwater.sql.place import place_of

# Sail simplifies these, and is then in two minds whether they can be NULL.
BOOLEANS = {exp.NullSafeEQ: "<=>", exp.NullSafeNEQ: "IS DISTINCT FROM", exp.Coalesce: "coalesce"}


def refuse_on_sail(plan: Node) -> None:
    """Raise for a construct that must be refreshed in full."""
    grouped = (below for node in plan.walk() if isinstance(node, Aggregate | Window) for below in node.walk() if isinstance(below, Project))
    for output in (output for projection in grouped for output in projection.outputs):
        found = output.expression.find(*BOOLEANS) if output.column.type == "boolean" else None
        if found is not None:
            message = f"Sail cannot group by a BOOLEAN that {BOOLEANS[type(found)]} has a part in"
            raise Unsupported(message, place=place_of(found), hint="group by a CASE that gives numbers instead")
