"""Which nodes a clause becomes."""

from __future__ import annotations

import pytest

from slackwater.plan.nodes import Aggregate, Generate, Join, Limit, Node, Project, Union, Window, columns_in
from slackwater.plan.render import sql
from slackwater.rewrite import rewrite
from tests.unit.bind_help import bound, find, kinds, shape

SHAPES = [
    ("SELECT 1", "project(values 1)"),
    ("SELECT id FROM orders WHERE id > 1", "project(filter(scan orders))"),
    ("SELECT DISTINCT region FROM orders", "aggregate:1:0(project(scan orders))"),
    ("SELECT sum(amount) FROM orders", "project(aggregate:0:1(scan orders))"),
    ("SELECT region, sum(amount), avg(amount), sum(amount) + 1 FROM orders GROUP BY region", "project(aggregate:1:2(scan orders))"),
    ("SELECT id % 2, count(*) FROM orders GROUP BY id % 2", "project(aggregate:1:1(project(scan orders)))"),
    ("SELECT region FROM orders GROUP BY region HAVING count(*) > 1", "project(filter(aggregate:1:1(scan orders)))"),
    ("SELECT id FROM orders ORDER BY id LIMIT 3", "limit(project(scan orders))"),
    ("SELECT id FROM orders ORDER BY amount LIMIT 3", "project(limit(project(scan orders)))"),
    ("SELECT o.id FROM orders o, items i", "project(join:inner(scan orders, scan items))"),
    ("SELECT o.id FROM orders o RIGHT JOIN items i ON o.id = i.id", "project(join:left(scan items, scan orders))"),
    ("SELECT id FROM orders UNION ALL SELECT id FROM items", "union(project(scan orders), project(scan items))"),
    ("SELECT id FROM orders UNION SELECT id FROM items", "aggregate:1:0(union(project(scan orders), project(scan items)))"),
    ("SELECT id FROM orders WHERE id IN (SELECT id FROM items)", "project(join:semi(scan orders, project(scan items)))"),
    ("SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.id = o.id)", "project(join:anti(scan orders, scan items))"),
    (
        "SELECT id FROM orders WHERE amount > (SELECT avg(price) FROM items)",
        "project(filter(join:inner(scan orders, project(aggregate:0:1(scan items)))))",
    ),
    (
        "SELECT id FROM orders o WHERE amount > (SELECT avg(price) FROM items i WHERE i.id = o.id)",
        "project(filter(join:left(scan orders, aggregate:1:1(scan items))))",
    ),
    ("SELECT id, tag FROM orders LATERAL VIEW explode(tags) e AS tag", "project(generate(scan orders))"),
    ("SELECT rank() OVER (PARTITION BY region ORDER BY id) FROM orders", "project(window(scan orders))"),
]


@pytest.mark.parametrize(("text", "expected"), SHAPES, ids=[text for text, _ in SHAPES])
def test_a_clause_becomes_its_nodes(text: str, expected: str) -> None:
    assert shape(bound(text).plan) == expected


def test_a_with_entry_is_bound_once_and_shared() -> None:
    plan = bound("WITH w AS (SELECT region, count(*) n FROM orders GROUP BY region) SELECT a.n FROM w a JOIN w b ON a.n = b.n").plan
    join = find(plan, Join)
    assert isinstance(join, Join) and isinstance(join.left, Project) and isinstance(join.right, Project)
    assert join.left.input is join.right.input
    assert not set(join.left.names) & set(join.right.names)
    shared = find(rewrite(plan), Join)
    assert isinstance(shared, Join)
    assert below_projections(shared.left) == below_projections(shared.right)


def below_projections(node: Node) -> Node:
    while isinstance(node, Project):
        node = node.input
    return node


def test_windows_with_the_same_partition_share_a_node() -> None:
    text = (
        "SELECT rank() OVER (PARTITION BY id, region ORDER BY amount), sum(id) OVER (PARTITION BY region, id), count(*) OVER () FROM orders"
    )
    windows = [node for node in bound(text).plan.walk() if isinstance(node, Window)]
    assert sorted((len(window.keys), len(window.functions)) for window in windows) == [(0, 1), (2, 2)]


