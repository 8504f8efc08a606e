"""Which batches become one: never any that somebody needs to tell apart, and few enough that rows are not rewritten for ever."""

from __future__ import annotations

import math
from random import Random

import pytest

from slackwater.plan import Column
from slackwater.trace import Batch, File, Range, Trace, foldable, worth_folding
from slackwater.trace.ranges import LARGE, LASTING, MANY


def batch(version: int, added: int, removed: int = 0, bytes: int = 100) -> Batch:
    return Batch(version, f"step {version}", (File(f"a{version}", added, bytes),), (File(f"r{version}", removed, 1),) if removed else ())


def trace(*batches: Batch) -> Trace:
    return Trace("t", (Column("x", "int"),), "bigint", batches)


SMALL = trace(*(batch(version, 1) for version in range(1, 9)))


def test_what_nobody_needs_to_tell_apart_is_folded_whole() -> None:
    assert worth_folding(SMALL, set()) == [Range(0, 8)]
    assert worth_folding(SMALL, {8}) == [Range(0, 8)]


def test_versions_that_are_needed_stay_apart() -> None:
    assert foldable(SMALL, {3, 7, 8}) == [Range(0, 3), Range(3, 7)]
    assert worth_folding(SMALL, {3, 7, 8}) == [Range(3, 7)]


def test_a_needed_version_within_a_folded_batch_cuts_nothing() -> None:
    gaps = trace(batch(4, 1), batch(6, 1), batch(9, 1))
    assert foldable(gaps, {5}) == [Range(5, 9)]
    assert Range(5, 9).of(gaps) == gaps.batches[1:]
    assert Range(0, 6).splits({5}) and not Range(0, 6).splits({6})


def test_one_batch_is_never_folded() -> None:
    assert foldable(trace(batch(1, 5)), set()) == worth_folding(trace(), set()) == []


def test_a_large_batch_waits_until_the_others_have_grown() -> None:
    news = [batch(version, 1000) for version in range(2, 7)]
    assert worth_folding(trace(batch(1, 100_000), *news), set()) == [Range(1, 6)]
    assert worth_folding(trace(batch(1, 20_000), *news), set()) == [Range(0, 6)]


def test_batches_that_have_many_rows_wait_for_more_of_them() -> None:
    lasting = [batch(version, LASTING) for version in range(1, MANY + 1)]
    assert worth_folding(trace(*lasting[:-1]), set()) == []
    assert worth_folding(trace(*lasting), set()) == [Range(0, MANY)]


def test_rows_that_left_do_not_wait_for_that() -> None:
    lasting = [batch(version, LASTING) for version in range(1, 4)]
    assert worth_folding(trace(*lasting, batch(4, LASTING, 1)), set()) == [Range(0, 4)]


def test_a_file_of_a_good_size_is_rewritten_only_to_be_rid_of_rows() -> None:
    good = batch(1, 20_000, bytes=LARGE)
    assert worth_folding(trace(good, *(batch(version, 2000) for version in range(2, 7))), set()) == [Range(1, 6)]
    assert worth_folding(trace(good, *(batch(version, 2000, 2000) for version in range(2, 7))), set()) == [Range(0, 6)]


def test_a_fold_in_the_middle_keeps_older_and_newer_batches() -> None:
    folded = SMALL.folded(2, batch(5, 3))
    assert [each.version for each in folded.batches] == [1, 2, 5, 6, 7, 8]
    assert folded.rows == SMALL.rows and folded.version == SMALL.version


@pytest.mark.parametrize("seed", range(4))
def test_batches_and_rewriting_grow_with_the_logarithm(seed: int) -> None:
    random = Random(seed)
    now, rewritten, arrived = trace(), 0, 0
    for version in range(1, 3001):
        new = batch(version, random.choice([1, 10, 1000, 5000]))
        arrived += max(new.rows, 1000)
        now = now.with_batch(new)
        while ranges := worth_folding(now, {now.version - 1}):
            rows = sum(each.rows for each in ranges[0].of(now))
            rewritten += rows
            now = now.folded(ranges[0].after, batch(ranges[0].upto, rows))
    assert len(now.batches) <= 4 * math.log2(arrived / 1000)
    assert rewritten <= 4 * arrived * math.log2(arrived / 1000)
