"""What a stream does with more inserts than its view can take at once (Winter et al., Meet Me Halfway, figure 13).

Rows of six whole numbers between one and ten thousand, into a stream with one view that sums one of them by another: the worst case, for
all that is inserted goes into it. So many threads insert, a hundred rows at a time, each as fast as it is answered; each insert is durable
when it returns. Every hundred inserts it is noted how many rows wait in the queue before the stream, and how many in the ring for the view.
In the end the view must be what was acknowledged.

    python -m bench.spike --engines sail --seconds 10
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import slackwater
from bench.measure import report

COLUMNS = tuple("abcdef")
VALUES = 10_000
THREADS = (1, 4, 10)
ROWS = 100  # of an insert
NOTED = 100  # inserts, after which the queue is looked at


class Spike:
    """Threads that insert, and what they see."""

    def __init__(self, db: slackwater.Session) -> None:
        self._db = db
        self._numbers, self._noting = itertools.count(1), threading.Lock()
        self.began = time.perf_counter()
        self.taken: list[float] = []  # seconds of each insert
        self.queue: list[tuple[float, int, int]] = []  # when, rows before the stream, rows in the ring
        self.sums = np.zeros(VALUES + 1, np.int64)

    def insert(self, seed: int, until: float) -> None:
        luck, sums = np.random.default_rng(seed), np.zeros(VALUES + 1, np.int64)
        while time.perf_counter() < until:
            rows = {name: luck.integers(1, VALUES + 1, ROWS).astype(np.int32) for name in COLUMNS}
            asked = time.perf_counter()
            self._db.insert("numbers", pa.table(rows))
            self.taken.append(time.perf_counter() - asked)
            np.add.at(sums, rows["a"], rows["b"])
            if next(self._numbers) % NOTED == 0:
                [shown] = self._db.sql("SHOW STREAMS")
                self.queue.append((time.perf_counter() - self.began, self._db._warehouse.small_inserts.rows_waiting, int(shown[2])))
        with self._noting:
            self.sums += sums


def run(engine: str, threads: int, seconds: float, folder: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=folder) as place, slackwater.connect(Path(place), engine=engine) as db:
        db.sql(f"CREATE STREAM numbers ({', '.join(f'{name} INT' for name in COLUMNS)}) WITH (quiet = '0 seconds')")
        db.sql("CREATE VIEW sums AS SELECT a, sum(b) AS b FROM numbers GROUP BY a")
        spike = Spike(db)
        writers = [threading.Thread(target=spike.insert, args=(seed, spike.began + seconds)) for seed in range(threads)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        took = time.perf_counter() - spike.began
        asked = time.perf_counter()
        found = {int(a): int(b) for a, b in db.sql("SELECT * FROM sums")}
        read = time.perf_counter() - asked
    if found != {key: value for key, value in enumerate(spike.sums.tolist()) if value}:
        raise SystemExit("the view is not what was acknowledged")
    _, before, within = (np.array(each) for each in zip(*spike.queue, strict=True))
    return {
        "rows_per_s": round(ROWS * len(spike.taken) / took),
        "insert_ms_median": round(1000 * float(np.median(spike.taken)), 2),
        "insert_ms_p99": round(1000 * float(np.quantile(spike.taken, 0.99)), 2),
        "insert_ms_most": round(1000 * max(spike.taken), 1),
        "queue_rows_median": int(np.median(before)),
        "queue_rows_most": int(before.max()),
        "ring_rows_most": int(within.max()),
        "read_after_s": round(read, 3),
        "queue": [(round(at, 3), int(rows), int(ring)) for at, rows, ring in spike.queue],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--engines", nargs="+", default=["sail", "spark"], help="default: %(default)s")
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS, help="that insert (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=20, help="for each number of threads (default %(default)s)")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    details: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        for engine in options.engines:
            run(engine, max(options.threads), min(5.0, options.seconds), folder)  # warms up
            for threads in options.threads:
                found = run(engine, threads, options.seconds, folder)
                details[f"{engine} {threads}"] = found.pop("queue")
                figures |= {f"{engine}_{threads}_{name}": value for name, value in found.items()}
                print(f"{engine:<6}{threads:>3} threads  {found}", flush=True)
    report("spike", figures, details=details)


if __name__ == "__main__":
    main()
