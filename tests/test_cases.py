"""The conformance suite: every case file, on Sail under every schedule, on Spark, and on Spark with Sail beside it."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from slackwater import Session
from slackwater.run.choice import chooser_named
from tests.cases import FOLDER, Case, all_cases, parse, write
from tests.runner import at_the_end, in_two_steps, run_case

CASES = all_cases()
# Fixed by the name, so that a failure comes back; different from case to case, so that many orders are covered.
SEEDS: dict[Path | None, int] = {case.path: zlib.crc32(str(case.path.relative_to(FOLDER)).encode()) % 1000 for case in CASES if case.path}


def name_of(case: Case) -> str:
    assert case.path is not None
    return str(case.path.relative_to(FOLDER).with_suffix(""))


# `make test` runs every case on Sail under one schedule, and a sixth each on Spark alone and with Sail beside it, where it costs seconds;
# `make conformance` runs all.
EVERY = int(os.environ.get("SLACKWATER_EVERY", "6"))
SCHEDULES = ["lazy", "eager", "random"]
# Spark generates and compiles code for every statement, which takes longer than to run it over a few rows.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def on(engine: str) -> list[Case]:
    return [case for case in CASES if case.allowed(engine)]


def some(cases: list[Case], first: int = 0) -> list[Case]:
    return [case for case in cases if SEEDS[case.path] % EVERY == first % EVERY]


def schedules() -> list[tuple[Case, str]]:
    """Every case under one schedule, in turn; under all three when everything is asked for."""
    return [
        (case, schedule)
        for turn, case in enumerate(on("sail"))
        for schedule in (SCHEDULES if EVERY == 1 else [SCHEDULES[turn % len(SCHEDULES)]])
    ]


@pytest.fixture(autouse=True)
def folded_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases have few steps: every refresh folds all that it may."""
    monkeypatch.setattr("slackwater.trace.ranges.BATCHES", 2)


@pytest.fixture(autouse=True)
def interpreted(request: pytest.FixtureRequest, spark_place: str) -> None:
    """Let Spark compile only where all cases are asked of the one that users have, in this process."""
    if "spark_session" in request.fixturenames and (EVERY > 1 or spark_place != "local"):
        conf = request.getfixturevalue("spark_session").conf
        for name, value in INTERPRETED.items():
            conf.set(name, value)


@pytest.mark.parametrize(("case", "schedule"), schedules(), ids=lambda value: value if isinstance(value, str) else name_of(value))
def test_case_on_sail(case: Case, schedule: str, sail_db: Session) -> None:
    sail_db.schedule = f"random:{SEEDS[case.path]}" if schedule == "random" else schedule
    if schedule == "random":
        sail_db._warehouse.chooser = chooser_named(f"random:{SEEDS[case.path]}")
    # Read at every step only where nothing else would make the views move.
    case = {"lazy": case, "eager": in_two_steps(case), "random": at_the_end(case)}[schedule]
    # The blocks decide; recomputing at every step is the judge of the lazy runs alone, because it costs as much as the step.
    run_case(case, sail_db, "sail", late=schedule == "random", judge=schedule == "lazy")


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("case", some(on("spark")), ids=name_of)
def test_case_on_spark(case: Case, spark_db: Session) -> None:
    run_case(in_two_steps(case), spark_db, "spark", late=True, judge=False)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("case", some(on("spark"), first=3), ids=name_of)
def test_case_on_spark_with_sail_beside(case: Case, beside_db: Session) -> None:
    run_case(in_two_steps(case), beside_db, "spark", late=True, judge=False)


def test_every_operator_has_cases() -> None:
    assert len(CASES) >= 150
    assert all(case.title for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_case_file_is_written_as_it_is_read(case: Case) -> None:
    assert isinstance(case.path, Path)
    text = case.path.read_text()
    assert write(parse(text)) == text
