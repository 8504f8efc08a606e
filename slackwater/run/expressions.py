"""Expressions in UPDATE, DELETE and MERGE: what is wrong with them, said of the user's own text.

The engine sees a statement that we have made; its complaints are about that. The binder sees the user's expression and knows its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from slackwater.errors import Place, QueryError, Unsupported
from slackwater.run.warehouse import Step
from slackwater.sql import Piece
from slackwater.sql.bind import bind


@contextmanager
def checked(expressions: Iterable[Piece | None], source: str, step: Step) -> Iterator[None]:
    """Run a statement made from `expressions` over the FROM clause `source`. If the engine refuses it, say which of them is wrong."""
    try:
        yield
    except QueryError:
        for expression in expressions:
            if expression is not None:
                _check(expression, source, step)
        raise


def _check(expression: Piece, source: str, step: Step) -> None:
    opening = "SELECT ("
    try:
        bind(f"{opening}{expression}) AS checked FROM {source}", step.before, step.warehouse.engine)
    except Unsupported:
        return  # the engine may know what the binder does not
    except QueryError as problem:
        if problem.place is not None and problem.place.end <= len(opening) + len(expression):
            moved = expression.place.start - len(opening)
            problem.place = Place(problem.place.start + moved, problem.place.end + moved)
            problem.text = None
            raise
