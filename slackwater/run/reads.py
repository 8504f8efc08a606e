"""What a flush reads: which files of which traces, no more than what has moved can meet."""

from __future__ import annotations

from collections.abc import Mapping

from slackwater.delta import ADDED, OWN, REMOVED
from slackwater.delta.broadcasts import Size
from slackwater.delta.narrow import Wanted, narrow
from slackwater.delta.spans import Spans
from slackwater.plan import Node, Scan
from slackwater.run.net import Net
from slackwater.run.warehouse import Step
from slackwater.trace import Reading, Trace
from slackwater.trace.spans import spans_of

MOST = 200_000  # rows of a change whose values are looked at, in this process
WORTH = 50_000  # rows that a reading must be rid of to be narrowed


class Reads:
    """A flush's plan and what it would read: by name, and how many rows in all, each time that the plan does."""

    def __init__(
        self, plan: Node, seen: Mapping[str, int], now: Mapping[str, int], step: Step, nets: Mapping[str, Net] | None = None
    ) -> None:
        self._files = step.warehouse.files
        self._size: dict[str, Size] = {}
        self.readings: dict[str, tuple[Trace, Reading]] = {}
        for scan in _scans(plan):
            if scan.relation not in self.readings:
                source, _, part = scan.relation.rpartition("@")
                trace = step.traces[source]
                net = (nets or {}).get(source)
                if part == OWN:
                    reading = trace.at(trace.version)
                elif net is not None and part in net.parts:
                    reading = net.parts[part]
                else:
                    reading = trace.part(part, seen.get(source, 0), now[source])
                self._put(scan.relation, trace, reading, Size(about(reading.remaining), about(trace.rows)))
        large = any(reading.rows >= WORTH for _, reading in self.readings.values())
        self.plan = narrow(plan, self._spans, self._narrowed) if large else plan
        self.rows = sum(self.readings[scan.relation][1].rows for scan in _scans(self.plan))
        read = {scan.relation for scan in _scans(self.plan)}
        self.readings = {name: reading for name, reading in self.readings.items() if name in read}

    @property
    def sizes(self) -> tuple[tuple[str, Size], ...]:
        return tuple((name, self._size[name]) for name in self.readings)

    def _put(self, name: str, trace: Trace, reading: Reading, size: Size) -> None:
        self.readings[name] = trace, reading
        self._size[name] = size

    def _spans(self, relation: str, column: str) -> Spans | None:
        """Where the values of a change lie."""
        _, reading = self.readings[relation]
        if not relation.endswith((f"@{ADDED}", f"@{REMOVED}")) or reading.rows > MOST:
            return None
        return spans_of(self._files.rows(reading, [column])[column]) if reading.files else Spans(())

    def _narrowed(self, relation: str, wanted: Wanted) -> str:
        """The name of a reading of those files only that may hold what is wanted."""
        trace, reading = self.readings[relation]
        if reading.rows < WORTH:
            return relation
        files = tuple(file for file in reading.files if self._files.may_hold(file, wanted))
        fewer = Reading(files, tuple(file for file in reading.without if any(file.may_share(each) for each in files)), reading.later)
        if reading.rows - fewer.rows < WORTH:
            return relation
        known = [name for name, other in self.readings.items() if other == (trace, fewer) and name.startswith(f"{relation}#")]
        if known:
            return known[0]
        name = f"{relation}#{1 + sum(other.startswith(f'{relation}#') for other in self.readings)}"
        # Its size is that of the whole part: what is joined with it finds as many partners.
        self._put(name, trace, fewer, self._size[relation])
        return name


def about(rows: int) -> int:
    """A number of rows to within a factor of two: flushes of about the same size are written alike."""
    return 1 << rows.bit_length() if rows > 0 else 0


def _scans(plan: Node) -> list[Scan]:
    return [node for node in plan.walk() if isinstance(node, Scan)]
