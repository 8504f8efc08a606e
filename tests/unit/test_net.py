"""What is left of a change when only some columns are looked at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from slackwater.delta import ADDED, ID, KEPT, REMOVED, Moved
from slackwater.plan import Column, Scan
from slackwater.run.net import Net, columns_read, net_change
from slackwater.trace import VERSION, Batch, Files, Trace

Row = tuple[Any, ...]
TYPES = {"bigint": pa.int64(), "string": pa.string(), "double": pa.float64()}
TABLE = Trace("t", (Column("a", "bigint"), Column("b", "string"), Column("c", "double")), "bigint")


class Written:
    """A trace that grows by batches of rows: (identity, a, b, c)."""

    def __init__(self, root: Path) -> None:
        self.files = Files(root)
        self.trace = TABLE
        self.root = root

    def batch(self, added: list[Row], removed: list[Row] = []) -> None:  # noqa: B006
        version = self.trace.version + 1
        directory = self.files.batch_directory("t", f"step{version}")
        for side, rows in ((ADDED, added), (REMOVED, removed)):
            if rows:
                columns = {c.name: pa.array([row[at + 1] for row in rows], TYPES[c.type]) for at, c in enumerate(TABLE.columns)}
                hidden = {ID: pa.array([row[0] for row in rows], pa.int64()), VERSION: pa.array([version] * len(rows), pa.int64())}
                self.files.write_arrow(pa.table({**columns, **hidden}), directory, side)
        came, left = self.files.written(directory)
        self.trace = self.trace.with_batch(Batch(version, f"step{version}", came, left))

    def net(self, *columns: str, after: int = 1) -> Net | None:
        directory = str(self.root / "traces" / "t" / "scratch")
        return net_change(self.trace, after, self.trace.version, columns, self.files, directory)

    def rows(self, net: Net, part: str, *columns: str) -> Counter[Row]:
        reading = net.parts[part]
        if not reading.files:
            return Counter()
        rows = self.files.rows(reading).select(list(columns))
        return Counter(tuple(row.values()) for row in rows.to_pylist())


@pytest.fixture
def written(tmp_path: Path) -> Written:
    found = Written(tmp_path)
    found.batch([(1, 1, "x", 0.5), (2, 2, "y", 0.5), (3, 2, "y", 0.5)])
    return found


def test_an_update_of_what_is_not_read_moves_nothing(written: Written) -> None:
    written.batch([(4, 1, "new", 0.5)], [(1, 1, "x", 0.5)])
    net = written.net("a", "c")
    assert net is not None and net.moved == Moved(False, False)
    assert written.rows(net, KEPT, "a", "c") == Counter({(1, 0.5): 1, (2, 0.5): 2})


def test_of_several_changes_those_that_show_are_left(written: Written) -> None:
    written.batch([(4, 1, "new", 0.5), (5, 7, "y", 0.5)], [(1, 1, "x", 0.5), (2, 2, "y", 0.5)])
    written.batch([(6, 9, "z", 0.5)])
    net = written.net("a")
    assert net is not None and net.moved == Moved(True, True)
    assert written.rows(net, ADDED, "a") == Counter({(7,): 1, (9,): 1})
    assert written.rows(net, REMOVED, "a") == Counter({(2,): 1})
    assert written.rows(net, KEPT, "a") == Counter({(1,): 1, (2,): 1})


def test_rows_that_look_the_same_are_counted(written: Written) -> None:
    written.batch([(4, 2, "p", 0.5), (5, 2, "q", 0.5), (6, 2, "r", 0.5)], [(2, 2, "y", 0.5), (3, 2, "y", 0.5)])
    net = written.net("a")
    assert net is not None and net.moved == Moved(True, False)
    assert written.rows(net, ADDED, "a") == Counter({(2,): 1})
    assert written.rows(net, KEPT, "a") == Counter({(1,): 1, (2,): 2})


def test_without_columns_only_numbers_of_rows_count(written: Written) -> None:
    written.batch([(4, 8, "p", 0.5)], [(2, 2, "y", 0.5)])
    net = written.net()
    assert net is not None and net.moved == Moved(False, False)


def test_what_shows_is_left_alone(written: Written) -> None:
    written.batch([(4, 1, "new", 0.5)], [(1, 1, "x", 0.5)])
    assert written.net("b") is None
    written.batch([(5, 1, "newer", 0.5)])
    assert written.net("a", after=2) is None  # nothing has left


def test_zero_and_minus_zero_are_not_the_same_and_nan_is(written: Written) -> None:
    nan = float("nan")
    written.batch([(4, 5, "n", nan), (5, 6, "n", 0.0)])
    written.batch([(6, 5, "m", nan), (7, 6, "m", -0.0)], [(4, 5, "n", nan), (5, 6, "n", 0.0)])
    net = written.net("a", "c", after=2)
    assert net is not None
    assert [str(row) for row in written.rows(net, ADDED, "a", "c")] == ["(6, -0.0)"]
    assert [str(row) for row in written.rows(net, REMOVED, "a", "c")] == ["(6, 0.0)"]


def test_a_path_that_asks_for_identities_sees_the_whole_change() -> None:
    plain = Scan("t@added", ("a",), (Column("x", "bigint"),))
    named = Scan("t@added", ("a", ID), (Column("x", "bigint"), Column("y", "string")))
    assert columns_read(plain, "t") == ("a",)
    assert columns_read(named, "t") is None
    assert columns_read(plain, "other") == ()
