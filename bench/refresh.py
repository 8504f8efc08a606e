"""What a refresh costs, against recomputing the same query over plain Parquet files of the same rows.

All 22 TPC-H queries are views of one warehouse. A round changes the tables, writes them out as plain files, and then for every query
refreshes the view and recomputes the text, the one first in even rounds and the other in odd ones. Every answer is checked. Rounds that
warm up come first: a JVM goes on compiling for minutes, which costs both sides as much as the work itself.

CPU is counted in ticks of a hundredth of a second, and nothing counts as less than one: a view whose tables did not change costs a tick.

What is worth folding is folded after each change, before anything is measured, as the background would: that is for all who read the
tables, and told by itself. The plain files of the other side come for nothing, too.

    python -m bench.refresh                                     everything: more than an hour
    python -m bench.refresh --engines sail --mixes rf:0.001     a piece; pieces of one commit add up
    python -m bench.refresh --scale-factor 0.1 --rounds 2 --engines sail --mixes rf:0.001 --queries q3,q17
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import slackwater
from bench import tpch
from bench.changes import oldest, random_rows, refresh_functions
from bench.measure import Cost, commit, geometric_mean, last_result, measured, report
from slackwater.run.fold import fold_all
from tests.oracle import check_rows, check_top, difference, without_limit
from tests.tpch_steps import LIMITED
from tests.values import rows_of

MIXES = ("rf:0.001", "rf:0.01", "rf:0.1", "random:0.001", "random:0.01")
TICK = 0.01


@dataclass
class Ratio:
    """The costs of one query under one mix, round by round."""

    refresh: list[Cost] = field(default_factory=list)
    recompute: list[Cost] = field(default_factory=list)

    @property
    def cpu(self) -> float:
        return _median(self.refresh) / _median(self.recompute)


def _median(costs: list[Cost]) -> float:
    return median(max(cost.cpu, TICK) for cost in costs)


class Bench:
    """One engine's warehouse with the tables and the views, and the tables as plain files beside it."""

    def __init__(self, engine: str, scale_factor: float, names: list[str], folder: Path) -> None:
        self.engine = engine
        self.texts = {name: text for name, text in tpch.queries(scale_factor).items() if name in names}
        self.plain = folder / "plain"
        self.round = 0
        self.gone = 0  # orders with keys up to here
        self.folding: list[Cost] = []  # by round
        self.db = slackwater.connect(folder / "warehouse", engine=engine, folding="off")
        self.orders = load(self.db, scale_factor)
        for name in tpch.TABLES:
            self._write_plain(name)
        create_views(self.db, self.texts)

    def refresh(self, name: str) -> Cost:
        return measured(lambda: self.db.sql(f"REFRESH VIEW {name}"))[1]

    def how(self, name: str) -> str:
        """What the last refresh of a view chose, and why."""
        last = self.db.sql(f"DESCRIBE HISTORY {name}").to_arrow().slice(0, 1).to_pylist()[0]
        return f"{last['how']}; {last['paths']}"

    def change(self, mix: str) -> None:
        """One round of changes, in the warehouse and in the plain files."""
        kind, share = mix.split(":")
        if kind == "rf":
            gone, self.gone = self.gone, self.gone + oldest(float(share), self.orders)
            statements, changed = refresh_functions(float(share), self.round, gone, self.gone), ["orders", "lineitem"]
        else:
            statements, changed = random_rows(float(share), self.round), list(tpch.TABLES)
        self.round += 1
        for statement in statements:
            self.db.sql(statement)
        self.folding.append(measured(lambda: fold_all(self.db._warehouse))[1])
        for name in changed:
            self._write_plain(name)

    def both(self, name: str, refresh_first: bool) -> tuple[Cost, Cost]:
        """The costs of refreshing a view and of recomputing it, whose answers must be the same."""
        refresh = self.refresh(name) if refresh_first else None
        batch, recompute = measured(lambda: self.db.spark.sql(self.texts[name]).toArrow())
        refresh = refresh or self.refresh(name)
        self.check(name, batch)
        return refresh, recompute

    def check(self, name: str, batch: Any) -> None:
        view = self.db.sql(f"SELECT * FROM {name}").to_arrow()
        check_answer(name, view, batch, lambda: self.db.spark.sql(without_limit(self.texts[name])).toArrow(), f"{name} on {self.engine}")

    def _write_plain(self, name: str) -> None:
        folder = self.plain / f"{name}-{self.round}"
        self.db.sql(f"SELECT * FROM {name}").to_spark().write.mode("overwrite").parquet(str(folder))
        self.db.spark.read.parquet(str(folder)).createOrReplaceTempView(name)
        for old in self.plain.glob(f"{name}-*"):
            if old != folder:
                shutil.rmtree(old)


def load(db: slackwater.Session, scale_factor: float) -> int:
    """Create TPC-H's tables and fill them. How many orders there are."""
    data = tpch.generate(scale_factor)
    for name, table in tpch.TABLES.items():
        db.sql(table.create)
        db.sql(f"COPY {name} FROM '{data / f'{name}.parquet'}'")
    return int(pq.read_metadata(data / "orders.parquet").num_rows)


