"""Random scalar expressions and conditions over the columns in scope.

Only what is deterministic and cannot fail: divisors are constants other than zero, numbers stay small, sums of DOUBLE are exact. A type
here is a family: every DECIMAL is `decimal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

Literals = dict[str, list[str]]

LITERALS: Literals = {
    "int": ["0", "1", "2", "3"],
    "bigint": ["CAST(1 AS BIGINT)", "CAST(2 AS BIGINT)"],
    "string": ["'a'", "'b'", "''"],
    "decimal": ["CAST('1.00' AS DECIMAL(10,2))", "CAST('0.50' AS DECIMAL(10,2))"],
    "double": ["CAST(1.0 AS DOUBLE)", "CAST(0.25 AS DOUBLE)"],
    "date": ["DATE '2024-02-29'", "DATE '2024-03-01'"],
    "boolean": ["true", "false"],
    "timestamp": ["TIMESTAMP '2024-01-01 10:30:00'"],
    "array": ["array(1, 2)", "array(2)"],
}
NUMBERS = ("int", "bigint", "decimal", "double")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def family(type_: str) -> str:
    """`decimal(10,2)` is a decimal, `array<int>` an array."""
    return type_.split("(")[0].split("<")[0]


@dataclass(frozen=True)
class Field:
    """A column in scope: how to write it, and its family."""

    text: str
    type: str


Scope = Sequence[Field]


class Scalars:
    """Draws expressions."""

    def __init__(self, random: Random, engine: str) -> None:
        self.random = random
        # What <=> gives cannot be grouped on Sail (docs/sail.md); between the sides of a join it is drawn there, too.
        self.comparisons = COMPARISONS[:-1] if engine == "sail" else COMPARISONS

    def literal(self, type_: str) -> str:
        return self.random.choice(LITERALS[type_])

    def fields(self, scope: Scope, *types: str) -> list[Field]:
        return [field for field in scope if not types or field.type in types]

    def pick(self, scope: Scope, *types: str) -> Field | None:
        """A column of one of these types; of any type, when none is named."""
        found = self.fields(scope, *types)
        return self.random.choice(found) if found else None

    def of(self, type_: str, scope: Scope, depth: int = 1) -> str:
        """An expression of the type."""
        field = self.pick(scope, type_)
        if field is None or self.random.random() < 0.05:
            return self._made(type_, scope, depth) if depth > 0 else self.literal(type_)
        return field.text if depth == 0 or self.random.random() < 0.6 else self._made(type_, scope, depth)

    def _made(self, type_: str, scope: Scope, depth: int) -> str:
        def below(kind: str) -> str:
            return self.of(kind, scope, depth - 1)

        forms = {
            "int": [
                lambda: f"({below('int')} + {self.literal('int')})",
                lambda: f"({below('int')} - {below('int')})",
                lambda: f"({below('int')} % 3)",
                lambda: f"abs({below('int')})",
                lambda: f"length({below('string')})",
                lambda: f"coalesce({below('int')}, 9)",
                lambda: f"year({below('date')})",
                lambda: f"CASE WHEN {below('boolean')} THEN {below('int')} ELSE 7 END",
            ],
            "bigint": [lambda: f"({below('bigint')} + {below('int')})", lambda: f"CAST({below('int')} AS BIGINT)"],
            "string": [
                lambda: f"concat({below('string')}, 'x')",
                lambda: f"upper({below('string')})",
                lambda: f"CAST({below('int')} AS STRING)",
                lambda: f"coalesce({below('string')}, 'none')",
                lambda: f"CASE WHEN {below('boolean')} THEN {below('string')} END",
            ],
            "decimal": [lambda: f"({below('decimal')} + {self.literal('decimal')})", lambda: f"CAST({below('int')} AS DECIMAL(10,2))"],
            "double": [lambda: f"({below('double')} * 2)", lambda: f"CAST({below('int')} AS DOUBLE)"],
            "date": [lambda: f"date_add({below('date')}, 1)", lambda: f"coalesce({below('date')}, DATE '2024-01-01')"],
            "boolean": [lambda: self.condition(scope, 0)],
            "timestamp": [lambda: f"({below('timestamp')} + INTERVAL 1 HOUR)", lambda: self.literal("timestamp")],
            "array": [lambda: f"array({below('int')}, 5)", lambda: self.literal("array")],
        }
        return self.random.choice(forms[type_])()

    def condition(self, scope: Scope, depth: int = 1) -> str:
        """A condition that may be true, false or unknown."""
        roll = self.random.random()
        if depth > 0 and roll < 0.2:
            return f"({self.condition(scope, depth - 1)} {self.random.choice(['AND', 'OR'])} {self.condition(scope, depth - 1)})"
        if depth > 0 and roll < 0.27:
            return f"NOT ({self.condition(scope, depth - 1)})"
        field = self.random.choice(scope)
        if field.type == "array":
            return f"size({field.text}) > 1" if roll < 0.7 else f"{field.text} IS NOT NULL"
        return self._test(field, scope)

    def _test(self, field: Field, scope: Scope) -> str:
        choice = self.random.random()
        if field.type == "boolean" and choice < 0.6:
            return field.text
        if choice < 0.12:
            return f"{field.text} IS NULL"
        if choice < 0.25:
            return f"{field.text} IS NOT NULL"
        if choice < 0.35:
            return f"{field.text} {self.random.choice(['IN', 'NOT IN'])} ({', '.join(LITERALS[field.type][:2])})"
        if choice < 0.4 and field.type == "string":
            return f"{field.text} LIKE 'a%'"
        if choice < 0.5 and field.type in NUMBERS:
            return f"{field.text} BETWEEN {self.literal(field.type)} AND {self.literal(field.type)} + 2"
        other = self.pick([each for each in scope if each != field], field.type)
        if other is not None and choice < 0.75:
            return f"{field.text} {self.random.choice(self.comparisons)} {other.text}"
        return f"{field.text} {self.random.choice(self.comparisons)} {self.literal(field.type)}"

    def matched(self, left: Scope, right: Scope) -> tuple[Field, Field] | None:
        """Two columns, one of each side, that can be compared."""
        pairs = [(a, b) for a in left for b in right if a.type != "array" and (a.type == b.type or {a.type, b.type} == {"int", "bigint"})]
        return self.random.choice(pairs) if pairs else None

    def join_condition(self, left: Scope, right: Scope) -> str | None:
        """What makes two rows partners: mostly equality, sometimes with more, sometimes something else."""
        pair = self.matched(left, right)
        if pair is None:
            return None
        roll = self.random.random()
        first = f"{pair[0].text} {'<=>' if roll < 0.06 else '='} {pair[1].text}"
        if roll > 0.9:
            return f"{pair[0].text} {self.random.choice(['<', '>='])} {pair[1].text}"
        other = self.matched(left, right)
        if other is not None and roll > 0.8:
            return f"{first} {'AND' if roll > 0.83 else 'OR'} {other[0].text} = {other[1].text}"
        if roll > 0.65:
            return f"{first} AND {self.condition([*left, *right], 0)}"
        return first
