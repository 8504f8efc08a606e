"""Calls of customers, counted as they come (the AIM workload as in Winter et al., Meet Me Halfway, 4.1 and table 2).

A stream of calls and a table of customers. Six continuous views, with the parameters of the document's evaluation, in which the week is a
constant: a view must not depend on the clock. Two things are measured, on each engine:

    inserts    events a second while nobody reads, with 0, 1, 2, 4 and 8 views on the stream, and with the six
    reads      answers a second, each of one of the six at random, with 0, 10,000 and 50,000 events a second arriving in another thread;
               each has all events that were acknowledged before, or may be a second old (WITH (staleness = '1 second'))

Every view is compared with its query over a table that has kept all events.

    python -m bench.aim --engines sail --customers 1_000_000
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import slackwater
from bench.measure import report
from tests.oracle import check_rows
from tests.values import rows_of

WEEK = 47
EVENTS = "entity_id INT, week INT, duration INT, cost INT, long_distance BOOLEAN"
CUSTOMERS = "id INT, region_id INT, city_zip INT, type INT, category INT, value_type INT, PRIMARY KEY (id)"
COUNTS = (0, 1, 2, 4, 8)
RATES = (0, 10_000, 50_000)
BATCHES = 10  # inserts a second, where events arrive at a rate
STALE = " WITH (staleness = '1 second')"


def long_talkers(least: int) -> str:
    return f"""
        SELECT avg(t_duration) AS duration FROM (
          SELECT sum(duration) AS t_duration FROM events WHERE week = {WEEK}
          GROUP BY entity_id HAVING count_if(NOT long_distance) > {least})"""


def dearest(least: int) -> str:
    return f"""
        SELECT max(max_cost) AS cost FROM (
          SELECT max(cost) AS max_cost FROM events WHERE week = {WEEK} GROUP BY entity_id HAVING count(*) > {least})"""


VIEWS = {
    "q1": long_talkers(2),
    "q2": dearest(2),
    "q3": f"""
        SELECT num_calls, sum(t_cost) / sum(t_duration) AS cost_ratio FROM (
          SELECT sum(cost) AS t_cost, sum(duration) AS t_duration, count(*) AS num_calls FROM events
          WHERE week = {WEEK} GROUP BY entity_id)
        GROUP BY num_calls ORDER BY num_calls LIMIT 100""",
    "q4": f"""
        SELECT city_zip, avg(num_calls) AS calls, sum(duration_calls) AS duration FROM (
          SELECT entity_id, count(*) AS num_calls, sum(duration) AS duration_calls FROM events
          WHERE NOT long_distance AND week = {WEEK} GROUP BY entity_id HAVING count(*) > 4 AND sum(duration) > 25) AS e
        JOIN customers AS c ON e.entity_id = c.id GROUP BY city_zip""",
    "q5": f"""
        SELECT c.region_id, sum(CASE WHEN long_distance THEN cost END) AS cost_long,
          sum(CASE WHEN long_distance THEN 0 ELSE cost END) AS cost_local
        FROM events AS e JOIN customers AS c ON e.entity_id = c.id
        WHERE week = {WEEK} AND c.type = 2 AND c.category = 1 GROUP BY c.region_id""",
    "q7": f"""
        SELECT sum(cost) / sum(duration) AS ratio
        FROM events AS e JOIN customers AS c ON e.entity_id = c.id WHERE week = {WEEK} AND c.value_type = 2""",
}
MORE = {"q1b": long_talkers(1), "q2b": dearest(4)}


class Bench:
    def __init__(self, engine: str, customers: int, folder: Path) -> None:
        self.customers, self._folder = customers, folder
        self._keeper = slackwater.connect(folder / "keeper", engine=engine)  # the engine lives as long as this
        self.engine: Any = self._keeper._warehouse.engine.spark if engine == "sail" else engine
        self._luck = np.random.default_rng(1)

    def close(self) -> None:
        self._keeper.close()

    def events(self, count: int) -> pa.Table:
        luck = self._luck
        return pa.table(
            {
                "entity_id": luck.integers(0, self.customers, count).astype(np.int32),
                "week": np.where(luck.random(count) < 0.9, WEEK, WEEK - 1).astype(np.int32),
                "duration": luck.integers(1, 60, count).astype(np.int32),
                "cost": luck.integers(1, 500, count).astype(np.int32),
                "long_distance": luck.random(count) < 0.3,
            }
        )

    @contextmanager
    def views(self, texts: dict[str, str]) -> Iterator[slackwater.Session]:
        """A fresh warehouse with these views over the stream."""
        with tempfile.TemporaryDirectory(dir=self._folder) as place, slackwater.connect(place, engine=self.engine) as db:
            ids, luck = np.arange(self.customers, dtype=np.int32), self._luck
            kinds = {"region_id": 50, "city_zip": 1000, "type": 4, "category": 3, "value_type": 5}
            db.sql(f"CREATE TABLE customers ({CUSTOMERS})")
            db.insert("customers", pa.table({"id": ids, **{k: luck.integers(0, n, len(ids)).astype(np.int32) for k, n in kinds.items()}}))
            db.sql(f"CREATE STREAM events ({EVENTS}) WITH (capacity = '1 million rows', quiet = '0 seconds')")
            for name, text in texts.items():
                db.sql(f"CREATE VIEW {name} AS {text}")
            yield db

    def inserts(self, texts: dict[str, str], total: int, piece: int) -> float:
        """Events a second, the last ones taken by all views too."""
        pieces = [self.events(piece) for _ in range(total // piece)]
        with self.views(texts) as db:
            db.insert("events", pieces[0])
            read_all(db, texts)
            began = time.perf_counter()
            for each in pieces[1:]:
                db.insert("events", each)
            read_all(db, texts)
            rate = (total - piece) / (time.perf_counter() - began)
            check(db, texts, pieces)
            return rate

    def reads(self, rate: int, seconds: float, ending: str = "") -> tuple[float, float]:
        """Answers a second, while so many events a second arrive; and how many events a second that were in truth."""
        came, stop, luck = [self.events(10_000)], threading.Event(), random.Random(2)
        with self.views(VIEWS) as db:
            db.insert("events", came[0])
            read_all(db, VIEWS)

            def arrive() -> None:
                due = time.perf_counter()
                while not stop.is_set():
                    came.append(self.events(rate // BATCHES))
                    db.insert("events", came[-1])
                    due += 1 / BATCHES
                    stop.wait(max(0.0, due - time.perf_counter()))

            arriving = threading.Thread(target=arrive)
            if rate:
                arriving.start()
            count, began = 0, time.perf_counter()
            while time.perf_counter() - began < seconds:
                db.sql(f"SELECT * FROM {luck.choice(list(VIEWS))}{ending}").to_arrow()
                count += 1
            took = time.perf_counter() - began
            stop.set()
            if rate:
                arriving.join()
            check(db, VIEWS, came)
            return count / took, (sum(map(len, came)) - 10_000) / took


def read_all(db: slackwater.Session, names: Sequence[str] | dict[str, str]) -> None:
    for name in names:
        db.sql(f"SELECT * FROM {name}").to_arrow()


def check(db: slackwater.Session, texts: dict[str, str], came: list[pa.Table]) -> None:
    """Each view against its query over a table that has all events."""
    db.sql(f"CREATE TABLE kept ({EVENTS})")
    db.insert("kept", pa.concat_tables(came))
    for name, text in texts.items():
        found, right = db.sql(f"SELECT * FROM {name}").to_arrow(), db.sql(text.replace("FROM events", "FROM kept")).to_arrow()
        check_rows(rows_of(found), rows_of(right), found.schema.types, name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--engines", nargs="+", default=["sail", "spark"], help="default: %(default)s")
    parser.add_argument("--customers", type=int, default=1_000_000, help="default %(default)s")
    parser.add_argument("--events", type=int, default=2_000_000, help="that are inserted for a rate (default %(default)s)")
    parser.add_argument("--piece", type=int, default=100_000, help="events that are inserted at once (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=20, help="of reading, for each rate (default %(default)s)")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for engine in options.engines:
        prefix = "" if engine == "spark" else f"{engine}_"
        with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
            bench = Bench(engine, options.customers, Path(folder))
            try:
                every = {**VIEWS, **MORE}
                bench.inserts(VIEWS, 3 * options.piece, options.piece)  # warms up
                sets = {str(count): dict(list(every.items())[:count]) for count in COUNTS} | {"the six": VIEWS}
                for name, texts in sets.items():
                    rate = bench.inserts(texts, options.events, options.piece)
                    figures[f"{prefix}events_per_s_{name.replace(' ', '_')}_views"] = round(rate)
                    print(f"{engine:<6}{name:>8} views {rate:>12,.0f} events a second", flush=True)
                for arriving in RATES:
                    for ending, word in (("", "reads"), (STALE, "stale_reads")):
                        count, came = bench.reads(arriving, options.seconds, ending)
                        figures[f"{prefix}{word}_per_s_{arriving}"] = round(count, 1)
                        told = f"{count:>12,.1f} answers a second{', a second old at most' if ending else ''}"
                        print(f"{engine:<6}{arriving:>8} events a second wanted, {came:>8,.0f} came: {told}", flush=True)
            finally:
                bench.close()
    report("aim", figures)


if __name__ == "__main__":
    main()
