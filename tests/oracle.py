"""Is an answer right? Two bags of rows are compared exactly, except that FLOAT and DOUBLE may differ by a relative 1e-9.

NaN equals NaN and -0.0 equals 0.0, also inside arrays, structs and maps. The failure names the rows that are missing and the rows that
are too many, so that it can be read without a debugger.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tests.values import Row, Value, rows_of, write_row

RELATIVE = 1e-9
# Around zero nothing is relatively close: a variance of 1e-17 is none.
ABSOLUTE = 1e-12


@dataclass(frozen=True)
class Difference:
    """The rows only the expected side has, and the rows only the actual side has."""

    missing: tuple[Row, ...]
    surplus: tuple[Row, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.surplus)


def difference(actual: Iterable[Row], expected: Iterable[Row]) -> Difference:
    """What keeps two bags of rows from being equal."""
    have, want = Counter(actual), Counter(expected)
    surplus = list((have - want).elements())
    missing = list((want - have).elements())
    for row in list(surplus):
        partner = next((at for at, other in enumerate(missing) if close(row, other)), None)
        if partner is not None:
            del missing[partner]
            surplus.remove(row)
    return Difference(tuple(missing), tuple(surplus))


def close(left: Value, right: Value) -> bool:
    """Are two values, or two rows, the same up to the rounding of floating-point numbers?"""
    if left is right:
        return True
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(close(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def check_equal(actual: pa.Table, expected: pa.Table, what: str) -> None:
    """The view's answer must be the batch answer: its names, its types, its rows."""
    check_schema(actual.schema, expected.schema, what)
    check_rows(rows_of(actual), rows_of(expected), actual.schema.types, what)


def check_schema(actual: pa.Schema, expected: pa.Schema, what: str) -> None:
    """Names and types must agree; whether a column may be NULL is not part of an answer."""
    have = [(name, _bare(type_)) for name, type_ in zip(actual.names, actual.types, strict=True)]
    want = [(name, _bare(type_)) for name, type_ in zip(expected.names, expected.types, strict=True)]
    assert have == want, f"{what}: columns are {have}, should be {want}"


def check_rows(actual: Iterable[Row], expected: Iterable[Row], types: Sequence[pa.DataType], what: str) -> None:
    """Two bags of rows must be equal."""
    found = difference(actual, expected)
    assert not found, f"{what}\n{describe(found, types)}"


def check_top(
    actual: Sequence[Row], expected: Sequence[Row], unlimited: Sequence[Row], key: Sequence[int], types: Sequence[pa.DataType], what: str
) -> None:
    """A LIMIT whose order leaves a choice: the sort keys must agree, and every row must be one that the query could have chosen."""
    key_types = [types[at] for at in key]
    check_rows([_pick(row, key) for row in actual], [_pick(row, key) for row in expected], key_types, f"{what}: the sort keys differ")
    strangers = Difference((), difference(actual, unlimited).surplus)
    assert not strangers, f"{what}: rows that the query without its limit does not have\n{describe(strangers, types)}"


def describe(found: Difference, types: Sequence[pa.DataType], most: int = 12) -> str:
    """The difference as lines: `missing` rows should be there, `surplus` rows should not."""
    lines = [
        f"  {name} {write_row(row, types)}"
        for name, rows in (("missing", found.missing), ("surplus", found.surplus))
        for row in rows[:most]
    ]
    left = len(found.missing) + len(found.surplus) - len(lines)
    return "\n".join(lines + ([f"  and {left} more"] if left > 0 else []))


def without_limit(text: str) -> str:
    """A query's text without the LIMIT and OFFSET at its end."""
    return re.sub(r"\s+LIMIT\s+\d+(\s+OFFSET\s+\d+)?\s*$", "", text, flags=re.IGNORECASE)


def _pick(row: Row, at: Sequence[int]) -> Row:
    return tuple(row[i] for i in at)


def _bare(type_: pa.DataType) -> str:
    """A type's text without nullability and without the names engines give to an array's element."""
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"array<{_bare(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(f'{field.name}: {_bare(field.type)}' for field in type_)}>"
    if pa.types.is_map(type_):
        return f"map<{_bare(type_.key_type)}, {_bare(type_.item_type)}>"
    if pa.types.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    return str(type_).replace("large_", "")
