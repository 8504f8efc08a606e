"""What a flush reads: which files of which traces, no more than what has moved can meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from slackwater.delta import ADDED, KEPT, NEW, OLD, OWN, REMOVED
from slackwater.delta.broadcasts import Size
from slackwater.delta.narrow import Wanted, narrow
from slackwater.delta.spans import Spans
from slackwater.plan import Node, Scan
from slackwater.run.gather import Gather
from slackwater.run.net import Net
from slackwater.run.warehouse import Step
from slackwater.spark import Engine
from slackwater.trace import Reading, Trace
from slackwater.trace.spans import spans_of

GATHERED = "*"  # ends the name of a part of which the rows of some keys were fetched
MOST = 200_000  # rows of a change whose values are looked at, in this process
WORTH = 50_000  # rows that a reading must be rid of to be narrowed
WORTH_GATHERING = 1_500_000  # rows that need not be read again, to be worth a statement of its own


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
        self.readings: dict[str, tuple[Trace, Reading]] = {}
        self.gathers: dict[str, Gather] = {}  # by source
        self._wanted: dict[str, tuple[str, Wanted]] = {}  # by a name for the time being: the relation, and what matters of it
        for scan in _scans(plan):
            if scan.relation not in self.readings:
                trace, reading = self._part(scan.relation)
                self._put(scan.relation, trace, reading, Size(about(reading.remaining), about(trace.rows)))
        self.plan = plan
        self.rows = 0
        if any(reading.rows >= WORTH for _, reading in self.readings.values()):
            noted = narrow(plan, self._spans, self._note)
            self._gather(noted)
            names = {name: self._chosen(*noticed) for name, noticed in self._wanted.items()}
            self.plan = noted.transform(lambda node: _renamed(node, names))
        counts = Counter(scan.relation for scan in _scans(self.plan))
        self.readings = {name: reading for name, reading in self.readings.items() if name in counts}
        self.rows = sum(reading.rows * counts[name] for name, (_, reading) in self.readings.items())
        self.rows += sum(gather.kept.rows for gather in self.gathers.values())

    @property
    def sizes(self) -> tuple[tuple[str, Size], ...]:
        return tuple((name, self._size[name]) for name in self.readings)

    def fetch(self, engine: Engine, scratch: str) -> None:
        """Run what is to be run first."""
        for number, (source, gather) in enumerate(self.gathers.items()):
            parts = gather.run(engine, self._files, f"{scratch}/gathered{number}")
            for part, reading in parts.items():
                if (name := f"{source}@{part}{GATHERED}") in self.readings:
                    self.readings[name] = gather.trace, reading

    def _part(self, relation: str) -> tuple[Trace, Reading]:
        source, _, part = relation.rpartition("@")
        trace, net = self._step.traces[source], self._nets.get(source)
        if part == OWN:
            return trace, trace.at(trace.version)
        if net is not None and part in net.parts:
            return trace, net.parts[part]
        return trace, trace.part(part, self._seen.get(source, 0), self._now[source])

    def _put(self, name: str, trace: Trace, reading: Reading, size: Size) -> None:
        self.readings[name] = trace, reading
        self._size[name] = size

    def _spans(self, relation: str, column: str) -> Spans | None:
        """Where the values of a change lie."""
        _, reading = self.readings[relation]
        if not relation.endswith((f"@{ADDED}", f"@{REMOVED}")) or reading.rows > MOST:
            return None
        return spans_of(self._files.rows(reading, [column])[column]) if reading.files else Spans((), known=b"")

    def _note(self, relation: str, wanted: Wanted) -> str:
        if self.readings[relation][1].rows < WORTH or relation.endswith((f"@{ADDED}", f"@{REMOVED}", f"@{OWN}")):
            return relation
        name = f"{relation}?{len(self._wanted)}"
        self._wanted[name] = relation, wanted
        return name

    def _gather(self, plan: Node) -> None:
        """Find the sources of which a few rows are looked for at several places."""
        places = [scan for scan in _scans(plan) if scan.relation in self._wanted]
        for source in dict.fromkeys(self._wanted[scan.relation][0].rpartition("@")[0] for scan in places):
            here = [scan for scan in places if self._wanted[scan.relation][0].rpartition("@")[0] == source]
            column = _common_key([self._wanted[scan.relation][1] for scan in here])
            if column is None:
                continue
            rows = [self._narrowed(*self._wanted[scan.relation])[1].rows for scan in here]
            if sum(rows) - max(rows) < WORTH_GATHERING:
                continue
            keys = self._wanted[here[0].relation][1][column]
            for scan in here[1:]:
                keys = keys | self._wanted[scan.relation][1][column]
            trace = self._step.traces[source]
            kept, added, removed = (self._part(f"{source}@{part}")[1] for part in (KEPT, ADDED, REMOVED))
            if keys.known is None or len(keys.known) // 8 > MOST or any(each.without and each.rows > MOST for each in (added, removed)):
                continue
            self.gathers[source] = Gather(
                trace,
                next(each for each in trace.columns if each.name == column),
                keys.known,
                tuple(dict.fromkeys(name for scan in here for name in scan.source)),
                self._fewer(kept, {column: keys}),
                added,
                removed,
            )

    def _chosen(self, relation: str, wanted: Wanted) -> str:
        """The name under which a relation is read where only this is wanted of it."""
        source, _, part = relation.rpartition("@")
        gather = self.gathers.get(source)
        if gather is not None:
            moved = {KEPT: (), NEW: gather.added.files, OLD: gather.removed.files}[part]
            name = f"{relation}{GATHERED}"
            self._put(name, gather.trace, Reading(moved), self._size[relation])
            return name
        trace, fewer = self._narrowed(relation, wanted)
        if fewer == self.readings[relation][1]:
            return relation
        known = [name for name, other in self.readings.items() if other == (trace, fewer) and name.startswith(f"{relation}#")]
        name = known[0] if known else f"{relation}#{1 + sum(other.startswith(f'{relation}#') for other in self.readings)}"
        # Its size is that of the whole part: what is joined with it finds as many partners.
        self._put(name, trace, fewer, self._size[relation])
        return name

    def _narrowed(self, relation: str, wanted: Wanted) -> tuple[Trace, Reading]:
        trace, reading = self.readings[relation]
        fewer = self._fewer(reading, wanted)
        return trace, reading if reading.rows - fewer.rows < WORTH else fewer

    def _fewer(self, reading: Reading, wanted: Wanted) -> Reading:
        """Of those files only that may hold what is wanted."""
        files = tuple(file for file in reading.files if self._files.may_hold(file, wanted))
        return Reading(files, tuple(file for file in reading.without if any(file.may_share(each) for each in files)), reading.later)


def about(rows: int) -> int:
    """A number of rows to within a factor of two: flushes of about the same size are written alike."""
    return 1 << rows.bit_length() if rows > 0 else 0


def _common_key(wanted: list[Wanted]) -> str | None:
    """A column of which all places want known values, and no NULL."""
    if len(wanted) < 2:
        return None
    for column in wanted[0]:
        if all(column in each and each[column].known is not None and not each[column].nulls for each in wanted):
            return column
    return None


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    return Scan(names[node.relation], node.source, node.outputs) if isinstance(node, Scan) and node.relation in names else node


def _scans(plan: Node) -> list[Scan]:
    return [node for node in plan.walk() if isinstance(node, Scan)]
