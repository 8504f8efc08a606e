"""What a flush reads: which files of which traces, no more than what has moved can meet."""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from slackwater.delta import ADDED, KEPT, NEW, OLD, OWN, REMOVED
from slackwater.delta.broadcasts import Size, expected_rows
from slackwater.delta.conditions import Wanted
from slackwater.delta.narrow import narrow
from slackwater.delta.spans import Spans, Words
from slackwater.plan import Node, Scan
from slackwater.run.gather import Gather
from slackwater.run.net import Net
from slackwater.run.warehouse import Step
from slackwater.spark import Engine
from slackwater.trace import Reading, Trace
from slackwater.trace.spans import matching, spans_of

GATHERED = "*"  # in the name of a part of which the rows of some keys were fetched
MOST = 200_000  # rows of a change whose values are looked at, in this process
MOST_KEPT = 5_000  # rows that a path keeps, whose values are looked at
WORTH = 50_000  # rows that a reading must be rid of to be narrowed
WORTH_GATHERING = 1_500_000  # rows that need not be read again, to be worth a statement of its own
TIMES = 16  # more rows than keys must there be for this process to look for them,
FEW = 1_000_000  # or no more than these, of which not only keys are wanted,
MOST_HERE = 200_000_000  # and no more rows than these: an engine has more cores to look through them


