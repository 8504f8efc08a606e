"""How many rows will come: as lately, or as at this time of the days and weeks before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from slackwater.catalog import Catalog, Changes, Done, Lease, store_named
from slackwater.run.forecast import DAY, USUAL, Forecast

NOW = 1_800_000_000.0
HOUR = 3600.0
Fill = Callable[[Iterable[Done]], None]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    found = Catalog(store_named(None, tmp_path))
    yield found
    found.close()


@pytest.fixture
def fill(catalog: Catalog) -> Iterator[Fill]:
    lease = Lease(catalog.store)

    def write(lines: Iterable[Done]) -> None:
        catalog.commit(f"step {catalog.snapshot().number}", Changes(history=list(lines)), catalog.snapshot(), lease)

    yield write
    lease.release()


def change(ago: float, added: int, removed: int = 0) -> Done:
    return Done("insert", "orders", "", NOW - ago, 0.1, added=added, removed=removed)


def test_where_nothing_is_known_one_row_in_a_hundred_is_expected(catalog: Catalog, fill: Fill) -> None:
    assert Forecast(catalog).arriving("orders", 5000.0, HOUR, NOW).inserts == USUAL * 5000
    fill([change(HOUR, 5000)])  # what a table begins with
    assert Forecast(catalog).arriving("orders", 5000.0, HOUR, NOW).inserts == USUAL * 5000


def test_as_much_comes_as_came_in_as_much_time(catalog: Catalog, fill: Fill) -> None:
    forecast = Forecast(catalog)
    fill([change(9 * HOUR, 9999), *(change(hours * HOUR, 100, 40) for hours in range(4, 0, -1))])
    found = forecast.arriving("orders", 10_000.0, 2 * HOUR, NOW)
    assert (found.inserts, found.updates, found.deletes) == pytest.approx((120, 80, 0))
    fill([change(0.5 * HOUR, 400)])  # only what is new is read
    assert forecast.arriving("orders", 10_000.0, HOUR, NOW).inserts == pytest.approx((800 - 160) / 4)


def busy_mornings(days: int, weekend: bool) -> list[Done]:
    """Until now, when a day begins: a thousand rows in its first hour, ten in each other; none at the weekend."""
    lines = [change(days * DAY + 1, 5000)]
    for day in range(days, 0, -1):
        is_idle = weekend and day % 7 in (0, 1)
        for hour in range(24):
            rows = 0 if is_idle else 1000 if hour == 0 else 10
            lines.append(change(day * DAY - hour * HOUR - 60, rows))
    return lines


def test_as_much_comes_as_at_this_time_of_the_days_before(catalog: Catalog, fill: Fill) -> None:
    fill(busy_mornings(5, weekend=False))
    forecast = Forecast(catalog)
    assert forecast.arriving("orders", 0.0, HOUR, NOW).inserts == pytest.approx(1000)
    assert forecast.arriving("orders", 0.0, HOUR, NOW + 5 * HOUR).inserts == pytest.approx(10)
    assert forecast.arriving("orders", 0.0, 2 * DAY, NOW).inserts == pytest.approx(2 * 1230, rel=0.1)  # seldom: as lately


def test_a_day_without_rows_is_expected_a_week_later(catalog: Catalog, fill: Fill) -> None:
    fill(busy_mornings(21, weekend=True))
    forecast = Forecast(catalog)
    assert forecast.arriving("orders", 0.0, HOUR, NOW).inserts == 0  # as seven days before
    assert forecast.arriving("orders", 0.0, HOUR, NOW + DAY).inserts == pytest.approx(1000)


def test_one_day_is_no_season(catalog: Catalog, fill: Fill) -> None:
    fill(busy_mornings(1, weekend=False))
    assert Forecast(catalog).arriving("orders", 0.0, HOUR, NOW).inserts == pytest.approx(1230 / 24, rel=0.1)
