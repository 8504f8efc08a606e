"""The conformance suite: every case file, on Sail under every schedule, and on Spark."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from slackwater import Session
from tests.cases import FOLDER, Case, all_cases, parse, write
from tests.runner import at_the_end, in_two_steps, run_case

CASES = all_cases()
# Fixed by the name, so that a failure comes back; different from case to case, so that many orders are covered.
SEEDS: dict[Path | None, int] = {case.path: zlib.crc32(str(case.path.relative_to(FOLDER)).encode()) % 1000 for case in CASES if case.path}


def name_of(case: Case) -> str:
    assert case.path is not None
    return str(case.path.relative_to(FOLDER).with_suffix(""))


def on(engine: str) -> list[Case]:
    return [case for case in CASES if case.allowed(engine)]


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random"])
@pytest.mark.parametrize("case", on("sail"), ids=name_of)
def test_case_on_sail(case: Case, schedule: str, sail_db: Session) -> None:
    sail_db.schedule = f"random:{SEEDS[case.path]}" if schedule == "random" else schedule
    if schedule != "lazy":
        case = at_the_end(case)
    run_case(case, sail_db, "sail", late=schedule == "random")


@pytest.mark.parametrize("case", on("spark"), ids=name_of)
def test_case_on_spark(case: Case, spark_db: Session) -> None:
    run_case(in_two_steps(case), spark_db, "spark", late=True, judge=False)


def test_every_operator_has_cases() -> None:
    assert len(CASES) >= 150
    assert all(case.title for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_case_file_is_written_as_it_is_read(case: Case) -> None:
    assert isinstance(case.path, Path)
    text = case.path.read_text()
    assert write(parse(text)) == text
