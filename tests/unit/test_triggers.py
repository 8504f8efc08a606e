"""What triggers and goals mean, and what is refused."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from slackwater.errors import QueryError
from slackwater.pace import Goal, Trigger, goal_named, trigger_named


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("on read", Trigger("on read")),
        ("MANUAL", Trigger("manual")),
        ("every 10 minutes", Trigger("every", seconds=600)),
        ("every  minute", Trigger("every", seconds=60)),
        ("Every 1.5 hours", Trigger("every", seconds=5400)),
        ("every 1_000 rows", Trigger("rows", rows=1000)),
        ("every 1,000,000 rows", Trigger("rows", rows=1_000_000)),
        ("every row", Trigger("rows", rows=1)),
        ("every 10 minutes of Orders.ordered_at", Trigger("window", seconds=600, table="orders", column="ordered_at")),
        ("every day of t.d", Trigger("window", seconds=86400, table="t", column="d")),
        ("cron 0 6 * * 1-5", Trigger("cron", cron="0 6 * * 1-5")),
        ("marker nightly_load", Trigger("marker", marker="nightly_load")),
    ],
)
def test_a_trigger_says_when_an_answer_is_due(text: str, trigger: Trigger) -> None:
    assert trigger_named(text) == trigger


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hourly", "no trigger 'hourly'"),
        ("", "no trigger ''"),
        ("every 10", "no trigger 'every 10'"),
        ("every ten minutes", "names no time"),
        ("every 10 lightyears", "names no time"),
        ("every 0 seconds", "more often than can be"),
        ("every 0 rows", "no number of rows"),
        ("every 1.5 rows", "no number of rows"),
        ("every -5 rows", "no number of rows"),
        ("every 5 rows of t.c", "names no time"),
        ("every 5 minutes of c", "no trigger"),
        ("cron", "no line of a crontab"),
        ("cron 61 * * * *", "no line of a crontab"),
        ("cron 0 0 30 2 *", "no line of a crontab"),
        ("marker", "no trigger 'marker'"),
        ("marker two words", "no trigger"),
    ],
)
def test_a_trigger_that_is_none_is_refused(text: str, problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        trigger_named(text)


def test_times_are_multiples_by_the_clock() -> None:
    ten = trigger_named("every 10 minutes")
    assert ten.next_after(at("2026-01-01 12:03:20")) == at("2026-01-01 12:10:00")
    assert ten.next_after(at("2026-01-01 12:10:00")) == at("2026-01-01 12:20:00")
    mornings = trigger_named("cron 30 6 * * 1-5")
    assert mornings.next_after(at("2026-01-02 06:30:00")) == at("2026-01-05 06:30:00")  # a weekend lies between
    assert trigger_named("every 5 rows").next_after(0) == trigger_named("marker m").next_after(0) == math.inf


def test_who_has_to_watch() -> None:
    assert [trigger_named(text).is_watched for text in ("on read", "manual", "every day", "marker m")] == [False, False, True, True]


def test_a_goal_says_how_soon_after() -> None:
    assert goal_named("batch") == Goal("batch") and goal_named("Eager") == Goal("eager")
    five = goal_named("within 5 seconds")
    assert five == Goal("within", 5.0) and goal_named("within 1 minute").seconds == 60
    assert [five.word(latency, None) for latency in (0.1, 5.0, 5.1)] == ["met", "met", "missed"]
    assert goal_named("batch").word(1e6, None) == ""
    tenth = goal_named("final work 0.1")
    assert tenth == Goal("final work", share=0.1) and [tenth.word(1e6, share) for share in (None, 0.1, 0.2)] == ["", "met", "missed"]
    assert [goal_named(text).is_paced for text in ("batch", "within 1 second", "final work 1", "eager")] == [False, True, True, False]


@pytest.mark.parametrize(
    "text",
    ["soon", "within", "within 5", "within 5 parsecs", "5 seconds", "", "final work", "final work 0", "final work 2", "final work nan"],
)
def test_a_goal_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(QueryError):
        goal_named(text)
