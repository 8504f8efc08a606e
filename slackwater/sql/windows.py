"""Window functions of a select: one node for each list of partition keys, stacked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from slackwater.plan.nodes import Expression, Node, Window, column
from slackwater.sql.binding import Binding, hint_of, rebuild, replace_equal
from slackwater.sql.functions import call_of, written_name


def apply_windows(binding: Binding, plan: Node, expressions: Sequence[Expression]) -> tuple[Node, list[Expression]]:
    """The plan with the window functions of the expressions computed, and the expressions using their columns."""
    windows = list(dict.fromkeys(window for expression in expressions for window in _windows(expression)))
    if not windows:
        return plan, list(expressions)
    plan, keyed = _with_key_columns(binding, plan, windows)
    by_keys: dict[frozenset[str], list[tuple[Expression, exp.Window]]] = {}
    for original, window in keyed:
        by_keys.setdefault(frozenset(key.name for key in window.args.get("partition_by") or []), []).append((original, window))
    replacements: dict[Expression, Expression] = {}
    for members in by_keys.values():
        outputs = binding.outputs([(_hint(window), window) for _, window in members])
        keys = dict.fromkeys(key.name for key in members[0][1].args.get("partition_by") or [])
        plan = Window(plan, tuple(keys), outputs)
        replacements.update((original, column(output.name)) for (original, _), output in zip(members, outputs, strict=True))
    return plan, [replace_equal(expression, replacements) for expression in expressions]


def _windows(expression: Expression) -> Iterable[exp.Window]:
    if isinstance(expression, exp.Window):
        yield expression
    else:
        for child in expression.iter_expressions():
            yield from _windows(child)


def _with_key_columns(binding: Binding, plan: Node, windows: Sequence[exp.Window]) -> tuple[Node, list[tuple[Expression, exp.Window]]]:
    """Partition keys that are computed become columns first."""
    keys = list(dict.fromkeys(key for window in windows for key in window.args.get("partition_by") or []))
    plan, names = binding.extend(plan, [("key", key) for key in keys])
    named = dict(zip(keys, names, strict=True))
    result: list[tuple[Expression, exp.Window]] = []
    for window in windows:
        partition = [column(named[key]) for key in window.args.get("partition_by") or []]
        changed = rebuild(window, {**window.args, "partition_by": partition})
        assert isinstance(changed, exp.Window)
        result.append((window, changed))
    return plan, result


def _hint(window: exp.Window) -> str:
    call = call_of(window.this)
    inner = call.find(exp.Column)
    return f"{written_name(call)}_{hint_of(inner.name)}" if inner is not None else written_name(call)
