"""The rewrites: where conditions go, which columns stay, and what must not change."""

from __future__ import annotations

import pytest
from sqlglot import exp

from slackwater.plan.nodes import Aggregate, Filter, Generate, Join, Node, Project, Scan, Union, Window, column, conjuncts
from slackwater.plan.render import render, sql
from slackwater.rewrite import rewrite, rules
from slackwater.rewrite.group_before_join import group_before_join
from slackwater.rewrite.merge_projections import merge_projections
from slackwater.rewrite.prune_columns import prune_columns
from slackwater.rewrite.push_filters import factored, push_filters
from slackwater.rewrite.restrict_groups import restrict_groups
from tests.unit.bind_help import bound, find, kinds, shape

PUSHED = [
    (
        "into the condition of an inner join",
        "SELECT o.id FROM orders o, items i WHERE o.id = i.order_id",
        "project(join:inner(scan orders, scan items))",
    ),
    (
        "to the side it speaks about",
        "SELECT o.id FROM orders o JOIN items i ON o.id = i.order_id WHERE o.amount > 1 AND i.price > 2",
        "project(join:inner(filter(scan orders), filter(scan items)))",
    ),
    ("below a projection", "SELECT * FROM (SELECT id + 1 AS x FROM orders) WHERE x > 3", "project(project(filter(scan orders)))"),
    (
        "below an aggregate, on its keys",
        "SELECT * FROM (SELECT region, count(*) FROM orders GROUP BY region) WHERE region = 'EU'",
        "project(project(aggregate:1:1(filter(scan orders))))",
    ),
    (
        "not below an aggregate, on a measure",
        "SELECT region FROM orders GROUP BY region HAVING count(*) > 1",
        "project(filter(aggregate:1:1(scan orders)))",
    ),
    ("not below an aggregate without keys", "SELECT count(*) FROM orders HAVING 1 = 0", "project(filter(aggregate:0:1(scan orders)))"),
    (
        "below a window, on its partition",
        "SELECT * FROM (SELECT region, id, rank() OVER (PARTITION BY region ORDER BY id) r FROM orders) WHERE region = 'EU'",
        "project(project(window(filter(scan orders))))",
    ),
    (
        "not below a window, on anything else",
        "SELECT * FROM (SELECT region, id, rank() OVER (PARTITION BY region ORDER BY id) r FROM orders) WHERE id = 1",
        "project(project(filter(window(scan orders))))",
    ),
    (
        "into the branches of a union",
        "SELECT * FROM (SELECT id FROM orders UNION ALL SELECT id FROM items) WHERE id = 1",
        "project(union(project(filter(scan orders)), project(filter(scan items))))",
    ),
    (
        "not below a limit",
        "SELECT * FROM (SELECT id FROM orders ORDER BY id LIMIT 3) WHERE id = 1",
        "project(filter(limit(project(scan orders))))",
    ),
    (
        "below a generator, on the row it is for",
        "SELECT id, t FROM orders LATERAL VIEW OUTER explode(tags) e AS t WHERE id = 1",
        "project(generate(filter(scan orders)))",
    ),
    (
        "not below a generator, on the element",
        "SELECT id, t FROM orders LATERAL VIEW OUTER explode(tags) e AS t WHERE t = 'x'",
        "project(filter(generate(scan orders)))",
    ),
    (
        "below a left join, on the side it keeps",
        "SELECT o.id FROM orders o LEFT JOIN items i ON o.id = i.id WHERE o.amount > 1",
        "project(join:left(filter(scan orders), scan items))",
    ),
    (
        "above a left join, on a missing partner",
        "SELECT o.id FROM orders o LEFT JOIN items i ON o.id = i.id WHERE i.id IS NULL",
        "project(filter(join:left(scan orders, scan items)))",
    ),
    (
        "the partner's part of a left join's own condition",
        "SELECT o.id FROM orders o LEFT JOIN items i ON o.id = i.id AND i.price > 1 AND o.amount > 1",
        "project(join:left(scan orders, filter(scan items)))",
    ),
    (
        "above a full join",
        "SELECT o.id FROM orders o FULL JOIN items i ON o.id = i.id AND i.price > 1 WHERE o.amount > 1",
        "project(filter(join:full(scan orders, scan items)))",
    ),
    (
        "both ways out of a semi join",
        "SELECT o.id FROM orders o LEFT SEMI JOIN items i ON o.id = i.id AND i.price > 1 AND o.amount > 1",
        "project(join:semi(filter(scan orders), filter(scan items)))",
    ),
    (
        "the left part of an anti join's condition stays",
        "SELECT o.id FROM orders o LEFT ANTI JOIN items i ON o.id = i.id AND i.price > 1 AND o.amount > 1",
        "project(join:anti(scan orders, filter(scan items)))",
    ),
]


