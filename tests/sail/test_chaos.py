"""A few of the kills of `make chaos`: one in each phase of a step's life, on one warehouse."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.trial import Aim, Trial

AIMS = [
    Aim("append", "few rows arrive", "after", 1, 0.0),
    Aim("together", "commit", "after", 1, 0.0),
    Aim("load", "rows are written", "during", 1, 0.5),
    Aim("insert", "engine writes", "during", 1, 0.5),
    Aim("open", "recovery", "during", 1, 0.0),
    Aim("passing", "flush", "after", 1, 0.0),
    Aim("passing", "rows leave a ring", "after", 1, 0.0),
    Aim("passing", "commit", "after", 2, 0.0),
    Aim("update", "sync", "before", 1, 0.0),
    Aim("merge", "transaction", "after", 1, 0.0),
    Aim("delete", "commit", "after", 1, 0.0),
    Aim("refresh", "flush", "after", 2, 0.0),
    Aim("turn", "flush", "after", 1, 0.0),
    Aim("turn", "commit", "after", 1, 0.0),
    Aim("answer", "transaction", "after", 1, 0.0),
    Aim("vacuum", "marks of the retired", "after", 1, 0.0),
    Aim("vacuum", "fold", "after", 1, 0.0),
    Aim("create", "commit", "after", 1, 0.0),
    Aim("refresh", "rows are fetched", "after", 1, 0.0),
    Aim("backup", "copy of a file", "after", 1, 0.0),
    Aim("backup", "exchange of the catalog", "before", 1, 0.0),
    Aim("backup", "removal from a backup", "before", 1, 0.0),
]


def test_nothing_is_lost_twice_or_left_behind_wherever_a_process_is_killed(tmp_path: Path) -> None:
    outcome = Trial(1, "sail", tmp_path / "chaos").run(len(AIMS), AIMS)
    assert not outcome.findings, "\n".join(outcome.journal)
    hit = [(run.point, run.when) for run in outcome.runs]
    assert hit == [(aim.point, aim.when) for aim in AIMS], "\n".join(outcome.journal)
