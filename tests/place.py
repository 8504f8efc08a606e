"""Warehouses that tests open, also from processes of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import slackwater

PREPARE = (
    "CREATE TABLE orders (id BIGINT, region STRING, amount INT, PRIMARY KEY (id))",
    "CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS total FROM orders GROUP BY region",
    "INSERT INTO orders VALUES (1, 'EU', 10), (2, 'US', 5)",
    "REFRESH VIEW totals",
)

CONNECT = """
import sys
import slackwater

def connect(**options):
    return slackwater.connect(sys.argv[1], engine="sail", store=sys.argv[2] or None, **options)
"""


@dataclass(frozen=True)
class Place:
    """Where a warehouse is."""

    path: Path
    store: str | None
    engine: Any

    def connect(self, **options: Any) -> slackwater.Session:
        return slackwater.connect(self.path, **{"engine": self.engine, "store": self.store, **options})

    @property
    def files(self) -> set[str]:
        """The data files, relative to the warehouse."""
        return {str(file.relative_to(self.path)) for file in self.path.rglob("*.parquet")}

    def start(self, code: str, *arguments: object) -> subprocess.Popen[str]:
        """Run code in a process of its own, with a function `connect` that opens the warehouse there. Arguments begin at sys.argv[3]."""
        command = [sys.executable, "-c", CONNECT + textwrap.dedent(code), str(self.path), self.store or "", *map(str, arguments)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, text=True, cwd=Path(__file__).parents[1], **pipes)

    def python(self, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """The same, and wait for it to end."""
        with self.start(code, *arguments) as process:
            answer, _ = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, answer)


def prepared(path: Path, store: str | None, engine: Any) -> Place:
    """A warehouse with two orders and their totals, closed."""
    place = Place(path, store, engine)
    with place.connect() as db:
        for text in PREPARE:
            db.sql(text)
    return place


def totals(db: slackwater.Session) -> dict[object, object]:
    return dict(db.sql("SELECT region, total FROM totals"))
