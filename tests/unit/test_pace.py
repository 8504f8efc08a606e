"""What is expected of rows and of work, held against rows that are really counted, and planners against each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sqlglot import exp, parse_one

from slackwater.pace.estimate import estimated_sizes
from slackwater.pace.flow import Flow, Moves, flow, spread
from slackwater.pace.planners import (
    MARGIN,
    NEARLY,
    PLANNERS,
    ROOM,
    WORTH_IT,
    Planner,
    brute_force,
    eager,
    greedy,
    is_allowed,
    lazy,
    leaf,
    uniform,
    with_room,
)
from slackwater.pace.price import Price
from slackwater.pace.simulate import STEPS, Arriving, Paces, PathModel, Simulation, Work
from slackwater.plan import Aggregate, Column, Filter, Join, Limit, Node, Output, Project, Scan, Union, column

ORDERS = Scan("orders", ("id", "customer"), (Column("id", "bigint"), Column("customer", "bigint")))
LINES = Scan("lines", ("id", "amount"), (Column("line", "bigint"), Column("amount", "int")))
SAME = parse_one("id = line")
TOTAL = Output(Column("total", "bigint"), exp.Sum(this=column("amount")))
COUNT = Output(Column("n", "bigint"), exp.Count(this=exp.Star()))


def one(rows: float, inserts: float = 0, updates: float = 0, deletes: float = 0) -> Flow:
    """Of a source, for one flush."""
    return Flow(
        np.array([float(rows)]), np.array([rows + inserts - deletes]), Moves(*(np.array([float(n)]) for n in (inserts, updates, deletes)))
    )


def told(found: Flow) -> tuple[float, ...]:
    return tuple(round(float(each[0]), 2) for each in (found.after, found.moves.inserts, found.moves.updates, found.moves.deletes))


def test_a_filter_passes_its_share_of_everything() -> None:
    node = Filter(LINES, parse_one("amount > 5"))
    assert told(flow(node, {"lines": one(100, 10, 20, 30)}, {LINES: 1000, node: 250})) == (20.0, 2.5, 5.0, 7.5)


def test_a_join_multiplies_what_moves_by_what_is_there() -> None:
    node = Join(ORDERS, LINES, "inner", SAME)
    sizes: dict[Node, float] = {ORDERS: 100, LINES: 400, node: 400}  # each order has four lines
    found = flow(node, {"orders": one(100, inserts=10), "lines": one(400, inserts=40)}, sizes)
    assert told(found) == (484.0, 84.0, 0.0, 0.0)  # ten new orders with all lines, and new lines with the old orders
    assert told(flow(node, {"orders": one(100, updates=10), "lines": one(400)}, sizes)) == (400.0, 0.0, 40.0, 0.0)


def test_what_moves_on_the_right_turns_rows_of_a_semi_join_around() -> None:
    sizes: dict[Node, float] = {ORDERS: 1000, LINES: 1000}
    semi, anti = Join(ORDERS, LINES, "semi", SAME), Join(ORDERS, LINES, "anti", SAME)
    share = 1 - np.exp(-1)  # of a thousand orders, if a thousand lines go to any of them
    sources = {"orders": one(1000), "lines": one(1000, inserts=1000)}
    found = flow(semi, sources, {**sizes, semi: 1000 * share})
    assert told(found)[:2] == pytest.approx((1000 * (1 - np.exp(-2)), 1000 * (np.exp(-1) - np.exp(-2))), abs=0.1)
    without = flow(anti, sources, {**sizes, anti: 1000 * (1 - share)})
    assert without.moves.deletes == pytest.approx(found.moves.inserts) and without.after + found.after == pytest.approx(1000)


def test_rows_of_a_left_join_lose_their_nulls_when_partners_arrive() -> None:
    node = Join(ORDERS, LINES, "left", SAME)
    found = flow(node, {"orders": one(1000), "lines": one(1000, inserts=500)}, {ORDERS: 1000, LINES: 1000, node: 1100})
    assert found.moves.inserts[0] > 400 and found.moves.deletes[0] > 0


@pytest.mark.parametrize(("groups", "before", "arriving"), [(50, 100, 30), (1000, 5000, 100), (1000, 200, 2000), (10, 10_000, 500)])
def test_groups_are_touched_as_often_as_really_happens(groups: int, before: int, arriving: int) -> None:
    luck = np.random.default_rng(7)
    new, changed, there = [], [], []
    for _ in range(200):
        old, more = luck.integers(0, groups, before), luck.integers(0, groups, arriving)
        new.append(len(np.setdiff1d(more, old)))
        changed.append(len(np.intersect1d(more, old)))
        there.append(len(np.unique(old)))
    node = Aggregate(LINES, ("line",), (TOTAL,))
    found = flow(node, {"lines": one(before, inserts=arriving)}, {LINES: before, node: float(np.mean(there))})
    assert found.moves.inserts[0] == pytest.approx(np.mean(new), rel=0.05, abs=0.5)
    assert found.moves.updates[0] == pytest.approx(np.mean(changed), rel=0.05, abs=0.5)


def test_a_total_changes_once_however_much_has_moved() -> None:
    node = Aggregate(LINES, (), (TOTAL,))
    assert told(flow(node, {"lines": one(100, 10, 20, 5)}, {LINES: 100, node: 1})) == (1.0, 0.0, 1.0, 0.0)
    assert told(flow(node, {"lines": one(100)}, {LINES: 100, node: 1})) == (1.0, 0.0, 0.0, 0.0)


def test_of_a_limit_no_more_changes_than_it_has() -> None:
    node = Limit(LINES, (), 10)
    assert told(flow(node, {"lines": one(1000, inserts=100)}, {LINES: 1000})) == (10.0, 0.91, 0.0, 0.91)
    assert told(flow(node, {"lines": one(0, inserts=100)}, {LINES: 0})) == (10.0, 10.0, 0.0, 0.0)


def test_branches_add_up() -> None:
    other = Project(ORDERS, (Output(Column("a", "bigint"), column("id")), Output(Column("b", "bigint"), column("customer"))))
    node = Union(
        (other, Project(LINES, (Output(Column("c", "bigint"), column("line")), Output(Column("d", "int"), column("amount"))))),
        other.columns,
    )
    assert told(flow(node, {"orders": one(10, 1), "lines": one(20, 2, 3, 4)}, {})) == (29.0, 3.0, 3.0, 4.0)


def test_where_every_row_is_a_group_there_is_no_end_of_them() -> None:
    assert spread(100, 100) > 1e12 and spread(10, 10_000) == pytest.approx(10, rel=0.01)
    assert spread(632.12, 1000) == pytest.approx(1000, rel=0.01)


def cost(fixed: float, per_row: float) -> dict[str, object]:
    def price(rows: np.ndarray) -> np.ndarray:
        return fixed + per_row * rows

    return {"incremental": Price(fixed, per_row, 7 * per_row, 0.0), "full": price}


def average_and_above(fixed: float = 0.001, groups: float = 1000.0) -> Simulation:
    """Lines of orders whose total is above the average of all (the document's Figure 3.2): the lower path is worth it, the upper is not."""
    per_order = Aggregate(LINES, ("line",), (TOTAL,))
    kept = Scan("v/1", ("line", "total"), (Column("line_1", "bigint"), Column("total_1", "bigint")))
    average = Aggregate(kept, (), (COUNT,))
    lower = PathModel("v/1", per_order, {LINES: 100_000, per_order: groups}, **cost(fixed, 1e-6))  # type: ignore[arg-type]
    upper = PathModel("v/2", average, {kept: groups, average: 1}, **cost(fixed, 1e-6))  # type: ignore[arg-type]
    return Simulation((lower, upper), {"lines": Arriving(100_000, inserts=100_000)})


def test_work_grows_with_paces_and_what_is_left_shrinks() -> None:
    simulation = average_and_above()
    works = [simulation.work((step, 1)) for step in STEPS]
    assert all(a.final > b.final for a, b in zip(works, works[1:], strict=False))
    assert works[0].total < works[-1].total and works[0].total == works[0].final


def test_the_total_of_what_is_read_does_not_depend_on_the_pace() -> None:
    simulation = average_and_above(fixed=0.0)
    read = {pace: simulation._news("lines", (pace,), (pace, 1))[0].moves.read.sum() for pace in (1, 7, 100)}
    assert len({round(each) for each in read.values()}) == 1


def test_who_looks_seldom_reads_all_that_was_written_meanwhile() -> None:
    simulation = average_and_above(groups=1000.0)
    written = simulation.given(0, (4, 1))  # all groups change, each time
    read = simulation._news("v/1", (1, 2), (4, 1))[1]  # at pace 1, and then at pace 2
    assert read is not None and read.tolist() == pytest.approx([written.sum(), written[:2].sum(), written[2:].sum()])


@pytest.mark.parametrize("paces", [(4, 1), (4, 2), (100, 25), (7, 3)])
def test_paces_that_are_looked_at_together_are_those_that_are_looked_at_alone(paces: Paces) -> None:
    simulation = average_and_above()
    for number in range(2):
        alone, found = simulation.costs(number, paces), simulation.of_path(number, paces)
        assert [found.total, found.final] == pytest.approx([alone.sum(), alone[-1]])


def test_a_table_that_is_read_twice_is_read_twice_in_full() -> None:
    again = Scan("lines", ("line",), (Column("line_2", "bigint"),))
    twice = Join(LINES, again, "semi", parse_one("line = line_2"))
    path = PathModel("v/1", twice, {LINES: 100.0, again: 100.0, twice: 100.0}, Price(1e9, 0.0, 0.0, 0.0), lambda rows: rows)
    simulation = Simulation((path,), {"lines": Arriving(0, inserts=100)})
    assert simulation.work((1,)).total == 200


def test_what_a_path_keeps_tells_what_its_filter_leaves() -> None:
    few = Filter(LINES, parse_one("amount > 5"))
    shown = Project(few, (Output(Column("line", "bigint"), column("line")),))
    sizes = estimated_sizes(shown, {"lines": 100_000}, 40)
    assert (sizes[few], sizes[shown]) == (40, 40)
    assert flow(shown, {"lines": Arriving(50_000, inserts=1_000).between(np.zeros(1), np.ones(1))}, sizes).moves.read[0] == pytest.approx(
        0.4
    )


def test_greedy_delays_what_is_done_again_and_again() -> None:
    simulation = average_and_above()
    batch = simulation.work((1, 1)).final
    lower, upper = greedy(simulation, 0.3 * batch)
    assert lower > upper and simulation.work((lower, upper)).final <= 0.3 * batch
    other = uniform(simulation, 0.3 * batch)
    assert simulation.work((lower, upper)).total < simulation.work(other).total


@pytest.mark.parametrize("fixed", [0.0, 0.001, 0.03])
@pytest.mark.parametrize("groups", [1.0, 1000.0, 90_000.0])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.2, 0.1, 0.05, 0.02])
def test_greedy_is_close_to_the_best(fixed: float, groups: float, share: float) -> None:
    simulation = average_and_above(fixed, groups)
    most = share * simulation.work((1, 1)).final
    found, best = greedy(simulation, most), brute_force(simulation, most)
    if simulation.work(best).final <= most:
        assert simulation.work(found).final <= most
        assert simulation.work(found).total <= 1.05 * simulation.work(best).total
    else:  # it cannot be met: nearly the least is left, for no more than all of it
        every = (paces for paces in itertools.product(STEPS, repeat=2) if is_allowed(simulation, paces))
        least = min(map(simulation.work, every), key=lambda work: work.final)
        assert simulation.work(found).final <= NEARLY * NEARLY * least.final
        assert simulation.work(found).total <= least.total


