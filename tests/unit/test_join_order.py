"""Joins are put together along keys, and so that little is read."""

from __future__ import annotations

from sqlglot import exp

from slackwater.delta.derive import Derivation, Known
from slackwater.delta.join_order import best_order, nearest
from slackwater.delta.rows import Moved
from slackwater.plan import Column, Node, Scan, column
from slackwater.plan.nodes import Expression

KNOWN = {
    "nation": Known(25, ("n_key",)),
    "supplier": Known(10_000, ("s_key",)),
    "customer": Known(150_000, ("c_key",)),
    "orders": Known(1_500_000, ("o_key",)),
    "lines": Known(6_000_000, ("l_order", "l_number")),
}
COLUMNS = {
    "nation": ("n_key",),
    "supplier": ("s_key", "s_nation"),
    "customer": ("c_key", "c_nation"),
    "orders": ("o_key", "o_customer"),
    "lines": ("l_order", "l_supplier"),
}
LOCAL_SUPPLIERS = [
    "c_key = o_customer",
    "l_order = o_key",
    "l_supplier = s_key",
    "c_nation = s_nation",
    "s_nation = n_key",
]


def inputs() -> dict[str, Node]:
    return {name: Scan(name, columns, tuple(Column(c, "bigint") for c in columns)) for name, columns in COLUMNS.items()}


def conditions(texts: list[str]) -> list[Expression]:
    pairs = [text.split(" = ") for text in texts]
    return [exp.EQ(this=column(left), expression=column(right)) for left, right in pairs]


def order(moved: set[str], texts: list[str] | None = None) -> list[str]:
    derive = Derivation({name: Moved(True, True) for name in moved}, KNOWN)
    found = best_order(list(inputs().values()), conditions(texts or LOCAL_SUPPLIERS), derive)
    return [node.relation for node in found if isinstance(node, Scan)]


def test_customers_and_suppliers_of_a_nation_do_not_meet_in_crowds() -> None:
    for moved in ({"orders", "lines"}, {"customer"}, {"supplier", "nation"}, set(COLUMNS)):
        found = order(moved)
        assert abs(found.index("customer") - found.index("supplier")) > 1
        first, last = sorted((found.index("customer"), found.index("supplier")))
        assert {"orders", "lines"} & set(found[first:last])


def test_the_largest_is_read_once_where_keys_allow_it() -> None:
    # Along this chain all that is smaller than the lines can come before them.
    chain = ["c_nation = n_key", "c_key = o_customer", "l_order = o_key", "l_supplier = s_key"]
    found = order({"nation", "customer", "orders"}, chain)
    assert found.index("lines") > max(found.index(name) for name in ("nation", "customer", "orders"))


def test_from_a_change_outwards_the_partner_by_key_comes_first() -> None:
    here = inputs()
    derive = Derivation({}, KNOWN)
    near = nearest([here["orders"]], [here["lines"], here["customer"], here["nation"]], conditions(LOCAL_SUPPLIERS), derive)
    assert near == here["customer"]


def test_without_a_key_nothing_is_taken_for_unique() -> None:
    derive = Derivation({}, {"orders": Known(10)})
    assert not derive.unique(inputs()["orders"], {"o_key"})
    assert Derivation({}, KNOWN).unique(inputs()["orders"], {"o_key", "o_customer"})
    assert not Derivation({}, KNOWN).unique(inputs()["lines"], {"l_order"})
