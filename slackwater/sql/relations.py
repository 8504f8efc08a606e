"""Which relations a query reads, and the same query reading others.

Only names are exchanged; every other character of the user's text stays as it was written. Names that a WITH clause defines are not
relations where that clause is in force: a later entry sees the earlier ones, an inner clause hides an outer one, and an entry sees
itself only when it is recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from sqlglot import exp

from slackwater.errors import Place, QueryError, Unsupported
from slackwater.sql.sampling import Sampling, samplings_in
from slackwater.sql.syntax import tree_of


class Relation(NamedTuple):
    """A table or view that a query names, and where; and the sample that it takes of it."""

    name: str
    place: Place
    has_alias: bool
    sampling: Sampling | None = None


def relations_in(text: str) -> list[Relation]:
    """The relations that a query, or the subqueries of an expression, read: in the order of the text, once for every mention."""
    return [relation for relation, _ in _references(text)]


def rename_relations(text: str, mapping: Callable[[Relation], str | None]) -> str:
    """The text with each relation exchanged for what `mapping` says; None leaves it. What had no alias gets its old name as alias."""
    parts = []
    done = 0
    for relation, table in _references(text):
        name = mapping(relation)
        if name is None:
            continue
        start, end = relation.place.start, relation.place.end
        sampled = table.args.get("sample") is not None or relation.sampling is not None
        parts += [text[done:start], _reference(name, text[start:end], relation.has_alias, sampled)]
        done = end
    return "".join(parts) + text[done:]


def quoted(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def _reference(name: str, written: str, has_alias: bool, sampled: bool) -> str:
    if has_alias:
        return quoted(name)
    # What is a plain name to one engine may be a word of the language to another.
    aliased = f"{quoted(name)} AS {written if written.startswith('`') else quoted(written)}"
    # The alias would have to stand behind TABLESAMPLE (...); in parentheses it may stand before it.
    return f"({aliased})" if sampled else aliased


def _references(text: str) -> list[tuple[Relation, exp.Table]]:
    samplings = {each.of: each for each in samplings_in(text)}
    found = [(_relation(table, text, samplings), table) for table in _tables(tree_of(text), frozenset())]
    return sorted(found, key=lambda pair: pair[0].place.start)


def _tables(node: exp.Expr, hidden: frozenset[str]) -> Iterator[exp.Table]:
    """The tables below `node` that are not among the names a WITH clause hides."""
    clause = node.args.get("with_")
    if isinstance(clause, exp.With):
        for entry in clause.expressions:
            own = hidden | {entry.alias.lower()}
            yield from _tables(entry, own if clause.args.get("recursive") else hidden)
            hidden = own
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        qualified = node.args.get("db") is not None
        if qualified or node.name.lower() not in hidden:
            yield node
    for key, value in node.args.items():
        if key in ("with_", "hint"):  # a hint names aliases, not relations
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr):
                yield from _tables(child, hidden)


def _relation(table: exp.Table, text: str, samplings: Mapping[Place, Sampling]) -> Relation:
    first, last = table.parts[0], table.parts[-1]
    place = Place(first.meta["start"], last.meta["end"] + 1)
    if len(table.parts) > 1:
        is_file = first.name.lower() in ("parquet", "csv", "json", "orc", "text", "delta", "iceberg")
        hint = "load files with COPY table FROM 'path'" if is_file else f'write "{last.name}"'
        raise QueryError("a warehouse has one namespace: names have no qualifier", text=text, place=place, hint=hint)
    for clause, what in (("version", "time travel"), ("when", "time travel")):
        if table.args.get(clause) is not None:
            raise Unsupported(f"{what} is not supported", text=text, place=place, hint="a query reads the current version")
    return Relation(table.name, place, bool(table.args.get("alias")), samplings.get(place))
