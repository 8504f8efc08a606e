"""Plans and trade-offs as lines, for people."""

from __future__ import annotations

import math

from slackwater.catalog import View
from slackwater.pace.goal import WITHIN
from slackwater.pace.planners import uniform, with_room
from slackwater.pace.simulate import Simulation, Work
from slackwater.run.paces import Plan, TradeOff


def shown_plan(view: View, plan: Plan) -> str:
    """The paces of a view as lines, for people."""
    simulation, names = plan.simulation, [path.name for path in plan.simulation.paths]
    wide = max(4, *map(len, names))
    lines = [
        f"goal '{view.options.get('goal', 'batch')}', trigger '{view.options.get('trigger', 'on read')}': {_allowed(view, plan)}",
        "",
        f"{'path':<{wide}} {'pace':>5} {'CPU-s':>8} {'left':>8}  why",
    ]
    for number, name in enumerate(names):
        work = simulation.of_path(number, plan.paces)
        lines.append(f"{name:<{wide}} {plan.paces[number]:>5} {work.total:>8.2f} {work.final:>8.2f}  {_why(number, plan)}")
    one = with_room(uniform, simulation, plan.most)
    lines += [
        "",
        f"in all {_told(plan.work)}: {plan.latency:.2f} s after the trigger",
        f"in one batch {_told(plan.batch)}",
        f"with one pace for all, {one[0]}: {_told(simulation.work(one))}",
    ]
    if not plan.is_met:
        lines.append(warning(view, plan))
    return "\n".join([*lines, _shown_arriving(simulation), f"planned in {1000 * plan.planning:.0f} ms"])


def _told(work: Work) -> str:
    return f"{work.total:.2f} CPU-s, {work.final:.2f} of them left for the trigger"


def _allowed(view: View, plan: Plan) -> str:
    if math.isinf(plan.most):
        return "all work may wait"
    each = f", at {plan.speed:.2f} of them a second" if view.goal.kind == WITHIN else ""
    return f"{plan.most:.2f} CPU-s may be left{each}"


def _why(number: int, plan: Plan) -> str:
    """What a path's pace is good for: what would be left if it waited, along with those that read it."""
    if plan.paces[number] == 1:
        return "waits for the trigger: flushed earlier it would leave no less, or less than it takes" if not math.isinf(plan.most) else ""
    waits = list(plan.paces)
    waits[number] = 1
    for reader, children in enumerate(plan.simulation.children):
        if any(waits[child] == 1 for child in children):
            waits[reader] = 1
    other = plan.simulation.work(tuple(waits))
    return f"{other.final - plan.work.final:.2f} more would be left if it waited, for {plan.work.total - other.total:.2f} less in all"


def warning(view: View, plan: Plan) -> str:
    """That a goal cannot be met, and which one could."""
    if view.goal.kind == WITHIN:
        better = f"within {max(0.1, math.ceil(10 * plan.least / plan.speed) / 10):g} seconds"
    elif plan.least < plan.batch.final:
        better = f"final work {math.ceil(100 * plan.least / plan.batch.final) / 100:g}"
    else:
        better = "batch"
    return f"{view.name} is expected to miss its goal '{view.options['goal']}': the best that it can have is '{better}'"


def shown(found: TradeOff) -> str:
    """A trade-off as lines, for people."""
    names = [path.name for path in found.simulation.paths]
    lines = [
        f"in one batch, when the trigger comes: {found.batch.final:.2f} CPU-s",
        "",
        f"{'left':>6} {'CPU-s':>8} {'in all':>8} {'more':>6}  paces",
    ]
    for point in found.points:
        paces = ", ".join(f"{name} {pace}" for name, pace in zip(names, point.paces, strict=True))
        more = point.work.total / found.batch.total - 1 if found.batch.total else 0.0
        word = "" if point.is_met else f"; no less than {found.least / found.batch.final:.2f} of one batch can be left"
        lines.append(f"{point.share:>6g} {point.work.final:>8.2f} {point.work.total:>8.2f} {more:>6.0%}  {paces}{word}")
    best = found.points[-1]
    one = with_room(uniform, found.simulation, best.share * found.batch.final)
    told = found.simulation.work(one)
    lines += ["", f"with one pace for all of them, {one[0]}: {told.final:.2f} left, {told.total:.2f} in all"]
    return "\n".join([*lines, _shown_arriving(found.simulation)])


def _shown_arriving(simulation: Simulation) -> str:
    arriving = ", ".join(
        f"{name} {table.rows:,.0f} (+{table.inserts:,.0f}, ~{table.updates:,.0f}, -{table.deletes:,.0f})"
        for name, table in simulation.tables.items()
    )
    return f"expected rows, and how many come, change and go until then: {arriving}"
