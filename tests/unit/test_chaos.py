"""The judge of `make chaos` finds what it is there to find."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.chaos.model import TABLES, VIEWS, Row, answer
from tests.chaos.points import POINTS, REACHED
from tests.chaos.verdict import Memory
from tests.chaos.work import DRAWS, Draw, Effect, Work

ROWS = (("note", 100), ("note", 101))


def adding(*rows: Row) -> Effect:
    return lambda tables: {**tables, "events": (*tables["events"], *rows)}


APPEND = Work("append", ("insert", "events", ROWS), (adding(*ROWS),))
TOGETHER = Work("together", ("together", "events", [ROWS[:1], ROWS[1:]]), (adding(ROWS[0]), adding(ROWS[1])))
BACKUP = Work("backup", ("backup",))
REFRESH = Work("refresh", ("sql", "REFRESH ALL"), refreshes=tuple(VIEWS))


def remembered(*more: Work) -> Memory:
    """Some statements that were answered."""
    memory, draw = Memory(), Draw(random.Random(1))
    for work in (*map(draw.work, ("insert", "append", "replace", "merge", "refresh")), *more):
        memory.begin(work)
        memory.acknowledge(work, eager=False)
    return memory


def seen(memory: Memory) -> dict[str, Any]:
    """What a process finds if all is well and every view is up to date."""
    answers = {view: [list(row) for row in answer(view, memory.tables).elements()] for view in VIEWS}
    tables = {name: [list(row) for row in memory.tables[name]] for name in TABLES}
    return {"tables": tables, "answers": answers, "refreshed": answers, "scratch": answers, "orphans": [], "problems": [], "backup": None}


def found(memory: Memory, **differing: Any) -> set[str]:
    return {finding.kind for finding in memory.compare({**seen(memory), **differing})}


def test_what_is_as_it_should_be_is_not_blamed() -> None:
    assert found(remembered()) == set()


def test_a_row_that_is_gone_is_lost() -> None:
    memory = remembered(APPEND)
    tables = seen(memory)["tables"]
    assert "lost" in found(memory, tables={**tables, "events": tables["events"][:-1]})


def test_a_row_that_came_again_is_there_twice() -> None:
    memory = remembered(APPEND)
    tables = seen(memory)["tables"]
    assert "twice" in found(memory, tables={**tables, "events": [*tables["events"], list(ROWS[0])]})


@pytest.mark.parametrize(("part", "told"), [(0, False), (1, True), (2, False)])
def test_what_was_begun_is_there_as_a_whole_or_not_at_all(part: int, told: bool) -> None:
    memory = remembered()
    memory.begin(APPEND)
    tables = seen(memory)["tables"]
    tables["events"] += [list(row) for row in ROWS[:part]]
    assert ("torn" in found(memory, tables=tables)) == told


@pytest.mark.parametrize(("heard", "there", "told"), [((), (), set()), ((1,), (1,), set()), ((1,), (0, 1), set()), ((1,), (0,), {"lost"})])
def test_what_a_thread_was_told_is_there_whatever_became_of_the_others(heard: Sequence[int], there: Sequence[int], told: set[str]) -> None:
    memory = remembered()
    tables = seen(memory)["tables"]
    answers = seen(remembered(*(Work("append", (), (adding(ROWS[part]),)) for part in there)))["answers"]
    memory.begin(TOGETHER)
    memory.hear(heard)
    tables["events"] += [list(ROWS[part]) for part in there]
    assert found(memory, tables=tables, **dict.fromkeys(("answers", "refreshed", "scratch"), answers)) == told


def test_a_view_may_show_what_some_threads_wrote_before_others() -> None:
    def part(kind: str) -> Effect:
        return adding((kind, 0))

    together = Work("together", (), (part("first"), part("second")))
    views = seen(remembered(Work("append", (), (part("second"),))))["answers"]
    assert found(remembered(together), answers=views) == set()
    assert found(remembered(together, REFRESH), answers=views) == {"wrong_answers"}


@pytest.mark.parametrize("done", [False, True])
def test_a_backup_is_the_last_one_or_the_one_before_it(done: bool) -> None:
    memory = remembered()
    before = seen(memory)["tables"]
    assert found(memory, backup=before) == {"lost"}, "none was made"
    memory = remembered(BACKUP, APPEND)
    now = seen(memory)["tables"]
    memory.begin(BACKUP)
    if done:
        memory.acknowledge(BACKUP, eager=False)
    assert found(memory, backup=now) == set()
    memory = remembered(BACKUP, APPEND)
    memory.begin(BACKUP)
    if done:
        memory.acknowledge(BACKUP, eager=False)
    assert found(memory, backup=before) == ({"lost"} if done else set())


@pytest.mark.parametrize(("after", "told"), [((APPEND,), False), ((APPEND, REFRESH), True)])
def test_a_view_is_not_behind_its_last_refresh(after: tuple[Work, ...], told: bool) -> None:
    before = [list(row) for row in answer("kinds", remembered().tables)]
    fresh = Work("append", (), (adding(("never seen", 1)),))
    memory = remembered(fresh, *after)
    assert (found(memory, answers={**seen(memory)["answers"], "kinds": before}) == {"wrong_answers"}) == told


@pytest.mark.parametrize("which", ["refreshed", "scratch"])
def test_a_view_equals_what_is_computed_from_scratch(which: str) -> None:
    memory = remembered()
    wrong = {**seen(memory)["answers"], "largest": [[1, 2]]}
    assert found(memory, **{which: wrong}) == {"wrong_answers"}


def test_orphans_and_damage_are_told() -> None:
    assert found(remembered(), orphans=["traces/orders/1"], problems=["a file is missing"]) == {"orphans", "damaged"}


def test_every_statement_has_calls_to_be_killed_at() -> None:
    draw = Draw(random.Random(1))
    draw.orders()  # to merge with
    assert {draw.work(kind).kind for kind in DRAWS} | {"open"} == set(REACHED)
    assert {point for points in REACHED.values() for point in points} == set(POINTS)
