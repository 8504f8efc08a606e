"""Samples that are kept: so many rows of a table or a stream, each as likely as any other.

A sample has a trace like a table, and is brought up to date by what has moved in its source since: of the rows that came it takes its
share, for rows of its own; those that left, leave it; and where it then has fewer than it could, it takes others of those that were there
before. A row of a sample has the identity that it has in its source.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.catalog import Done, Sample, Snapshot, Stream, Table, View
from slackwater.delta import ADDED, ID, KEPT, REMOVED
from slackwater.errors import QueryError
from slackwater.plan import Column
from slackwater.run.defining import Allowed, already, check_options, plain
from slackwater.run.progress import FlushDone
from slackwater.run.warehouse import Step, Warehouse
from slackwater.spark.arrow import arrow_schema
from slackwater.sql.kinds import CreateSample
from slackwater.stream import draw, grow
from slackwater.trace import VERSION, Files, Part, Trace

Luck = np.random.Generator


def seed_named(text: str) -> int:
    """The seed that an option names."""
    if not text.isdigit():
        raise QueryError(f"'{text}' is no seed", hint="write a whole number, as in WITH (seed = 7)")
    return int(text)


SAMPLE_OPTIONS: Mapping[str, Allowed] = {"seed": seed_named}


def create_sample(statement: CreateSample, warehouse: Warehouse) -> str:
    """CREATE SAMPLE s ON t SIZE n: of all rows of a table, and of those that come to a stream from now on."""
    check_options(statement.options, SAMPLE_OPTIONS, statement.text)
    with warehouse.writing:
        step = Step(warehouse)
        if (message := already(statement.name, "sample", step.before, statement.if_not_exists, False, statement.text)) is not None:
            return message
        source = step.before.relation(statement.source)
        if not isinstance(source, Table) or isinstance(source, Sample):
            hint = (
                f"sample a table or a stream; SELECT * FROM {source.name} TABLESAMPLE RESERVOIR ({statement.size} ROWS) takes one of this"
            )
            raise QueryError(f'"{source.name}" is a {source.kind}', text=statement.text, place=statement.source.place, hint=hint)
        seed = seed_named(statement.options["seed"]) if "seed" in statement.options else random.getrandbits(32)
        sample = Sample(
            str(statement.name), source.columns, source.primary_key, source.required, plain(statement.options),
            source=source.name, size=statement.size, seed=seed,
        )  # fmt: skip
        key, read = sample.name.lower(), source.name.lower()
        step.create_trace(Trace(key, sample.columns))
        step.changes.cursors[key] = {read: step.traces[read].version if isinstance(source, Stream) else 0}
        try:
            sample = _bring_up_to_date(sample, step, statement.text)
            step.done([Done("create sample", sample.name, statement.text, time.time(), 0.0, step=step.id)])
            step.commit()
        except BaseException:
            step.abandon()
            raise
        if isinstance(source, Stream):
            return f"sample {sample.name} created: {sample.size} of the rows that come to {source.name} from now on"
        return f"sample {sample.name} created: {step.traces[key].rows} of {sample.population} rows"


def bring_samples_up_to_date(samples: Iterable[Sample], warehouse: Warehouse, statement: str) -> None:
    """Let samples see what has moved in their sources."""
    with warehouse.writing:
        snapshot = warehouse.catalog.snapshot()
        behind = [sample for sample in samples if is_behind(sample, snapshot)]
        if not behind:
            return
        step = Step(warehouse)
        try:
            for sample in behind:
                _bring_up_to_date(sample, step, statement)
            step.commit()
        except BaseException:
            step.abandon()
            raise


def is_behind(sample: Sample, snapshot: Snapshot) -> bool:
    source = sample.source.lower()
    return snapshot.cursors[sample.name.lower()][source] != snapshot.traces[source].version


def samples_below(names: Iterable[str], snapshot: Snapshot) -> list[Sample]:
    """The samples among some relations, and those that the views among them read, however far below."""
    found: dict[str, Sample] = {}
    seen, waiting = set[str](), [name.lower() for name in names]
    while waiting:
        relation = snapshot.relations.get(name := waiting.pop())
        if name in seen or relation is None:
            continue
        seen.add(name)
        if isinstance(relation, Sample):
            found[name] = relation
        elif isinstance(relation, View):
            waiting += relation.reads
    return list(found.values())


def _bring_up_to_date(sample: Sample, step: Step, statement: str) -> Sample:
    """Write what the moves of its source change in a sample."""
    began, key, source = time.time(), sample.name.lower(), sample.source.lower()
    files, own = step.warehouse.files, step.traces[key]
    before = _with_numbers(files.rows_as(own.at(own.version), arrow_schema((*sample.columns, Column(ID, "string")))))
    after, population = _moved(sample, before, (step.cursor(key) or {})[source], step.traces[source], files)
    added, removed = _without(after, before), _without(before, after)
    directory = step.directory(key)
    for side, changed in ((ADDED, added), (REMOVED, removed)):
        if changed.num_rows:
            files.write_arrow(_with_names(changed, step.next_version(key)), directory, side)
    step.take(key, directory)
    sample = replace(sample, population=population)
    step.changes.put(sample)
    step.changes.cursors[key] = {source: step.traces[source].version}
    seconds = time.time() - began
    step.warehouse.tell(FlushDone(sample.name, key, added.num_rows, removed.num_rows, seconds))
    step.done([Done("sample", sample.name, statement, began, round(seconds, 3), None, added.num_rows, removed.num_rows, step=step.id)])
    return sample


def _moved(sample: Sample, rows: pa.Table, seen: int, source: Trace, files: Files) -> tuple[pa.Table, int]:
    """The rows of a sample after all that has moved since a version of its source, and of how many they are."""
    now, population = source.version, sample.population
    schema = arrow_schema((*sample.columns, Column(ID, "bigint")))
    luck = np.random.default_rng((sample.seed, seen, now))
    went = source.part(REMOVED, seen, now)
    if went.files:
        left = files.rows(went, [])
        rows, population = _without(rows, left), population - left.num_rows
    missing = min(sample.size, population) - rows.num_rows
    if missing > 0:
        rows = pa.concat_tables([rows, _others(files.there(source.part(KEPT, seen, now)), rows, missing, files, schema, luck)])
    came = files.there(source.part(ADDED, seen, now))
    grown = grow(rows.num_rows, population, [part.rows for part in came], sample.size, luck)
    taken = [files.rows_at(part, numbers, schema) for part, numbers in zip(came, grown.taken, strict=True) if len(numbers)]
    return pa.concat_tables([rows.take(pa.array(grown.stay)), *taken]), population + sum(part.rows for part in came)


def _others(parts: list[Part], sampled: pa.Table, count: int, files: Files, schema: pa.Schema, luck: Luck) -> pa.Table:
    """So many rows of some parts that are not sampled yet. Of one row more than are sampled, one is not."""
    [numbers] = draw([sum(part.rows for part in parts)], count + sampled.num_rows, luck)
    rows = _without(rows_numbered(parts, numbers, files, schema), sampled)
    return rows.take(pa.array(np.sort(luck.permutation(rows.num_rows)[:count])))


def rows_numbered(parts: list[Part], numbers: np.ndarray, files: Files, schema: pa.Schema) -> pa.Table:
    """The rows that have these numbers among those of all parts."""
    ends = np.cumsum([part.rows for part in parts], dtype=np.int64)
    cuts = np.searchsorted(numbers, [0, *ends])
    shares = [(part, numbers[cuts[at] : cuts[at + 1]] - (ends[at] - part.rows)) for at, part in enumerate(parts)]
    some = [each for each in shares if len(each[1])]
    found = files.place.each(lambda each: files.rows_at(each[0], each[1], schema), some)
    return pa.concat_tables([schema.empty_table(), *found])


def _without(rows: pa.Table, others: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows[ID], value_set=others[ID].combine_chunks())))


def _with_numbers(rows: pa.Table) -> pa.Table:
    return rows.set_column(rows.num_columns - 1, ID, rows[ID].cast(pa.int64()))


def _with_names(rows: pa.Table, version: int) -> pa.Table:
    """As a row may leave a sample and come back, its identity is no number that is given once."""
    named = rows.set_column(rows.num_columns - 1, ID, rows[ID].cast(pa.string()))
    return named.append_column(VERSION, pa.repeat(pa.scalar(version, pa.int64()), rows.num_rows)).combine_chunks()
