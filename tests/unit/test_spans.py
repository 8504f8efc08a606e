"""Spans: every value is in them, and what two of them share is in both."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.delta.spans import MOST, Spans
from slackwater.trace.disk import Disk
from slackwater.trace.spans import spans_in, spans_of

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-50, 50), st.integers(-(2**63), 2**63 - 1)), max_size=60)


def of(values: list[int | None]) -> Spans:
    found = spans_of(pa.chunked_array([pa.array(values, pa.int64())]))
    assert found is not None
    return found


def has(spans: Spans, value: int | None) -> bool:
    return spans.nulls if value is None else any(first <= value <= last for first, last in spans.spans)


def known(spans: Spans) -> set[int]:
    assert spans.values is not None
    return {int(value) for value in spans.values}


@settings(deadline=None)
@given(NUMBERS)
def test_every_value_is_in_its_spans(values: list[int | None]) -> None:
    found = of(values)
    assert all(has(found, value) for value in values)
    assert found.nulls == (None in values)
    assert len(found.spans) <= MOST
    assert all(last < first for (_, last), (first, _) in zip(found.spans, found.spans[1:], strict=False))


@settings(deadline=None)
@given(NUMBERS, NUMBERS)
def test_what_two_have_in_common_is_in_both_and_what_one_has_in_either(these: list[int | None], those: list[int | None]) -> None:
    a, b = of(these), of(those)
    assert all(has(a & b, value) for value in {*these} & {*those})
    assert all(has(a | b, value) for value in {*these, *those})
    if {*these} & {*those}:
        assert a.meets(b) and b.meets(a)


@settings(deadline=None)
@given(NUMBERS, NUMBERS)
def test_values_that_are_known_stay_exact(these: list[int | None], those: list[int | None]) -> None:
    a, b = of(these), of(those)
    mine, others = ({value for value in values if value is not None} for values in (these, those))
    assert known(a) == mine and known(a & b) == mine & others and known(a | b) == mine | others
    vague = Spans(b.spans, b.nulls)
    assert mine & others <= known(a & vague) <= mine and known(vague & a) == known(a & vague)
    assert (a | vague).known is None


def test_values_that_lie_in_two_places_are_two_spans() -> None:
    assert of([7, 1, 2, 3, 1000, 1001]).spans[0][0] == 1
    assert not of([1, 2, 3, 1000, 1001]).meets(of([500]))
    assert not of([1, None]).without_nulls.meets(of([None]))


def test_types_without_an_order_of_whole_numbers_have_none() -> None:
    assert spans_of(pa.chunked_array([pa.array(["a"])])) is None
    assert spans_of(pa.chunked_array([pa.array([1.5])])) is None
    day = spans_of(pa.chunked_array([pa.array([dt.date(1970, 1, 2)])]))
    assert day is not None and day.spans == ((1, 1),)


@settings(deadline=None, max_examples=30)
@given(values=NUMBERS.filter(bool))
def test_a_footer_tells_where_the_values_of_a_file_lie(values: list[int | None], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("spans") / "file.parquet"
    pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), path, row_group_size=7)
    found = spans_in(Disk(path.parent), str(path), "a")
    assert found is not None and all(has(found, value) for value in values)
    assert found.nulls == (None in values)


def test_a_footer_that_does_not_tell_is_not_believed(tmp_path: Path) -> None:
    rows = pa.table({"s": pa.array([{"a": 1}]), "s.a": [7], "a": [5], "name": ["x"], "day": [dt.date(1970, 1, 11)]})
    pq.write_table(rows, tmp_path / "with.parquet")
    pq.write_table(rows, tmp_path / "without.parquet", write_statistics=False)
    assert spans_in(Disk(tmp_path), str(tmp_path / "with.parquet"), "a") == Spans(((5, 5),))  # not the field of the struct
    assert spans_in(Disk(tmp_path), str(tmp_path / "with.parquet"), "s.a") == Spans(((7, 7),))
    assert spans_in(Disk(tmp_path), str(tmp_path / "with.parquet"), "day") == Spans(((10, 10),))
    assert spans_in(Disk(tmp_path), str(tmp_path / "with.parquet"), "name") is None
    assert spans_in(Disk(tmp_path), str(tmp_path / "with.parquet"), "other") is None
    assert spans_in(Disk(tmp_path), str(tmp_path / "without.parquet"), "a") is None
