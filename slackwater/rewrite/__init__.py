"""Rewrites: a plan into an equal, cheaper plan. One rule, one function, one file.

Every rule keeps the rows exactly, NULLs and duplicates included, and keeps the plan's own columns and their order. A subplan that
several parts of the plan share stays shared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from slackwater.plan.nodes import Node
from slackwater.rewrite.group_before_join import Keys, group_before_join
from slackwater.rewrite.merge_projections import merge_projections
from slackwater.rewrite.prune_columns import prune_columns
from slackwater.rewrite.push_filters import push_filters
from slackwater.rewrite.restrict_groups import restrict_groups

__all__ = ["Keys", "merge_projections", "prune_columns", "push_filters", "restrict_groups", "rewrite", "rules"]


def rules(keys: Keys) -> tuple[Callable[[Node], Node], ...]:
    """All rules, in their order. `keys`: of the tables that a plan reads."""
    return (
        push_filters,  # first: conditions become join conditions, and rows leave early
        partial(group_before_join, keys=keys),  # after filters, which may have left nothing but equal columns in a join's condition
        restrict_groups,  # after filters, which say what can be asked for
        prune_columns,  # after filters, so that what only a condition above needed can go
        merge_projections,  # last: the rules before leave projections that only rename
    )


def rules_for_streams() -> tuple[Callable[[Node], Node], ...]:
    """Those that leave joins on the side of the groups where the user has them: tables above may change, and those below may not."""
    return (push_filters, prune_columns, merge_projections)


def rewrite(plan: Node, keys: Keys | None = None, has_streams: bool = False) -> Node:
    """The plan after all rules."""
    for rule in rules_for_streams() if has_streams else rules(keys or {}):
        plan = rule(plan)
    return plan
