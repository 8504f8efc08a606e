"""What another engine may run beside ours, and what flushes are then expected to cost.

Both must agree on the plan to the last digit (plan/agreed.py), the files must be here, and what is read and given must fit: what the other
engine has no room for it fails at, and ours runs it after all.
"""

from __future__ import annotations

from functools import lru_cache

from slackwater.plan import Node
from slackwater.plan.agreed import Differs, agreed
from slackwater.run.choice import GUESSES, Guess
from slackwater.run.warehouse import Warehouse

MOST = 30_000_000  # rows that a statement reads, each time that it does


@lru_cache(maxsize=4096)
def agreed_plan(plan: Node) -> Node | None:
    """The plan for another engine; None if that may see something in it differently."""
    try:
        return agreed(plan)
    except Differs:
        return None


def difference(plan: Node) -> str | None:
    """What in a plan another engine may see differently, if anything."""
    try:
        agreed(plan)
    except Differs as reason:
        return str(reason)
    return None


def may_run_beside(plan: Node, read: int, warehouse: Warehouse) -> bool:
    """Whether another engine may run a plan that reads so many rows."""
    return warehouse.engine.has_one_beside and read <= MOST and warehouse.files.are_here and agreed_plan(plan) is not None


def guess_for(plan: Node, read: int, warehouse: Warehouse) -> Guess:
    """What a flush is expected to cost before any was seen, by who will run it."""
    return GUESSES["sail" if warehouse.engine.is_sail or may_run_beside(plan, read, warehouse) else "spark"]