@pytest.mark.parametrize("name", PLANNERS)
def test_no_path_is_flushed_more_often_than_those_it_reads(name: str) -> None:
    simulation = average_and_above()
    for share in (1.0, 0.3, 0.05):
        assert is_allowed(simulation, PLANNERS[name](simulation, share * simulation.work((1, 1)).final))


def test_the_ends() -> None:
    simulation = average_and_above()
    assert lazy(simulation, 0) == (1, 1) and eager(simulation, 0) == (100, 100)
    assert leaf(simulation, 0.5 * simulation.work((1, 1)).final)[0] == leaf(simulation, 0.5 * simulation.work((1, 1)).final)[1]
    assert PLANNERS["inverse"](simulation, 0.2 * simulation.work((1, 1)).final) == (5, 5)
    assert greedy(simulation, 1e9) == (1, 1)  # whatever is enough without any


def test_works_add_up() -> None:
    assert Work(3.0, 1.0) + Work(1.0, 0.5) == Work(4.0, 1.5)


def test_nodes_may_be_looked_up_by_what_they_are() -> None:
    sizes: dict[Node, float] = {Filter(LINES, parse_one("amount > 5")): 3.0}
    assert sizes[Filter(LINES, parse_one("amount > 5"))] == 3.0


def test_room_is_left_where_that_is_cheap() -> None:
    simulation = average_and_above()
    batch = simulation.work((1, 1)).final
    least = simulation.work(greedy(simulation, 0.0)).final
    for share in (0.9, 0.5, 0.2, 0.05, 0.01):
        most = share * batch
        final = simulation.work(with_room(greedy, simulation, most)).final
        if ROOM * least < MARGIN * most:
            assert final <= MARGIN * most  # so much less than could be left that it may become more
        elif least <= most:
            assert final <= max(most, ROOM * least)
        else:
            assert final <= ROOM * NEARLY * least  # the goal cannot be met, nor is all spent on coming near
    assert with_room(greedy, simulation, math.inf) == (1, 1)


