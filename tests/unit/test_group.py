"""Group commit by itself: who leads, who waits, who is told what."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from slackwater.catalog import Unsettled
from slackwater.catalog.lease import LeaseLost
from slackwater.errors import Busy, QueryError, WarehouseError
from slackwater.run.group import Asked, Group

Do = Callable[[Sequence[Asked[int]]], None]


def settle(group: Sequence[Asked[int]]) -> None:
    for each in group:
        each.succeed(each.rows)


class Threads:
    """Threads that ask, and what they got."""

    def __init__(self, group: Group[Asked[int]], do: Do) -> None:
        self.group, self.do = group, do
        self.got: list[object] = []
        self._threads: list[threading.Thread] = []

    def start(self, rows: int = 1) -> threading.Thread:
        thread = threading.Thread(target=self._ask, args=(rows,))
        self._threads.append(thread)
        thread.start()
        return thread

    def _ask(self, rows: int) -> None:
        asked: Asked[int] = Asked(rows)
        try:
            self.group.ask(asked, self.do)
            self.got.append(asked.answer())
        except BaseException as problem:
            self.got.append(problem)

    def join(self) -> list[object]:
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()
        return self.got


class Gate:
    """Does groups one after the other, the first only when it is opened."""

    def __init__(self, do: Do = settle) -> None:
        self.groups: list[int] = []
        self.entered, self.opened = threading.Event(), threading.Event()
        self._do = do

    def __call__(self, group: Sequence[Asked[int]]) -> None:
        self.groups.append(len(group))
        self.entered.set()
        assert self.opened.wait(30)
        self._do(group)


def until(true: Callable[[], bool]) -> None:
    """Wait for another thread to get somewhere."""
    waited = threading.Event()
    for _ in range(3000):
        if true():
            return
        waited.wait(0.01)
    raise AssertionError("it never happened")


def test_what_is_asked_for_meanwhile_is_done_at_one_go() -> None:
    group: Group[Asked[int]] = Group()
    gate = Gate()
    threads = Threads(group, gate)
    threads.start()
    gate.entered.wait(30)
    for _ in range(5):
        threads.start()
    until(lambda: len(group._waiting) == 5)
    gate.opened.set()
    assert threads.join() == [1] * 6
    assert gate.groups == [1, 5]


def test_who_asks_waits_while_too_much_is_waiting() -> None:
    group: Group[Asked[int]] = Group(most_rows=10)
    gate = Gate()
    threads = Threads(group, gate)
    threads.start()
    gate.entered.wait(30)
    threads.start(6)
    until(lambda: group._rows() == 6)
    late = threads.start(5)
    late.join(0.1)
    assert late.is_alive() and group._rows() == 6
    gate.opened.set()
    assert sorted(str(got) for got in threads.join()) == ["1", "5", "6"]


def test_more_than_ever_waits_is_done_all_the_same() -> None:
    threads = Threads(Group(most_rows=10), settle)
    threads.start(1000)
    assert threads.join() == [1000]


def test_a_failure_reaches_every_member_and_the_next_group_is_done() -> None:
    group: Group[Asked[int]] = Group()

    def fail(members: Sequence[Asked[int]]) -> None:
        raise LeaseLost("another process has taken over", hint="connect again")

    gate = Gate(fail)
    threads = Threads(group, gate)
    threads.start()
    gate.entered.wait(30)
    for _ in range(3):
        threads.start()
    until(lambda: len(group._waiting) == 3)
    gate.opened.set()
    got = threads.join()
    assert all(isinstance(each, LeaseLost) and each.hint == "connect again" for each in got)
    assert len({id(each) for each in got}) == 4, "each thread has an exception of its own"
    assert Threads(group, settle).join() == []
    later = Threads(group, settle)
    later.start()
    assert later.join() == [1]


def test_what_was_settled_before_a_failure_stays_settled() -> None:
    group: Group[Asked[int]] = Group()

    def half(members: Sequence[Asked[int]]) -> None:
        members[0].succeed(7)
        if len(members) > 1:
            raise OSError("disk full")

    gate = Gate(half)
    threads = Threads(group, gate)
    threads.start()
    gate.entered.wait(30)
    threads.start()
    threads.start()
    until(lambda: len(group._waiting) == 2)
    gate.opened.set()
    got = threads.join()
    assert sorted(str(each) for each in got) == ["7", "7", "disk full"]


def test_an_interrupt_of_the_leader_is_not_taken_for_a_success_by_the_others() -> None:
    group: Group[Asked[int]] = Group()

    def interrupted(members: Sequence[Asked[int]]) -> None:
        if len(members) > 1:
            raise KeyboardInterrupt
        settle(members)

    gate = Gate(interrupted)
    threads = Threads(group, gate)
    threads.start()
    gate.entered.wait(30)
    threads.start()
    threads.start()
    until(lambda: len(group._waiting) == 2)
    gate.opened.set()
    got = threads.join()
    assert sorted(type(each).__name__ for each in got) == ["KeyboardInterrupt", "Unsettled", "int"]
    assert any(isinstance(each, Unsettled) for each in got)
    later = Threads(group, settle)
    later.start()
    assert later.join() == [1]


def test_closing_waits_for_what_is_asked_and_refuses_what_comes_later() -> None:
    group: Group[Asked[int]] = Group()
    gate = Gate()
    threads = Threads(group, gate)
    threads.start()
    gate.entered.wait(30)
    threads.start()
    until(lambda: len(group._waiting) == 1)
    closing = threading.Thread(target=group.close)
    closing.start()
    until(lambda: group._closed)
    with pytest.raises(QueryError, match="closed"):
        group.ask(Asked(1), settle)
    assert closing.is_alive()
    gate.opened.set()
    closing.join(30)
    assert not closing.is_alive()
    assert threads.join() == [1, 1]


def test_a_problem_that_is_not_ours_is_told_to_the_others_in_our_words() -> None:
    group: Group[Asked[int]] = Group()

    def fail(members: Sequence[Asked[int]]) -> None:
        raise ValueError("odd")

    gate = Gate(fail)
    threads = Threads(group, gate)
    threads.start()
    gate.entered.wait(30)
    threads.start()
    threads.start()
    until(lambda: len(group._waiting) == 2)
    gate.opened.set()
    kinds = sorted(type(each).__name__ for each in threads.join())
    assert kinds == ["ValueError", "ValueError", WarehouseError.__name__]


def test_who_has_no_time_to_wait_for_room_is_told_when_to_come_again() -> None:
    gate, group = Gate(), Group[Asked[int]](most_rows=10)
    threads = Threads(group, gate)
    threads.start()
    assert gate.entered.wait(30)
    threads.start(8)
    while group._rows() < 8:
        pass
    with pytest.raises(Busy, match="8 rows of other inserts are waiting") as told:
        group.ask(Asked(5), gate, patience=0.01)
    assert told.value.retry_after > 0 and told.value.hint is not None and "nothing was written" in told.value.hint
    with pytest.raises(Busy):
        group.ask(Asked(1), gate, patience=0.01)  # there is room, but its turn does not come
    gate.opened.set()
    assert sorted(map(str, threads.join())) == ["1", "8"] and sum(gate.groups) == 2


def test_who_would_lead_and_finds_others_at_work_lets_the_next_one_lead() -> None:
    group = Group[Asked[int]]()
    with pytest.raises(Busy):
        group.ask(Asked(1), settle, patience=0.0, ready=lambda seconds: False)
    asked = Asked[int](3)
    group.ask(asked, settle, patience=0.0)
    assert asked.answer() == 3
