"""Codes of keys: equal keys have equal codes, and what was never added was never seen."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slackwater.catalog import Table
from slackwater.plan import Column
from slackwater.run.keys import Codes, Keys, KeysOfTables, codes
from slackwater.trace import Batch, Files, Trace

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bigint": (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63)]),
    "tinyint": (pa.int8(), [0, 1, -1, 127, -128]),
    "boolean": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "timestamp": (pa.timestamp("us", tz="UTC"), [dt.datetime(2024, 1, 1, 0, 0, 0, n, tzinfo=dt.UTC) for n in range(3)]),
    "string": (pa.string(), ["", "a", "A", "a ", "\u00e4", "a\u0308"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x00\x00"]),
    "decimal": (pa.decimal128(38, 2), [Decimal("0.00"), Decimal("-1.10"), Decimal("1.10"), Decimal("9" * 36 + ".99")]),
}


def coded(*columns: pa.Array) -> Codes:
    names = [f"k{i}" for i in range(len(columns))]
    return codes(pa.table(list(columns), names=names), names)


@pytest.mark.parametrize("kind", VALUES)
def test_equal_keys_have_equal_codes_and_others_have_others(kind: str) -> None:
    type, values = VALUES[kind]
    one_by_one = [coded(pa.array([value], type))[0] for value in values]
    together = coded(pa.array(values[::-1], type))[::-1]
    assert together.tolist() == one_by_one
    assert len(set(one_by_one)) == len(values)


def test_the_columns_of_a_key_are_told_apart() -> None:
    one, two = pa.array([1]), pa.array([2])
    assert len({int(coded(*columns)[0]) for columns in ((one, two), (two, one), (one, one), (two, two), (one,), (two,))}) == 6


def test_what_was_added_is_seen_and_nothing_else() -> None:
    random, keys, added = np.random.default_rng(5), Keys(["k"]), set[int]()
    for version in range(1, 200):
        some = random.integers(0, 2**64, random.integers(0, 40), dtype=np.uint64)
        keys.add(some, version)
        added |= set(some.tolist())
        asked = np.concatenate((some, random.integers(0, 2**64, 5, dtype=np.uint64)))
        assert keys.seen(asked).tolist() == [code in added for code in asked.tolist()]
    assert len(keys) == len(added)
    assert len(keys._runs) < 16


def written(files: Files, trace: Trace, step: str, ids: list[int]) -> Trace:
    directory = files.batch_directory(trace.name, step)
    files.write_arrow(pa.table({"id": pa.array(ids, pa.int64()), "_id": pa.array(ids, pa.int64())}), directory)
    return trace.with_batch(Batch(trace.version + 1, step, *files.sealed(directory)))


def table(type: str = "bigint") -> Table:
    return Table("T", (Column("id", type),), ("id",))


def test_keys_are_read_from_the_trace_and_follow_it(tmp_path: Path) -> None:
    files = Files(tmp_path)
    known, trace = KeysOfTables(files), Trace("t", table().columns, "bigint")
    trace = written(files, written(files, trace, "1", [1, 2]), "2", [3])
    keys = known.of(table(), trace)
    assert keys is not None
    assert keys.seen(coded(pa.array([1, 2, 3, 4]))).tolist() == [True, True, True, False]
    trace = written(files, trace, "3", [4])
    assert known.of(table(), trace) is keys
    assert keys.seen(coded(pa.array([4, 5]))).tolist() == [True, False]
    known.forget("t")
    assert known.of(table(), Trace("t", table().columns, "bigint")) is not keys


@pytest.mark.parametrize("type", ["double", "float", "string collate UTF8_LCASE", "struct<a:double>", "variant"])
def test_keys_whose_equality_is_not_plain_are_left_to_the_engine(type: str, tmp_path: Path) -> None:
    assert KeysOfTables(Files(tmp_path)).of(table(type), Trace("t", table(type).columns, "bigint")) is None


def test_more_keys_than_fit_are_left_to_the_engine_and_make_room_for_others(tmp_path: Path) -> None:
    files = Files(tmp_path)
    known = KeysOfTables(files, most=3)
    small = written(files, Trace("t", table().columns, "bigint"), "1", [1, 2])
    assert known.of(table(), small) is not None
    assert known.of(table(), written(files, small, "2", [3, 4])) is None
    assert known.of(table(), written(files, small, "3", [3])) is not None
