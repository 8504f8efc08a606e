"""Which sides of joins are marked as few."""

from __future__ import annotations

from sqlglot import exp

from slackwater.delta.broadcasts import MOST, Size, expected_rows, with_broadcasts
from slackwater.plan import Aggregate, Column, Few, Join, Node, Scan, column, render

ALL = {"nation": 25, "customer": 150_000, "orders": 1_500_000, "lineitem": 6_000_000}


def scan(relation: str) -> Scan:
    name = relation.partition("@")[0]
    return Scan(relation, ("k",), (Column(f"{name}_k", "bigint"),))


def join(left: Node, right: Node, kind: str = "inner") -> Join:
    return Join(left, right, kind, exp.EQ(this=column(left.names[-1]), expression=column(right.names[0])))


def sizes(**rows: int) -> dict[str, Size]:
    """All relations as they are, and `name_part=n` as a part with n rows."""
    found = {f"{name}@new": Size(count, count) for name, count in ALL.items()}
    return found | {name.replace("_", "@"): Size(count, ALL[name.partition("_")[0]]) for name, count in rows.items()}


def marked(plan: Node) -> list[tuple[str, ...]]:
    """The relations below each mark, outermost first."""
    return [tuple(below.relation for below in node.walk() if isinstance(below, Scan)) for node in plan.walk() if isinstance(node, Few)]


def test_what_grows_out_of_a_change_is_carried_to_every_next_table() -> None:
    plan = join(join(join(scan("orders@added"), scan("customer@new")), scan("nation@new")), scan("lineitem@new"))
    found = marked(with_broadcasts(plan, sizes(orders_added=1000)))
    assert found == [("orders@added", "customer@new", "nation@new"), ("orders@added",), ("nation@new",)]


def test_a_change_that_concerns_too_many_rows_is_left_to_the_engine() -> None:
    plan = join(join(join(scan("nation@added"), scan("customer@new")), scan("orders@new")), scan("lineitem@new"))
    few = with_broadcasts(plan, sizes(nation_added=1))
    assert ("nation@added", "customer@new", "orders@new") in marked(few)
    many = with_broadcasts(plan, sizes(nation_added=10))
    assert MOST < 1_500_000 * 10 / 25
    assert marked(many) == [("nation@added", "customer@new"), ("nation@added",)]


def test_touched_keys_are_carried_to_what_they_restrict() -> None:
    touched = Aggregate(scan("orders@added"), ("orders_k",), ())
    plan = join(scan("lineitem@new"), touched, "semi")
    assert marked(with_broadcasts(plan, sizes(orders_added=1000))) == [("orders@added",)]
    # The lines of the touched orders are few in turn.
    above = join(plan, scan("customer@new"))
    assert ("lineitem@new", "orders@added") in marked(with_broadcasts(above, sizes(orders_added=1000)))


def test_the_side_that_an_outer_join_keeps_is_never_carried() -> None:
    plan = join(scan("orders@added"), scan("lineitem@new"), "left")
    assert marked(with_broadcasts(plan, sizes(orders_added=10))) == []
    assert marked(with_broadcasts(join(scan("lineitem@new"), scan("orders@added"), "left"), sizes(orders_added=10))) == [("orders@added",)]
    assert marked(with_broadcasts(join(scan("lineitem@new"), scan("orders@added"), "full"), sizes(orders_added=10))) == []


def test_a_mark_is_a_hint_in_the_text() -> None:
    plan = with_broadcasts(join(scan("lineitem@new"), scan("nation@new")), sizes())
    assert "SELECT /*+ BROADCAST(few) */ nation_k FROM" in render(plan)


def test_a_change_gives_its_share_of_what_it_is_joined_with() -> None:
    plan = join(join(scan("nation@added"), scan("customer@new")), scan("orders@new"))
    assert expected_rows(plan, sizes(nation_added=5)) == 1_500_000 * 5 / 25
    assert expected_rows(Aggregate(plan, (), ()), sizes(nation_added=5)) == 1
