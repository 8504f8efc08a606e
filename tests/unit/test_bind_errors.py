"""What the binder refuses, in what words, and where it points."""

from __future__ import annotations

import pytest

from slackwater.errors import QueryError, SlackwaterError, Unsupported
from slackwater.sql.functions import NonDeterministic
from tests.unit.bind_help import bound

# text, the marked part, the message, the hint
WRONG = [
    ("SELECT regoin, sum(amount) FROM orders", "regoin", 'column "regoin" does not exist in table "orders"', 'did you mean "region"?'),
    ("SELECT 1 FROM ordres", "ordres", 'table or view "ordres" does not exist', 'did you mean "orders"?'),
    ("SELECT nothing FROM orders, items", "nothing", 'column "nothing" does not exist', "the query reads orders, items"),
    (
        "SELECT id FROM orders JOIN items ON orders.id = order_id",
        "id",
        'column "id" is ambiguous: it could be orders.id or items.id',
        "write the table name before it",
    ),
    ("SELECT o.foo FROM orders o", "o.foo", 'column "foo" does not exist in table "o"', None),
    ("SELECT x.id FROM orders o", "x.id", 'table "x" is not among the tables of this query', "the query reads o"),
    ("SELECT x.* FROM orders o", "x.*", 'table "x" is not among the tables of this query', "the query reads o"),
    (
        "SELECT 1 FROM orders WHERE EXISTS (SELECT 1 FROM items WHERE order_id = orders.nope)",
        "orders.nope",
        'column "nope" does not exist in table "orders"',
        None,
    ),
    ("SELECT 1 FROM orders WHERE sum(amount) > 3", "sum", "aggregate functions cannot stand in WHERE", "use HAVING to choose groups"),
    (
        "SELECT sum(max(amount)) FROM orders",
        "max",
        "aggregate functions cannot stand in another aggregate function",
        "compute it in a subquery",
    ),
    (
        "SELECT region, amount FROM orders GROUP BY region",
        "amount",
        'column "amount" must be in GROUP BY or inside an aggregate function',
        "add it to GROUP BY, or take min(amount) or max(amount)",
    ),
    ("SELECT id FROM orders ORDER BY 5", "5", "position 5 is not in the select list, which has 1 columns", None),
    ("SELECT row_number() FROM orders", "row_number", "row_number() needs an OVER clause", None),
    (
        "SELECT id FROM orders WHERE rank() OVER (ORDER BY id) = 1",
        "rank() OVER (ORDER BY id",
        "window functions cannot stand in WHERE",
        "compute it in a subquery",
    ),
    ("SELECT sum(amount) OVER w FROM orders", "w", 'window "w" is not defined', "add WINDOW w AS (...) to the query"),
    (
        "SELECT (SELECT id, region FROM orders)",
        "id, region FROM orders",
        "a subquery used as a value must have one column, this one has 2",
        None,
    ),
    ("SELECT id.foo FROM orders", "id.foo", 'column "id" is of type int and has no field "foo"', None),
    ("SELECT explode(id) FROM orders", "explode", "explode() needs an array or a map, not int", None),
    (
        "SELECT DISTINCT id FROM orders ORDER BY region",
        "region",
        "with SELECT DISTINCT, ORDER BY can only use what is selected",
        "select the column too",
    ),
    (
        "SELECT id AS x, region AS x FROM orders ORDER BY x",
        "x",
        'column "x" is ambiguous: several columns of the select list have that name',
        "give them different aliases",
    ),
    ("SELECT 1 FROM orders o JOIN items i USING (price)", "price", 'column "price" does not exist in table "o"', None),
    ("SELECT grouping(id) FROM orders GROUP BY id", "grouping", "grouping() and grouping_id() need GROUPING SETS, ROLLUP or CUBE", None),
    ("SELECT max(id) AS m FROM orders WHERE m > 3", "m", 'column "m" does not exist in table "orders"', None),
]

