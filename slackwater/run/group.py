"""Group commit: what many threads ask for at the same time is done together.

Who asks when nobody is at work leads: it takes all that is waiting, does it at one go, and tells the others. What is asked for meanwhile
waits, and the first of those leads next. So a thread alone waits for nobody, and many share one sync of the disk. Those who were just told
are likely to ask again at once: who leads gives them a moment, or there would be two groups of half the size that take turns. When too much
is waiting, who asks waits until there is room; or, if it has no time for that, is told to come again.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from slackwater.catalog import Unsettled
from slackwater.errors import Busy, InternalError, QueryError, SlackwaterError, WarehouseError

R = TypeVar("R")

MOST_ROWS = 20_000  # that wait, and that one group takes
PATIENCE = 0.25  # of the time that the last group took, for those of it who may ask again


class Asked(Generic[R]):
    """What one thread asks for, and what became of it. Its outcome is set once, by whoever leads."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.turn = threading.Event()  # to go on: its outcome is known, or it leads
        self.settled = False
        self._answer: R | None = None
        self._problem: BaseException | None = None

    def succeed(self, answer: R) -> None:
        self._answer, self.settled = answer, True

    def fail(self, problem: BaseException) -> None:
        self._problem, self.settled = problem, True

    def answer(self) -> R:
        if self._problem is not None:
            raise self._problem
        if self._answer is None:
            raise InternalError("a group has forgotten one of its members")
        return self._answer


A = TypeVar("A", bound=Asked[Any])


class Group(Generic[A]):
    """Those who wait for one thing to be done, which only one at a time can do."""

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._most_rows = most_rows
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._waiting: deque[A] = deque()
        self._leader: A | None = None
        self._led_by: int | None = None  # the thread that is at work
        self._closed = False
        self._expected, self._patience = 0, 0.0  # how many asked at the same time when the last group was done; how long to wait for them
        self._took = 0.0  # seconds, the last group

    @property
    def rows_waiting(self) -> int:
        """For whoever leads next."""
        with self._lock:
            return self._rows()

    def ask(
        self,
        asked: A,
        do: Callable[[Sequence[A]], None],
        patience: float = math.inf,
        ready: Callable[[float], bool] = lambda seconds: True,
    ) -> None:
        """Have it done, together with what others ask for: `do` settles all that it is given. When this returns, `asked` is settled.

        `patience`: seconds within which it must be its turn. `ready` waits up to so many seconds until something can be done at all.
        """
        deadline = time.monotonic() + patience
        if self._led_by == threading.get_ident():
            raise QueryError("rows cannot be inserted in the middle of an insert", hint="a listener is called while the step goes on")
        with self._room:
            while self._waiting and self._rows() + asked.rows > self._most_rows and not self._closed:
                if not self._room.wait(_until(deadline)):
                    raise self._busy()
            if self._closed:
                raise QueryError("this session is closed", hint="connect again")
            self._waiting.append(asked)
            if self._leader is None:
                self._appoint()
            elif len(self._waiting) == self._expected:
                self._room.notify_all()
        try:
            if not asked.turn.wait(_until(deadline)) and self._withdrawn(asked):
                raise self._busy()
            asked.turn.wait()
            if not asked.settled:
                if not ready(max(0.0, deadline - time.monotonic())):
                    raise self._busy()
                self._lead(do)
        except BaseException:
            self._leave(asked)
            raise

    def close(self) -> None:
        """Refuse what comes from now on, and wait for what came before."""
        with self._room:
            self._closed = True
            self._room.notify_all()
            while self._leader is not None:
                self._room.wait()

    def _lead(self, do: Callable[[Sequence[A]], None]) -> None:
        group: list[A] = []
        began = time.monotonic()
        try:
            with self._room:
                self._room.wait_for(lambda: len(self._waiting) >= self._expected or self._closed, self._patience)
                began = time.monotonic()
                rows = 0
                while self._waiting and (not group or rows + self._waiting[0].rows <= self._most_rows):
                    group.append(self._waiting.popleft())
                    rows += group[-1].rows
                self._room.notify_all()
                self._led_by = threading.get_ident()
            do(group)
        except BaseException as problem:
            unsettled = [each for each in group if not each.settled]
            for each in unsettled:
                each.fail(problem if each is unsettled[0] else for_another(problem))
            if not unsettled or not isinstance(problem, Exception):
                raise
        finally:
            with self._lock:
                self._led_by = None
                self._took = time.monotonic() - began
                self._expected, self._patience = len(group) + len(self._waiting), PATIENCE * self._took
                self._appoint()
            for each in group:
                each.turn.set()

    def _appoint(self) -> None:
        self._leader = self._waiting[0] if self._waiting else None
        if self._leader is not None:
            self._leader.turn.set()
        else:
            self._room.notify_all()

    def _leave(self, asked: A) -> None:
        """Of a thread that is interrupted while it waits."""
        with self._lock:
            if asked in self._waiting:
                self._waiting.remove(asked)
            if self._leader is asked:
                self._appoint()

    def _withdrawn(self, asked: A) -> bool:
        """Whether nobody has begun with it, and nobody will."""
        with self._lock:
            if asked.turn.is_set() or asked not in self._waiting:
                return False
            self._waiting.remove(asked)
            return True

    def _rows(self) -> int:
        return sum(each.rows for each in self._waiting)

    def _busy(self) -> Busy:
        return busy(f"{self._rows()} rows of other inserts are waiting", self._took)


def busy(why: str, took: float = 0.0) -> Busy:
    """There was no time to wait until it was an insert's turn. `took`: seconds, what was done last."""
    return Busy(f"the rows were not inserted within the time that the stream gives: {why}", max(0.1, took))


def _until(deadline: float) -> float | None:
    return None if math.isinf(deadline) else max(0.0, deadline - time.monotonic())


def for_another(problem: BaseException) -> SlackwaterError:
    """The same problem for another thread: an exception that two of them raise would tell of both places."""
    if isinstance(problem, SlackwaterError):
        told = type(problem).__new__(type(problem))
        told.__dict__.update(problem.__dict__)
        told.args = problem.args
    elif isinstance(problem, Exception):
        told = WarehouseError(
            f"what was written together with this has failed: {problem}", hint="look whether it is there before you run it again"
        )
    else:
        told = Unsettled(
            "who wrote this together with its own was interrupted; it is not known whether it has taken effect",
            hint="look: it has as a whole, or not at all",
        )
    told.__cause__ = problem
    return told
