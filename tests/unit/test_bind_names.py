"""Names: what they may mean, how columns are called in the plan and shown to the user, and when the engine is asked for types."""

from __future__ import annotations

import pytest

from slackwater.plan.nodes import Project, Scan
from slackwater.plan.render import sql
from slackwater.sql.bind import Query, bind
from tests.unit.bind_help import Catalog, CountingTyper, bound, bound_with_tree, find


def test_every_column_gets_a_readable_name_of_its_own() -> None:
    query = bound("SELECT o.id, i.id AS item FROM orders o JOIN items i ON o.id = i.order_id")
    names = [name for node in query.plan.walk() if isinstance(node, Scan | Project) for name in node.names]
    assert len(set(names)) == len(names)
    assert query.names == ("id", "item")
    assert query.plan.names[0].startswith("id_") and query.plan.names[1].startswith("item_")


def test_names_do_not_care_about_case_and_scans_keep_the_declared_one() -> None:
    query = bound("SELECT c.NAME, ID FROM CUSTOMERS C")
    scan = find(query.plan, Scan)
    assert isinstance(scan, Scan)
    assert (scan.relation, scan.source) == ("Customers", ("Id", "Name"))
    assert query.names == ("NAME", "ID")


def test_a_tree_spares_parsing() -> None:
    assert bound_with_tree("SELECT id FROM orders") == bound("SELECT id FROM orders")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM items", ("id", "order_id", "price")),
        ("SELECT * EXCEPT (id) FROM items", ("order_id", "price")),
        ("SELECT i.*, o.id FROM orders o, items i", ("id", "order_id", "price", "id")),
        ("SELECT * FROM orders JOIN items USING (id)", ("id", "region", "amount", "tags", "place", "order_id", "price")),
        ("SELECT * FROM orders LEFT SEMI JOIN items USING (id)", ("id", "region", "amount", "tags", "place")),
        ("SELECT count(*), sum(amount), id + 1, -id FROM orders GROUP BY id", ("count(1)", "sum(amount)", "(id + 1)", "(- id)")),
        ("SELECT place.city, CAST(id AS STRING), (region) FROM orders", ("city", "id", "region")),
        ("SELECT place.* FROM orders", ("city", "zip")),
        ("SELECT posexplode(tags) FROM orders", ("pos", "col")),
        ("SELECT posexplode(tags) AS (p, tag) FROM orders", ("p", "tag")),
        ("WITH w(a, b) AS (SELECT id, region FROM orders) SELECT * FROM w", ("a", "b")),
        ("SELECT * FROM VALUES (1, 'a') AS v(x, y)", ("x", "y")),
        ("SELECT id FROM orders UNION SELECT price FROM items", ("id",)),
    ],
)
def test_what_the_user_sees(text: str, names: tuple[str, ...]) -> None:
    assert bound(text).names == names


def test_a_later_item_may_use_an_alias_but_a_column_comes_first() -> None:
    assert bound("SELECT id * 2 AS double, double + 1 AS more FROM orders").names == ("double", "more")
    plan = bound("SELECT region AS id, id + 1 AS next FROM orders").plan
    assert plan.columns[1].type == "int"


def test_order_by_sees_the_select_list_first() -> None:
    query = bound("SELECT amount AS id, id AS x FROM orders ORDER BY id")
    assert [sql(key) for key in query.order] == [f"`{query.plan.names[0]}`"]


def test_the_order_to_show_rows_in_is_kept_only_if_the_columns_are_there() -> None:
    def order(query: Query) -> int:
        return len(query.order)

    assert order(bound("SELECT id, region FROM orders ORDER BY region DESC, 1")) == 2
    assert order(bound("SELECT id FROM orders ORDER BY region")) == 0
    assert order(bound("SELECT region, sum(amount) FROM orders GROUP BY region ORDER BY sum(amount) DESC")) == 1
    assert order(bound("SELECT id FROM orders UNION SELECT id FROM items ORDER BY id")) == 1


def test_lambda_variables_are_no_columns() -> None:
    plan = bound("SELECT transform(tags, x -> concat(x, region)) AS t FROM orders").plan
    text = sql(next(node for node in plan.walk() if isinstance(node, Project)).outputs[0].expression)
    assert "x -> CONCAT(x, `region_" in text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, region FROM orders WHERE amount > 3",
        "SELECT region, count(*), max(amount) FROM orders GROUP BY region HAVING count(*) > 1",
        "SELECT id FROM orders WHERE id IN (SELECT order_id FROM items)",
        "SELECT row_number() OVER (PARTITION BY region ORDER BY id) FROM orders",
    ],
)
def test_types_that_follow_from_the_shape_are_not_asked_for(text: str) -> None:
    typer = CountingTyper()
    bind(text, Catalog(), typer)
    assert typer.calls == 0


def test_all_expressions_of_a_select_list_are_asked_for_at_once() -> None:
    typer = CountingTyper()
    bind("SELECT amount * 2, concat(region, 'x'), amount / id FROM orders", Catalog(), typer)
    assert typer.calls == 1
