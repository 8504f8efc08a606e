"""Which paths of a view are due before its trigger is, by how much of what is expected until then has come.

A plan says how often each path is flushed between two triggers (run/paces.py). Its k-th flush is due when the k-th part of the rows is
there. How many will come is known only in the end: what has come already, and as much of what was expected as there is time left. Where
that leaves the plan by far, another one is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from slackwater.catalog import Snapshot, View
from slackwater.errors import Unsupported
from slackwater.pace.planners import Planner
from slackwater.pace.trigger import ROWS
from slackwater.run.paces import Plan, planned
from slackwater.run.progress import Working
from slackwater.run.shown_paces import warning
from slackwater.run.warehouse import Warehouse

DRIFT = 1.5  # times as many rows as planned for, or as few, are another plan's
SETTLED = 0.2  # of the time until the trigger is over before too few rows tell anything
NEARLY = 0.01  # of a share that is missing makes no difference
SELDOM = 50  # times as long as planning takes is the least between two plans


@dataclass
class Course:
    """A plan, how far it has come, and what it was made for."""

    plan: Plan | None  # None: there are no paths to pace
    view: tuple[str, dict[str, str]]  # its text and its options
    began: float  # when the last answer was asked for
    made: float  # when it was
    flushed: dict[str, int] = field(default_factory=dict)  # by path: how many of its flushes are behind it


class Pacer:
    """Plans for the views of a warehouse. What it remembers is lost with it: paths are flushed once more than they would have been."""

    def __init__(self, warehouse: Warehouse, clock: Callable[[], float], planner: Planner) -> None:
        self._warehouse = warehouse
        self._clock = clock
        self._planner = planner
        self._courses: dict[str, Course] = {}
        self._warned: set[tuple[str, ...]] = set()

    def due(self, view: View, began: float, until: float, moved: int, snapshot: Snapshot) -> list[str]:
        """The paths of a view whose share has come. `moved`: rows since its last answer, asked for at `began`; the next is at `until`."""
        if not moved:
            return []
        course = self._course(view, began, snapshot)
        if course.plan is None:
            return []
        progress = self._progress(view, course, until, moved, snapshot)
        plan, found = course.plan, []
        for path in plan.simulation.index:
            pace = plan.pace(path)
            many = min(math.floor(progress * pace + NEARLY), pace - 1)  # the last one is the trigger's
            if many > course.flushed.get(path, 0):
                course.flushed[path] = many
                found.append(path)
        return found

    def plan(self, view: str) -> Plan | None:
        """What was planned last for a view."""
        course = self._courses.get(view)
        return None if course is None else course.plan

    def _course(self, view: View, began: float, snapshot: Snapshot) -> Course:
        course, now = self._courses.get(view.name), self._clock()
        asked = view.text, view.options
        if course is None or course.view != asked:
            course = self._courses[view.name] = Course(self._planned(view, snapshot), asked, began, now)
        elif course.began != began:
            enough = course.plan is None or now - course.made < SELDOM * course.plan.planning
            plan = course.plan if enough else self._planned(view, snapshot)
            course = self._courses[view.name] = Course(plan, asked, began, course.made if enough else now)
        return course

    def _progress(self, view: View, course: Course, until: float, moved: int, snapshot: Snapshot) -> float:
        assert course.plan is not None
        if view.trigger.kind == ROWS:
            return moved / view.trigger.rows
        time_left = 1.0 if math.isinf(until) else max(0.0, (until - self._clock()) / max(until - course.began, 1e-9))
        expected = course.plan.moving
        in_all = max(moved, expected) if math.isinf(until) else moved + expected * time_left
        if in_all > DRIFT * expected or (in_all * DRIFT < expected and time_left < 1 - SETTLED):
            self._replan(view, course, in_all, snapshot)
        return moved / in_all

    def _replan(self, view: View, course: Course, rows: float, snapshot: Snapshot) -> None:
        """For so many rows until the trigger."""
        assert course.plan is not None
        before, now = course.plan, self._clock()
        if now - course.made < SELDOM * before.planning:
            return
        course.plan, course.made = self._planned(view, snapshot, rows / max(before.moving / before.times, 1e-9)), now
        if course.plan is not None:
            course.flushed = {
                path: many * course.plan.pace(path) // before.pace(path)
                for path, many in course.flushed.items()
                if path in course.plan.simulation.index and path in before.simulation.index
            }

    def _planned(self, view: View, snapshot: Snapshot, times: float = 1.0) -> Plan | None:
        try:
            plan = planned(view, snapshot, self._warehouse, self._planner, times)
        except Unsupported:
            return None
        told = (view.name, *view.options.values())
        if plan.is_met:
            self._warned.discard(told)
        elif told not in self._warned:
            self._warned.add(told)
            self._warehouse.tell(Working(warning(view, plan)))
        return plan
