"""What the 201st small refresh costs over the first: a view must not grow dearer with the number of its changes.

Each round inserts a hundred orders with their lines, changes ten and deletes ten, and then refreshes three views: a join with a top, an
outer join with two groupings, a large grouping with a semi join. Folding goes on in the background, and its CPU counts. Both ends are
medians of eleven rounds, for a single one is noise: the first eleven after five that warm up, and eleven around the 201st. In the end every
view is compared with recomputing.

    python -m bench.repeated --engines sail --scale-factor 0.1
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import slackwater
from bench import tpch
from bench.changes import NEW_KEYS
from bench.measure import Cost, measured, report
from bench.refresh import check_answer, load
from tests.oracle import without_limit

VIEWS = ("q3", "q13", "q18")
WARM_UP, AROUND = 5, 11
ROUNDS = WARM_UP + 201 + AROUND // 2
ORDERS = 100


def run(engine: str, scale_factor: float, folder: Path) -> list[Cost]:
    """What the refreshes of each round cost."""
    data, texts, costs = tpch.generate(scale_factor), tpch.queries(scale_factor), []
    orders, lines = (_with_plain_words(pq.read_table(data / f"{name}.parquet")) for name in ("orders", "lineitem"))
    orders = orders.slice(0, ORDERS)
    lines = lines.filter(pc.is_in(lines["l_orderkey"], value_set=orders["o_orderkey"].combine_chunks()))
    with slackwater.connect(folder / "warehouse", engine=engine) as db:
        load(db, scale_factor)
        for name in VIEWS:
            db.sql(f"CREATE MATERIALIZED VIEW {name} WITH (trigger = 'manual') AS {texts[name]}")
        for number in range(ROUNDS):
            shift, old = (number + 1) * NEW_KEYS, number * 320
            db.insert("orders", _moved(orders, "o_orderkey", shift))
            db.insert("lineitem", _moved(lines, "l_orderkey", shift))
            db.sql(f"UPDATE lineitem SET l_quantity = l_quantity % 50 + 1 WHERE l_orderkey BETWEEN {old} AND {old + 40}")
            db.sql(f"DELETE FROM orders WHERE o_orderkey BETWEEN {old + 160} AND {old + 200}")
            _, cost = measured(lambda: [db.sql(f"REFRESH VIEW {name}") for name in VIEWS])
            costs.append(cost)
            if number % 20 == 0:
                print(f"{engine}: refresh {number} took {cost.cpu:.2f} CPU-s ({cost.seconds:.2f} s)", flush=True)
        for name in VIEWS:
            view, batch = db.sql(f"SELECT * FROM {name}").to_arrow(), db.sql(texts[name]).to_arrow()
            unlimited = partial(_all_of, db, texts[name])
            check_answer(name, view, batch, unlimited, f"{name} on {engine} at the end")
    return costs


def _all_of(db: slackwater.Session, text: str) -> pa.Table:
    return db.sql(without_limit(text)).to_arrow()


def _with_plain_words(rows: pa.Table) -> pa.Table:
    """Arrow cannot filter words that are views."""
    words = [field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field for field in rows.schema]
    return rows.cast(pa.schema(words))


def _moved(rows: pa.Table, key: str, shift: int) -> pa.Table:
    at = rows.schema.get_field_index(key)
    return rows.set_column(at, key, pc.add(rows[key], shift))


def ratio(costs: list[Cost]) -> float:
    first, last = costs[WARM_UP : WARM_UP + AROUND], costs[-AROUND:]
    return round(median(cost.cpu for cost in last) / median(cost.cpu for cost in first), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale-factor", type=float, default=0.1, help="of TPC-H (default %(default)s)")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=["sail", "spark"], help="sail, spark, or both (default)")
    options = parser.parse_args()
    named = {}
    for engine in options.engines:
        with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
            named[("" if engine == "spark" else f"{engine}_") + "refresh_201"] = ratio(run(engine, options.scale_factor, Path(folder)))
    report("repeated", named)


if __name__ == "__main__":
    main()
