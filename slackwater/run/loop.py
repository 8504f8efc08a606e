"""Answer views when their triggers are due, the most urgent first.

What is due follows from the catalog and the clock: up to when each view was asked, what has arrived since, which markers were set. So
nothing is lost with the process, and a loop that was away answers what it has missed when it is back, once.

Of all that is due, that view comes first whose time runs out first: if there is an order in which all are answered in time, this is one.
What is done before a trigger, because a goal demands it, is done path by path, and not when another view would be late for it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from slackwater.catalog import Snapshot, View
from slackwater.errors import SlackwaterError
from slackwater.pace.goal import EAGER
from slackwater.pace.planners import Planner, greedy
from slackwater.pace.trigger import MARKER, ROWS, WINDOW
from slackwater.run.pacing import Pacer
from slackwater.run.progress import Answered, Working
from slackwater.run.refresh import Asked, flush_early, is_stale, refresh
from slackwater.run.warehouse import Warehouse
from slackwater.run.windows import answered_window, latest_window

LONGEST = 0.5  # seconds without a look: another process may have written
AGAIN = 5.0  # seconds after which is tried again what could not be done


@dataclass(frozen=True)
class Due:
    """A view whose answer is asked for, and since when."""

    view: View
    since: float

    @property
    def deadline(self) -> float:
        return self.since + self.view.goal.seconds


class Loop:
    """What is to be done now, turn by turn. It remembers nothing that is needed: what the catalog tells is enough for another one.

    `right`: to write, taken for a turn that has something to do. `planner`: how often paths are flushed before a trigger.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        clock: Callable[[], float] = time.time,
        right: Callable[[], AbstractContextManager[Any]] = nullcontext,
        planner: Planner = greedy,
    ) -> None:
        self.warehouse = warehouse
        self.clock = clock
        self.right = right
        self.pacer = Pacer(warehouse, clock, planner)
        self._asked: dict[tuple[str, str], float] = {}  # by view and trigger: up to when that is dealt with
        self._noticed: dict[str, float] = {}  # by view: since when there are rows enough, or one of a later window
        self._windows: dict[tuple[str, str], int | None] = {}  # by view and trigger: up to which window that is dealt with
        self._failed: dict[str, float] = {}  # by view: when it could not be answered
        self._flushed = -1  # the step up to which all that views are eager for was flushed
        self._waiting: dict[str, list[str]] = {}  # by view: paths that are due before its trigger

    def turn(self) -> float:
        """Do all that is due, and flush what need not wait. In how many seconds there will be more, as far as the clock tells."""
        with ExitStack() as held:
            while True:
                if (due := self._most_urgent()) is not None:
                    self._enter(held)
                    self._answer(due)
                elif not self._flush_next(held):
                    break
            self._flush_eager(held)
        return max(0.0, self._next() - self.clock())

    def _enter(self, held: ExitStack) -> None:
        if not self.warehouse.writable:
            held.enter_context(self.right())

    def _most_urgent(self) -> Due | None:
        snapshot = self.warehouse.catalog.snapshot()
        asked = [Due(view, self._since(view, snapshot)) for view in snapshot.views if self._is_fit(view)]
        due = [each for each in asked if each.since <= self.clock()]
        return min(due, key=lambda each: (each.deadline, each.since, each.view.name), default=None)

    def _since(self, view: View, snapshot: Snapshot) -> float:
        """Since when an answer is due, or from when on it will be; never, if that depends on what is yet to happen."""
        trigger = view.trigger
        if trigger.kind == ROWS:
            return self._noticed.setdefault(view.name, self.clock()) if moved_rows(view, snapshot) >= trigger.rows else math.inf
        if trigger.kind == WINDOW:
            return self._noticed.setdefault(view.name, self.clock()) if self._is_in_a_later_window(view, snapshot) else math.inf
        if trigger.kind == MARKER:
            marked = snapshot.markers.get(trigger.marker, -math.inf)
            return marked if marked > self._asked_up_to(view) else math.inf
        return trigger.next_after(self._asked_up_to(view)) if trigger.is_watched else math.inf

    def _is_in_a_later_window(self, view: View, snapshot: Snapshot) -> bool:
        """Whether a row has arrived that is later than the window up to which all is dealt with."""
        key, files = (view.name, view.options["trigger"]), self.warehouse.files
        if not self._is_fit(view):
            return False
        try:
            if self._windows.get(key) is None:
                self._windows[key] = answered_window(view, snapshot, files)
            known, reached = self._windows[key], latest_window(view, snapshot, files)
        except SlackwaterError as problem:  # of a file, which is no reason not to answer others
            self._failed[view.name] = self.clock()
            self.warehouse.tell(Working(f"when {view.name} is due cannot be told: {problem.message}"))
            return False
        return known is not None and reached is not None and reached > known

    def _asked_up_to(self, view: View) -> float:
        key = (view.name, view.options["trigger"])
        if key not in self._asked:
            self._asked[key] = self._last_asked(view)
        return self._asked[key]

    def _last_asked(self, view: View) -> float:
        """Up to when the last answer knew, by the history; of a view that was never asked, when it got its trigger."""
        began = self.clock()
        for line in self.warehouse.catalog.history(view.name):
            if line.due is not None:
                return _known_up_to(view, line.due, line.at)
            began = line.at
            if line.action == "alter view":
                break
        return began

    def _answer(self, due: Due) -> None:
        began, snapshot = self.clock(), self.warehouse.catalog.snapshot()
        view = snapshot.relations.get(due.view.name.lower())
        if not isinstance(view, View):
            return  # dropped while we waited for the right to write
        if is_stale(view, snapshot) or view.error is not None:  # another loop may have answered meanwhile
            try:
                done = refresh([view.name], self.warehouse, f"trigger {view.options['trigger']}", {view.name: self._asked_for(due)})[-1]
            except SlackwaterError as problem:  # the disk, the store, the engine: it is worth another try
                self._failed[view.name] = self.clock()
                self.warehouse.tell(Working(f"{view.name} could not be answered: {problem.message}"))
                return
            if done.error is not None and view.trigger.kind == ROWS:  # they are still there, and would ask again at once
                self._failed[view.name] = self.clock()
            self.warehouse.tell(Answered(view.name, self.clock() - due.since, view.goal.seconds, done.error is not None))
        if view.trigger.kind == WINDOW:
            self._windows[view.name, view.options["trigger"]] = latest_window(view, snapshot, self.warehouse.files)
        self._noticed.pop(view.name, None)
        self._waiting.pop(view.name, None)
        self._asked[view.name, view.options["trigger"]] = _known_up_to(view, due.since, began)

    def _asked_for(self, due: Due) -> Asked:
        plan = self.pacer.plan(due.view.name)
        return Asked(due.since) if plan is None else Asked(due.since, round(plan.latency, 3), round(plan.batch.final, 3))

    def _flush_next(self, held: ExitStack) -> bool:
        """Flush the next path whose share of what its trigger waits for has come; whether there was one."""
        snapshot = self.warehouse.catalog.snapshot()
        for view in snapshot.views:
            if view.goal.is_paced and view.trigger.is_watched and self._is_fit(view):
                since, until = self._asked_up_to(view), self._since(view, snapshot)
                due = self.pacer.due(view, since, until, moved_rows(view, snapshot), snapshot)
                waiting = self._waiting[view.name] = list(dict.fromkeys([*self._waiting.get(view.name, ()), *due]))
                if waiting and self._has_time(view, waiting[0], snapshot):
                    self._enter(held)
                    flush_early([view.name], self.warehouse, f"before trigger {view.options['trigger']}", [waiting.pop(0)])
                    return True
        return False

    def _has_time(self, view: View, path: str, snapshot: Snapshot) -> bool:
        """Whether a path can be flushed now and all other views still be answered in time."""
        plan = self.pacer.plan(view.name)
        takes = plan.takes(path) if plan is not None else 0.0
        for other in snapshot.views:
            if other.name != view.name and not math.isinf(other.goal.seconds):
                theirs = self.pacer.plan(other.name)
                if theirs is not None and not theirs.is_met:
                    continue  # it will be late in any case, and must not hold up the others
                latest = self._since(other, snapshot) + other.goal.seconds - (theirs.latency if theirs is not None else 0.0)
                if self.clock() + takes > latest:
                    return False
        return True

    def _is_fit(self, view: View) -> bool:
        return self.clock() - self._failed.get(view.name, -math.inf) >= AGAIN

    def _flush_eager(self, held: ExitStack) -> None:
        with self.warehouse.writing:  # nothing may arrive unseen before it is noted how far this has come
            snapshot = self.warehouse.catalog.snapshot()
            eager = [view for view in snapshot.views if view.goal.kind == EAGER and view.trigger.is_watched and is_stale(view, snapshot)]
            if eager and snapshot.number != self._flushed:
                self._enter(held)
                flush_early([view.name for view in eager], self.warehouse, "eager")
            self._flushed = self.warehouse.catalog.snapshot().number

    def _next(self) -> float:
        """When the next trigger is due by the clock, or what could not be done is tried again."""
        snapshot = self.warehouse.catalog.snapshot()
        retried = {view.name: self._failed[view.name] + AGAIN for view in snapshot.views if not self._is_fit(view)}
        return min((max(self._since(view, snapshot), retried.get(view.name, 0.0)) for view in snapshot.views), default=math.inf)


