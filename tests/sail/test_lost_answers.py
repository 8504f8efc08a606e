"""Messages of the engine that cannot be read: what was asked is asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

import slackwater
from slackwater.spark.failures import AnswerLost

Losing = Callable[..., None]


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> Losing:
    """Let gRPC fail to read the next messages with which an engine answers, after some that arrive."""
    read = grpc._common._transform
    left: list[bool] = []

    def reading(message: Any, transformer: Any, problem: str) -> Any:
        found = read(message, transformer, problem)
        return None if type(found).__name__ == "ExecutePlanResponse" and left and left.pop() else found

    def lose(after: int, times: int = 1) -> None:
        left[:] = [*[True] * times, *[False] * after]

    monkeypatch.setattr(grpc._common, "_transform", reading)
    return lose


@pytest.mark.parametrize("after", range(4))
def test_a_lost_answer_is_asked_for_again(sail_db: slackwater.Session, losing: Losing, after: int) -> None:
    sail_db.sql("CREATE TABLE t (a INT, b DOUBLE)")
    sail_db.sql("CREATE MATERIALIZED VIEW v AS SELECT a, sum(b) AS b FROM t GROUP BY a")
    sail_db.insert("t", [(1, 2.0), (1, 3.0)])
    losing(after)
    sail_db.sql("REFRESH VIEW v")
    losing(after)
    assert sail_db.sql("SELECT a, b FROM v").to_arrow().to_pylist() == [{"a": 1, "b": 5.0}]
    assert sail_db.recompute("v").to_arrow().to_pylist() == [{"a": 1, "b": 5.0}]


def test_an_answer_that_is_lost_again_is_told(sail_db: slackwater.Session, losing: Losing) -> None:
    losing(0, times=100)
    with pytest.raises(AnswerLost, match="lost on its way"):
        sail_db.sql("SELECT 1 AS one").to_arrow()
    losing(0, times=0)
    assert sail_db.sql("SELECT 1 AS one").to_arrow().to_pylist() == [{"one": 1}]
