"""A car plant watches its supplies: a view over millions of events, kept right while they change, at a fraction of recomputing it.

Every part that a worker builds in, and every part that is delivered, is a row. The view names the workstations where a part runs low. It
is the example of "Meet Me Halfway: Split Maintenance of Continuous Views" (PVLDB 13, Figures 2 and 3). First the events are kept in tables,
and once they pass as streams; then the day begins, with events that are corrected.

    python -m examples.car_plant                    on Spark, about a minute
    python -m examples.car_plant --engine sail      on Sail, a few seconds
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

import slackwater
from slackwater.run.cpu import cpu_seconds

EVENTS = "part_id BIGINT, part STRING, station INT, worker INT"
TABLES = (
    "CREATE TABLE station (id INT, plant STRING, location STRING, supplier STRING, PRIMARY KEY (id))",
    f"CREATE TABLE part_usage ({EVENTS})",
    f"CREATE TABLE part_restock ({EVENTS}) WITH (append_only = true)",
)
QUERY = """
WITH used AS (
  SELECT part, station, count(*) AS count
  FROM part_usage
  GROUP BY part, station
),
restocked AS (
  SELECT part, station, count(*) AS count
  FROM part_restock
  GROUP BY part, station
)
SELECT r.part, s.location, s.supplier
FROM station s, used u, restocked r
WHERE s.id = u.station
  AND u.station = r.station
  AND u.part = r.part
  AND r.count - u.count < 5
