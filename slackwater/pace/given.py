"""How many rows flushes of a path really give, beside what its operators tell.

Operators are taken to have nothing to do with each other, and rows to fall anywhere. But it is only guessed how many rows reach the groups
of a path, lines of an order come together, and a threshold that is a share of everything lets fewer groups pass the more there are. So it
is kept what flushes gave, by about how many rows moved for them and among how many: large ones, or early ones, say little of the others.

    what reaches groups    so many rows that what operators tell differs from what was given by the same factor everywhere
    rows come together     where what was given is a share of what moved, rather, that is taken instead
    what is still off      counts near to where it was seen, and along the slope that it has there
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from slackwater.pace.flow import Flow, Moves, Numbers, Sizes, flow
from slackwater.pace.price import FADES
from slackwater.pace.simulate import Bias, PathModel
from slackwater.plan import Aggregate, Filter, Join, Node, Project

# Begins what is learned of flushes of about one kind: weight, and weighted sums, by source, of rows before them, of rows that came, of rows
# that went, and of rows that were given.
GIVEN = "given"
CLASS = 4.0  # times as many rows that move, or among which they do, are another kind
MOST = math.log(10_000.0)  # times as many rows as operators tell, or as few, are believed
SOME = 0.5  # rows more than were counted, for logarithms: of kinds that gave none, too
FEW = 5.0  # rows that all flushes of a kind gave, or should have, say half as much as many would
REACHING = 10.0 ** np.arange(-5, 2, 0.5)  # times as many rows as guessed that are tried to reach groups,
FINER = 10.0 ** np.arange(-0.375, 0.5, 0.125)  # and then times the best of these
LEVEL = 0.1  # what it counts that all kinds are off by some factor, of what it counts that they are off by different ones
CLEARLY = 0.5  # of what operators are off may a share of what moved be, to be taken instead
KINDS = 3  # of which something must be known for that
NEAR = math.log(CLASS)  # as logarithms, from where kinds count for less
FLAT = 0.5  # what it counts, of all kinds that are near, that no slope is known
STEEPEST = 1.0  # by no more, as a logarithm, does a slope move what a kind says


Learned = Mapping[str, Sequence[float]]


def learn_given(before: Sequence[int], moved: Sequence[int], given: int, learned: Learned) -> dict[str, list[float]]:
    """What is known after a flush that gave so many rows. By source: `before` it, so many rows were there, and `moved`, came and went."""
    kind = " ".join(str(int(math.log(max(1, rows), CLASS))) for rows in (sum(moved), sum(before)))
    way = f"{GIVEN} {kind}"
    seen = [1.0, *map(float, (*before, *moved[::2], *moved[1::2], given))]
    known = learned.get(way, ())
    added = [FADES * old + new for old, new in zip(known, seen, strict=True)] if len(known) == len(seen) else seen
    return {**{each: list(sums) for each, sums in learned.items()}, way: [round(each, 3) for each in added]}


def fitted(model: PathModel, learned: Learned) -> PathModel:
    """A path of which flushes are expected to give what they gave."""
    count = len(model.sources)
    sums = np.array([each for way, each in learned.items() if way.startswith(GIVEN) and len(each) == 3 * count + 2 and each[0]])
    if not len(sums):
        return model
    weight, given = sums[:, 0], sums[:, -1]
    before, came, went = (sums[:, 1:-1] / sums[:, :1]).T.reshape(3, count, -1)
    sources = {each: moved(*rows) for each, *rows in zip(model.sources, before, came, went, strict=True)}

    def told(sizes: Sizes) -> Numbers:
        return flow(model.top, sources, sizes).moves.read

    def missed(told: Numbers) -> tuple[Numbers, Numbers]:
        """By which factor each kind is missed, as a logarithm, and what that counts."""
        more = np.maximum(weight * told, given)
        return np.clip(np.log((given + SOME) / (weight * told + SOME)), -MOST, MOST), more / (more + FEW) + 1e-9

    def error(told: Numbers, level: float = LEVEL) -> float:
        off, counts = missed(told)
        mean = np.average(off, weights=counts)
        return float(np.average((off - mean) ** 2, weights=counts) + level * mean**2)

    reaching = _reaching(model.top)
    if reaching is not None:
        for scales in (REACHING, FINER):
            tried = [{**model.sizes, reaching: model.sizes[reaching] * times} for times in scales]
            model = replace(model, sizes=min(tried, key=lambda sizes: error(told(sizes))))
    moving = _moving(sources)
    share, of_operators = given.sum() / (weight * moving).sum(), told(model.sizes)
    if len(sums) >= KINDS and share > 0 and error(share * moving, 0.0) < CLEARLY * error(of_operators):
        beside = _beside(_where(sources), *missed(share * moving))
        return replace(model, bias=lambda sources, told: share * _moving(sources) / np.maximum(told, 1e-9) * beside(sources, told))
    return replace(model, bias=_beside(_where(sources), *missed(of_operators)))


def _reaching(top: Node) -> Node | None:
    """Of which operator come the rows that a path makes groups of. Of a table it is known how many there are."""
    node = top
    while isinstance(node, Project | Filter):
        node = node.input
    if not isinstance(node, Aggregate) or not node.keys:
        return None
    node = node.input
    while isinstance(node, Project):
        node = node.input
    return node if isinstance(node, Filter | Join) else None


def _beside(at: Numbers, off: Numbers, counts: Numbers) -> Bias:
    """By which factor flushes are off: as kinds that are near to them, along the plane that goes best through these."""
    x, y = at[:, :, None]
    columns = np.array([np.ones_like(off), *at, off, at[0] ** 2, at[0] * at[1], at[1] ** 2, at[0] * off, at[1] * off])

    def found(sources: Mapping[str, Flow], told: Numbers) -> Numbers:
        where = _where(sources)
        right, up = where[0] - x, where[1] - y  # by kind and flush
        near = counts[:, None] * (np.exp((right * right + up * up) * (-0.5 / NEAR**2)) + 1e-6)
        weight, *sums = columns @ near
        mx, my, mo, xx, xy, yy, xo, yo = (each / weight for each in sums)
        a, b, c, p, q = xx - mx * mx + FLAT, xy - mx * my, yy - my * my + FLAT, xo - mx * mo, yo - my * mo
        slopes = np.array([c * p - b * q, a * q - b * p]) / (a * c - b * b)
        moved = np.minimum(np.maximum(slopes[0] * right + slopes[1] * up, -STEEPEST), STEEPEST)
        return np.asarray((near * np.exp(off[:, None] + moved)).sum(axis=0) / weight)

    return found


def _moving(sources: Mapping[str, Flow]) -> Numbers:
    return np.asarray(sum(each.moves.read for each in sources.values()))


def _where(sources: Mapping[str, Flow]) -> Numbers:
    """Logarithms of how many rows move, and among how many."""
    moving = _moving(sources)
    there = sum(each.before for each in sources.values()) + moving
    return np.asarray(np.log(np.maximum(np.array([moving, there]), 1.0)))


def moved(before: Numbers | float, came: Numbers | float, went: Numbers | float) -> Flow:
    """So many rows were there, and these came and went: what is both is a change."""
    before, came, went = (np.atleast_1d(np.asarray(each, dtype=float)) for each in (before, came, went))
    changed = np.minimum(came, went)
    return Flow(before, np.maximum(before + came - went, 0.0), Moves(came - changed, changed, went - changed))
