"""sqlglot's trees, and its complaints in our words."""

from __future__ import annotations

import re
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from slackwater.errors import Place, QueryError
from slackwater.sql.pieces import Piece
from slackwater.sql.sampling import without_samplings

DIALECT = "spark"


def tree_of(text: str) -> exp.Expr:
    """The tree of a query, or of an expression. It is shared between callers: read it, do not change it."""
    tree = _parsed(str(text))
    if isinstance(tree, QueryError):
        raise QueryError(tree.message, text=text, place=tree.place, hint=tree.hint)
    return tree


def is_readable(name: str) -> bool:
    """Whether a query can name what it reads by this, without quotes."""
    tree = _parsed(f"SELECT * FROM {name}")
    return not isinstance(tree, QueryError) and [table.name for table in tree.find_all(exp.Table)] == [name]


def check_query(query: Piece, whole: str) -> None:
    """Complain now, with the place in the whole statement, if this part of it is not a query."""
    tree = _checked(query, whole)
    if not isinstance(tree, exp.Query | exp.Values):
        raise QueryError("expected a query", text=whole, place=query.place)


def check_expression(expression: Piece, whole: str) -> None:
    """Complain now, with the place in the whole statement, if this part of it is not an expression."""
    tree = _checked(expression, whole)
    if isinstance(tree, exp.Alias):  # `a = 1 b`: the parser takes b for a new name
        start = expression.start + tree.args["alias"].meta.get("start", 0)
        end = expression.start + tree.args["alias"].meta.get("end", len(expression) - 1) + 1
        raise QueryError(f'syntax error at "{whole[start:end]}"', text=whole, place=Place(start, end))
    if isinstance(tree, exp.DDL | exp.DML | exp.Drop) or (isinstance(tree, exp.Query) and not isinstance(tree, exp.Subquery)):
        raise QueryError("expected an expression", text=whole, place=expression.place, hint="put a subquery in parentheses")


def _checked(part: Piece, whole: str) -> exp.Expr:
    tree = _parsed(str(part))
    if isinstance(tree, QueryError):
        place = tree.place and Place(tree.place.start + part.start, tree.place.end + part.start)
        raise QueryError(tree.message, text=whole, place=place, hint=tree.hint)
    return tree


@lru_cache(maxsize=256)
def _parsed(text: str) -> exp.Expr | QueryError:
    try:
        text = without_samplings(text)
    except QueryError as error:
        return QueryError(error.message, place=error.place, hint=error.hint)
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect=DIALECT) if tree is not None]
    except ParseError as error:
        return _in_our_words(error, text)
    except SqlglotError as error:
        return QueryError("the text cannot be read", hint=_plain(str(error)))
    except RecursionError:
        return QueryError("the expression is nested too deeply", hint="split it with a WITH clause")
    if len(trees) != 1:
        return QueryError("expected one query" if trees else "expected a query, found nothing", place=Place(0, max(1, len(text))))
    if isinstance(trees[0], exp.Command):
        return QueryError(f'syntax error at "{text.split(maxsplit=1)[0]}"', place=Place(0, len(text.split(maxsplit=1)[0])))
    return trees[0]


def _in_our_words(error: ParseError, text: str) -> QueryError:
    facts = error.errors[0] if error.errors else {}
    place = _place(facts, text)
    at = text[place.start : place.end] if place else "the end"
    description = str(facts.get("description") or "")
    expected = re.match(r"Expect(?:ing|ed) (.+)", description)
    missing = re.match(r"Required keyword: '(\w+)' missing for <class '[\w.]*?(\w+)'>", description)
    if missing:
        return QueryError(f'syntax error near "{at}": something is missing', place=place)
    if expected:
        return QueryError(f'syntax error at "{at}": expected {_plain(expected.group(1)).lower()}', place=place)
    return QueryError(f'syntax error at "{at}"', place=place)


def _place(facts: dict[str, object], text: str) -> Place | None:
    """sqlglot counts lines from 1 and gives the column of the token's last character, from 1."""
    line, column, highlight = facts.get("line"), facts.get("col"), facts.get("highlight")
    if not isinstance(line, int) or not isinstance(column, int) or not isinstance(highlight, str):
        return None
    begin = 0
    for _ in range(line - 1):
        begin = text.find("\n", begin) + 1
    end = min(begin + column, len(text))
    return Place(max(0, end - max(1, len(highlight))), max(1, end))


def _plain(message: str) -> str:
    """Without the terminal's colours, and only the first line."""
    return re.sub(r"\x1b\[[\d;]*m", "", message).split("\n")[0]
