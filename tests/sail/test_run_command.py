"""`slackwater run` as a process of its own, beside others that load data."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sail.test_terminal import COMMAND, ORDERS, ROWS, Terminal, _environment, sql

VIEW = "CREATE MATERIALIZED VIEW totals WITH (trigger = 'marker loaded') AS SELECT region, sum(amount) AS total FROM orders GROUP BY region"
READ = "SELECT total FROM totals ORDER BY total"


@contextmanager
def running(place: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, "run", "--engine", "sail", "--wait", "60"], cwd=place, env=_environment(place), stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def load(place: Path, statements: str) -> None:
    done = sql(place, "--wait", "60", "-e", statements)
    assert done.returncode == 0, done.stderr


def wait_for_answer(place: Path, expected: str) -> None:
    deadline = time.monotonic() + 60
    found = ""
    while found != expected and time.monotonic() < deadline:
        found = sql(place, "--read-only", "--format", "csv", "-e", READ).stdout
    assert found == expected


@pytest.fixture
def place(tmp_path: Path) -> Path:
    load(tmp_path, f"{ORDERS}; {VIEW}")
    return tmp_path


def test_one_process_answers_what_others_load(place: Path) -> None:
    with running(place) as process:
        load(place, f"{ROWS}; MARK loaded")
        wait_for_answer(place, "total\n5\n10\n")
        load(place, "INSERT INTO orders VALUES (3, 'EU', 1)")
        load(place, "MARK loaded")
        wait_for_answer(place, "total\n5\n11\n")
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert told.count("totals: answered") == 2 and told.endswith("stopped\n")


def test_a_process_that_was_killed_is_followed_by_another(place: Path) -> None:
    with running(place) as process:
        load(place, ROWS)
        process.send_signal(signal.SIGKILL)
        process.wait()
    load(place, "MARK loaded")
    with running(place):
        wait_for_answer(place, "total\n5\n10\n")


def test_two_at_once_answer_everything_once(place: Path) -> None:
    with running(place) as one, running(place) as other:
        load(place, f"{ROWS}; MARK loaded")
        wait_for_answer(place, "total\n5\n10\n")
        load(place, "INSERT INTO orders VALUES (3, 'EU', 1); MARK loaded")
        wait_for_answer(place, "total\n5\n11\n")
        told = []
        for process in (one, other):
            process.send_signal(signal.SIGTERM)
            told.append(process.communicate(timeout=60)[1])
            assert process.returncode == 0
    assert sum(each.count("totals: answered") for each in told) == 2
    assert sql(place, "--read-only", "--format", "csv", "-e", "DESCRIBE GOALS").stdout.count("totals,marker loaded") == 2


def test_a_person_sees_how_views_fare(place: Path) -> None:
    terminal = Terminal(place, "run")
    try:
        terminal.read_until(r"totals +marker loaded +batch")
        load(place, f"{ROWS}; MARK loaded")
        terminal.read_until(r"totals +marker loaded +batch +[\d.]+ s +1 of 1 +\d")
        terminal.type("\x03")
        terminal.read_until("stopped")
        assert terminal.code() == 0
    finally:
        terminal.kill()


def test_a_warehouse_that_is_not_to_be_had_is_told(place: Path) -> None:
    (place / "warehouse" / "catalog.db").write_bytes(b"nothing of the kind")
    done = subprocess.run(
        [*COMMAND, "run", "--engine", "sail"], cwd=place, env=_environment(place), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1 and "catalog" in done.stderr