def create_views(db: slackwater.Session, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        create = f"CREATE MATERIALIZED VIEW {name} WITH (refresh = 'strict', trigger = 'manual') AS {text}"
        _, cost = measured(partial(db.sql, create))
        print(f"computed {name} for the first time, {cost.cpu:.1f} CPU-s ({cost.seconds:.1f} s)", flush=True)


def check_answer(name: str, view: pa.Table, batch: pa.Table, without: Callable[[], pa.Table], what: str) -> None:
    """A view must be what its text gives; of rows that tie at a LIMIT, any. `without`: what the text gives without its limit."""
    rows, expected = rows_of(view), rows_of(batch)
    if name in LIMITED and difference(rows, expected):
        key = [view.schema.names.index(column) for column in LIMITED[name]]
        check_top(rows, expected, rows_of(without()), key, view.schema.types, what)
    else:
        check_rows(rows, expected, view.schema.types, what)


def run(engine: str, options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, dict[str, Ratio]]]:
    """The ratios of every query on one engine, mix by mix."""
    bench = Bench(engine, options.scale_factor, options.queries, folder)
    try:
        for mix in options.mixes:
            ratios = {name: Ratio() for name in bench.texts}
            warm_up = options.warm_up if mix == options.mixes[0] else min(2, options.warm_up)
            for number in range(-warm_up + 1, options.rounds + 1):
                bench.change(mix)
                for name, ratio in ratios.items():
                    refresh, recompute = bench.both(name, refresh_first=number % 2 == 0)
                    if number > 0:
                        ratio.refresh.append(refresh)
                        ratio.recompute.append(recompute)
                    print(
                        f"{engine} {mix} round {number} {name}: refresh {refresh.cpu:.2f} CPU-s ({refresh.seconds:.2f} s), "
                        f"recompute {recompute.cpu:.2f} ({recompute.seconds:.2f} s){'' if number > 0 else ', warming up'}; "
                        f"{bench.how(name)}",
                        flush=True,
                    )
            _show(engine, mix, ratios, bench.folding[-options.rounds :])
            yield mix, ratios
    finally:
        bench.db.close()


def _show(engine: str, mix: str, ratios: dict[str, Ratio], folding: list[Cost]) -> None:
    print(f"\n{engine}, {mix}: CPU of a refresh over CPU of recomputing, medians")
    for name, ratio in ratios.items():
        print(f"  {name:<4} {_median(ratio.refresh):8.2f} / {_median(ratio.recompute):8.2f} = {ratio.cpu:6.2f}")
    print(f"  geometric mean {geometric_mean(ratio.cpu for ratio in ratios.values()):.3f}")
    print(f"  folding: {sum(cost.cpu for cost in folding) / len(folding):.2f} CPU-s a round, for all who read\n", flush=True)


Details = dict[str, dict[str, float]]  # by engine, mix and side, of each query: CPU seconds, the median


def details(engine: str, mix: str, ratios: dict[str, Ratio]) -> Details:
    return {
        f"{engine} {mix} refresh": {name: round(_median(ratio.refresh), 3) for name, ratio in ratios.items()},
        f"{engine} {mix} recompute": {name: round(_median(ratio.recompute), 3) for name, ratio in ratios.items()},
    }


def figures(told: Details) -> dict[str, float]:
    named: dict[str, float] = {}
    for key, refreshes in told.items():
        engine, mix, side = key.split()
        if side == "refresh":
            kind, share = mix.split(":")
            prefix = "" if engine == "spark" else f"{engine}_"
            ratios = [cost / told[f"{engine} {mix} recompute"][name] for name, cost in refreshes.items()]
            named[f"{prefix}{'' if kind == 'rf' else 'random_'}cpu_ratio_{float(share) * 100:g}pct"] = round(geometric_mean(ratios), 3)
            named[f"{prefix}worst_ratio"] = max(named.get(f"{prefix}worst_ratio", 0), round(max(ratios), 3))
    return named


def main() -> None:
    def listed(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=1, help="1 is about 6 million lineitems (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds of each mix (default %(default)s)")
    parser.add_argument(
        "--warm-up", type=int, default=6, help="rounds before the first mix is measured; the others have two (default %(default)s)"
    )
    parser.add_argument("--engines", type=listed, default=["sail", "spark"], help="sail, spark, or both (default)")
    parser.add_argument("--mixes", type=listed, default=list(MIXES), help=f"kind:share, of {','.join(MIXES)} (default: all)")
    parser.add_argument("--queries", type=listed, default=list(tpch.QUERIES), help="q1,q2,... (default: all)")
    parser.add_argument("--directory", type=Path, default=None, help="where to put the warehouse (default: a temporary folder)")
    options = parser.parse_args()
    before = last_result("refresh")
    told: Details = before["details"] if before.get("commit") == commit() else {}  # a run may be had in pieces
    for engine in options.engines:
        with tempfile.TemporaryDirectory(prefix="slackwater-bench-", dir=options.directory) as folder:
            for mix, ratios in run(engine, options, Path(folder)):
                told |= details(engine, mix, ratios)
                report("refresh", figures(told), details=told)


if __name__ == "__main__":
    main()
