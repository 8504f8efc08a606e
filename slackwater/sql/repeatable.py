"""Whether a query gives the same answer as long as nothing that it reads has changed."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from slackwater.errors import SlackwaterError
from slackwater.sql.functions import AGGREGATE_NAMES, WINDOW_NAMES, function_name, nondeterminism
from slackwater.sql.sampling import samplings_in
from slackwater.sql.syntax import tree_of


@lru_cache(maxsize=1024)
def is_repeatable(text: str) -> bool:
    """By the same functions that a view may not call; one that we do not know may be the user's own, and anything."""
    try:
        if samplings_in(text):
            return False
        nodes = tree_of(text).walk()
        return not any(isinstance(node, exp.TableSample) or nondeterminism(node) is not None or _is_unknown(node) for node in nodes)
    except SlackwaterError:
        return False


def _is_unknown(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) and function_name(node) not in AGGREGATE_NAMES | WINDOW_NAMES
