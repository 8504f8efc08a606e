"""`slackwater sql` as a person and as a script meet it: real processes, a real terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "slackwater.cli.main"]
ROOT = Path(__file__).parents[2]
ORDERS = "CREATE TABLE orders (id BIGINT, region STRING, amount INT, PRIMARY KEY (id))"
ROWS = "INSERT INTO orders VALUES (1, 'EU', 10), (2, NULL, 5)"
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS total FROM orders GROUP BY region"


def run(*arguments: str, given: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], input=given, capture_output=True, text=True, timeout=120, cwd=cwd, env=_environment(cwd))


def sql(place: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return run("sql", "--engine", "sail", *arguments, given=given, cwd=place)


def _environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "XDG_STATE_HOME": "",
        "TERM": "xterm",
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "COLUMNS": "100",
    }


# Scripts


def test_a_script_answers_and_ends_with_0(tmp_path: Path) -> None:
    script = tmp_path / "load.sql"
    script.write_text(f"-- a plant; small\n{ORDERS};\n{TOTALS};\n{ROWS};\nSELECT * FROM totals ORDER BY total;\n")
    done = sql(tmp_path, str(script))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("region | total\n-------+------\nNULL   |     5\nEU     |    10\n")
    # What one session wrote, the next one reads; the warehouse is ./warehouse unless something else is said.
    again = sql(tmp_path, "-e", "SELECT count(*) AS n FROM orders", "--read-only", "--format", "csv")
    assert (again.returncode, again.stdout) == (0, "n\n2\n")


def test_a_failing_statement_is_named_and_ends_with_1(tmp_path: Path) -> None:
    done = sql(tmp_path, given=f"{ORDERS};\n\nSELECT regoin\nFROM orders;\nSELECT 'never' AS a;")
    assert done.returncode == 1
    assert "never" not in done.stdout
    assert done.stderr.startswith('statement 2, line 3: column "regoin" does not exist')
    assert "  SELECT regoin\n         ^^^^^^\n" in done.stderr
    assert 'did you mean "region"?' in done.stderr


def test_a_script_may_keep_going(tmp_path: Path) -> None:
    done = sql(tmp_path, "--keep-going", "--format", "json", "-e", "SELECT nonsense; SELECT 1 AS a", "-e", "SELECT 2 AS b")
    assert done.returncode == 1
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"a": 1}, {"b": 2}]
    assert done.stderr.startswith("statement 1, line 1: ")


def test_data_is_kept_apart_from_what_is_said_about_it(tmp_path: Path) -> None:
    done = sql(tmp_path, "--format", "csv", "-e", f"{ORDERS}; {ROWS}; SELECT id, region FROM orders ORDER BY id")
    assert done.stdout == "id,region\n1,EU\n2,\n"
    assert "2 rows inserted" in done.stderr


def test_what_is_not_closed_runs_nothing(tmp_path: Path) -> None:
    done = sql(tmp_path, "-e", f"{ORDERS}; SELECT 'abc")
    assert done.returncode == 1
    assert "this string is not closed" in done.stderr
    assert sql(tmp_path, "-e", "SHOW TABLES", "--format", "csv").stdout.count("\n") <= 1


def test_a_warehouse_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    done = sql(tmp_path, "--read-only", "-e", "SHOW TABLES")
    assert done.returncode == 1
    assert "there is no warehouse" in done.stderr


def test_the_doctor_finds_the_machine_sound(tmp_path: Path) -> None:
    sql(tmp_path, "-e", ORDERS)
    done = run("doctor", "--quick", "--json", cwd=tmp_path)
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert checks["catalog"]["message"] == "sound, 1 tables and views"
    assert checks["packages"]["status"] == "ok"
    assert done.returncode == (1 if any(check["status"] == "fail" for check in checks.values()) else 0)


# A person


class Terminal:
    """A process behind a pseudo-terminal: what is typed, and what can be read on the screen."""

    def __init__(self, place: Path, command: str = "sql") -> None:
        self.screen = ""
        self.process, self.end = pty.fork()
        if self.process == 0:
            os.chdir(place)
            os.execve(sys.executable, [*COMMAND, command, "--engine", "sail"], _environment(place))

    def type(self, keys: str) -> None:
        os.write(self.end, keys.encode())

    def read_until(self, pattern: str, seconds: float = 60) -> str:
        """Wait for a pattern; the answer is what stood before and in it."""
        deadline = time.monotonic() + seconds
        while True:
            plain = re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>78])", "", self.screen).replace("\r", "")
            found = re.search(pattern, plain)
            if found:
                self.screen = plain[found.end() :]
                return plain[: found.end()]
            if not select.select([self.end], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"waited for {pattern!r} in vain, saw:\n{plain}")
            try:
                self.screen += os.read(self.end, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the shell left before {pattern!r}, saw:\n{plain}") from None

    def code(self) -> int:
        """Its exit code, once it has left."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if select.select([self.end], [], [], 0.1)[0]:
                try:
                    os.read(self.end, 65536)
                except OSError:
                    break
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def kill(self) -> None:
        try:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.end)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with two orders and their totals."""
    place = tmp_path_factory.mktemp("terminal")
    sql(place, "-e", f"{ORDERS}; {TOTALS}; {ROWS}")
    return place


@pytest.fixture
def shell(place: Path) -> Iterator[Terminal]:
    terminal = Terminal(place)
    terminal.read_until("slackwater>")
    yield terminal
    terminal.kill()


def test_a_person_types_over_several_lines(shell: Terminal) -> None:
    shell.type("SELECT region,\r")
    shell.read_until(r"\.\.\.>")
    shell.type("total FROM totals ORDER BY total;\r")
    answer = shell.read_until(r"\(2 rows, [\d.]+ s\)")
    assert "NULL   |     5\nEU     |    10" in answer


def test_errors_do_not_end_the_shell(shell: Terminal) -> None:
    shell.type("SELECT regoin FROM orders;\r")
    shell.read_until(r"\^\^\^\^\^\^\s+hint: did you mean \"region\"\?")
    shell.type("\\d\r")
    shell.read_until(r"orders")
    shell.type("\\d totals\r")
    shell.read_until(r"total +\| bigint")
    shell.type("\\x\r")
    shell.read_until("is not a command")
    shell.type("\\q\r")
    assert shell.code() == 0


def test_names_are_completed(shell: Terminal) -> None:
    shell.type("SELECT * FROM tot\t")
    shell.read_until("FROM totals")
    shell.type(" WHERE total = 10;\r")
    shell.read_until(r"\(1 row, ")


def test_ctrl_c_drops_the_line_ctrl_d_leaves_and_the_history_stays(shell: Terminal, place: Path) -> None:
    shell.type("SELECT nonsense\x03")
    shell.read_until("slackwater>")
    shell.type("SELECT 40 + 2 AS answer;\r")
    shell.read_until(r"answer\n-+\n +42\n")
    shell.read_until("slackwater>")
    shell.type("\x04")
    assert shell.code() == 0
    assert "SELECT 40 + 2 AS answer;" in (place / ".local" / "state" / "slackwater" / "history").read_text()


def test_a_second_writer_is_told_who_writes(shell: Terminal, place: Path) -> None:
    second = sql(place, "-e", "SHOW TABLES")
    assert second.returncode == 1
    assert f"written by process {shell.process}" in second.stderr
    assert sql(place, "--read-only", "-e", "SELECT * FROM orders").returncode == 0
