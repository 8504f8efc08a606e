"""Spark in this process ends at work, as when the system takes its memory: a clear error, nothing lost, and the next process goes on."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import slackwater
from slackwater.run.check import check
from tests.batch import talking_to
from tests.place import totals

ROOT = Path(__file__).parents[2]
KILLED = """
    import os, signal, sys

    import slackwater
    from tests.place import PREPARE

    slow = "SELECT 9 AS id, 'EU' AS region, CAST(count(*) AS INT) AS amount FROM range(1000000000000)"
    with slackwater.connect(sys.argv[1], engine="local[2]", beside="none") as db:
        for text in PREPARE:
            db.sql(text)
        [(jvm,)] = db.sql("SELECT java_method('java.lang.ProcessHandle', 'current') AS pid")
        os.spawnlp(os.P_NOWAIT, "sh", "sh", "-c", f"sleep 2; kill -9 {jvm}")
        for text in (f"INSERT INTO orders {slow}", "UPDATE orders SET amount = 0", "SELECT sum(amount) FROM orders", "REFRESH ALL"):
            try:
                db.sql(text)
            except slackwater.SlackwaterError as problem:
                print(type(problem).__name__, problem.message)
            if text.startswith("INSERT"):
                db.insert("orders", [(3, "EU", 1)])  # for which no engine is needed
"""


def test_an_engine_that_has_ended_is_told_and_nothing_is_lost(tmp_path: Path, sail_session: Any) -> None:
    path = tmp_path / "warehouse"
    with talking_to("spark"):
        command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.stdout.splitlines() == ["EngineLost the engine has ended"] * 4, done.stderr
    assert done.returncode == 0, done.stderr
    with talking_to("sail"), slackwater.connect(path, engine=sail_session) as db:
        assert "failed" not in {how for _, _, _, how, *_ in db.sql("DESCRIBE HISTORY")}, "no view is to blame"
        assert totals(db) == {"EU": 11, "US": 5}
    assert check(path, None, False, lambda event: None).problems == ()
