"""How many rows operators have, and how many move, while data arrive (Tang, Thrifty Query Processing, 3.2.1).

Of every operator three numbers are followed for each flush: rows before it, rows after it, and what has moved in between.

    filter         the same share of all three
    join           f·(ΔL·R' + L·ΔR), f being the share of all pairs that meet
    semi, anti     a row of L is without a partner with probability u^(R/R₀); what moves in R turns rows of L around
    groups         m rows touch G·(1 - e^(-m/G)) of G groups: several rows of one group are one change of it
    limit          a row that moves is among the first K of N with probability K/N
    window         rows of a partition that is touched are written anew

Rows that change are told from those that arrive and those that leave: a change is two rows to whoever reads it, and grows nothing. All
numbers are arrays, with an element for each flush that is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

from slackwater.plan import Aggregate, Filter, Generate, Join, Limit, Node, Scan, Union, Values, Window

Numbers = NDArray[np.float64]
Sizes = Mapping[Node, float]  # rows of operators as they are now, or as they are expected to be
MATCHED = 0.9  # of the rows of a left join are taken to have partners, where nothing tells


@dataclass(frozen=True)
class Moves:
    """Rows that arrive, that change, and that leave."""

    inserts: Numbers
    updates: Numbers
    deletes: Numbers

    def __add__(self, other: Moves) -> Moves:
        return Moves(self.inserts + other.inserts, self.updates + other.updates, self.deletes + other.deletes)

    def __mul__(self, factor: Numbers | float) -> Moves:
        return Moves(self.inserts * factor, self.updates * factor, self.deletes * factor)

    @property
    def touching(self) -> Numbers:
        """How many rows have to do with it."""
        return self.inserts + self.updates + self.deletes

    @property
    def read(self) -> Numbers:
        """How many rows a reader sees: of a change the row that leaves and the one that arrives."""
        return self.inserts + 2 * self.updates + self.deletes


@dataclass(frozen=True)
class Flow:
    """Rows before and after each flush, and what has moved in between."""

    before: Numbers
    after: Numbers
    moves: Moves

    def __mul__(self, factor: float) -> Flow:
        return Flow(self.before * factor, self.after * factor, self.moves * factor)


def flow(node: Node, sources: Mapping[str, Flow], sizes: Sizes) -> Flow:
    """What an operator makes of what its sources do."""
    if isinstance(node, Scan):
        return sources[node.relation]
    if isinstance(node, Values):
        like = next(iter(sources.values())).before if sources else np.zeros(1)
        rows, none = np.full_like(like, len(node.rows)), np.zeros_like(like)
        return Flow(rows, rows, Moves(none, none, none))
    below = [flow(each, sources, sizes) for each in node.inputs]
    if isinstance(node, Join):
        return _joined(node, below[0], below[1], sizes)
    if isinstance(node, Union):
        return reduce(_both, below)
    if isinstance(node, Aggregate):
        return _grouped(below[0], bool(node.keys), sizes[node], sizes[node.input])
    if isinstance(node, Limit):
        return _limited(below[0], float(node.count or 0), float(node.offset))
    if isinstance(node, Window):
        return _windowed(below[0], max(1.0, sizes[node.input] ** 0.5) if node.keys else 1.0)
    if isinstance(node, Filter | Generate):
        return below[0] * _share(sizes[node], sizes[node.inputs[0]])
    return below[0]


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 1.0


def _joined(node: Join, left: Flow, right: Flow, sizes: Sizes) -> Flow:
    if node.kind in ("semi", "anti"):
        alone = 1 - _share(sizes[node], sizes[node.left]) if node.kind == "semi" else _share(sizes[node], sizes[node.left])
        return _partnered(left, right, alone, sizes[node.right], node.kind == "semi")
    alone = 0.0 if node.kind == "inner" else 1 - MATCHED
    pairs = sizes[node] if node.kind == "inner" else max(0.0, sizes[node] - alone * sizes[node.left])
    met = _met(left, right, pairs / max(1.0, sizes[node.left] * sizes[node.right]))
    if node.kind == "inner":
        return met
    found = _both(met, _partnered(left, right, alone, sizes[node.right], False))
    return found if node.kind == "left" else _both(found, _partnered(right, left, alone, sizes[node.left], False))


def _met(left: Flow, right: Flow, share: float) -> Flow:
    """Pairs of rows that meet."""
    moves = left.moves * (right.after * share) + right.moves * (left.before * share)
    return Flow(left.before * right.before * share, left.after * right.after * share, moves)


def _partnered(left: Flow, right: Flow, alone: float, usual: float, with_one: bool) -> Flow:
    """Rows of the left that have a partner, or none. `alone`: the share that has none among the `usual` number of rows of the right."""
    alone = min(max(alone, 1e-9), 1.0)

    def without(rows: Numbers) -> Numbers:
        return np.power(alone, np.maximum(rows, 0.0) / max(1.0, usual))

    before, after, moved = without(right.before), without(right.after), right.moves
    found = left.before * (before - without(right.before + moved.inserts + moved.updates))
    lost = left.before * (without(right.before - moved.deletes - moved.updates) - before)
    arrive, leave = (found, lost) if with_one else (lost, found)
    kept, kept_after = (1 - before, 1 - after) if with_one else (before, after)
    turned = Moves(arrive, np.zeros_like(arrive), leave)
    return Flow(left.before * kept, left.after * kept_after, left.moves * kept_after + turned)


def _both(a: Flow, b: Flow) -> Flow:
    return Flow(a.before + b.before, a.after + b.after, a.moves + b.moves)


def _grouped(rows: Flow, has_keys: bool, groups: float, of: float) -> Flow:
    touching = rows.moves.touching
    if not has_keys:
        one, none = np.ones_like(touching), np.zeros_like(touching)
        return Flow(one, one, Moves(none, np.minimum(touching, 1.0), none))
    most, moves = spread(groups, of), rows.moves
    before, without = (most * -np.expm1(-np.maximum(each, 0.0) / most) for each in (rows.before, rows.before - moves.deletes))
    # What arrives may go to any group, what changes or leaves is in one that is there.
    hit = -np.expm1(-moves.inserts / most)
    spared = (1 - hit) * np.exp(-(moves.updates + moves.deletes) / np.maximum(before, 1e-9))
    new, gone = (most - before) * hit, before - without
    return Flow(before, before + new - gone, Moves(new, np.maximum(before * (1 - spared) - gone, 0.0), gone))


@lru_cache(maxsize=4096)
def spread(groups: float, rows: float) -> float:
    """Over how many groups rows are spread, some of which have none yet, if so many rows are found in so many groups."""
    share = min(1.0, groups / rows) if rows > 0 else 1.0
    if share > 0.999:
        return 1e15  # every row is a group of its own
    low, high = 1e-6, 1 / share  # of rows to a group: (1 - e^-x) / x = share
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if -math.expm1(-middle) / middle > share else (low, middle)
    return max(1.0, rows / high)


def _limited(rows: Flow, most: float, offset: float) -> Flow:
    before, after = (np.clip(each - offset, 0.0, most or np.inf) for each in (rows.before, rows.after))
    chance = np.minimum(1.0, (after + offset) / np.maximum(rows.after, 1.0))
    changed = np.minimum(after, rows.moves.touching * chance)
    grown = np.maximum(after - before, 0.0)
    return Flow(before, after, Moves(np.maximum(changed, grown), np.zeros_like(after), np.maximum(changed - grown, 0.0)))


def _windowed(rows: Flow, partitions: float) -> Flow:
    touched = partitions * -np.expm1(-rows.moves.touching / partitions)
    written = touched * rows.before / partitions
    return Flow(rows.before, rows.after, Moves(rows.moves.inserts, np.minimum(written, rows.before), rows.moves.deletes))
