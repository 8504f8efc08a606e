"""The command line: what it accepts, how it writes rows, what it completes, what the doctor finds. Nothing here starts an engine."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from argparse import Namespace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from slackwater.cli import doctor
from slackwater.cli.complete import offers
from slackwater.cli.main import main, parser
from slackwater.cli.rows import as_csv, as_json, as_table
from slackwater.cli.shell import is_finished
from slackwater.spark import java

# Arguments


def test_the_warehouse_is_the_argument_or_the_environments_or_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACKWATER_WAREHOUSE", raising=False)
    assert parser().parse_args(["sql"]).warehouse == Path("warehouse")
    monkeypatch.setenv("SLACKWATER_WAREHOUSE", "/data/plant")
    assert parser().parse_args(["sql"]).warehouse == Path("/data/plant")
    assert parser().parse_args(["sql", "--warehouse", "w"]).warehouse == Path("w")


def test_statements_may_be_given_several_times() -> None:
    options = parser().parse_args(["sql", "-e", "SELECT 1", "-e", "SELECT 2", "--engine", "sail", "--format", "csv"])
    assert (options.execute, options.engine, options.format) == (["SELECT 1", "SELECT 2"], "sail", "csv")


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["sql", "--format", "xml"], ["doctor", "more"]])
def test_a_wrong_command_line_is_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: slackwater" in capsys.readouterr().err


def test_statements_and_a_file_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "-e", "SELECT 1", "file.sql"]) == 2
    assert "not both" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", str(tmp_path / "none.sql")]) == 2
    assert "cannot read" in capsys.readouterr().err


# Rows

ROWS = pa.table(
    {
        "region": pa.array(["EU", None, "a longer name"]),
        "total": pa.array([Decimal("15.50"), Decimal("-3.00"), None], pa.decimal128(12, 2)),
        "n": pa.array([1, 20, 300]),
    }
)


def test_numbers_stand_at_the_right_and_null_is_named() -> None:
    assert as_table(ROWS).plain.split("\n") == [
        "region        | total | n",
        "--------------+-------+----",
        "EU            | 15.50 |   1",
        "NULL          | -3.00 |  20",
        "a longer name |  NULL | 300",
    ]


def test_null_is_dimmed() -> None:
    text = as_table(ROWS)
    assert "NULL" in [text.plain[span.start : span.end].strip() for span in text.spans if span.style == "dim"]


def test_what_is_too_much_is_cut_and_says_so() -> None:
    lines = as_table(ROWS, most_rows=1, widest=8).plain.split("\n")
    assert lines[-1] == "... 2 more rows"
    assert as_table(pa.table({"a": ["0123456789"]}), widest=8).plain.split("\n")[-1] == "0123456…"


def test_wide_characters_and_line_breaks_keep_the_columns_apart() -> None:
    lines = as_table(pa.table({"a": ["日本", "x\ny"], "b": [1, 2]})).plain.split("\n")
    assert lines[2:] == ["日本 | 1", "x\\ny | 2"]


def test_an_empty_answer_has_a_header() -> None:
    assert as_table(ROWS.slice(0, 0)).plain.split("\n")[0] == "region | total | n"


VALUES = pa.table(
    {
        "yes": pa.array([True]),
        "day": pa.array([date(2024, 2, 29)]),
        "at": pa.array([datetime(2024, 2, 29, 12, 30, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        "raw": pa.array([b"\x01\xff"]),
        "list": pa.array([[1, None]]),
        "struct": pa.array([{"a": 1, "b": "x"}]),
        "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        "nan": pa.array([float("nan")]),
        "decimal": pa.array([Decimal("1.50")]),
        "nothing": pa.array([None], pa.int64()),
    }
)


def test_csv_has_a_header_and_empty_nulls() -> None:
    header, row, end = as_csv(VALUES).split("\n")
    assert header == "yes,day,at,raw,list,struct,map,nan,decimal,nothing"
    assert row == 'true,2024-02-29,2024-02-29 12:30:00,0x01FF,"[1, NULL]","{a: 1, b: x}",{k: 1},nan,1.50,'
    assert end == ""


def test_json_is_one_object_a_line() -> None:
    (line,) = as_json(VALUES).splitlines()
    assert json.loads(line) == {
        "yes": True,
        "day": "2024-02-29",
        "at": "2024-02-29 12:30:00",
        "raw": "0x01FF",
        "list": [1, None],
        "struct": {"a": 1, "b": "x"},
        "map": {"k": 1},
        "nan": "nan",
        "decimal": "1.50",
        "nothing": None,
    }


# The shell

KNOWN = {"orders": ["id", "region"], "totals": ["region", "total"]}


@pytest.mark.parametrize(
    ("before", "word", "offered"),
    [
        ("SELECT * FROM ", "", ["orders", "totals"]),
        ("SELECT * FROM ", "or", ["orders"]),
        ("REFRESH VIEW ", "t", ["totals"]),
        ("SELECT * FROM orders WHERE ", "re", ["region", "refresh", "replace", "repeatable", "reservoir", "resume"]),
        ("SELECT orders.", "", ["id", "region"]),
        ("SELECT sum(totals.", "to", ["total"]),
        ("", "EXPL", ["EXPLAIN"]),
        ("", "expl", ["explain"]),
        ("SELECT ", "", []),
        ("\\d ", "o", ["orders"]),
    ],
)
def test_completion_offers_what_fits(before: str, word: str, offered: list[str]) -> None:
    assert offers(before, word, KNOWN) == offered


@pytest.mark.parametrize(
    ("text", "finished"),
    [("SELECT 1;", True), ("SELECT 1", False), ("SELECT ';'", False), ("\\d", True), ("exit", True), ("", True), ("SELECT 1; -- so", True)],
)
def test_enter_runs_what_is_finished(text: str, finished: bool) -> None:
    assert is_finished(text) is finished


# The doctor


def store(warehouse: Path) -> sqlite3.Connection:
    warehouse.mkdir()
    db = sqlite3.connect(warehouse / "catalog.db")
    db.executescript(
        "CREATE TABLE relation (name TEXT, record TEXT); INSERT INTO relation VALUES ('orders', '{}');"
        "CREATE TABLE lease (one INTEGER PRIMARY KEY, holder TEXT, host TEXT, pid INTEGER, expires REAL);"
    )
    return db


def test_a_new_place_is_fine(tmp_path: Path) -> None:
    for check in (doctor.folder, doctor.catalog, doctor.writer, doctor.disk, doctor.python):
        assert check(tmp_path / "new" / "warehouse").status == "ok"


def test_a_file_is_no_warehouse(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert doctor.folder(tmp_path / "file").status == "fail"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert doctor.folder(tmp_path).status == "warn"
    assert doctor.folder(tmp_path / "new").status == "fail"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert doctor.folder(tmp_path).status == "fail"


def test_a_sound_store_is_told_from_a_broken_one(tmp_path: Path) -> None:
    store(tmp_path / "w").close()
    assert doctor.catalog(tmp_path / "w").message == "sound, 1 tables and views"
    (tmp_path / "w" / "catalog.db").write_bytes(b"SQLite format 3\x00" + b"\x07" * 4096)
    broken = doctor.catalog(tmp_path / "w")
    assert broken.status == "fail" and broken.advice


def test_the_holder_of_the_lease_is_named(tmp_path: Path) -> None:
    db = store(tmp_path / "w")
    assert doctor.writer(tmp_path / "w").message == "nobody is writing"
    db.execute("INSERT INTO lease VALUES (1, 'x', 'box', 42, ?)", [time.time() + 60])
    db.commit()
    assert "process 42 on box" in doctor.writer(tmp_path / "w").message
    db.execute("UPDATE lease SET expires = 0")
    db.commit()
    assert "left without a word" in doctor.writer(tmp_path / "w").message
    db.close()


def fake_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    (home / "bin" / "java").chmod(0o755)
    return home


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8), ("25-ea", 25)])
def test_the_version_of_a_java_is_read(tmp_path: Path, version: str, major: int) -> None:
    assert java.version(fake_java(tmp_path / "java", version)) == major
    assert java.version(tmp_path / "none") is None


def test_the_first_java_that_fits_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, good, new = (fake_java(tmp_path / name, version) for name, version in (("old", "11.0.1"), ("good", "17.0.1"), ("new", "25.0.1")))
    for unfit in (old, new):
        monkeypatch.setenv("JAVA_HOME", str(unfit))
        monkeypatch.setenv("PATH", f"{good / 'bin'}:/usr/bin:/bin")
        assert java.find_java() == good
    monkeypatch.setattr(java, "candidates", lambda: iter([("JAVA_HOME", old)]))
    assert java.find_java() is None
    sick = doctor.java(tmp_path)
    assert sick.status == "fail" and "11 at" in sick.message and "slackwater[java]" in sick.advice


def test_a_java_from_pypi_is_started_without_the_module_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a home" / "bin").mkdir(parents=True)
    real = tmp_path / "a home" / "bin" / "java"
    real.write_text('#!/bin/sh\nfor a do echo "[$a]"; done\n')
    real.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    wrapped = java._without_vector_module(tmp_path / "a home")
    told = subprocess.run(
        [wrapped / "bin" / "java", "-a b", "--add-modules=jdk.incubator.vector", "c"], capture_output=True, text=True, check=True
    )
    assert told.stdout.split("\n") == ["[-a b]", "[c]", ""]


def test_the_doctor_fails_when_a_check_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (doctor.python, lambda _: doctor.Check("disk", "fail", "full", "make room")))
    assert doctor.run(Namespace(warehouse=tmp_path, store=None, quick=True, json=False)) == 1
    assert "fail disk        full\n                 make room" in capsys.readouterr().out
    assert doctor.run(Namespace(warehouse=tmp_path, store=None, quick=True, json=True)) == 1
    assert [check["status"] for check in json.loads(capsys.readouterr().out)] == ["ok", "fail"]


# The page


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="argparse sets options differently")
@pytest.mark.parametrize("command", [[], ["sql"], ["run"], ["doctor"], ["check"], ["backup"], ["restore"]])
def test_the_page_shows_the_help_as_it_is(command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    page = Path(__file__).parents[2] / "docs" / "terminal.md"
    assert capsys.readouterr().out in page.read_text()
