"""Samples that a query takes: drawn when it is asked, and then read like any relation.

Of a table they are drawn by the numbers of its rows, in the order of their identities, which folding does not change: with the same seed,
the same rows of the same table. Of what a query computes, the engine draws them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.catalog import Sample, Snapshot, Table
from slackwater.errors import QueryError
from slackwater.plan import Column
from slackwater.plan.render import quote
from slackwater.run.compiled import compiled
from slackwater.run.samples import rows_numbered
from slackwater.run.warehouse import Warehouse
from slackwater.spark.arrow import arrow_schema
from slackwater.sql import relations_in
from slackwater.sql.relations import Relation
from slackwater.sql.sampling import Sampling, samplings_in, with_samples
from slackwater.stream import draw
from slackwater.trace import Trace

POPULATION, WEIGHT = Column("_population", "bigint"), Column("_weight", "double")  # what a query may ask of a sample's rows
_WEIGHED = re.compile(rf"\b({POPULATION.name}|{WEIGHT.name})\b", re.IGNORECASE)
DRAWN = "sw drawn "  # before the number of a sample
KEY = "sw_key"  # by which the rows of a query are ordered by chance
ENOUGH = 64  # times as many rows as are wanted are ordered by the engine, if nothing is left out on the way,
ENOUGH_HERE = 4  # or come to this process
LEAST = 1000  # and so many more
_numbers = itertools.count(1)


def samples_of_tables(text: str, snapshot: Snapshot, warehouse: Warehouse, versions: Mapping[str, int]) -> dict[Relation, str]:
    """For each mention of a table of which a query takes a sample, the name of that; and of a sample that is kept, with its weights."""
    names, is_weighed = {}, _WEIGHED.search(text) is not None
    for found in relations_in(text) if is_weighed or samplings_in(text) else ():
        relation = snapshot.relations.get(found.name.lower())
        if not isinstance(relation, Table):
            continue
        trace = snapshot.traces[relation.name.lower()]
        version = versions.get(trace.name, trace.version)
        if found.sampling is not None:
            names[found] = _drawn(found.sampling, relation, trace, version, warehouse, is_weighed)
        elif isinstance(relation, Sample) and is_weighed:
            names[found] = _weighed(relation, trace, version, warehouse)
    return names


def with_samples_of_queries(text: str, original: str, known: set[str], drawn: set[str], snapshot: Snapshot, warehouse: Warehouse) -> str:
    """A text with a sample in the place of each query of which it takes one.

    Its relations have the engine's names, which are `known`; some are samples that were `drawn` already. `original`: with the user's.
    """
    if not samplings_in(text):
        return text
    rows = max((_rows_of(found.name, snapshot, warehouse) for found in relations_in(original)), default=0)

    def sample(of: str, sampling: Sampling) -> str:
        read = [found.name for found in relations_in(f"SELECT * FROM {of}")]
        if not of.startswith("(") and read and read[0] in drawn:
            return quote(read[0])  # it is one already
        # What names a part of the statement only the engine knows.
        name = _drawn_of_query(of, sampling, rows, warehouse) if known.issuperset(read) else None
        if name is None:
            return warehouse.engine.sampled(of, sampling.rows, sampling.seed)
        known.add(name)
        return quote(name)

    return with_samples(text, sample)


def _drawn(sampling: Sampling, table: Table, trace: Trace, version: int, warehouse: Warehouse, is_weighed: bool) -> str:
    """Draw a sample of a table, and give it a name."""
    parts = warehouse.files.there(trace.at(version))
    population = sum(part.rows for part in parts)
    luck = np.random.default_rng(sampling.seed)
    rows = rows_numbered(parts, draw([population], sampling.rows, luck)[0], warehouse.files, arrow_schema(table.columns))
    columns = table.columns
    if is_weighed:
        columns = (*columns, POPULATION, WEIGHT)
        for column, value in ((POPULATION, population), (WEIGHT, _weight(population, rows.num_rows))):
            rows = rows.append_column(column.name, pa.repeat(pa.scalar(value, arrow_schema((column,)).field(0).type), rows.num_rows))
    return warehouse.engine.name_rows(f"{DRAWN}{next(_numbers)}", rows.combine_chunks(), columns)


def _drawn_of_query(of: str, sampling: Sampling, rows: int, warehouse: Warehouse) -> str | None:
    """Draw a sample of what an engine computes from relations of so many rows, and name it. None: it cannot be computed by itself.

    Rows are ordered by chance, and the first are taken. To order all of them would cost more than to compute them: only those are that
    chance puts before some point. Where these are too few, it is asked again with a point further away.
    """
    engine = warehouse.engine
    chance = engine.chance(sampling.seed)
    try:
        columns = engine.columns_of(f"SELECT * FROM {of}")
    except QueryError:
        return None  # the statement as a whole will tell what is wrong
    if len({column.name.lower() for column in columns}) < len(columns):
        return None
    enough, order = ENOUGH_HERE, ""
    if engine.orders_by_chance:
        enough, order = ENOUGH, f" ORDER BY {KEY} LIMIT {sampling.rows}"
    upto = (enough * sampling.rows + LEAST) / max(rows, 1)
    while True:
        where = f" WHERE {KEY} < {upto!r}" if upto < 1 else ""
        found = engine.arrow(f"SELECT * FROM (SELECT *, {chance} AS {KEY} FROM {of}){where}{order}")
        if found.num_rows >= sampling.rows or upto >= 1:
            first = pc.select_k_unstable(found, sampling.rows, [(KEY, "ascending")]) if found.num_rows > sampling.rows else None
            found = (found if first is None else found.take(first)).drop_columns([KEY])
            return engine.name_rows(f"{DRAWN}{next(_numbers)}", found.combine_chunks(), columns)
        upto *= 2 * sampling.rows / (found.num_rows + 1)


def _weighed(sample: Sample, trace: Trace, version: int, warehouse: Warehouse) -> str:
    """A sample that is kept, with what a query asks of it."""
    kept = warehouse.engine.register(f"{trace.name}@{version}", trace, trace.at(version), warehouse.files, hidden=False)
    weight = f"CAST({_weight(sample.population, trace.rows)!r} AS DOUBLE)"
    columns = f"CAST({sample.population} AS BIGINT) AS {POPULATION.name}, {weight} AS {WEIGHT.name}"
    return warehouse.engine.define(f"{trace.name}@{version} weighed", f"SELECT *, {columns} FROM {quote(kept)}")


def _weight(population: int, sampled: int) -> float:
    return population / sampled if sampled else 0.0


def _rows_of(name: str, snapshot: Snapshot, warehouse: Warehouse) -> int:
    """At most so many rows come from a relation."""
    relation = snapshot.relation(name)
    traces = (relation.name.lower(),) if isinstance(relation, Table) else compiled(relation.name, snapshot, warehouse).buffers
    return max(snapshot.traces[trace].rows for trace in traces)