@pytest.mark.parametrize(("where", "text", "expected"), PUSHED, ids=[where for where, _, _ in PUSHED])
def test_a_condition_goes(where: str, text: str, expected: str) -> None:
    assert shape(push_filters(bound(text).plan)) == expected


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("i.price > 1", "inner"),
        ("i.price + 1 = o.id", "inner"),
        ("i.id IS NOT NULL", "inner"),
        ("(i.price > 1 OR i.id = 2)", "inner"),
        ("(i.price > 1 OR o.id = 2)", "left"),
        ("coalesce(i.price, 0) = 0", "left"),
        ("i.price <=> NULL", "left"),
        ("NOT (i.price > 1)", "left"),
    ],
)
def test_a_left_join_becomes_inner_only_if_missing_partners_cannot_pass(condition: str, kind: str) -> None:
    plan = push_filters(bound(f"SELECT o.id FROM orders o LEFT JOIN items i ON o.id = i.order_id WHERE {condition}").plan)
    assert kinds(plan) == [kind]


def test_what_all_alternatives_demand_is_asked_once() -> None:
    plan = push_filters(bound("SELECT 1 FROM orders o, items i WHERE (o.id = i.id AND price = 1) OR (o.id = i.id AND price = 2)").plan)
    join = find(plan, Join)
    assert isinstance(join, Join) and join.condition is not None
    assert len(conjuncts(join.condition)) == 1
    assert isinstance(find(plan, Filter), Filter)


def test_what_every_alternative_lists_is_asked_of_each_side_of_a_join() -> None:
    text = "SELECT o.id FROM orders o, items i WHERE (region = 'EU' AND i.id = 1) OR (region IN ('US', 'EU') AND i.id = 2 AND price > 1)"
    plan = push_filters(bound(text).plan)
    asked = [sql(node.condition) for node in plan.walk() if isinstance(node, Filter)]
    assert any("IN ('EU', 'US')" in each for each in asked) and any("IN (1, 2)" in each for each in asked) and len(asked) == 2
    assert shape(push_filters(plan)) == shape(plan)


@pytest.mark.parametrize(
    "text",
    [
        "(region = 'EU' AND price = 1) OR (region LIKE 'U%' AND o.id = 2)",  # not a list; and not of every alternative
        "(region = 1 AND price > 1) OR (region = 2 AND o.id > 2)",  # compared as numbers, which some words are not
    ],
)
def test_other_alternatives_are_left_to_the_join(text: str) -> None:
    plan = push_filters(bound(f"SELECT o.id FROM orders o, items i WHERE {text}").plan)
    assert not any(isinstance(node, Filter) for node in plan.walk())


def test_an_alternative_without_demands_of_its_own_leaves_only_the_common_ones() -> None:
    a, b = column("a"), column("b")
    assert factored([exp.or_(exp.and_(a, b), a)]) == [a]


def test_an_error_raised_on_purpose_sees_the_rows_it_was_written_for() -> None:
    text = "SELECT o.id FROM orders o WHERE (SELECT price FROM items i WHERE i.id = o.id) > 1"
    plan = push_filters(bound(text).plan)
    guarded = [node for node in plan.walk() if isinstance(node, Filter)]
    assert all("raise_error" not in sql(node.condition).lower() for node in guarded)


def test_scans_keep_only_what_is_used_and_at_least_one_column() -> None:
    def sources(text: str) -> list[tuple[str, ...]]:
        return [node.source for node in prune_columns(bound(text).plan).walk() if isinstance(node, Scan)]

    assert sources("SELECT id FROM orders WHERE amount > 1") == [("id", "amount")]
    assert sources("SELECT count(*) FROM orders") == [("id",)]
    assert sources("SELECT o.id FROM orders o JOIN items i ON o.id = i.order_id") == [("id",), ("order_id",)]
    assert sources("SELECT region FROM orders UNION ALL SELECT 'x' FROM items") == [("region",), ("id",)]


def test_unused_measures_and_window_functions_go_but_keys_stay() -> None:
    plan = prune_columns(bound("SELECT n FROM (SELECT region, count(*) n, sum(amount) FROM orders GROUP BY region)").plan)
    aggregate = find(plan, Aggregate)
    assert isinstance(aggregate, Aggregate) and (len(aggregate.keys), len(aggregate.measures)) == (1, 1)
    plan = prune_columns(bound("SELECT id FROM (SELECT id, rank() OVER (ORDER BY id) FROM orders)").plan)
    assert not any(isinstance(node, Window) for node in plan.walk())
    plan = prune_columns(bound("SELECT 1 FROM (SELECT DISTINCT region, id FROM orders)").plan)
    aggregate = find(plan, Aggregate)
    assert isinstance(aggregate, Aggregate) and len(aggregate.keys) == 2


