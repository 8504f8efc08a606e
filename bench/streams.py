"""Lines of orders as a stream: how fast they pass a view, and what an answer then takes (Winter et al., Meet Me Halfway, 4.3).

TPC-H 1, 3, 6, 15 and 20, with lineitem as a stream of four million rows and all other tables there before. Its rows are inserted in pieces,
and one answer is read in the end. Beside it, on the same engine and with the same pieces:

    eager      a table, and a materialized view that is refreshed after each insert
    deferred   a table, and the query computed at the end

Every answer is compared with the query over a table that has kept all rows. They take turns, after a round that warms up; rates are
medians. Others (bench/stream_peers.py) have their turn first.

    python -m bench.streams                                     Sail and Spark, SF 1, after `make peers`
    python -m bench.streams --engines sail --queries q1 q6 --rounds 3 --alone
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slackwater
from bench import tpch
from bench.measure import peak_memory, report
from bench.peers import Taken
from bench.refresh import check_answer
from bench.stream_peers import STREAM, others
from tests.oracle import without_limit

QUERIES = ("q1", "q3", "q6", "q15", "q20")
WAYS = ("split", "eager", "deferred")
RING = "capacity = '4 million rows', quiet = '0 seconds'"
GROUPS = 10_000  # of the view whose inserts are timed alone
MILLION = 1_000_000
READS = 2000


class Bench:
    """An engine, on which every run has a warehouse of its own."""

    def __init__(self, engine: str, scale_factor: float, folder: Path) -> None:
        self._folder, self._name = folder, engine
        self._texts = tpch.queries(scale_factor)
        self._data = tpch.generate(scale_factor)
        self._keeper = slackwater.connect(folder / "keeper", engine=engine)  # the engine lives as long as this
        self.engine: Any = self._keeper._warehouse.engine.spark if engine == "sail" else engine

    def close(self) -> None:
        self._keeper.close()

    def run(self, name: str, way: str, piece: int) -> tuple[float, float]:
        """Rows a second, with one answer in the end, and the seconds of that answer."""
        tables = {table.name: table for table in tpch.read_by(self._texts[name])}
        rows, schedule = self._rows(tables.pop(STREAM)), "eager" if way == "eager" else "lazy"
        with tempfile.TemporaryDirectory(dir=self._folder) as place, slackwater.connect(place, engine=self.engine, schedule=schedule) as db:
            for table in tables.values():
                db.sql(table.create)
                db.insert(table.name, self._rows(table))
            columns = _columns(rows)
            db.sql(f"CREATE STREAM {STREAM} ({columns}) WITH ({RING})" if way == "split" else f"CREATE TABLE {STREAM} ({columns})")
            if way != "deferred":
                db.sql(f"CREATE {'' if way == 'split' else 'MATERIALIZED '}VIEW answer AS {self._texts[name]}")
            began = time.perf_counter()
            for first in range(0, len(rows), piece):
                db.insert(STREAM, rows.slice(first, piece))
            asked = time.perf_counter()
            answer = db.sql(self._texts[name] if way == "deferred" else "SELECT * FROM answer").to_arrow()
            ended = time.perf_counter()
            self._check(name, db, answer, rows, way)
            return len(rows) / (ended - began), ended - asked

    def _rows(self, table: tpch.Table) -> pa.Table:
        return pq.read_table(self._data / f"{table.name}.parquet", columns=table.names).cast(table.schema)

    def _check(self, name: str, db: slackwater.Session, answer: pa.Table, rows: pa.Table, way: str) -> None:
        """Against a table that has all rows."""
        text = self._texts[name]
        if way == "split":
            db.sql(f"CREATE TABLE kept ({_columns(rows)})")
            db.insert("kept", rows)
            text = text.replace(STREAM, "kept")
        batch = db.sql(text).to_arrow()
        check_answer(name, answer, batch, lambda: db.sql(without_limit(text)).to_arrow(), f"{name}, {way}")

    def one_view(self, rounds: int) -> dict[str, float]:
        """A view of ten thousand groups: rows a second in inserts of a million, an answer after ten thousand rows more, and again."""
        luck = np.random.default_rng(1)
        keys, values = luck.integers(0, GROUPS, MILLION).astype(np.int32), luck.integers(0, 1000, MILLION)
        rows = pa.table({"k": pa.array(keys), "v": pa.array(values)})
        rates, reads, sizes = [], [], list[dict[str, float]]()
        with tempfile.TemporaryDirectory(dir=self._folder) as place, slackwater.connect(place, engine=self._name) as db:
            db.sql("CREATE STREAM numbers (k INT, v BIGINT) WITH (quiet = '0 seconds')")
            db.sql("CREATE VIEW sums AS SELECT k, count(*) AS n, sum(v) AS v FROM numbers GROUP BY k")
            for number in range(2 * rounds):
                rates.append(MILLION / _seconds(lambda: db.insert("numbers", rows)))
                if number + 1 in (rounds, 2 * rounds):
                    sizes.append(_sizes(db, "sums"))
            for _ in range(2 * rounds):
                db.insert("numbers", rows.slice(0, 10_000))
                reads.append(_seconds(lambda: db.sql("SELECT * FROM sums").to_arrow()))
            found = {k: (n, v) for k, n, v in db.sql("SELECT * FROM sums")}
            again = _seconds(lambda: [db.sql("SELECT * FROM sums").to_arrow() for _ in range(READS)])
        counts = 2 * rounds * (np.bincount(keys, minlength=GROUPS) + np.bincount(keys[:10_000], minlength=GROUPS))
        sums = 2 * rounds * (np.bincount(keys, values, GROUPS) + np.bincount(keys[:10_000], values[:10_000], GROUPS))
        if found != {key: (counts[key], sums[key]) for key in range(GROUPS) if counts[key]}:
            raise SystemExit("the view of ten thousand groups is not what was inserted")
        return {
            "rows_per_s_one_view": round(median(rates[rounds:])),
            "read_after_10k_rows_s": round(median(reads[rounds:]), 3),
            "unchanged_reads_per_s": round(READS / again),
            # Of what the view keeps, and of memory, at last over half of the time, when all groups were there.
            **{f"{what}_growth": round(sizes[1][what] / sizes[0][what], 2) for what in sizes[0]},
        }


def _sizes(db: slackwater.Session, view: str) -> dict[str, float]:
    """Bytes that a view keeps on the disk once it is folded, and the most memory that each process has held."""
    db.sql(f"SELECT count(*) FROM {view}").to_arrow()
    db.sql("VACUUM")
    traces = db._warehouse.catalog.snapshot().traces
    disk = sum(trace.bytes for name, trace in traces.items() if name.startswith(f"{view}/"))
    return {"disk": float(disk), "memory": sum(peak_memory().values())}


def _columns(rows: pa.Table) -> str:
    """Those of lines, as they are declared. A stream has no key, and what it is compared with has none either."""
    return ", ".join(f"{column} {kind}" for column, kind in tpch.TABLES[STREAM].columns if column in rows.column_names)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def beside_us(scale_factor: float, names: Sequence[str], piece: int) -> dict[str, dict[str, dict[str, Any]]]:
    """What others take, by who and query."""
    data, found = tpch.generate(scale_factor), dict[str, dict[str, dict[str, Any]]]()
    rows = pq.read_metadata(data / f"{STREAM}.parquet").num_rows
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        for who, name, outcome in others(data, {name: tpch.queries(scale_factor)[name] for name in names}, piece, Path(folder)):
            told = {"rows_per_s": round(rows / outcome.seconds), "cpu": outcome.cpu} if isinstance(outcome, Taken) else {"cannot": outcome}
            found.setdefault(who, {})[name] = told
            print(f"{who:<21}{name:<5}{told}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="of TPC-H (default %(default)s)")
    parser.add_argument("--engines", nargs="+", default=["sail", "spark"], help="default: %(default)s")
    parser.add_argument("--queries", nargs="+", default=QUERIES, help="default: %(default)s")
    parser.add_argument("--piece", type=int, default=500_000, help="rows that are inserted at once (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="after one that warms up (default %(default)s)")
    parser.add_argument("--alone", action="store_true", help="not beside others")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    details: dict[str, Any] = {}
    peers = {} if options.alone else beside_us(options.scale_factor, options.queries, options.piece)
    for engine in options.engines:
        prefix = "" if engine == "spark" else f"{engine}_"
        with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
            bench = Bench(engine, options.scale_factor, Path(folder))
            try:
                figures |= {prefix + name: value for name, value in bench.one_view(options.rounds).items()}
                print(figures, flush=True)
                ratios: dict[str, list[float]] = {other: [] for other in ("eager", "deferred", *peers)}
                for name in options.queries:
                    seen: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
                    for number in range(options.rounds + 1):
                        for way in WAYS:
                            taken = bench.run(name, way, options.piece)
                            seen[way] += [taken] if number else []
                    rates = {way: median(rate for rate, _ in each) for way, each in seen.items()}
                    answers = {way: median(seconds for _, seconds in each) for way, each in seen.items()}
                    rates |= {who: found[name]["rows_per_s"] for who, found in peers.items() if "rows_per_s" in found[name]}
                    for other in ratios.keys() & rates.keys():
                        ratios[other].append(rates["split"] / rates[other])
                    details[f"{engine} {name}"] = {"rows_per_s": rates, "answer_s": answers}
                    told = (f"{way} {rate:>11,.0f} rows/s" for way, rate in rates.items())
                    print(f"{engine:<6}{name:<5}{'  '.join(told)}  answer {answers['split']:.3f} s", flush=True)
                figures |= {f"{prefix}vs_{other.replace(' ', '_')}_min": round(min(each), 2) for other, each in ratios.items() if each}
            finally:
                bench.close()
    report("streams", figures, peers, details)


if __name__ == "__main__":
    main()
