"""What others pay for an answer at a trigger, when all rows of TPC-H arrive before it: beside what `bench.pace` has measured of ours.

    Flink SQL              streams: every row is worked off as it comes, with mini-batches, which is how Flink spends least
    Structured Streaming   the same on Spark, in ten micro-batches, where it can
    Spark, DuckDB          wait, and compute everything at the trigger

Each runs a query twice, and the second time counts; a stream of micro-batches is warm after a few of them, and runs once, and so does
what takes Flink more than a hundred CPU seconds, of which warming up is a small part. Answers are compared. `make peers` installs DuckDB
and Flink. CPU seconds are those of all rows; seconds those after the trigger for who waits for it, and those of all rows for who streams.
What is measured is kept below bench/results, with its commit, and not measured again.

    python -m bench.pace_peers --scale-factor 1 --queries q1 q6 q15
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import sqlglot

import slackwater
from bench import tpch
from bench.measure import RESULTS, commit, measured, report
from bench.pace import OWN, SLICES
from bench.peers import DUCKDB, Taken, check_same, in_duckdb
from slackwater.spark.java import find_java

FLINK = Path(__file__).parent.parent / ".peers/apache-flink/bin/python"
MICRO_BATCHES = 10  # of Structured Streaming, each of which costs it most of a CPU second
PATIENCE = 600  # seconds for a query in Flink
HEAP = "14g"  # of memory for Flink: with the quarter of a machine that Java takes by default, some queries only collect garbage
WARM = 100  # CPU seconds that it takes there, from which on it is not run again
DIALECT = "spark"  # Flink has names in backquotes, too

# Runs in Flink's own environment: a query and its tables in, CPU seconds of all processes, the answer and seconds out.
SCRIPT = """
import json, os, sys, time
from collections import Counter
from pathlib import Path
from pyflink.common import RowKind
from pyflink.table import EnvironmentSettings, TableEnvironment

asked = json.load(sys.stdin)
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
for key, value in asked["settings"].items():
    tables.get_config().set(key, value)
for text in asked["tables"]:
    tables.execute_sql(text)

def cpu():
    facts = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:
            pass
    family = {os.getpid()}
    while more := {one for one, each in facts.items() if int(each[1]) in family} - family:
        family |= more
    return sum(int(each) for one in family for each in facts[one][11:13]) / os.sysconf("SC_CLK_TCK")

for again in (False, True):
    if again and taken[0] > asked["warm"]:
        break
    began, started, found = cpu(), time.monotonic(), Counter()
    with tables.execute_sql(asked["text"]).collect() as rows:
        for row in rows:
            found[tuple(row)] += 1 if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
    taken = cpu() - began, [list(row) for row in found.elements()], time.monotonic() - started