def test_using_after_a_full_join_shows_whichever_side_there_is() -> None:
    plan = bound("SELECT id FROM orders FULL JOIN items USING (id)").plan
    assert any("COALESCE" in sql(expression) for node in plan.walk() for expression in node.expressions())


def test_a_not_in_pairs_what_null_makes_unknown() -> None:
    join = find(bound("SELECT id FROM orders WHERE id NOT IN (SELECT order_id FROM items)").plan, Join)
    assert isinstance(join, Join) and join.kind == "anti" and join.condition is not None
    assert sql(join.condition).count("IS NULL") == 2


def test_a_correlated_count_is_zero_where_nothing_matches() -> None:
    plan = bound("SELECT (SELECT count(*) FROM items i WHERE i.order_id = o.id) AS n FROM orders o").plan
    assert isinstance(plan, Project)
    assert sql(plan.outputs[0].expression).startswith("COALESCE(`count_")


def test_a_correlated_filter_above_an_aggregate_uses_the_domain_of_outer_values() -> None:
    plan = bound("SELECT (SELECT count(*) FROM items i WHERE i.price < o.amount) AS n FROM orders o").plan
    join = find(plan, Join)
    assert isinstance(join, Join) and join.condition is not None
    assert "IS NOT DISTINCT FROM" in sql(join.condition)


def test_several_levels_of_correlation() -> None:
    text = """SELECT id FROM orders o WHERE EXISTS (
        SELECT 1 FROM items i WHERE i.id = o.id AND EXISTS (SELECT 1 FROM customers c WHERE c.id = i.id AND c.id < o.amount))"""
    assert kinds(bound(text).plan).count("semi") == 2


def test_a_scalar_subquery_that_may_have_more_rows_is_guarded() -> None:
    plan = bound("SELECT (SELECT price FROM items i WHERE i.id = o.id) FROM orders o").plan
    assert any("RAISE_ERROR" in sql(expression).upper() for node in plan.walk() for expression in node.expressions())


def test_grouping_sets_are_one_aggregate_over_repeated_rows() -> None:
    plan = bound("SELECT region, id, sum(amount) FROM orders GROUP BY ROLLUP (region, id)").plan
    aggregate, generate = find(plan, Aggregate), find(plan, Generate)
    assert isinstance(aggregate, Aggregate) and isinstance(generate, Generate)
    assert len(aggregate.keys) == 3
    assert sql(generate.generator) == "ARRAY(0, 1, 2)"


def test_union_casts_only_what_differs() -> None:
    plan = bound("SELECT id FROM orders UNION ALL SELECT price FROM items").plan
    assert isinstance(plan, Union)
    assert plan.columns[0].type == "double"
    assert [column.type for branch in plan.branches for column in branch.columns] == ["double", "double"]


def test_the_parts_of_an_intersection_are_counted_per_side() -> None:
    plan = bound("SELECT id FROM orders INTERSECT SELECT id FROM items").plan
    aggregate = find(plan, Aggregate)
    assert isinstance(aggregate, Aggregate)
    assert ["COUNT_IF" in sql(measure.expression) for measure in aggregate.measures] == [True, True]
    assert shape(bound("SELECT id FROM orders EXCEPT ALL SELECT id FROM items").plan).startswith(
        "project(generate(filter(project(aggregate:1:2(union("
    )


def test_a_limit_keeps_direction_and_nulls() -> None:
    plan = bound("SELECT id FROM orders ORDER BY id DESC NULLS FIRST LIMIT 3 OFFSET 2").plan
    assert isinstance(plan, Limit)
    assert (plan.count, plan.offset) == (3, 2)
    assert sql(plan.order[0]).endswith("DESC NULLS FIRST")


def test_expressions_name_columns_of_the_inputs_only() -> None:
    plan = bound("SELECT o.region, count(*) FROM orders o JOIN items i ON o.id = i.order_id GROUP BY o.region").plan
    for node in plan.walk():
        known = {name for below in node.inputs for name in below.names}
        assert all(columns_in(expression) <= known for expression in node.expressions())
