"""TABLESAMPLE RESERVOIR (n ROWS) REPEATABLE (seed): where a query takes so many rows, each as likely as any other.

The clause is ours, so it is read here, word by word, and is blank to whoever reads the rest of a query: all places stay what they are.
Tables and streams are sampled before the query is run, by whoever knows where their rows are. Of what a query computes, the engine orders
the rows by chance and takes the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from slackwater.errors import Place, QueryError
from slackwater.sql.words import QUERY_WORDS, RESERVED, Token, Words
from slackwater.stream import MOST

CLAUSE = "TABLESAMPLE RESERVOIR (1000 ROWS)"
BEFORE = ("FROM", "JOIN", ",", "(")  # what a relation stands behind
# Words that may follow a relation, and are no alias.
BEHIND = RESERVED | frozenset(
    "LEFT RIGHT FULL INNER CROSS SEMI ANTI NATURAL LATERAL LIMIT OFFSET WINDOW QUALIFY CLUSTER DISTRIBUTE SORT".split()
)


@dataclass(frozen=True)
class Sampling:
    """A sample that a query takes: of how many rows, of what, and where it says so."""

    rows: int
    seed: int | None
    of: Place
    clause: Place
    has_alias: bool = False


def samplings_in(text: str) -> tuple[Sampling, ...]:
    """All that a text takes, in the order of their clauses."""
    return _samplings(str(text)) if _may_have_one(text) else ()


def without_samplings(text: str) -> str:
    """The text with blanks where the clauses are."""
    for each in samplings_in(text):
        blank = re.sub(r"\S", " ", text[each.clause.start : each.clause.end])
        text = text[: each.clause.start] + blank + text[each.clause.end :]
    return text


def with_samples(text: str, drawn: Callable[[str, Sampling], str]) -> str:
    """The text as an engine reads it. `drawn`: the sample of a relation or a query, by a name or as a query."""
    while found := samplings_in(text):
        innermost = min(found, key=lambda each: each.of.end - each.of.start)
        text = _with_sample(text, innermost, drawn)
    return text


def _with_sample(text: str, sampling: Sampling, drawn: Callable[[str, Sampling], str]) -> str:
    before, of, rest = text[: sampling.of.start], text[sampling.of.start : sampling.of.end], text[sampling.clause.end :]
    inside = Words(of)
    alias = ""
    if inside.accept("(") and inside.word() not in QUERY_WORDS:  # a relation and its alias
        alias = f" AS {inside.tokens[-2].text}"
        of = of[1:-1]
    elif inside.at == 0 and not sampling.has_alias:
        alias = f" AS {of}"
    return f"{before}{drawn(of, sampling)}{alias}{rest}"


def number_of_rows(words: Words) -> int:
    """How many rows a sample has."""
    rows = _number(words, "a number of rows")
    if int(rows.text) < 1:
        raise QueryError("a sample of no rows", text=words.text, place=rows.place, hint="take one row at least")
    if int(rows.text) > MOST:
        hint = f"take {MOST} at most, or a share of the rows: WHERE rand() < 0.1"
        raise QueryError(f"a sample of {rows.text} rows is too large", text=words.text, place=rows.place, hint=hint)
    return int(rows.text)


def _may_have_one(text: str) -> bool:
    return "reservoir" in text.lower()


@lru_cache(maxsize=256)
def _samplings(text: str) -> tuple[Sampling, ...]:
    words = Words(text)
    found = []
    while not words.done:
        if words.sees("TABLESAMPLE", "RESERVOIR"):
            found.append(_sampling(words))
        else:
            words.at += 1
    return tuple(found)


def _sampling(words: Words) -> Sampling:
    start, of = words.start, _operand(words)
    words.expect("TABLESAMPLE", "RESERVOIR")
    words.expect("(")
    rows = number_of_rows(words)
    if not (words.accept("ROWS") or words.accept("ROW")):
        raise words.error("expected ROWS", f"write {CLAUSE}: a reservoir has a number of rows, not a share of them")
    words.expect(")")
    seed = None
    if words.accept("REPEATABLE"):
        words.expect("(")
        seed = int(_number(words, "a whole number as the seed").text)
        words.expect(")")
    end = words.end
    has_alias = words.sees("AS") or (words.sees_name() and words.word() not in BEHIND)
    return Sampling(rows, seed, of, Place(start, end), has_alias)


def _operand(words: Words) -> Place:
    """What is sampled, which ends here."""
    at = words.at - 1
    last = words.tokens[at] if at >= 0 else None
    if last is not None and last.text == ")":
        depth = 0
        while at >= 0:
            depth += (words.tokens[at].text == ")") - (words.tokens[at].text == "(")
            if depth == 0:
                break
            at -= 1
    before = words.tokens[at - 1].text.upper() if at > 0 else ""
    if last is None or at < 0 or before not in BEFORE or not _is_operand(last):
        hint = "TABLESAMPLE stands behind a table, a view or a subquery in FROM, and an alias behind that"
        raise QueryError("there is nothing that could be sampled", text=words.text, place=words.place(), hint=hint)
    return Place(words.tokens[at].place.start, last.place.end)


def _is_operand(token: Token) -> bool:
    return token.text == ")" or token.kind == "name" or (token.kind == "word" and token.text.upper() not in RESERVED)


def _number(words: Words, what: str) -> Token:
    token = words.token
    if token is None or token.kind != "word" or not token.text.isdigit():
        raise words.error(f"expected {what}")
    words.at += 1
    return token
