"""What a small reading gives when it is read without the engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slackwater.delta import ADDED, ID, KEPT, REMOVED, SIDE
from slackwater.errors import WarehouseError
from slackwater.plan import Column
from slackwater.trace import VERSION, Batch, Files, Reading, Trace, folder_of, place_at
from slackwater.trace import contents as found_by_keys
from slackwater.trace.contents import Found
from slackwater.trace.disk import Disk
from slackwater.trace.files import COLUMN
from slackwater.trace.unpacked import Unpacked

# A group that comes, changes twice and goes, beside one that stays: what arrived and what left, batch by batch.
HISTORY: tuple[tuple[dict[str, int], dict[str, int]], ...] = (
    ({"g": 1, "h": 10}, {}),
    ({"g": 2}, {"g": 1}),
    ({"g": 3, "i": 30}, {"g": 2}),
    ({}, {"g": 3, "i": 30}),
    ({"g": 5}, {}),
)


@pytest.fixture
def written(tmp_path: Path) -> tuple[Files, Trace]:
    files, trace = Files(tmp_path), Trace("t", (Column("a", "bigint"),))
    for version, sides in enumerate(HISTORY, start=1):
        directory = files.batch_directory("t", f"s{version}")
        for side, rows in zip((ADDED, REMOVED), sides, strict=True):
            if rows:
                table = pa.table({"a": list(rows.values()), ID: list(rows), VERSION: [version] * len(rows)})
                files.write_arrow(table, directory, side)
        trace = trace.with_batch(Batch(version, f"s{version}", *files.written(directory)))
    return files, trace


@pytest.mark.parametrize(
    ("version", "rows"),
    [(1, {"g": 1, "h": 10}), (2, {"g": 2, "h": 10}), (3, {"g": 3, "h": 10, "i": 30}), (4, {"h": 10}), (5, {"g": 5, "h": 10})],
)
def test_a_row_is_there_until_a_later_batch_removes_it(written: tuple[Files, Trace], version: int, rows: dict[str, int]) -> None:
    files, trace = written
    assert _rows(files.rows(trace.at(version))) == rows


@pytest.mark.parametrize("version", range(1, len(HISTORY) + 1))
@pytest.mark.parametrize("keys", [[], [1], [2, 10], [3, 5, 30], [-7, 10, 2**62]])
def test_rows_are_found_by_keys(written: tuple[Files, Trace], version: int, keys: list[int]) -> None:
    files, trace = written
    found = files.rows_among(trace.at(version), ["a", ID], "a", np.array(keys, np.int64))
    expected = {id: a for id, a in _rows(files.rows(trace.at(version))).items() if a in keys}
    assert {id: a for piece in found for id, a in _rows(piece).items()} == expected


@pytest.mark.parametrize("version", range(1, len(HISTORY) + 1))
def test_a_fold_holds_what_was_there(written: tuple[Files, Trace], version: int) -> None:
    files, trace = written
    files.write_folded(trace.at(version), version, directory := files.batch_directory("t", "fold"), ADDED)
    folded = files.rows(Reading(files.written(directory)[0]))
    assert _rows(folded) == _rows(files.rows(trace.at(version)))
    assert set(folded[VERSION].to_pylist()) == {version}


def test_a_fold_of_many_rows_is_made_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.trace.files.PIECE", 7)
    files, numbers = Files(tmp_path), range(100)
    old = pa.table({"a": numbers, ID: numbers, VERSION: [1] * 100})
    new = pa.table({"a": pa.array([100, None], pa.int32()), "b": ["x", "y"], ID: [100, 101], VERSION: [2, 2]})  # a column more
    gone = pa.table({ID: [3, 50, 100], VERSION: [3, 3, 3]})
    for number, rows in enumerate((old, new, gone)):
        files.write_arrow(rows, f"{tmp_path}/{number}")
    (first,), (second,), (left,) = (Files(tmp_path).written(f"{tmp_path}/{number}")[0] for number in range(3))
    files.write_folded(Reading((first, second), (left,)), 3, f"{tmp_path}/fold", ADDED)
    rows = files.rows(Reading(files.written(f"{tmp_path}/fold")[0])).sort_by(ID)
    kept = [number for number in numbers if number not in (3, 50)]
    assert rows.to_pydict() == {"a": [*kept, None], ID: [*kept, 101], VERSION: [3] * 99, "b": [None] * 98 + ["y"]}


@pytest.mark.parametrize("type", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32()])
def test_rows_are_found_in_keys_of_every_type(tmp_path: Path, type: pa.DataType) -> None:
    days = pa.array([0, 5, None, 9, 100, 101], pa.int32())
    rows = pa.table({"a": days.cast(type), "at": pa.array(range(6), pa.timestamp("us", "UTC"))})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=2, use_deprecated_int96_timestamps=True)
    keys = np.array([-(2**40), 5, 100, 2**40])
    found = Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", keys, Unpacked()).reading(["at", "a", "missing"])
    assert found.among(keys).equals(rows.take([1, 4]))
    assert found.among(np.array([100])).equals(rows.take([4]))


def test_what_was_found_answers_for_fewer_keys_and_learns_more_columns(tmp_path: Path) -> None:
    rows = pa.table({"a": [3, 1, 2, 3, 5], "b": list("vwxyz"), "c": range(5)})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=3)
    found = Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", np.array([2, 3, 4]), Unpacked()).reading(["b"])
    assert found.has(np.array([3, 4])) and found.has(np.array([], np.int64))
    assert not found.has(np.array([3, 5])) and not found.has(np.array([1]))
    assert found.reading(["b"]) is found
    assert found.reading(["c", "b"]).among(np.array([2, 3, 4])).equals(rows.take([0, 2, 3]))
    assert found.reading(["c"]).among(np.array([2])).to_pylist() == [{"a": 2, "b": "x", "c": 2}]


@pytest.mark.parametrize("large", [0, 1000])
def test_a_column_that_is_looked_through_again_is_decoded_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr("slackwater.trace.unpacked.BATCH", 2)
    words = ["v", None, "wörter", "", "z"]
    rows = pa.table(
        {"a": [3, 1, None, 3, 5], "b": words, "c": pa.array([1, None, 2, 3, 4], pa.decimal128(9, 2)), "d": [[1], None, [], [2, 3], []]}
    )
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=3)
    unpacked, decoded = Unpacked(least=0, large=large), list[str]()
    decode = pq.ParquetFile.iter_batches

    def noted(file: pq.ParquetFile, size: int, groups: list[int], names: list[str]) -> Iterator[pa.RecordBatch]:
        decoded.extend(names)
        return iter(decode(file, size, groups, names))

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    spent = []
    for _ in range(3):
        decoded.clear()
        found = Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", np.array([3, 5]), unpacked).reading(["b", "c", "d"])
        assert found.rows.equals(rows.take([0, 3, 4]))
        spent.append(unpacked.spent)
    assert not decoded  # the first time they are decoded, the second time written out
    assert spent[0] == 0 < spent[1] == spent[2]


@pytest.mark.parametrize("large", [0, 1_000_000])
@pytest.mark.parametrize("type", [pa.int16(), pa.int64(), pa.date32()])
def test_keys_are_found_by_an_order_where_they_are_looked_for_often(tmp_path: Path, large: int, type: pa.DataType) -> None:
    luck = np.random.default_rng(7)
    drawn = pa.array(luck.integers(-50, 50, 2000).astype(np.int32), mask=luck.random(2000) < 0.1)
    rows = pa.table({"a": drawn.cast(type), "b": range(2000)})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=700)
    unpacked, orders = Unpacked(least=0, large=large), 0
    for _ in range(12):
        keys = np.unique(luck.integers(-60, 60, luck.integers(0, 20)))
        found = Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", keys, unpacked).reading(["b"])
        wanted = [n for n, value in enumerate(drawn.to_pylist()) if value is not None and value in keys]
        assert found.rows.equals(rows.take(wanted))
        file = pq.ParquetFile(tmp_path / "t.parquet")
        orders += unpacked.order(str(tmp_path / "t.parquet"), file, "a", [0, 1, 2], len(keys)) is not None
    assert 0 < orders < 12
    assert unpacked.order(str(tmp_path / "t.parquet"), file, "a", [0, 1, 2], 2000) is None  # to look at all is less


@pytest.mark.parametrize("large", [0, 1_000_000])
def test_of_a_file_that_replaces_others_the_same_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    rows = pa.table({"a": range(2000), "b": range(2000), "c": range(2000)})
    old, new, other = (str(tmp_path / f"{name}.parquet") for name in ("old", "new", "other"))
    for path in (old, new, other):
        pq.write_table(rows, path)
    unpacked, keys = Unpacked(least=0, large=large), np.array([3, 5])
    for _ in range(12):
        Found.find(Disk(tmp_path), old, "a", keys, unpacked).reading(["b"])
    unpacked.follow(new, pq.ParquetFile(new), {old, "gone"})
    unpacked.follow(other, pq.ParquetFile(other), {"gone"})
    decoded: list[tuple[str, list[str]]] = []
    decode = pq.ParquetFile.iter_batches

    def noted(file: pq.ParquetFile, size: int, groups: list[int], names: list[str]) -> Iterator[pa.RecordBatch]:
        decoded.append((path, names))
        return iter(decode(file, size, groups, names))

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    for path in (new, other):
        assert Found.find(Disk(tmp_path), path, "a", keys, unpacked).reading(["b"]).rows.equals(rows.select(["a", "b"]).take([3, 5]))
    assert {path for path, _ in decoded} == {other}
    assert unpacked.order(new, pq.ParquetFile(new), "a", [0], 2) is not None


def test_a_column_of_nothing_has_no_order(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([None] * 9, pa.int64())}), tmp_path / "t.parquet")
    unpacked = Unpacked(least=0, large=0)
    for _ in range(9):
        found = Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", np.array([0]), unpacked)
        assert found.rows.num_rows == 0


def test_a_column_for_which_there_is_no_room_is_decoded(tmp_path: Path) -> None:
    rows = pa.table({"a": range(1000)})
    pq.write_table(rows, tmp_path / "t.parquet")
    for unpacked in (Unpacked(room=100, least=0), Unpacked(room=100, least=0, large=0), Unpacked(least=2000)):
        for _ in range(3):
            found = Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", np.array([7, 999]), unpacked)
            assert found.rows["a"].to_pylist() == [7, 999]


def test_a_key_is_not_found_where_nothing_is(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [None, 0, None, 1 << 22]}), tmp_path / "t.parquet")
    assert Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", np.array([0]), Unpacked()).places[0][1].tolist() == [1]
    assert Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", np.array([], np.int64), Unpacked()).rows.num_rows == 0


def test_keys_are_found_where_an_engine_knew_that_none_is_missing(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64(), nullable=False)])
    pq.write_table(rows := pa.table({"a": range(6), "b": range(6)}, schema), tmp_path / "t.parquet")
    for unpacked in (Unpacked(), mapped := Unpacked(least=0, large=0), mapped, mapped):
        found = Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", np.array([1, 5]), unpacked).reading(["b"])
        assert found.rows.to_pylist() == rows.take([1, 5]).to_pylist()


def test_words_that_repeat_are_words_again_once_they_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_by_keys, "_repeated", lambda file, names: ["b"])
    rows = pa.table({"a": range(6), "b": ["x", "y", None, "x", "y", "x"]})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=4)
    found = Found.find(Disk(tmp_path), str(tmp_path / "t.parquet"), "a", np.array([1, 2, 5]), Unpacked()).reading(["b"])
    assert found.rows.equals(rows.take([1, 2, 5]))


def test_the_same_file_is_asked_for_other_keys_and_columns(written: tuple[Files, Trace]) -> None:
    files, trace = written
    for keys, columns in (([1, 10], ["a"]), ([10], ["a", ID]), ([2, 10], [ID, VERSION]), ([1], ["a", VERSION, ID])):
        (rows,) = files.rows_among(Reading(trace.batches[0].added), columns, "a", np.array(keys, np.int64))
        assert set(rows.column_names) == {*columns, "a"}
        assert rows["a"].to_pylist() == [key for key in keys if key in (1, 10)]


def test_a_file_that_was_read_and_is_gone_is_missed(written: tuple[Files, Trace]) -> None:
    files, trace = written
    files.rows(trace.at(1))
    os.remove(files.full(trace.batches[0].added[0]))
    with pytest.raises(WarehouseError, match="is missing"):
        files.rows(trace.at(1))


def test_a_few_rows_are_known_once_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, numbers = Files(tmp_path), np.arange(3)
    rows = pa.table({"a": pa.array(numbers), "list": [[1], None, [2, 3]], ID: [1, 2, 3], VERSION: [1, 1, 1]})
    file = files.write_few(rows, files.batch_directory("t", "s1"), (1, 3))
    expected = rows.to_pylist()
    numbers[:] = 7  # the memory is that of who gave the rows
    assert Files(tmp_path).contents(file, None).to_pylist() == expected
    monkeypatch.setattr("slackwater.trace.files.contents", None)  # nobody reads the file
    assert files.contents(file, None).to_pylist() == expected
    os.remove(files.full(file))
    with pytest.raises(WarehouseError, match="is missing"):
        files.contents(file, None)


def test_of_a_large_table_only_the_few_rows_stay_in_memory(tmp_path: Path) -> None:
    files, large = Files(tmp_path), pa.table({"a": range(1_000_000), ID: range(1_000_000), VERSION: [1] * 1_000_000})
    file = files.write_few(large.slice(500_000, 3), files.batch_directory("t", "s1"), (500_000, 500_002))
    assert files.contents(file, None).equals(large.slice(500_000, 3))
    assert files.contents(file, None).get_total_buffer_size() < 10_000


def test_small_tables_in_memory_count_with_all_that_they_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.trace.files.ROOM", 3 * 4 * COLUMN)
    files = Files(tmp_path)
    written = [
        files.write_few(pa.table({"a": [n], "b": [n], ID: [n], VERSION: [n]}), files.batch_directory("t", f"s{n}"), (n, n))
        for n in range(5)
    ]
    monkeypatch.setattr("slackwater.trace.files.contents", lambda path, columns: pytest.fail(f"{path} is read"))
    assert files.contents(written[-1], None).num_rows == 1
    with pytest.raises(pytest.fail.Exception):
        files.contents(written[0], None)


def test_rows_are_written_by_their_side(tmp_path: Path) -> None:
    files = Files(tmp_path)
    rows = pa.table({SIDE: [ADDED, REMOVED, ADDED], "a": [1, 2, 3], ID: list("xyz"), VERSION: [1, 1, 1]})
    files.write_sides(rows, str(tmp_path / "both"))
    sides = [
        [row["a"] for file in side for row in files.contents(file, None).to_pylist()] for side in files.written(str(tmp_path / "both"))
    ]
    assert sides == [[1, 3], [2]]
    files.write_sides(rows.slice(0, 1), str(tmp_path / "one"))
    assert [len(side) for side in files.written(str(tmp_path / "one"))] == [1, 0]


def test_a_row_that_came_and_went_neither_arrives_nor_leaves(written: tuple[Files, Trace]) -> None:
    files, trace = written
    assert _rows(files.rows(trace.part(ADDED, 1, 4))) == {}
    assert _rows(files.rows(trace.part(REMOVED, 1, 4))) == {"g": 1}
    assert _rows(files.rows(trace.part(KEPT, 1, 4))) == {"h": 10}
    assert _rows(files.rows(trace.part(ADDED, 1, 5))) == {"g": 5}


def _rows(table: pa.Table) -> dict[str, int]:
    found = {row[ID]: row["a"] for row in table.to_pylist()}
    assert len(found) == table.num_rows
    return found


def test_a_warehouse_is_a_folder() -> None:
    assert place_at("w") == Disk(Path("w").absolute())
    assert place_at("file:///mnt/w") == place_at(Path("file:///mnt/w")) == Disk(Path("/mnt/w"))


@pytest.mark.parametrize("name", ["s3://bucket/w/", "s3a://bucket/w", Path("s3://bucket/w")])
def test_a_bucket_has_one_name(name: str | Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert place_at(name).name == "s3a://bucket/w"


def test_a_place_is_named_by_its_whole_url() -> None:
    assert place_at("hdfs://name:8020/w").name == "hdfs://name:8020/w"
    assert Files("hdfs://name:8020/a/w").batch_directory("totals/1", "s") == "hdfs://name:8020/a/w/traces/totals%2F1/s"


@pytest.mark.parametrize(
    "name", ["ftp://host/w", "gs://bucket/w", "s3://", "hdfs://name:8020", "hdfs:///w", "hdfs://not-configured/w", "hdfs://name:port/w"]
)
def test_what_cannot_be_a_place_is_refused(name: str) -> None:
    with pytest.raises(WarehouseError) as caught:
        place_at(name)
    assert caught.value.hint


def test_a_bucket_is_not_taken_for_a_folder() -> None:
    with pytest.raises(WarehouseError, match="a backup cannot be at hdfs://name:8020/w"):
        folder_of(Path("hdfs://name:8020/w"), "a backup")
