"""What Sail fails at when it is kept incrementally, though it computes it whole, or does by a detour. docs/sail.md has the examples."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from slackwater.errors import Unsupported
from slackwater.plan import Aggregate, Join, Node, Project, Window
from slackwater.plan.nodes import conjunction, conjuncts
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


# Types whose equal values have equal hashes: zero and minus zero, which are equal, have not.
_HASHED = re.compile(r"(tinyint|smallint|int|bigint|string|binary|boolean|date|timestamp(_ntz)?|decimal\(\d+,\s*\d+\))$")


def joined_by_hash(plan: Node) -> Node:
    """The same plan for Sail, which would join by IS NOT DISTINCT FROM in a loop over all pairs.

    By <=> it would join by a hash, too, but take NULL for equal to NULL in all that is compared there, also where a filter above says `=`.
    """
    return plan.transform(lambda node: _with_hashes(node) if isinstance(node, Join) else node)


def _with_hashes(node: Join) -> Node:
    conditions = conjuncts(node.condition)
    if any(isinstance(each, exp.EQ) for each in conditions):
        return node
    types = {c.name: c.type for side in node.inputs for c in side.columns}
    hashes = []
    for each in conditions:
        if isinstance(each, exp.NullSafeEQ) and isinstance(each.this, exp.Column) and isinstance(each.expression, exp.Column):
            type_ = types[each.this.name]
            if type_ == types[each.expression.name] and _HASHED.match(type_):
                a, b = (exp.Anonymous(this="XXHASH64", expressions=[side.copy()]) for side in (each.this, each.expression))
                hashes.append(exp.EQ(this=a, expression=b))
    return replace(node, condition=conjunction([*hashes, *conditions])) if hashes else node