def _known_up_to(view: View, due: float, began: float) -> float:
    """Which triggers an answer is for. What has become due since it began is another question: it may not know what arrived until then."""
    return due if view.trigger.kind == MARKER else max(due, began)


def moved_rows(view: View, snapshot: Snapshot) -> int:
    """How many rows have arrived or left in the tables that a view rests on, since its answer."""
    as_of = view.answer.as_of if view.answer is not None else {}
    traces = [(snapshot.traces[table], version) for table, version in as_of.items()]
    return sum(batch.rows for trace, version in traces for batch in trace.between(version, trace.version))


class Running:
    """A loop in a thread of its own, from `start` to `stop`, or as a context."""

    def __init__(self, warehouse: Warehouse, right: Callable[[], AbstractContextManager[Any]] = nullcontext) -> None:
        self._loop = Loop(warehouse, right=right)
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._told = ""
        self._thread = threading.Thread(target=self._work, name="slackwater-loop", daemon=True)

    def start(self) -> Self:
        warehouse = self._loop.warehouse
        warehouse.on_commit.append(self._wake.set)
        warehouse.on_close.insert(0, self.stop)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Let it finish what it is doing, and end it."""
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        warehouse = self._loop.warehouse
        if self._wake.set in warehouse.on_commit:
            warehouse.on_commit.remove(self._wake.set)

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            pause, problem = LONGEST, ""
            try:
                pause = min(LONGEST, self._loop.turn())
            except SlackwaterError as failure:  # the store cannot be asked, or somebody else is writing
                problem = failure.message
            except Exception as failure:  # a fault of ours: views that are due are still worth another try
                problem, pause = f"{type(failure).__name__}: {failure}", AGAIN
            if problem and problem != self._told:
                self._loop.warehouse.tell(Working(problem))
            self._told = problem
            self._wake.wait(pause)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