""".strip()

PARTS = (
    "Wheel Seat Engine Door Mirror Axle Brake Clutch Battery Radiator Bumper Hood Windshield Wiper Dashboard Pedal Gearbox Exhaust Fender "
    "Horn Headlight Taillight Antenna Airbag Belt Carpet Spring Strut Piston Valve Gasket Filter Pump Hose Starter Alternator Fuse Relay "
    "Sensor Camera"
).split()
PLANTS = ("Sparta", "Regensburg", "Leipzig", "Dingolfing")
STREAMS = ("usage_now", "restock_now")
PIECE = 1_000_000  # events that are inserted into a stream at once
READS = 1000
STATIONS = 40
WORKERS = 400
Row = tuple[object, ...]
Change = str | tuple[str, pa.Table]  # a statement, or a table and its new rows


class Plant:
    """Makes the events. Everything follows from one seed, so each run tells the same story."""

    def __init__(self, seed: int = 13) -> None:
        self.random = np.random.default_rng(seed)
        self.pairs = np.array([(part, station) for part in range(len(PARTS)) for station in range(1, STATIONS + 1)])
        self.next_id = 1

    def stations(self) -> pa.Table:
        ids = range(1, STATIONS + 1)
        return pa.table(
            {
                "id": pa.array(ids, pa.int32()),
                "plant": [PLANTS[id % len(PLANTS)] for id in ids],
                "location": [self.location(id) for id in ids],
                "supplier": [f"+1 555 {id:04d}" for id in ids],
            }
        )

    def location(self, station: int) -> str:
        return f"Gate {station} - {'NESW'[station % 4]}"

    def station_at(self, location: object) -> int:
        return next(id for id in range(1, STATIONS + 1) if self.location(id) == location)

    def history(self, rows: int) -> tuple[pa.Table, pa.Table]:
        """`rows` used parts, and their deliveries: a few more of every part at every station, so that hardly any runs low."""
        used = self.random.multinomial(rows, [1 / len(self.pairs)] * len(self.pairs))
        margins = self.random.integers(12, 40, len(self.pairs))
        for part, station, margin in (("Wheel", 5, 3), ("Seat", 2, 20), ("Engine", 1, 25), ("Engine", 3, 25), ("Door", 9, 20)):
            margins[self.pair(part, station)] = margin
        return self.events(np.repeat(np.arange(len(self.pairs)), used)), self.events(np.repeat(np.arange(len(self.pairs)), used + margins))

    def shift(self, rows: int) -> pa.Table:
        """Parts used all over the plant."""
        return self.events(self.random.integers(0, len(self.pairs), rows))

    def run_on(self, part: str, station: int, count: int) -> pa.Table:
        """One part, many times, at one station."""
        return self.events(np.full(count, self.pair(part, station)))

    def deliver(self, low: list[tuple[str, int]], count: int) -> pa.Table:
        """`count` of each part that runs low."""
        return self.events(np.repeat([self.pair(part, station) for part, station in low], count))

    def pair(self, part: str, station: int) -> int:
        return PARTS.index(part) * STATIONS + station - 1

    def events(self, pairs: np.ndarray) -> pa.Table:
        pairs = self.random.permutation(pairs)
        first = self.next_id
        self.next_id += len(pairs)
        part = pa.DictionaryArray.from_arrays(pa.array(self.pairs[pairs, 0], pa.int32()), pa.array(PARTS))
        return pa.table(
            {
                "part_id": pa.array(np.arange(first, self.next_id)),
                "part": part.cast(pa.string()),
                "station": pa.array(self.pairs[pairs, 1], pa.int32()),
                "worker": pa.array(self.random.integers(1, WORKERS + 1, len(pairs)), pa.int32()),
            }
        )


@dataclass
class Cost:
    """What something took: on the clock, and in all the processes that worked for it."""

    seconds: float = 0.0
    cpu: float = 0.0


@contextmanager
def measured() -> Iterator[Cost]:
    cost = Cost()
    clock, cpu = time.perf_counter(), _cpu()
    yield cost
    cost.seconds, cost.cpu = time.perf_counter() - clock, _cpu() - cpu


def _cpu() -> float:
    # Where the system does not tell about other processes, this one's must do.
    return cpu_seconds() or time.process_time()


class Demo:
    """The day: what happens, how the answer moves, and what following it costs."""

    def __init__(self, db: slackwater.Session, console: Console) -> None:
        self.db = db
        self.console = console
        self.plant = Plant()
        self.answer: Counter[Row] = Counter()
        self.costs: list[tuple[str, Cost, Cost]] = []

    def run(self, rows: int) -> None:
        self.begin(rows)
        self.warm_up()
        for number, (title, changes) in enumerate(self.day(), 1):
            self.console.rule(f"[bold]{number}. {title}", align="left")
            for change in changes:
                self.apply(change)
            self.follow(title)
        self.summary()
        self.explain()

    def begin(self, rows: int) -> None:
        self.console.print(Panel(Syntax(QUERY, "sql", background_color="default"), title="view low_parts", title_align="left", width=72))
        for text in TABLES:
            self.db.sql(text)
        used, restocked = self.plant.history(rows)
        with measured() as load:
            self.db.insert("station", self.plant.stations())
            self.db.insert("part_usage", used)
            self.db.insert("part_restock", restocked)
        self.console.print(f"loaded {used.num_rows:,} used and {restocked.num_rows:,} delivered parts in {load.seconds:.1f} s")
        with measured() as create:
            result = self.db.sql(f"CREATE MATERIALIZED VIEW low_parts AS {QUERY}")
        self.console.print(f"{result.message} ({create.seconds:.1f} s)")
        self.answer = self.read()
        self.show_moves(Counter())
        self.stream(used, restocked)

    def stream(self, used: pa.Table, restocked: pa.Table) -> None:
        """The same events, but as streams: they pass a view and a sample, and only the newest stay. The answer must be the same."""
        self.console.rule("[bold]the same events as streams, which are not kept", align="left")
        for name in STREAMS:
            self.db.sql(f"CREATE STREAM {name} ({EVENTS}) WITH (capacity = '1 million rows')")
        text = QUERY.replace("FROM part_usage", f"FROM {STREAMS[0]}").replace("FROM part_restock", f"FROM {STREAMS[1]}")
        self.console.print(self.db.sql(f"CREATE VIEW low_now AS {text}").message, highlight=False)
        self.db.sql(f"CREATE SAMPLE some_used ON {STREAMS[0]} SIZE 10000 WITH (seed = 7)")
        rows = used.num_rows + restocked.num_rows
        with measured() as passing:
            for name, events in zip(STREAMS, (used, restocked), strict=True):
                for first in range(0, events.num_rows, PIECE):
                    self.db.insert(name, events.slice(first, PIECE))
        self.console.print(f"  inserted {rows:,} events, {rows / passing.seconds:,.0f} a second: {_cost(passing)}", highlight=False)
        with measured() as reading:
            answer = Counter(tuple(row) for row in self.db.sql("SELECT * FROM low_now"))
        kept = sum(int(line[1]) for line in self.db.sql("SHOW STREAMS"))
        self.console.print(f"  read after that {_cost(reading)}; {kept:,} events are kept", highlight=False)
        with measured() as again:
            for _ in range(READS):
                self.db.sql("SELECT * FROM low_now").to_arrow()
        self.console.print(f"  read again, while nothing comes: {READS / again.seconds:,.0f} times a second", highlight=False)
        with measured() as sampling:
            [(sampled, wheels)] = self.db.sql("SELECT count(*), sum(CASE WHEN part = 'Wheel' THEN _weight ELSE 0 END) FROM some_used")
        really = pc.sum(pc.equal(used["part"], "Wheel")).as_py()
        told = f"a sample of {sampled:,} of all that came says that {wheels:,.0f} of them were wheels; it were {really:,}"
        self.console.print(f"  {told}: {_cost(sampling)}\n", highlight=False)
        if answer != self.answer:
            raise SystemExit("the view over streams differs from the one over tables: please report this")
        for statement in ("DROP VIEW low_now", "DROP SAMPLE some_used", *(f"DROP STREAM {name}" for name in STREAMS)):
            self.db.sql(statement)

    def warm_up(self) -> None:
        """A JVM is slow at what it does for the first time: both ways run before anything is measured, on every kind of change to come."""
        plant = self.plant
        with self.console.status("warming up: refreshing and recomputing"):
            for _ in range(2):
                used = plant.run_on("Camera", 30, 2)
                kinds: list[list[Change]] = [
                    [("part_usage", used)],
                    [("part_restock", plant.run_on("Camera", 30, 2))],
                    ["UPDATE station SET supplier = '+1 555 0030' WHERE id = 30"],
                    [f"UPDATE part_usage SET worker = 1 WHERE {_these(used)}"],
                    [("part_usage", plant.run_on("Camera", 30, 2)), ("part_restock", plant.run_on("Camera", 30, 2))],
                    [f"DELETE FROM part_usage WHERE {_these(used)}"],
                ]
                for number, changes in enumerate(kinds):
                    for change in changes:
                        self.apply(change)
                    self.db.sql("REFRESH VIEW low_parts")
                    self.read()
                    if number % 2 == 0:  # it is the same statement each time, so it needs fewer rounds
                        self.db.recompute("low_parts").to_arrow()
        self.answer = self.read()

    def day(self) -> Iterator[tuple[str, list[Change]]]:
        """What happens, one thing after the other. Later things depend on the answer at that time, so each is made when it is due."""
        plant = self.plant
        yield "the first shift uses 4,000 parts", [("part_usage", plant.shift(4000))]
        yield "a run on seats at station 2", [("part_usage", plant.run_on("Seat", 2, 22))]
        yield "40 seats arrive at station 2", [("part_restock", plant.run_on("Seat", 2, 40))]
        doors, engines = plant.run_on("Door", 9, 18), plant.run_on("Engine", 3, 23)
        yield "second shift; a run on two parts", [("part_usage", pa.concat_tables([plant.shift(4000), doors, engines]))]
        yield "station 9 gets another supplier", ["UPDATE station SET supplier = '+49 555 9000' WHERE id = 9"]
        yield "doors scanned twice: deleted", [f"DELETE FROM part_usage WHERE {_these(doors)}"]
        yield "engines at the wrong station", [f"UPDATE part_usage SET station = 1 WHERE {_these(engines)}"]
        yield "a truck brings what runs low", [("part_restock", plant.deliver(self.low(), 30))]
        yield "station 5 closes", ["DELETE FROM station WHERE id = 5"]
        yield "night: 8,000 used, 6,000 arrive", [("part_usage", plant.shift(8000)), ("part_restock", plant.shift(6000))]

    def apply(self, change: Change) -> None:
        if isinstance(change, str):
            self.db.sql(change)
        else:
            self.db.insert(*change)

    def low(self) -> list[tuple[str, int]]:
        return [(str(part), self.plant.station_at(location)) for part, location, _ in self.answer]

    def read(self) -> Counter[Row]:
        return Counter(tuple(row) for row in self.db.sql("SELECT * FROM low_parts"))

    def follow(self, title: str) -> None:
        """Both ways to the new answer, one after the other, and how it moved."""
        before = self.answer
        with measured() as refresh:
            self.db.sql("REFRESH VIEW low_parts")
            self.answer = self.read()
        with measured() as recompute:
            batch = Counter(tuple(row) for row in self.db.recompute("low_parts"))
        if batch != self.answer:
            raise SystemExit("the view differs from its query run from scratch: please report this")
        self.costs.append((title, refresh, recompute))
        self.show_moves(before)
        ratio = f"[bold]{_ratio(recompute.cpu, refresh.cpu)}[/] the CPU of the refresh"
        self.console.print(f"  refresh   {_cost(refresh)}", highlight=False)
        self.console.print(f"  recompute {_cost(recompute)}   {ratio}, the same answer\n", highlight=False)

    def show_moves(self, before: Counter[Row], most: int = 5) -> None:
        for sign, style, rows in (("-", "red", before - self.answer), ("+", "green", self.answer - before)):
            for part, location, supplier in sorted(rows.elements(), key=str)[:most]:
                self.console.print(f"  [{style}]{sign} {part:<12} {location:<12} {supplier}[/]", highlight=False)
            if rows.total() > most:
                self.console.print(f"  [{style}]{sign} and {rows.total() - most} more[/]", highlight=False)
        self.console.print(f"  [dim]{self.answer.total()} low[/]", highlight=False)

    def summary(self) -> None:
        table = Table(box=box.SIMPLE_HEAD, title="What following the view cost, against recomputing it", title_justify="left")
        table.add_column("step", no_wrap=True, max_width=32)
        for heading in ("refresh\ns", "\nCPU-s", "recompute\ns", "\nCPU-s", "CPU\nratio"):
            table.add_column(heading, justify="right", no_wrap=True)
        for title, refresh, recompute in self.costs:
            table.add_row(title, *_numbers(refresh), *_numbers(recompute), _ratio(recompute.cpu, refresh.cpu))
        table.add_section()
        refresh, recompute = _total([cost for _, cost, _ in self.costs]), _total([cost for _, _, cost in self.costs])
        table.add_row("all", *_numbers(refresh), *_numbers(recompute), f"[bold]{_ratio(recompute.cpu, refresh.cpu)}[/]")
        self.console.print(table)
        middle = statistics.median(recompute.cpu / max(refresh.cpu, 0.001) for _, refresh, recompute in self.costs)
        self.console.print(f"median over the steps: recomputing takes {middle:.1f} times the CPU of refreshing\n")

    def explain(self) -> None:
        self.console.rule("[bold]EXPLAIN PATHS VIEW low_parts", align="left")
        self.console.print(str(self.db.sql("EXPLAIN PATHS VIEW low_parts")), highlight=False, markup=False, soft_wrap=True)
        self.console.rule("[bold]EXPLAIN DELTA VIEW low_parts", align="left")
        first, *others = str(self.db.sql("EXPLAIN DELTA VIEW low_parts")).split("\n\n-- path ")[1:]
        self.console.print(f"-- path {first}", highlight=False, markup=False, soft_wrap=True)
        self.console.print(f"\n[dim]and {len(others)} more paths: --keep DIR keeps the warehouse, to ask for them with slackwater sql[/]")


def _these(events: pa.Table) -> str:
    return f"part_id BETWEEN {events['part_id'][0]} AND {events['part_id'][-1]}"


def _cost(cost: Cost) -> str:
    return f"{cost.seconds:6.2f} s {cost.cpu:6.2f} CPU-s"


def _numbers(cost: Cost) -> tuple[str, str]:
    return f"{cost.seconds:.2f}", f"{cost.cpu:.2f}"


def _ratio(recompute: float, refresh: float) -> str:
    return f"{recompute / max(refresh, 0.001):.1f}x"


def _total(costs: list[Cost]) -> Cost:
    return Cost(sum(cost.seconds for cost in costs), sum(cost.cpu for cost in costs))


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m examples.car_plant", description="A view follows its tables: what does it cost?")
    options.add_argument("--engine", default="spark", help="spark (default), sail, or a master or Connect URL")
    options.add_argument("--rows", type=int, default=10_000_000, help="used parts before the day begins (default %(default)s)")
    options.add_argument("--keep", type=Path, metavar="DIR", help="keep the warehouse in DIR, to look around in it afterwards")
    given = options.parse_args()
    console = Console()
    directory = given.keep or Path(tempfile.mkdtemp(prefix="car-plant-"))
    try:
        with console.status(f"starting {given.engine}"):
            db = slackwater.connect(directory, engine=given.engine)
        with db:
            Demo(db, console).run(given.rows)
    finally:
        if given.keep is None:
            shutil.rmtree(directory, ignore_errors=True)
    if given.keep:
        console.print(f'\nthe warehouse is kept: slackwater sql {directory} -e "SELECT * FROM low_parts"')


if __name__ == "__main__":
    main()
