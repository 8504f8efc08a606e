"""A subquery that refers to the query around it, as a plan that does not, and conditions that join the two.

Two ways, tried in this order: pull up, which leaves the subquery nearly as it was, and domain, which always works.
"""

from __future__ import annotations

from slackwater.plan.nodes import Node
from slackwater.sql.binding import Binding
from slackwater.sql.correlation import Correlated
from slackwater.sql.domain import by_domain
from slackwater.sql.pull_up import pulled_up


def correlate(binding: Binding, offered: Node, plan: Node) -> Correlated:
    """`plan` for every row of `offered`."""
    return pulled_up(binding, offered, plan) or by_domain(binding, offered, plan)
