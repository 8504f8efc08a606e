"""However the right to write changes hands, steps come one after the other: none is lost, none is made twice."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from slackwater.catalog import Catalog, Changes, Done, Lease, Table, lease, store_named
from slackwater.errors import WarehouseError
from slackwater.plan import Column

WRITERS, TURNS = 4, 12


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_leases_that_expire_all_the_time(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody renews, all are slow: a writer is often replaced between looking and committing."""
    monkeypatch.setattr(lease, "LASTS", 0.05)
    monkeypatch.setattr(lease, "RENEWED_EVERY", 1000.0)
    monkeypatch.setattr(lease, "ASKED_EVERY", 0.01)
    url = request.getfixturevalue("postgres").new_store() if kind == "postgres" else None
    first = Catalog(store_named(url, tmp_path))
    held = Lease(first.store)
    first.commit("first", Changes(relations={"t": Table("t", (Column("a", "int"),))}), first.snapshot(), held)
    held.release()

    def write(number: int) -> tuple[list[str], int]:
        """The steps that were told to be real, and how many were refused."""
        luck, made, refused = random.Random(number), [], 0
        known = Catalog(store_named(url, tmp_path))
        for turn in range(TURNS):
            mine = Lease(known.store, wait=60)
            for part in range(2):
                before = known.snapshot()
                time.sleep(luck.uniform(0, 0.08))
                step = f"{number}.{turn}.{part}"
                table = before.table("t")
                changes = Changes(history=[Done("count", "t", "", 0.0, 0.0, step=step)])
                changes.put(replace(table, next_id=table.next_id + 1))
                try:
                    after = known.commit(step, changes, before, mine)
                    made.append(step)
                    assert after.table("t").next_id == table.next_id + 1
                except WarehouseError:
                    refused += 1
            mine.release()
        known.close()
        return made, refused

    with ThreadPoolExecutor(WRITERS) as pool:
        told = list(pool.map(write, range(WRITERS)))
    table, history = first.snapshot().table("t"), first.history("t")
    first.close()
    assert table.next_id == 1 + len(history)
    assert sorted(done.step for done in history) == sorted(step for made, _ in told for step in made)
    assert history and sum(refused for _, refused in told)
