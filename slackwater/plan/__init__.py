"""Relational plans: what a query means, independent of how its text was written."""

from slackwater.plan.nodes import (
    Aggregate,
    Column,
    Filter,
    Generate,
    Join,
    Limit,
    Node,
    Output,
    Project,
    Scan,
    Union,
    Values,
    Window,
    column,
    columns_in,
    conjunction,
    conjuncts,
)
from slackwater.plan.render import render

__all__ = [
    "Aggregate",
    "Column",
    "Filter",
    "Generate",
    "Join",
    "Limit",
    "Node",
    "Output",
    "Project",
    "Scan",
    "Union",
    "Values",
    "Window",
    "column",
    "columns_in",
    "conjunction",
    "conjuncts",
    "render",
]
