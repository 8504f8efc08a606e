"""A few random cases in every run of the tests, always the same; `make fuzz` runs thousands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.batch import talking_to
from tests.cases import parse, write
from tests.fuzz.campaign import describe
from tests.fuzz.shrink import shrink, smaller_queries
from tests.fuzz.trial import Outcome, Trial, attempt, draw

SEEDS = range(1, 41)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_case_equals_its_recomputation(seed: int, sail_session: Any) -> None:
    trial = draw(seed, "sail")
    with talking_to("sail"):
        outcome = attempt(trial, sail_session, "sail")
        assert not outcome.failed, describe(seed, trial, outcome, sail_session, "sail", tries=60)
    assert outcome.kind != "full", outcome.reason
    if outcome.kind == "skipped":
        pytest.skip(outcome.summary)


def test_a_seed_always_gives_the_same_case() -> None:
    assert draw(7, "sail") == draw(7, "sail")
    assert draw(7, "sail") != draw(8, "sail")


def test_a_random_case_can_be_written_as_a_case_file() -> None:
    for seed in SEEDS:
        case = draw(seed, "sail").case
        again = parse(write(case))
        assert (again.tables, again.views) == (case.tables, case.views)
        assert [step.changes for step in again.steps] == [step.changes for step in case.steps]


def test_shrinking_keeps_only_what_the_failure_needs() -> None:
    def fails_with_a_clear(trial: Trial) -> Outcome:
        found = any(change.kind == "clear" for step in trial.case.steps for change in step.changes)
        return Outcome("wrong" if found else "right")

    trial = next(trial for trial in (draw(seed, "sail") for seed in range(100)) if fails_with_a_clear(trial).failed)
    small = shrink(trial, Outcome("wrong"), fails_with_a_clear)
    assert [change.kind for step in small.case.steps for change in step.changes] == ["clear"]
    assert len(small.case.views) == 1
    assert small.schedule == "lazy"


def test_a_smaller_query_has_one_part_less() -> None:
    smaller = set(smaller_queries("SELECT x.a AS c1, x.b AS c2 FROM t1 AS x WHERE x.a > 1 LIMIT 3"))
    assert "SELECT x.a AS c1, x.b AS c2 FROM t1 AS x WHERE x.a > 1" in smaller
    assert "SELECT x.b AS c2 FROM t1 AS x WHERE x.a > 1 LIMIT 3" in smaller
    assert "SELECT x.a AS c1, x.b AS c2 FROM t1 AS x LIMIT 3" in smaller