@pytest.mark.parametrize("planner", [greedy, uniform])
def test_what_is_just_within_reach_is_planned_for(planner: Planner) -> None:
    simulation = average_and_above(fixed=0.01)
    most = 1.01 * simulation.work(eager(simulation, 0.0)).final
    assert simulation.work(with_room(planner, simulation, most)).final <= most


def test_nothing_is_spent_on_a_goal_that_cannot_be_approached() -> None:
    simulation = average_and_above(fixed=0.2)  # which is most of what a flush costs
    batch = simulation.work((1, 1)).final
    assert WORTH_IT * batch < ROOM * simulation.work(eager(simulation, 0.0)).final
    assert with_room(greedy, simulation, 0.02 * batch) == (1, 1)


def test_a_view_is_computed_past_its_paths_where_that_leaves_clearly_less() -> None:
    paths = average_and_above()
    final = paths.work((1, 1)).final
    simulation = Simulation(paths.paths, paths.tables, {frozenset(): 0.5 * final})
    work = simulation.work((1, 1))
    assert (work.total, work.final) == pytest.approx((0.5 * final, 0.5 * final)) and simulation.kept((1, 1)) == frozenset()
    simulation = Simulation(paths.paths, paths.tables, {frozenset(): 0.9 * final})
    assert simulation.work((1, 1)) == paths.work((1, 1)) and simulation.kept((1, 1)) is None


def test_a_view_is_computed_from_what_was_flushed_early_where_that_leaves_less() -> None:
    paths = average_and_above()
    lower, upper = paths.of_path(0, (20, 1)), paths.of_path(1, (20, 1))
    kept = frozenset({paths.paths[0].name})
    simulation = Simulation(paths.paths, paths.tables, {frozenset(): lower.final + upper.final, kept: 0.5 * upper.final})
    work = simulation.work((20, 1))
    assert simulation.kept((20, 1)) == kept
    assert work.final == pytest.approx(lower.final + 0.5 * upper.final)
    assert work.total == pytest.approx(lower.total + 0.5 * upper.final)
