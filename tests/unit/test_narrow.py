"""Which scans are narrowed, by what, and which must not be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

from slackwater.delta.conditions import Wanted
from slackwater.delta.narrow import narrow
from slackwater.delta.rows import identity
from slackwater.delta.spans import Spans
from slackwater.plan import Aggregate, Column, Filter, Join, Limit, Node, Output, Project, Scan, Union, column
from slackwater.plan.nodes import Expression

CHANGED = Spans(((1, 9), (100, 109)))


def scan(relation: str, *names: str, type: str = "bigint") -> Scan:
    return Scan(relation, names, tuple(Column(f"{relation}_{name}", type) for name in names))


CHANGE, BIG = scan("change", "k", "v"), scan("big", "k", "v")


def equal(left: str, right: str, how: type[exp.Binary] = exp.EQ) -> Expression:
    return how(this=column(left), expression=column(right))


SAME = equal("change_k", "big_k")


def wanted_of(plan: Node, known: Spans | None = CHANGED) -> dict[str, Wanted]:
    """What was wanted of the relations other than the change."""
    found: dict[str, Wanted] = {}

    def choose(relation: str, wanted: Wanted) -> str:
        if relation != "change":
            found[relation] = dict(wanted)
        return relation

    narrow(plan, lambda relation, name, _: known if (relation, name) == ("change", "k") else None, choose)
    return found


def test_the_partner_of_a_change_is_narrowed_to_its_keys() -> None:
    assert wanted_of(Join(CHANGE, BIG, "inner", SAME)) == {"big": {"k": CHANGED}}
    assert wanted_of(Join(BIG, CHANGE, "inner", SAME)) == {"big": {"k": CHANGED}}
    assert wanted_of(Join(CHANGE, BIG, "inner", SAME), known=None) == {}


@pytest.mark.parametrize(
    ("kind", "change_is_left", "narrowed"),
    [
        ("semi", True, True),
        ("semi", False, True),
        ("anti", True, True),
        ("anti", False, False),  # a row without a partner is in the answer
        ("left", True, True),
        ("left", False, False),
        ("full", True, False),
        ("full", False, False),
    ],
)
def test_a_side_whose_rows_stay_without_a_partner_is_read_whole(kind: str, change_is_left: bool, narrowed: bool) -> None:
    left, right = (CHANGE, BIG) if change_is_left else (BIG, CHANGE)
    assert ("big" in wanted_of(Join(left, right, kind, SAME))) == narrowed


def test_null_is_no_partner_unless_the_comparison_says_so() -> None:
    nulls = Spans(CHANGED.spans, nulls=True)
    assert wanted_of(Join(CHANGE, BIG, "inner", SAME), nulls) == {"big": {"k": CHANGED}}
    assert wanted_of(Join(CHANGE, BIG, "inner", equal("change_k", "big_k", exp.NullSafeEQ)), nulls) == {"big": {"k": nulls}}


def test_other_comparisons_and_other_types_narrow_nothing() -> None:
    assert wanted_of(Join(CHANGE, BIG, "inner", equal("change_k", "big_k", exp.LT))) == {}
    assert wanted_of(Join(CHANGE, BIG, "inner", exp.or_(SAME, equal("change_v", "big_v")))) == {}
    assert wanted_of(Join(CHANGE, scan("big", "k", type="string"), "inner", SAME)) == {}
    assert wanted_of(Join(CHANGE, scan("big", "k", type="date"), "inner", SAME)) == {}
    assert wanted_of(Join(CHANGE, scan("big", "k", type="int"), "inner", SAME)) == {"big": {"k": CHANGED}}


def test_it_goes_through_what_keeps_a_column_and_along_joins() -> None:
    renamed = Project(BIG, (Output(Column("key", "bigint"), column("big_k")), Output(Column("twice", "bigint"), exp.Literal.number(2))))
    filtered = Filter(renamed, exp.GT(this=column("twice"), expression=exp.Literal.number(1)))
    other = scan("other", "k", "v")
    united = Union((Project(filtered, (Output(Column("key", "bigint"), column("key")),)), scan("other", "k")), (Column("any", "bigint"),))
    assert wanted_of(Join(CHANGE, united, "inner", equal("change_k", "any"))) == {"big": {"k": CHANGED}, "other": {"k": CHANGED}}
    chain = Join(Join(CHANGE, BIG, "inner", SAME), other, "inner", equal("big_k", "other_k"))
    assert wanted_of(chain) == {"big": {"k": CHANGED}, "other": {"k": CHANGED}}
    further = Join(Join(CHANGE, BIG, "inner", SAME), other, "inner", equal("big_v", "other_k"))
    assert wanted_of(further) == {"big": {"k": CHANGED}}


def test_groups_are_narrowed_by_their_keys_only() -> None:
    total = Output(Column("total", "bigint"), exp.Sum(this=column("big_v")))
    assert wanted_of(Join(CHANGE, Aggregate(BIG, ("big_k",), (total,)), "inner", SAME)) == {"big": {"k": CHANGED}}
    assert wanted_of(Join(CHANGE, Aggregate(BIG, ("big_v",), (total,)), "inner", equal("change_k", "total"))) == {}
    touched = Aggregate(CHANGE, ("change_k",), ())
    assert wanted_of(Join(BIG, touched, "semi", SAME)) == {"big": {"k": CHANGED}}


def test_the_first_rows_of_all_are_found_among_all() -> None:
    first = Limit(BIG, (exp.Ordered(this=column("big_k")),), 3)
    assert wanted_of(Join(CHANGE, first, "inner", SAME)) == {}


def test_what_is_wanted_twice_is_what_both_want() -> None:
    both = Join(Join(CHANGE, BIG, "inner", SAME), scan("more", "k"), "inner", equal("big_k", "more_k"))
    spans = {("change", "k"): CHANGED, ("more", "k"): Spans(((5, 200),))}
    found: dict[str, Wanted] = {}

    def choose(relation: str, wanted: Wanted) -> str:
        found[relation] = dict(wanted)
        return f"{relation}#1" if relation == "big" else relation

    plan = narrow(both, lambda relation, name, _: spans.get((relation, name)), choose)
    assert found["big"] == {"k": Spans(((5, 9), (100, 109)))}
    assert {node.relation for node in plan.walk() if isinstance(node, Scan)} == {"change", "big#1", "more"}


def test_own_groups_are_narrowed_to_those_of_the_change() -> None:
    groups = Aggregate(CHANGE, ("change_k",), (Output(Column("n", "bigint"), exp.Count(this=exp.Star())),))
    name = Output(Column("id", "string"), identity(column("change_k")))
    moved = Project(groups, (Output(Column("change_k", "bigint"), column("change_k")), name))
    own = Scan("v/1@own", ("change_k", "_id"), (Column("old_k", "bigint"), Column("old_id", "string")))
    assert wanted_of(Join(moved, own, "left", equal("id", "old_id"))) == {"v/1@own": {"change_k": CHANGED}}
    assert wanted_of(Join(moved, own, "full", equal("id", "old_id"))) == {}
    assert wanted_of(Join(moved, replace(own, relation="v/1@new"), "left", equal("id", "old_id"))) == {}


def test_own_groups_are_narrowed_before_they_are_joined() -> None:
    groups = Aggregate(CHANGE, ("change_k",), ())
    name = Output(Column("id", "string"), identity(column("change_k")))
    touched = Project(Project(groups, (name,)), (Output(Column("touched_id", "string"), column("id")),))
    own = Scan("v/1@own", ("change_k", "_id"), (Column("old_k", "bigint"), Column("old_id", "string")))
    same = equal("old_id", "touched_id")
    assert wanted_of(Join(own, touched, "semi", same)) == {"v/1@own": {"change_k": CHANGED}}
    assert wanted_of(Join(own, touched, "left", same)) == wanted_of(Join(own, touched, "anti", same)) == {}
    renamed = Project(groups, (Output(Column("touched_change_k", "bigint"), column("change_k")),))
    touched = Project(renamed, (Output(Column("touched_id", "string"), identity(column("touched_change_k"))),))
    assert wanted_of(Join(own, touched, "semi", same)) == {"v/1@own": {"change_k": CHANGED}}
