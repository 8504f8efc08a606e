"""How often each path is flushed, so that a goal is met with the least work (Tang, Thrifty Query Processing, 3.3, Algorithm 2).

    minimize total(P) subject to final(P) ≤ most, and no path flushed more often than those that it reads

`greedy` goes up from one flush each, always where the final work falls most for the work that is added, and then goes back where that was
more than it took. The others are there to compare it with.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator

from slackwater.pace.simulate import STEPS, Paces, Simulation

NEARLY = 1.1  # times the least that can be left is as good, where the goal cannot be met
MARGIN = 0.7  # of what may be left is planned for: what is expected is not what comes; where that is not possible, nearly the least
ROOM = 1.3  # times the least is planned for where a goal is out of reach: the last of it is what costs most,
WORTH_IT = 0.75  # if that is no more than so much of one batch: many flushes would be made, and nobody would notice

Planner = Callable[[Simulation, float], Paces]  # paces whose final work is at most so much, or the best that can be had


def with_room(planner: Planner, simulation: Simulation, most: float) -> Paces:
    """Paces that are expected to leave less than so much; where so little is not possible, not all is spent to come near it, or nothing."""
    if math.isinf(most):
        return planner(simulation, most)
    least = least_left(planner, simulation)
    if least <= most:
        return planner(simulation, max(MARGIN * most, min(most, NEARLY * least)))
    batch = simulation.work(lazy(simulation, most)).final
    return planner(simulation, ROOM * least if ROOM * least < WORTH_IT * batch else math.inf)


def least_left(planner: Planner, simulation: Simulation) -> float:
    """CPU seconds that are left for the trigger, whatever is spent before."""
    return min(simulation.work(paces).final for paces in (planner(simulation, 0.0), eager(simulation, 0.0)))


def lazy(simulation: Simulation, most: float) -> Paces:
    """All work waits for the trigger."""
    return (1,) * len(simulation.paths)


def eager(simulation: Simulation, most: float) -> Paces:
    """As often as can be."""
    return (STEPS[-1],) * len(simulation.paths)


def uniform(simulation: Simulation, most: float) -> Paces:
    """One pace for all paths: the smallest that meets the goal, or else the one that leaves the least."""
    return _first_that_meets(((step,) * len(simulation.paths) for step in STEPS), simulation, most)


def inverse(simulation: Simulation, most: float) -> Paces:
    """By hand: one pace for all, the inverse of the share of the work that may be left."""
    share = most / max(simulation.work(lazy(simulation, most)).final, 1e-9)
    return (max(1, min(STEPS[-1], round(1 / max(share, 1 / STEPS[-1])))),) * len(simulation.paths)


def leaf(simulation: Simulation, most: float) -> Paces:
    """Paces of what reads tables alone; whatever reads other paths follows the slowest of them."""

    def followed(paces: Paces) -> Paces:
        found = list(paces)
        for number, children in enumerate(simulation.children):
            if children:
                found[number] = min(found[child] for child in children)
        return tuple(found)

    return _climbed(simulation, most, lambda number: not simulation.children[number], followed)


def greedy(simulation: Simulation, most: float) -> Paces:
    """A pace for each path."""
    paces = _trimmed(simulation, _climbed(simulation, most, lambda number: True, lambda paces: paces), most)
    while True:  # one path more often may let others be flushed less
        raised = (
            _raised(simulation, paces, number, step) for number, pace in enumerate(paces) for step in STEPS if pace < step <= 2 * pace
        )
        better = min((_trimmed(simulation, each, most) for each in raised), key=lambda each: _rank(simulation, each, most), default=paces)
        if _rank(simulation, better, most) >= _rank(simulation, paces, most):
            return paces
        paces = better


def brute_force(simulation: Simulation, most: float) -> Paces:
    """All of them, for a few paths."""
    allowed = (paces for paces in itertools.product(STEPS, repeat=len(simulation.paths)) if is_allowed(simulation, paces))
    return _best(allowed, simulation, most)


def at_random(simulation: Simulation, most: float, tries: int = 200, seed: int = 0) -> Paces:
    """The best of some."""
    luck = random.Random(seed)

    def drawn() -> Iterator[Paces]:
        yield lazy(simulation, most)
        for _ in range(tries):
            paces: list[int] = []
            for children in simulation.children:
                highest = min((paces[child] for child in children), default=STEPS[-1])
                paces.append(luck.choice([step for step in STEPS if step <= highest]))
            yield tuple(paces)

    return _best(drawn(), simulation, most)


PLANNERS: dict[str, Planner] = {
    "greedy": greedy, "uniform": uniform, "leaf": leaf, "inverse": inverse, "eager": eager, "lazy": lazy,
    "brute force": brute_force, "random": at_random,
}  # fmt: skip


def is_allowed(simulation: Simulation, paces: Paces) -> bool:
    """Whether no path is flushed more often than those that it reads."""
    return all(paces[number] <= paces[child] for number, children in enumerate(simulation.children) for child in children)


def _climbed(simulation: Simulation, most: float, may_rise: Callable[[int], bool], followed: Callable[[Paces], Paces]) -> Paces:
    """Up, where the final work falls most for the work that is added, until the goal is met or nothing helps any more.

    By any step, not only by the next one: where a few flushes would be done in full, it takes many for less to be left.
    """
    paces = lazy(simulation, most)
    work = simulation.work(paces)
    while work.final > most:
        best, gain = None, 0.0
        for number in range(len(paces)):
            for step in STEPS if may_rise(number) else ():
                if step > paces[number]:
                    higher = followed(_raised(simulation, paces, number, step))
                    found = simulation.work(higher)
                    fall, rise = work.final - max(found.final, most), found.total - work.total
                    worth = math.inf if fall > 0 and rise <= 0 else fall / rise if rise > 0 else 0.0
                    if worth > gain:
                        best, gain = higher, worth
        if best is None:
            return paces
        paces, work = best, simulation.work(best)
    return paces


def _raised(simulation: Simulation, paces: Paces, number: int, step: int) -> Paces:
    """A path at a higher pace, and those that it reads at no lower one."""
    found = list(paces)
    waiting = [number]
    for each in waiting:
        if found[each] < step:
            found[each] = step
            waiting += simulation.children[each]
    return tuple(found)


def _trimmed(simulation: Simulation, paces: Paces, most: float) -> Paces:
    """Down again, wherever the goal is met without it, by what saves most at a time. What cannot be met is not worth the last of it."""
    final = simulation.work(paces).final
    limit = most if final <= most else NEARLY * final
    while True:
        lower = [(*paces[:number], step, *paces[number + 1 :]) for number in range(len(paces)) for step in STEPS if step < paces[number]]
        fit = [each for each in lower if is_allowed(simulation, each) and simulation.work(each).final <= limit + 1e-12]
        best = min(fit, key=lambda each: simulation.work(each).total, default=None)
        if best is None or simulation.work(best).total >= simulation.work(paces).total:
            return paces
        paces = best


def _rank(simulation: Simulation, paces: Paces, most: float) -> tuple[int, float]:
    """Less is better: how far it is from the goal, in steps that matter, and then all of the work."""
    work = simulation.work(paces)
    return 0 if work.final <= most else math.ceil(math.log(work.final / max(most, 1e-9), NEARLY)), work.total


def _first_that_meets(candidates: Iterator[Paces], simulation: Simulation, most: float) -> Paces:
    seen = list(candidates)
    return next(
        (paces for paces in seen if simulation.work(paces).final <= most), min(seen, key=lambda paces: simulation.work(paces).final)
    )


def _best(candidates: Iterator[Paces], simulation: Simulation, most: float) -> Paces:
    """The least total work of those that meet the goal, or the least final work of all."""
    return min(candidates, key=lambda paces: _rank(simulation, paces, most))
