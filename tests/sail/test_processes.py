"""What shares its process with Sail is left in peace."""

from __future__ import annotations

import subprocess
from collections import Counter

import slackwater


def test_programs_can_be_started_beside_sail(sail_db: slackwater.Session) -> None:
    sail_db.sql("CREATE TABLE beside (a INT)")
    ends: Counter[int] = Counter()
    for _ in range(10):
        sail_db.sql("SELECT * FROM beside").to_arrow()
        for _ in range(20):
            # A child that is forked, as pyspark forks its launcher. One in twenty died before it became /bin/true.
            ends[subprocess.run(["/bin/true"], stdin=subprocess.DEVNULL, preexec_fn=lambda: None, check=False).returncode] += 1
    assert ends == {0: 200}
