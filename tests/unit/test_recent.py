from __future__ import annotations

from slackwater.trace.recent import Recent


def test_what_nobody_asked_for_longest_makes_way() -> None:
    recent: Recent[str] = Recent(room=10)
    recent.put("a", "A", 4)
    recent.put("b", "B", 4)
    assert recent.get("a") == "A"
    recent.put("c", "C", 4)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == ("A", None, "C")


def test_a_value_is_replaced_with_its_size() -> None:
    recent: Recent[str] = Recent(room=10)
    recent.put("a", "A", 9)
    recent.put("a", "AA", 3)
    recent.put("b", "B", 7)
    assert (recent.get("a"), recent.get("b")) == ("AA", "B")


def test_what_is_larger_than_the_room_is_not_kept() -> None:
    recent: Recent[str] = Recent(room=10)
    recent.put("a", "A", 1)
    recent.put("b", "B", 11)
    recent.put("c", "C", 10)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (None, None, "C")
