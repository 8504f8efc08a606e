"""Which columns a name may mean at some place of a query.

A scope lists the fields that FROM offers. A name is looked for with its table name first, then alone; what is left over of a dotted name
is access to the fields of a struct. A name that is not found here may be one of the query around this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from slackwater.errors import QueryError, did_you_mean
from slackwater.plan.nodes import Column, Expression, column
from slackwater.sql.binding import Outer
from slackwater.sql.place import place_of


@dataclass(frozen=True)
class Field:
    """A column that FROM offers: the table name it can be reached by, and the name the user knows it by.

    A hidden field is found only with its table name and is no part of `*`: USING shows one column for two.
    """

    table: str
    name: str
    column: Column
    hidden: bool = False


@dataclass(frozen=True)
class Scope:
    """The fields in sight, and the scope of the query around."""

    fields: tuple[Field, ...] = ()
    outer: Scope | None = None

    def __add__(self, other: Scope) -> Scope:
        return replace(self, fields=self.fields + other.fields)

    def tables(self) -> list[str]:
        """The table names in sight, each once."""
        return list(dict.fromkeys(field.table for field in self.fields if field.table))

    def matching(self, parts: Sequence[str]) -> tuple[list[Field], int]:
        """The fields that a dotted name may mean, and how many of its parts name the column."""
        lowered = [part.lower() for part in parts]
        for used in range(min(len(parts), 4), 1, -1):
            table = ".".join(lowered[: used - 1])
            found = [field for field in self.fields if _same_table(field.table, table) and field.name.lower() == lowered[used - 1]]
            if found:
                return found, used
        return [field for field in self.fields if not field.hidden and field.name.lower() == lowered[0]], 1

    def find(self, reference: exp.Column, parts: Sequence[str], between: Callable[[str], Expression | None] | None = None) -> Expression:
        """The expression for a dotted name: here, then as one of the names that `between` knows, then further out."""
        found, used = self.matching(parts)
        if len({field.column.name for field in found}) > 1:
            raise _ambiguous(reference, found)
        if found:
            _check_access(reference, found[0], parts, used)
            return access(_placed(column(found[0].column.name), reference), parts[used:])
        known = between(parts[0]) if between else None
        if known is not None:
            return access(known, parts[1:])
        level = self.outer
        while level is not None:
            found, used = level.matching(parts)
            if len({field.column.name for field in found}) > 1:
                raise _ambiguous(reference, found)
            if found:
                return access(Outer(this=found[0].column.name), parts[used:])
            level = level.outer
        raise self.unknown(reference, parts)

    def unknown(self, reference: exp.Column, parts: Sequence[str]) -> QueryError:
        """The error for a name that nothing here answers to."""
        place = place_of(reference)
        if len(parts) > 1:
            inside = [field for field in self._everything() if _same_table(field.table, parts[-2].lower())]
            if inside:
                message = f'column "{parts[-1]}" does not exist in table "{inside[0].table}"'
                return QueryError(message, place=place, hint=did_you_mean(parts[-1], [field.name.lower() for field in inside]))
            if not any(field.name.lower() == parts[0].lower() for field in self.fields):
                message = f'table "{".".join(parts[:-1])}" is not among the tables of this query'
                return QueryError(message, place=place, hint=did_you_mean(parts[0], self.tables()) or self._tables_in_sight())
        tables = self.tables()
        where = f' in table "{tables[0]}"' if len(tables) == 1 else ""
        near = did_you_mean(parts[0], [field.name.lower() for field in self.fields])
        return QueryError(
            f'column "{parts[0]}" does not exist{where}', place=place, hint=near or (None if where else self._tables_in_sight())
        )

    def _everything(self) -> tuple[Field, ...]:
        """The fields of this query and of those around it."""
        return self.fields + (self.outer._everything() if self.outer is not None else ())

    def _tables_in_sight(self) -> str | None:
        tables = self.tables()
        return f"the query reads {', '.join(tables)}" if tables else None


def access(expression: Expression, fields: Sequence[str]) -> Expression:
    """`expression.field.field`."""
    for name in fields:
        expression = exp.Dot(this=expression, expression=exp.to_identifier(name, quoted=not name.isidentifier()))
    return expression


def _placed(expression: exp.Column, reference: exp.Column) -> exp.Column:
    """The expression, remembering where in the text it was named."""
    place = place_of(reference)
    if place is not None:
        expression.meta.update(start=place.start, end=place.end - 1)
    return expression


def parts_of(reference: exp.Column) -> list[str]:
    """The parts of a dotted name, outermost first."""
    return [part.name for part in reference.parts]


def _same_table(table: str, written: str) -> bool:
    """Whether a table known as `a.b` or `b` is meant by what was written."""
    known = table.lower()
    return known == written or known.endswith("." + written)


def _ambiguous(reference: exp.Column, found: Sequence[Field]) -> QueryError:
    choices = " or ".join(f"{field.table}.{field.name}" if field.table else field.name for field in found)
    hint = "write the table name before it" if len({field.table for field in found}) > 1 else "give the columns different names"
    return QueryError(f'column "{reference.name}" is ambiguous: it could be {choices}', place=place_of(reference), hint=hint)


def _check_access(reference: exp.Column, field: Field, parts: Sequence[str], used: int) -> None:
    if len(parts) > used and not field.column.type.startswith(("struct<", "array<", "map<", "variant")):
        message = f'column "{field.name}" is of type {field.column.type} and has no field "{parts[used]}"'
        raise QueryError(
            message, place=place_of(reference), hint=f'or did you mean a table "{parts[0]}"? it is not among the tables of this query'
        )
