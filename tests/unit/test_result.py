"""What a result fetches, and when."""

from __future__ import annotations

import pyarrow as pa

from slackwater.result import Result


class Query:
    """A query that remembers how many rows it was asked for; None: for all."""

    def __init__(self, rows: int) -> None:
        self.rows = pa.table({"a": list(range(rows))})
        self.asked: list[int | None] = []

    def result(self) -> Result:
        return Result(["a"], lambda: self.fetch(None), fetch_some=self.fetch)

    def fetch(self, count: int | None) -> pa.Table:
        self.asked.append(count)
        return self.rows.slice(0, count)


def test_what_is_shown_is_fetched_and_no_more() -> None:
    query = Query(rows=100)
    assert query.result().text(3).splitlines() == ["a", "-", "0", "1", "2", "... more rows"]
    assert query.asked == [4]


def test_a_small_answer_is_fetched_once() -> None:
    query = Query(rows=3)
    result = query.result()
    assert result.text(3).splitlines() == ["a", "-", "0", "1", "2"]
    assert list(result) == [(0,), (1,), (2,)]
    assert query.asked == [4]


def test_how_many_more_there_are_is_told_once_they_were_fetched() -> None:
    query = Query(rows=100)
    result = query.result()
    assert len(result) == 100
    assert result.text(3).endswith("... 97 more rows")
    assert query.asked == [None]
