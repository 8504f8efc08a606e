"""Which files make up a part of a trace."""

from __future__ import annotations

from slackwater.delta import ADDED, KEPT, NEW, OLD, REMOVED, Moved
from slackwater.plan import Column
from slackwater.trace import Batch, File, Reading, Trace


def trace(*batches: tuple[str, str]) -> Trace:
    """A trace whose batches are written as ("files that arrived", "files that left")."""
    made = Trace("t", (Column("a", "int"),))
    for version, (added, removed) in enumerate(batches, start=1):
        made = made.with_batch(Batch(version, f"s{version}", tuple(File(f, 1, 1) for f in added), tuple(File(f, 1, 1) for f in removed)))
    return made


def names(reading: Reading) -> tuple[str, str]:
    return "".join(f.path for f in reading.files), "".join(f.path for f in reading.without)


T = trace(("a", ""), ("b", "x"), ("c", ""), ("", "y"), ("d", "z"))


def test_without_removals_a_version_is_a_plain_scan() -> None:
    assert names(T.at(1)) == ("a", "")


def test_a_version_leaves_out_what_later_batches_removed() -> None:
    assert names(T.at(3)) == ("abc", "x")
    assert names(T.at(5)) == ("abcd", "xyz")


def test_old_and_new_are_versions() -> None:
    assert T.part(OLD, 2, 4) == T.at(2)
    assert T.part(NEW, 2, 4) == T.at(4)


def test_kept_rows_arrived_before_and_did_not_leave_since() -> None:
    assert names(T.part(KEPT, 2, 5)) == ("ab", "xyz")


def test_added_rows_arrived_since_and_did_not_leave_since() -> None:
    assert names(T.part(ADDED, 2, 5)) == ("cd", "yz")


def test_one_batch_needs_no_look_at_others() -> None:
    assert names(T.part(ADDED, 2, 3)) == ("c", "")
    assert names(T.part(REMOVED, 3, 4)) == ("y", "")


def test_what_came_and_went_unseen_does_not_leave() -> None:
    reading = T.part(REMOVED, 2, 5)
    assert names(reading) == ("yz", "c")
    assert not reading.later


def test_moved_tells_arrivals_from_departures() -> None:
    assert T.moved(2, 3) == Moved(True, False)
    assert T.moved(3, 4) == Moved(False, True)
    assert T.moved(3, 3) == Moved(False, False)
    assert not T.moved(3, 3)


def test_rows_are_counted_from_the_batches() -> None:
    assert T.rows == 4 - 3