REFUSED = [
    ("SELECT * FROM orders PIVOT (sum(amount) FOR region IN ('a'))", "PIVOT and UNPIVOT"),
    ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 2) SELECT * FROM r", "a recursive WITH"),
    ("SELECT * FROM range(10)", "a table-valued function"),
    ("SELECT id FROM orders LIMIT id", "LIMIT or OFFSET with anything but a number"),
    ("SELECT id FROM orders WHERE id > ANY (SELECT 1)", "comparison with ANY or ALL of a subquery"),
    ("SELECT explode(tags), explode(tags) FROM orders", "more than one generator in the select list"),
    ("SELECT stack(2, 1, 2) FROM orders", "a generator other than explode, posexplode and inline"),
    ("SELECT struct(*) FROM orders", "* inside an expression"),
]

UNSTABLE = {
    "rand()": "SELECT rand() FROM orders",
    "now()": "SELECT id FROM orders WHERE now() > DATE '2020-01-01'",
    "current_date()": "SELECT current_date FROM orders",
    "current_timestamp()": "SELECT id, current_timestamp() AS ts FROM orders",
    "uuid()": "SELECT uuid() FROM orders",
    "monotonically_increasing_id()": "SELECT monotonically_increasing_id() FROM orders",
    "input_file_name()": "SELECT input_file_name() FROM orders",
    "spark_partition_id()": "SELECT spark_partition_id() FROM orders",
    "shuffle()": "SELECT shuffle(tags) FROM orders",
    "current_user()": "SELECT current_user() FROM orders",
    "the answer of first()": "SELECT first(region) FROM orders",
    "the answer of last_value()": "SELECT last_value(region) FROM orders GROUP BY id",
    "the answer of any_value()": "SELECT any_value(region) FROM orders",
    "the answer of listagg()": "SELECT listagg(region) FROM orders",
    "TABLESAMPLE": "SELECT * FROM orders TABLESAMPLE (10 PERCENT)",
}


def refusal(text: str) -> SlackwaterError:
    with pytest.raises(SlackwaterError) as caught:
        bound(text)
    assert caught.value.text == text
    return caught.value


@pytest.mark.parametrize(("text", "marked", "message", "hint"), WRONG, ids=[message for _, _, message, _ in WRONG])
def test_a_wrong_query_is_told_what_and_where(text: str, marked: str, message: str, hint: str | None) -> None:
    error = refusal(text)
    assert isinstance(error, QueryError)
    assert error.message == message
    assert error.place is not None
    assert text[error.place.start : error.place.end] == marked
    if hint is not None:
        assert error.hint == hint


@pytest.mark.parametrize(("text", "construct"), REFUSED, ids=[construct for _, construct in REFUSED])
def test_what_has_no_plan_is_named(text: str, construct: str) -> None:
    error = refusal(text)
    assert isinstance(error, Unsupported)
    assert not isinstance(error, NonDeterministic)
    assert error.message.startswith(construct)


@pytest.mark.parametrize(("construct", "text"), UNSTABLE.items(), ids=list(UNSTABLE))
def test_what_changes_from_run_to_run_is_named(construct: str, text: str) -> None:
    error = refusal(text)
    assert isinstance(error, NonDeterministic)
    assert error.message.startswith(construct)
    assert error.place is not None
    assert error.hint


def test_an_order_makes_a_first_value_certain() -> None:
    bound("SELECT first_value(region) OVER (PARTITION BY id ORDER BY amount) FROM orders")
    bound("SELECT listagg(region) WITHIN GROUP (ORDER BY region) FROM orders")


def test_the_caret_stands_under_the_wrong_name() -> None:
    error = refusal("SELECT id,\n       amuont\nFROM orders")
    assert str(error) == 'column "amuont" does not exist in table "orders"\n  amuont\n  ^^^^^^\nhint: did you mean "amount"?'


def test_the_two_sides_of_a_union_must_match() -> None:
    assert refusal("SELECT id, region FROM orders UNION SELECT id FROM orders").message == "the two sides have 2 and 1 columns"