class Reads:
    """A flush's plan and what it would read: by name, and how many rows in all, each time that the plan does.

    `gathers` are to be run first; what they fetch is then read under the names that they have here.
    """

    def __init__(
        self, plan: Node, seen: Mapping[str, int], now: Mapping[str, int], step: Step, nets: Mapping[str, Net] | None = None
    ) -> None:
        self._seen, self._now, self._step, self._nets = seen, now, step, nets or {}
        self._files = step.warehouse.files
        self._size: dict[str, Size] = {}
        self._all: dict[str, tuple[Trace, Reading]] = {}
        self._values: dict[tuple[str, str, frozenset[tuple[str, Spans | Words]]], Spans | None] = {}
        self._numbers = itertools.count(1)  # of gathers
        for scan in _scans(plan):
            if scan.relation not in self._all:
                trace, reading = self._part(scan.relation)
                self._put(scan.relation, trace, reading, Size(about(reading.remaining), about(trace.rows)))
        self._base = plan  # each relation whole, but for what was fetched
        self._look()
        self.looked_through = sum(gather.kept.rows for gather in self.gathers.values())  # rows, for keys, before the statement
        self.rows = self.left + self.looked_through
        self.later = self._may_be_fetched_later()

    @property
    def left(self) -> int:
        """How many rows the statement reads, each time that it does."""
        counts = Counter(scan.relation for scan in _scans(self.plan))
        return sum(reading.rows * counts[name] for name, (_, reading) in self.readings.items())

    def _may_be_fetched_later(self) -> int:
        """How many rows the statement would read, of which a few may do once others were fetched."""
        if not self.gathers or self._step.warehouse.engine.is_elsewhere:
            return 0
        others = [reading.rows for name, (_, reading) in self.readings.items() if not self._is_known(name) and f"@{OWN}" not in name]
        return sum(rows for rows in others if rows >= WORTH)

    @property
    def moved(self) -> int:
        """How many rows have arrived or left, of all that is read."""
        return sum(reading.rows for name, (_, reading) in self.readings.items() if name.endswith((f"@{ADDED}", f"@{REMOVED}")))

    @property
    def derived(self) -> int:
        """How many rows have moved, or come of what has, if that meets nothing but sums: those are derived, named and compared."""
        others = [name for name in self.readings if not name.endswith((f"@{ADDED}", f"@{REMOVED}")) and f"@{OWN}" not in name]
        own = sum(self._all[name][0].rows for name in self.readings if f"@{OWN}" in name)
        # What moved in a small source moves as large a share of the others: a nation of 25, the orders of its customers.
        return max(self.moved, int(expected_rows(self.plan, dict(self.sizes)))) if others else min(self.moved, 2 * own)

    @property
    def sizes(self) -> tuple[tuple[str, Size], ...]:
        return tuple((name, self._size[name]) for name in self.readings)

    def fetch(self, engine: Engine, scratch: str) -> None:
        """Run what is to be run first. The values of what was fetched may tell what to fetch next."""
        while self.gathers:
            for mark, gather in self.gathers.items():
                for part, reading in gather.run(engine, self._files, f"{scratch}/gathered{mark[1:]}").items():
                    if (name := f"{gather.trace.name}@{part}{mark}") in self._all:
                        self._all[name] = gather.trace, reading
            self._look()

    def _look(self) -> None:
        """Find how little is enough to read, by all that is known so far."""
        self.gathers: dict[str, Gather] = {}  # by what it adds to the names of parts
        self._by: dict[str, str] = {}  # by a name for the time being: the gather that fetches it
        self._wanted: dict[str, tuple[str, Wanted]] = {}  # by a name for the time being: the relation, and what matters of it
        self.plan = self._base
        if self._is_worth_it():
            noted = narrow(self._base, self._spans, self._note)
            self._gather(noted)
            names = {name: self._chosen(name) for name in self._wanted}
            self.plan = _renamed(noted, names)
            if self.gathers:
                fetched = {name: names[name] if name in self._by else relation for name, (relation, _) in self._wanted.items()}
                self._base = _renamed(noted, fetched)
        read = {scan.relation for scan in _scans(self.plan)}
        self.readings = {name: reading for name, reading in self._all.items() if name in read}

    def _is_worth_it(self) -> bool:
        """Whether there is something large to read, and a change that may need little of it."""
        scanned = {scan.relation for scan in _scans(self._base)}
        changes = {name for name in scanned if _is_change(name)}
        return bool(changes) and any(self._all[name][1].rows >= WORTH for name in scanned - changes)

    def _is_known(self, relation: str) -> bool:
        """Whether we look at the values of a relation: of a change, of what was fetched, or of the few rows that another path keeps."""
        trace, reading = self._all[relation]
        if _is_change(relation):
            return reading.rows <= MOST
        is_of_path = trace.name not in self._step.before.relations
        return is_of_path and f"@{OWN}" not in relation and reading.rows <= MOST_KEPT

    def _part(self, relation: str) -> tuple[Trace, Reading]:
        source, _, part = relation.rpartition("@")
        trace, net = self._step.traces[source], self._nets.get(source)
        if part == OWN:
            return trace, trace.at(trace.version)
        if net is not None and part in net.parts:
            return trace, net.parts[part]
        return trace, trace.part(part, self._seen.get(source, 0), self._now[source])

    def _put(self, name: str, trace: Trace, reading: Reading, size: Size) -> None:
        self._all[name] = trace, reading
        self._size[name] = size

    def _spans(self, relation: str, column: str, wanted: Wanted) -> Spans | None:
        """Where the values of a relation lie in rows of which nothing else is wanted; of a change of many rows, as far as footers tell."""
        if not self._is_known(relation):
            return self._by_footers(relation, column) if _is_change(relation) else None
        key = (relation, column, frozenset(wanted.items()))
        if key not in self._values:
            _, reading = self._all[relation]
            rows = self._files.rows(reading, dict.fromkeys((column, *wanted))) if reading.files else None
            found = Spans((), known=b"") if rows is None else spans_of(matching(rows, wanted)[column])
            self._values[key] = found and replace(found, origins=frozenset([(relation, column)]))
        return self._values[key]

    def _by_footers(self, relation: str, column: str) -> Spans | None:
        spans = [self._files.spans(file, column) for file in self._all[relation][1].files]
        told = [each for each in spans if each is not None]
        return functools.reduce(operator.or_, told) if told and len(told) == len(spans) else None

    def _all_values(self, relation: str, column: str) -> Spans | None:
        """The values of all rows that were fetched, or of a whole change, whether they matter to this path or not."""
        source, _, part = relation.rpartition("@")
        if part not in (ADDED, REMOVED):
            return self._spans(relation, column, {})
        between = self._step.traces[source].between(self._seen.get(source, 0), self._now[source])
        if not 0 < sum(batch.rows for batch in between) <= MOST:
            return None
        return self._files.values((file for batch in between for file in (*batch.added, *batch.removed)), column)

    def _note(self, relation: str, wanted: Wanted) -> str:
        if self._all[relation][1].rows < WORTH or _is_change(relation):
            return relation
        name = f"{relation}?{len(self._wanted)}"
        self._wanted[name] = relation, wanted
        return name

    def _gather(self, plan: Node) -> None:
        """Find the sources of which a few rows are looked for."""
        places: dict[tuple[str, str], dict[str, Scan]] = {}  # by source and column
        for scan in _scans(plan):
            if scan.relation in self._wanted:
                relation, wanted = self._wanted[scan.relation]
                source = relation.rpartition("@")[0]
                column = min(wanted, key=lambda name: self._share(relation, name, wanted[name]))
                if self._share(relation, column, wanted[column]) < 1:
                    places.setdefault((source, column), {})[scan.relation] = scan
        for (source, column), scans in places.items():
            gather = self._gathered(source, column, list(scans.values()))
            if gather is not None:
                mark = f"{GATHERED}{next(self._numbers)}"
                self.gathers[mark] = gather
                self._by |= dict.fromkeys(scans, mark)

    def _gathered(self, source: str, column: str, scans: list[Scan]) -> Gather | None:
        """How to fetch the rows of a source whose `column` is wanted at these places, if that pays."""
        wanted = [self._wanted[scan.relation] for scan in scans]
        keys = functools.reduce(operator.or_, (cast(Spans, each[column]) for _, each in wanted))
        also = _common([{name: spans for name, spans in each.items() if name != column} for _, each in wanted])
        parts = [OWN] if wanted[0][0].endswith(f"@{OWN}") else [KEPT, ADDED, REMOVED]
        kept, added, removed = [self._part(f"{source}@{part}")[1] for part in parts] + [Reading(())] * (3 - len(parts))
        if keys.known is None or len(keys.known) // 8 > MOST or any(each.without and each.rows > MOST for each in (added, removed)):
            return None
        rows = [self._narrowed(*each)[1].rows for each in wanted]
        if self._step.warehouse.engine.is_elsewhere:
            pays = sum(rows) - max(rows) >= WORTH_GATHERING
        else:
            are_few = self._share(wanted[0][0], column, keys) * TIMES <= 1 or bool(also) and kept.rows <= FEW
            pays = sum(rows) >= WORTH and kept.rows <= MOST_HERE and are_few
        if not pays:
            return None
        trace = self._step.traces[source]
        columns = tuple(dict.fromkeys(name for scan in scans for name in scan.source))
        there = next(each for each in trace.columns if each.name == column)
        around = self._around(keys) if self._has_other_readers(source) else None
        return Gather(trace, there, keys.known, columns, self._files.fewer(kept, {**also, column: keys}), added, removed, also, around)

    def _around(self, keys: Spans) -> bytes | None:
        """The keys, and those of rows of the same changes that do not matter here: other paths look for them in the same files."""
        others = [self._all_values(*origin) for origin in sorted(keys.origins)]
        around = functools.reduce(operator.or_, (each for each in others if each is not None), keys).known
        return around if around is not None and len(around) // 8 <= MOST else None

    def _has_other_readers(self, source: str) -> bool:
        return sum(source in cursor for cursor in self._step.before.cursors.values()) > 1

    def _share(self, relation: str, column: str, keys: Spans | Words) -> float:
        """About which share of a relation's rows has one of some keys. 1, if that cannot be told."""
        if isinstance(keys, Words) or keys.values is None or keys.nulls:
            return 1.0
        reading = self._all[relation][1]
        all_of_them = self._by_footers(relation, column)
        if all_of_them is None:
            return 1.0
        found = (keys & all_of_them).values
        width = sum(last - first + 1 for first, last in all_of_them.spans)
        return (0 if found is None else len(found)) / max(1, min(width, reading.rows))

    def _chosen(self, place: str) -> str:
        """The name under which a relation is read where only this is wanted of it."""
        relation, wanted = self._wanted[place]
        mark = self._by.get(place)
        if mark is not None:
            gather = self.gathers[mark]
            moved = {NEW: gather.added.files, OLD: gather.removed.files}.get(relation.rpartition("@")[2], ())
            name = f"{relation}{mark}"
            self._put(name, gather.trace, Reading(moved), self._size[relation])
            return name
        trace, fewer = self._narrowed(relation, wanted)
        if fewer == self._all[relation][1]:
            return relation
        known = [name for name, other in self._all.items() if other == (trace, fewer) and name.startswith(f"{relation}#")]
        name = known[0] if known else f"{relation}#{1 + sum(other.startswith(f'{relation}#') for other in self._all)}"
        # Its size is that of the whole part: what is joined with it finds as many partners.
        self._put(name, trace, fewer, self._size[relation])
        return name

    def _narrowed(self, relation: str, wanted: Wanted) -> tuple[Trace, Reading]:
        trace, reading = self._all[relation]
        fewer = self._files.fewer(reading, wanted)
        return trace, reading if reading.rows - fewer.rows < WORTH else fewer


def _is_change(relation: str) -> bool:
    """Whether it is what has moved, or was fetched for that."""
    return relation.endswith((f"@{ADDED}", f"@{REMOVED}")) or GATHERED in relation


def about(rows: int) -> int:
    """A number of rows to within a factor of two: flushes of about the same size are written alike."""
    return 1 << rows.bit_length() if rows > 0 else 0


def _common(wanted: list[Wanted]) -> Wanted:
    """What is wanted everywhere."""
    return {name: values for name, values in wanted[0].items() if all(each.get(name) == values for each in wanted)}


def _renamed(plan: Node, names: Mapping[str, str]) -> Node:
    def rename(node: Node) -> Node:
        return Scan(names[node.relation], node.source, node.outputs) if isinstance(node, Scan) and node.relation in names else node

    return plan.transform(rename)


def _scans(plan: Node) -> list[Scan]:
    return [node for node in plan.walk() if isinstance(node, Scan)]