def test_the_one_row_of_an_unused_aggregate_stays() -> None:
    plan = prune_columns(bound("SELECT id FROM orders, (SELECT max(price) FROM items)").plan)
    aggregate = find(plan, Aggregate)
    assert isinstance(aggregate, Aggregate) and len(aggregate.measures) == 1


def test_branches_of_a_union_stay_aligned() -> None:
    plan = prune_columns(bound("SELECT y FROM (SELECT id AS x, region AS y FROM orders UNION ALL SELECT id, 'b' FROM items)").plan)
    union = find(plan, Union)
    assert isinstance(union, Union)
    assert [len(branch.names) for branch in union.branches] == [1, 1]


def test_a_generator_keeps_its_position() -> None:
    generate = find(prune_columns(bound("SELECT id FROM orders LATERAL VIEW explode(tags) e AS t").plan), Generate)
    assert isinstance(generate, Generate) and len(generate.columns) == 4


def test_projections_merge_unless_that_would_compute_twice() -> None:
    plan = merge_projections(bound("SELECT x + 1 FROM (SELECT id * 2 AS x FROM orders)").plan)
    assert shape(plan) == "project(scan orders)"
    assert isinstance(plan, Project) and sql(plan.outputs[0].expression) == "(`id_1` * 2) + 1"
    assert shape(merge_projections(bound("SELECT x + x FROM (SELECT id * 2 AS x FROM orders)").plan)) == "project(project(scan orders))"


AVERAGE = "(SELECT order_id, avg(price) p FROM items GROUP BY order_id) a"
RESTRICTED = [
    (
        "by the table it is joined to",
        f"SELECT p FROM orders o JOIN {AVERAGE} ON o.id = a.order_id WHERE o.region = 'EU'",
        "join:inner(filter(scan orders), aggregate:1:1(join:semi(scan items, filter(scan orders))))",
    ),
    (
        "by a table further away",
        f"SELECT p FROM items i JOIN orders o ON o.id = i.order_id JOIN {AVERAGE} ON a.order_id = i.order_id WHERE o.region LIKE 'E%'",
        "join:inner(join:inner(scan items, filter(scan orders)), aggregate:1:1(join:semi(scan items, filter(scan orders))))",
    ),
    (
        "by what a left join keeps",
        f"SELECT p FROM (SELECT * FROM orders WHERE region IN ('EU', 'US')) o LEFT JOIN {AVERAGE} ON o.id = a.order_id",
        "join:left(filter(scan orders), aggregate:1:1(join:semi(scan items, filter(scan orders))))",
    ),
    (
        "where the key comes from",
        "SELECT p FROM orders o JOIN (SELECT i.order_id, avg(price) p FROM items i JOIN customers c ON c.id = i.id GROUP BY i.order_id) a "
        "ON o.id = a.order_id WHERE o.region = 'EU'",
        "join:inner(filter(scan orders), aggregate:1:1(join:inner(join:semi(scan items, filter(scan orders)), scan Customers)))",
    ),
    (
        "not by what a left join leaves out",
        f"SELECT p FROM {AVERAGE} LEFT JOIN (SELECT * FROM orders WHERE region = 'EU') o ON o.id = a.order_id",
        "join:left(aggregate:1:1(scan items), filter(scan orders))",
    ),
    (
        "not by what most rows pass",
        f"SELECT p FROM orders o JOIN {AVERAGE} ON o.id = a.order_id WHERE o.region NOT LIKE 'E%' AND o.amount > 1",
        "join:inner(filter(scan orders), aggregate:1:1(scan items))",
    ),
    (
        "not by a key that may be NULL on both sides",
        f"SELECT p FROM orders o JOIN {AVERAGE} ON o.id <=> a.order_id WHERE o.region = 'EU'",
        "join:inner(filter(scan orders), aggregate:1:1(scan items))",
    ),
    (
        "not by anything that is not a key",
        f"SELECT p FROM orders o JOIN {AVERAGE} ON o.id = a.p WHERE o.region = 'EU'",
        "join:inner(filter(scan orders), aggregate:1:1(scan items))",
    ),
    (
        "not where another reader may look at other groups",
        "WITH a AS (SELECT order_id, avg(price) p FROM items GROUP BY order_id) "
        "SELECT a.p FROM orders o JOIN a ON o.id = a.order_id JOIN a b ON b.p = a.p WHERE o.region = 'EU'",
        "join:inner(join:inner(filter(scan orders), aggregate:1:1(scan items)), aggregate:1:1(scan items))",
    ),
]