print("\\n" + json.dumps(taken, default=str))
"""

SETTINGS = {
    "parallelism.default": "2",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
    "table.local-time-zone": "UTC",
    "taskmanager.memory.network.max": "256m",
}


def in_flink(data: Path, name: str, text: str, folder: Path) -> Taken | str:
    """A query in Flink; or why it cannot be."""
    tables = []
    for table, facts in tpch.TABLES.items():
        place = folder / "csv" / f"{table}.csv"
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            rows = pq.read_table(data / f"{table}.parquet").cast(facts.schema)
            pyarrow.csv.write_csv(rows, place, pyarrow.csv.WriteOptions(include_header=False))
        columns = ", ".join(f"`{column}` {kind}" for column, kind in facts.columns)
        tables.append(f"CREATE TABLE {table} ({columns}) WITH ('connector' = 'filesystem', 'path' = 'file://{place}', 'format' = 'csv')")
    asked = {"settings": SETTINGS, "tables": tables, "text": _unordered(text), "warm": WARM}
    environment = {"JAVA_HOME": str(find_java()), "PATH": f"{FLINK.parent}:/usr/bin:/bin", "JVM_ARGS": f"-Xmx{HEAP}"}
    try:
        run = subprocess.run(
            [FLINK, "-c", SCRIPT], input=json.dumps(asked), capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not within {PATIENCE} seconds"
    if run.returncode:
        return _reason(run.stderr)
    return Taken(*json.loads(run.stdout.splitlines()[-1]))


def _unordered(text: str) -> str:
    """A query without an order of its answer, which a stream cannot have unless it is limited."""
    parsed = sqlglot.parse_one(text, read="spark")
    if parsed.args.get("limit") is None:
        parsed.set("order", None)
    return parsed.sql(DIALECT, identify=True)


def _reason(said: str) -> str:
    """The last line that names a matter."""
    lines = [line.strip() for line in said.splitlines() if "Exception" in line or "rror" in line]
    return lines[-1].rpartition("Exception: ")[2][:200] if lines else "it gave no reason"


class OnSpark:
    """Plain Spark, as `connect` starts it. `streams`: tables that arrive, in so many files, so many of them at a time."""

    def __init__(
        self,
        data: Path,
        folder: Path,
        streams: Iterable[str] = tuple(tpch.TABLES),
        slices: int = SLICES,
        at_a_time: int = SLICES // MICRO_BATCHES,
    ) -> None:
        self._folder, self._at_a_time = folder, at_a_time
        self._db = slackwater.connect(folder / "warehouse")
        self.spark: Any = self._db.spark
        self._streams = tuple(streams)
        for table in tpch.TABLES:
            self.spark.read.parquet(str(data / f"{table}.parquet")).createOrReplaceTempView(table)
        for table in self._streams:
            self._slice(table, data, slices)

    def _slice(self, table: str, data: Path, slices: int) -> None:
        """A table in as many files as it arrives in."""
        rows, place = pq.read_table(data / f"{table}.parquet"), self._folder / "slices" / table
        place.mkdir(parents=True)
        for number in range(slices):
            first, last = number * len(rows) // slices, (number + 1) * len(rows) // slices
            if last > first:
                pq.write_table(rows.slice(first, last - first), place / f"{number:03}.parquet")

    def at_once(self, text: str) -> Taken:
        self.spark.sql(text).collect()
        return _taken(self.spark.sql(text).collect)

    def streamed(self, text: str) -> Taken | str:
        """By Structured Streaming; or why it cannot be."""
        try:
            return _taken(partial(self._stream, text))
        except Exception as problem:
            return str(problem).splitlines()[0][:200]

    def _stream(self, text: str) -> list[Any]:
        renamed = sqlglot.parse_one(text, read="spark")
        for table in renamed.find_all(sqlglot.exp.Table):
            if table.name in self._streams:
                schema = self.spark.table(table.name).schema
                stream = (
                    self.spark.readStream.schema(schema)
                    .option("maxFilesPerTrigger", self._at_a_time)
                    .parquet(f"{self._folder}/slices/{table.name}")
                )
                stream.createOrReplaceTempView(f"stream_{table.name}")
                table.set("alias", table.args.get("alias") or sqlglot.exp.TableAlias(this=sqlglot.exp.to_identifier(table.name)))
                table.set("this", sqlglot.exp.to_identifier(f"stream_{table.name}"))
        answers = self.spark.sql(renamed.sql("spark"))
        query = answers.writeStream.outputMode("complete").format("memory").queryName("streamed").trigger(availableNow=True).start()
        query.awaitTermination()
        found: list[Any] = self.spark.table("streamed").collect()
        return found

    def close(self) -> None:
        self._db.close()


def _taken(work: Callable[[], list[Any]]) -> Taken:
    rows, cost = measured(work)
    return Taken(cost.cpu, json.loads(json.dumps([list(row) for row in rows], default=str)), cost.seconds)


class Peers:
    """What each of them took for each query; what was measured before is kept, and not measured again."""

    def __init__(self, scale_factor: float) -> None:
        RESULTS.mkdir(exist_ok=True)
        self._file = RESULTS / f"pace_peers-{scale_factor:g}.json"
        self._known: dict[str, dict[str, Any]] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def missing(self, who: str, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self._known.get(who, {})]

    def keep(self, who: str, name: str, taken: Taken | str, right: list[list[Any]]) -> None:
        """If it gave the right answer, or could give none."""
        found = {"cannot": taken} if isinstance(taken, str) else {"cpu": round(taken.cpu, 3), "seconds": round(taken.seconds, 3)}
        if isinstance(taken, Taken):
            check_same(name, right, taken.rows, who)
        self._known.setdefault(who, {})[name] = {**found, "commit": commit()}
        self._file.write_text(json.dumps(self._known))
        print(_line(who, name, self._known[who][name]), flush=True)

    def found(self, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        return {who: {name: each[name] for name in names if name in each} for who, each in self._known.items()}


def _line(who: str, name: str, taken: dict[str, Any]) -> str:
    told = f"cannot: {taken['cannot']}" if "cannot" in taken else f"{taken['cpu']:>9.2f} CPU-s{taken['seconds']:>9.2f} s"
    return f"{who:<22}{name:<11}{told}"


def ours(scale_factor: float, constraint: float) -> dict[str, dict[str, dict[str, Any]]]:
    """What `bench.pace` has measured of ours, by engine and query."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for engine in ("sail", "spark"):
        file = RESULTS / f"pace-{engine}-{scale_factor:g}.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        for key, cell in known.items():
            name, _, rest = key.partition("|")
            if rest == f"{constraint:g}|greedy":
                after = {
                    "after": cell["final"] * known[f"{name}|batch"]["final"],
                    "latency": cell["latency"] * known[f"{name}|batch"]["latency"],
                }
                found.setdefault(engine, {})[name] = {**cell, **after}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="of TPC-H (default %(default)s)")
    parser.add_argument("--queries", nargs="+", default=[*tpch.QUERIES, *OWN], help="default: all")
    parser.add_argument("--constraint", type=float, default=0.5, help="of ours that are shown (default %(default)s)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no other run after so many; the next call goes on")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    data = tpch.generate(options.scale_factor)
    texts = {name: text for name, text in {**tpch.queries(options.scale_factor), **OWN}.items() if name in options.queries}
    for place, name in ((DUCKDB, "DuckDB"), (FLINK, "Flink")):
        if not place.exists():
            raise SystemExit(f"{name} is not installed: make peers")
    peers, right = Peers(options.scale_factor), in_duckdb(data, texts)
    for name in peers.missing("duckdb", texts):
        peers.keep("duckdb", name, right[name], right[name].rows)
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        if missing := {who: peers.missing(who, texts) for who in ("spark", "structured streaming") if peers.missing(who, texts)}:
            spark = OnSpark(data, Path(folder))
            for who, ask in (("spark", spark.at_once), ("structured streaming", spark.streamed)):
                for name in missing.get(who, ()):
                    if time.monotonic() < deadline:
                        peers.keep(who, name, ask(texts[name]), right[name].rows)
            spark.close()
        for name in peers.missing("flink", texts):
            if time.monotonic() < deadline:
                peers.keep("flink", name, in_flink(data, name, texts[name], Path(folder)), right[name].rows)
    found = peers.found(texts)
    for who, taken in found.items():
        for name, each in taken.items():
            print(_line(who, name, each))
    for engine, cells in ours(options.scale_factor, options.constraint).items():
        for name in (name for name in texts if name in cells):
            cell = cells[name]
            told = {"cpu": cell["total"], "seconds": cell["latency"]}
            print(f"{_line(f'ours, {engine}', name, told)}, {cell['after']:.2f} CPU-s after the trigger")
    spent = {who: [each["cpu"] for each in taken.values() if "cpu" in each] for who, taken in found.items()}
    report("pace_peers", {f"{who.replace(' ', '_')}_cpu_s": round(sum(each), 2) for who, each in spent.items()}, found)


if __name__ == "__main__":
    main()
