"""Run one random case and say how it ended.

right     every read was what recomputing gives
skipped   the engine itself cannot run the view's text, or fails on these rows
full      right, but a view is not maintained incrementally, and every query drawn here should be
wrong     a view differs from its recomputation
broken    slackwater failed where the engine does not
"""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pyarrow as pa

import slackwater
import tests.as_if_many  # noqa: F401
from slackwater import Session
from tests.batch import Batch, Contents, open_spark, talking_to
from tests.cases import Case, Step, View
from tests.fuzz.queries import Queries, Relation, relation_of
from tests.fuzz.tables import random_steps, random_tables
from tests.runner import Run


@dataclass(frozen=True)
class Trial:
    """A case with everything else that decides how it runs."""

    case: Case
    schedule: str = "lazy"
    late: bool = False
    beside: str = "none"

    @property
    def choose(self) -> str:
        """Where flushes are random anyway, some are in full."""
        return self.schedule if self.schedule.startswith("random") else "incremental"


@dataclass(frozen=True)
class Outcome:
    """How a trial ended, and why."""

    kind: str
    reason: str = ""

    @property
    def failed(self) -> bool:
        return self.kind in ("wrong", "broken")

    @property
    def summary(self) -> str:
        """The reason without its names and numbers, for counting."""
        first = self.reason.strip().split("\n")[0]
        return re.sub(r"\b[txc]\d+\b|#\d+|\d+", "_", first)[:110]


def draw(seed: int, engine: str) -> Trial:
    """The trial of a seed; the same on every machine."""
    random = Random(seed)
    tables = random_tables(random)
    relations = [relation_of(table) for table in tables]
    views = []
    for number in range(1, random.choice([1, 1, 1, 1, 2, 3]) + 1):
        query = Queries(random, relations, engine).query()
        views.append(View(f"v{number}", query.text))
        # A view over views: later queries may read this one, and like to.
        relations += [Relation(f"v{number}", query.columns)] * 2
    steps = random_steps(random, tables, tuple(view.name for view in views), engine)
    schedule = random.choice(["lazy", "lazy", "eager", f"random:{seed}"])
    late = random.random() < 0.3
    return Trial(Case({"title": f"seed {seed}"}, tables, tuple(views), steps), schedule, late, "none" if seed % 2 else "sail")


def attempt(trial: Trial, spark: Any, engine: str) -> Outcome:
    """Run a trial in a warehouse of its own."""
    problem = _engine_refuses(trial.case, spark, engine)
    if problem:
        return Outcome("skipped", problem)
    folder = Path(tempfile.mkdtemp(prefix="slackwater-fuzz-"))
    try:
        # Trials have few steps: every refresh folds all that it may.
        with (
            mock.patch("slackwater.trace.ranges.BATCHES", 2),
            slackwater.connect(
                folder / "warehouse",
                engine=spark,
                schedule=trial.schedule,
                choose=trial.choose,
                folding="refresh",
                beside=trial.beside,
            ) as db,
        ):
            return _Judged(trial, db, engine == "sail").outcome()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _engine_refuses(case: Case, spark: Any, engine: str, contents: Contents | None = None) -> str:
    """Why the engine does not accept the texts, or fails over what the tables have, if it does."""
    try:
        Batch(spark, engine).load(case, contents or Contents(case.tables))
        for view in case.views:
            spark.sql(f"SELECT * FROM {view.name}").toArrow()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


class _Judged(Run):
    """A run that has no blocks to compare with, and asks the oracle alone."""

    def __init__(self, trial: Trial, db: Session, on_sail: bool) -> None:
        super().__init__(trial.case, db, late=trial.late)
        self.on_sail = on_sail
        self.messages: list[str] = []

    def outcome(self) -> Outcome:
        try:
            self.run()
        except _EngineFails as error:
            return Outcome("skipped", str(error))
        except AssertionError as error:
            return Outcome("wrong", str(error))
        except Exception as error:
            if isinstance(error, ValueError) and not isinstance(error, pa.ArrowException):
                raise  # the case itself makes no sense
            reason = f"{type(error).__name__}: {error}"
            # A view over rows that the engine itself cannot compute it from is right to fail.
            alone = _engine_refuses(self.case, self.db.spark, "sail" if self.on_sail else "spark", self.contents)
            return Outcome("skipped", alone) if alone else Outcome("broken", reason)
        full = [message for message in self.messages if ": incremental" not in message]
        return Outcome("full", full[0].partition("full")[2]) if full else Outcome("right")

    def create_views(self) -> None:
        self.messages = [self.create(view) for view in self.case.views]

    def check(self, name: str, step: Step, place: str) -> None:
        try:
            batch = self.db.recompute(name).to_arrow()
        except Exception as error:
            raise _EngineFails(f"{type(error).__name__}: {error}") from error
        answer = self.db.sql(f"SELECT * FROM {name}").to_arrow()
        try:
            self.compare(name, answer, batch, f"{place}: not what recomputing gives")
        except AssertionError as error:
            if not self.on_sail:
                raise
            self.compare(name, answer, self._computed_by_spark(name), str(error))
            raise _EngineFails("Sail computes something else from scratch than Spark, which agrees with the view") from error

    def _computed_by_spark(self, name: str) -> pa.Table:
        """Spark has the last word: Sail's own answer may be the wrong one (docs/sail.md)."""
        with talking_to("spark"):
            spark = open_spark()
            Batch(spark, "spark").load(self.case, self.contents)
            return spark.sql(f"SELECT * FROM {name}").toArrow()


class _EngineFails(Exception):
    """The engine cannot compute a view from scratch."""