@pytest.mark.parametrize(("how", "text", "expected"), RESTRICTED, ids=[how for how, _, _ in RESTRICTED])
def test_groups_are_restricted(how: str, text: str, expected: str) -> None:
    assert shape(restrict_groups(push_filters(bound(text).plan)), projections=False) == expected


KEYS = {"orders": ("id",)}
GROUPED = [
    ("a count of partners", "SELECT o.id, count(i.price) FROM orders o LEFT JOIN items i ON o.id = i.order_id GROUP BY o.id", True),
    (
        "with a condition on partners alone",
        "SELECT o.id, max(i.price) FROM orders o LEFT JOIN items i ON o.id = i.order_id AND i.price > 1 GROUP BY o.id",
        True,
    ),
    (
        "by more than the key",
        "SELECT o.region, o.id, avg(i.price) FROM orders o LEFT JOIN items i ON o.id = i.order_id GROUP BY o.region, o.id",
        True,
    ),
    ("not of what is no key", "SELECT o.region, count(i.id) FROM orders o LEFT JOIN items i ON o.id = i.order_id GROUP BY o.region", False),
    ("not rows without a partner", "SELECT o.id, count(*) FROM orders o LEFT JOIN items i ON o.id = i.order_id GROUP BY o.id", False),
    (
        "not what a missing partner counts for",
        "SELECT o.id, sum(coalesce(i.price, 1)) FROM orders o LEFT JOIN items i ON o.id = i.order_id GROUP BY o.id",
        False,
    ),
    ("not of the left side", "SELECT o.id, sum(o.amount) FROM orders o LEFT JOIN items i ON o.id = i.order_id GROUP BY o.id", False),
    (
        "not by more than equal columns",
        "SELECT o.id, count(i.id) FROM orders o LEFT JOIN items i ON o.id = i.order_id AND i.price > o.amount GROUP BY o.id",
        False,
    ),
    ("not an inner join", "SELECT o.id, count(i.id) FROM orders o JOIN items i ON o.id = i.order_id GROUP BY o.id", False),
    (
        "not several at once, of which each multiplies the other",
        "SELECT o.id, count(i.id), count(j.id) FROM orders o LEFT JOIN items i ON o.id = i.order_id "
        "LEFT JOIN items j ON o.id = j.order_id GROUP BY o.id",
        False,
    ),
]


@pytest.mark.parametrize("how, text, is_grouped", GROUPED, ids=[how for how, _, _ in GROUPED])
def test_partners_are_grouped_before_they_are_joined(how: str, text: str, is_grouped: bool) -> None:
    before = push_filters(bound(text).plan)
    after = shape(group_before_join(before, KEYS), projections=False)
    assert after.startswith("join:left(scan orders, aggregate:1:1(") == is_grouped
    assert is_grouped or after == shape(before, projections=False)
    assert group_before_join(before, {}) == before


QUERIES = [
    "SELECT o.id, count(i.price) n, min(i.id) FROM orders o LEFT JOIN items i ON o.id = i.order_id GROUP BY o.id HAVING count(i.price) > 1",
    f"SELECT p FROM orders o JOIN {AVERAGE} ON o.id = a.order_id WHERE o.region = 'EU'",
    "WITH w AS (SELECT region, sum(amount) s FROM orders GROUP BY region) "
    "SELECT a.s FROM w a JOIN w b ON a.region = b.region WHERE a.s > 1 AND b.s > 2",
    "SELECT id, (SELECT count(*) FROM items i WHERE i.price < o.amount) FROM orders o",
    "SELECT region, id, sum(amount) FROM orders GROUP BY CUBE (region, id)",
    "SELECT id FROM orders EXCEPT ALL SELECT id FROM items",
]


@pytest.mark.parametrize("text", QUERIES)
def test_every_rule_keeps_the_columns_and_is_done_after_once(text: str) -> None:
    plan: Node = bound(text).plan
    for rule in rules(KEYS):
        changed = rule(plan)
        assert changed.columns == plan.columns
        assert rule(changed) == changed
        plan = changed
    assert plan == rewrite(bound(text).plan, KEYS)


def test_a_shared_subplan_stays_shared() -> None:
    plan = rewrite(bound(QUERIES[2]).plan)
    assert render(plan).count("GROUP BY") == 1
