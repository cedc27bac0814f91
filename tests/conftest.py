"""Real PostgreSQL for every test that wants one.

    database          the DSN of a new database with the engine's schema in it
    app               an application on it; most rooms have one of their own
    empty_database    the DSN of a new database with nothing in it
    pg, pg18, pg15    the session's server behind them, or one of that version; do not stop it
    private_server    a factory of servers of one's own, to stop, kill and restart
    data_folder       a temporary folder that an embedded server can use
    pooled            the DSN of `database` through PgBouncer in transaction mode; skips where it is not installed

`--through=pgbouncer` lets `database` itself go through it, for all tests.
`--pg=15|18|all` (or `LANEWORK_TEST_PG`) says on which version; the default is 18. `@pytest.mark.pg(18)` pins a test.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lanework import Lanework
from tests import servers
from tests.pooler import Pooler, pooler, program
from tests.servers import Databases, PrivateServer

# The shared servers run with fsync off, for speed; what the engine does about that is tested where it matters.
os.environ["LANEWORK_ALLOW_UNSAFE"] = "1"
# Tests beside this one keep all cores busy: a child that gave way to them would wait for them.
os.environ["LANEWORK_CHILD_NICE"] = "0"
# Who starts the tests in the background has SIGINT ignored, and so would everything have that they start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# No test may reach the database or the data of whoever runs it.
for _name in ("LANEWORK_DSN", "LANEWORK_DIRECT_DSN", "LANEWORK_DATA", "PGHOST", "PGPORT", "PGDATABASE", "PGSERVICE"):
    os.environ.pop(_name, None)


# Thousands of tests are collected, and nothing of them is garbage: to look for it takes longer than to collect them.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    chosen = os.environ.get("LANEWORK_TEST_PG", "18")
    parser.addoption("--through", choices=("pgbouncer",), help="reach the databases of tests through PgBouncer in transaction mode")
    parser.addoption("--pg", default=chosen, help="PostgreSQL to test on: 18, 15, 15,18 or all (default: 18)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "pg(*majors): run on these versions of PostgreSQL only, whatever --pg says")
    config.addinivalue_line("markers", "long: many seconds of computing; begun before others")
    config.addinivalue_line("markers", "direct(why): needs a session of its own on the server; left out with --through")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _begin_with_long_ones(items)
    if config.getoption("--through"):
        for item in items:
            if (mark := item.get_closest_marker("direct")) is not None:
                item.add_marker(pytest.mark.skip(reason=f"not through a pooler: {mark.args[0]}"))


def _begin_with_long_ones(items: list[pytest.Item]) -> None:
    """Each worker gets a part of the tests, and takes from others what they have not begun when it is done: what takes long is the
    beginning of a part, or all wait for it in the end."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    size = -(-len(items) // workers) or 1
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    items[:] = [item for part in parts for item in sorted(part, key=lambda one: one.get_closest_marker("long") is None)]


def pytest_collection_finish() -> None:
    """What is there now stays: while tests run, only what they make is looked at."""
    gc.freeze()
    gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pg_major" in metafunc.fixturenames:
        pinned = metafunc.definition.get_closest_marker("pg")
        majors = list(pinned.args) if pinned else _chosen(metafunc.config)
        metafunc.parametrize("pg_major", majors, scope="session", ids=lambda major: f"pg{major}")


def _chosen(config: pytest.Config) -> list[int]:
    chosen = str(config.getoption("--pg"))
    return servers.majors_present() if chosen == "all" else [int(major) for major in chosen.split(",")]


@pytest.fixture(scope="session")
def _fleet() -> Iterator[Callable[[int], Databases]]:
    """One server per version and session, started by the first test that wants it."""
    servers.sweep()
    with ExitStack() as stack:
        running: dict[int, Databases] = {}

        def on(major: int) -> Databases:
            if major not in running:
                _must_be_present(major)
                running[major] = Databases(stack.enter_context(PrivateServer.temporary(major=major)))
                stack.callback(running[major].close)
            return running[major]

        yield on


@pytest.fixture
def databases(_fleet: Callable[[int], Databases], pg_major: int) -> Databases:
    return _fleet(pg_major)


@pytest.fixture
def pg(databases: Databases) -> PrivateServer:
    return databases.server


@pytest.fixture
def pg18(_fleet: Callable[[int], Databases]) -> PrivateServer:
    return _fleet(18).server


@pytest.fixture
def pg15(_fleet: Callable[[int], Databases]) -> PrivateServer:
    return _fleet(15).server


@pytest.fixture(scope="session")
def _poolers() -> Iterator[Callable[[PrivateServer], Pooler]]:
    """One per server and session, started by the first test that wants it."""
    with ExitStack() as stack:
        running: dict[int, Pooler] = {}

        def before(server: PrivateServer) -> Pooler:
            if program() is None:
                pytest.skip("pgbouncer is not installed here")
            if id(server) not in running:
                running[id(server)] = stack.enter_context(pooler(server))
            return running[id(server)]

        yield before


@pytest.fixture
def way(request: pytest.FixtureRequest, databases: Databases, _poolers: Callable[[PrivateServer], Pooler]) -> Callable[[str], str]:
    """From a direct DSN to the one that tests are given."""
    if request.config.getoption("--through") is None:
        return lambda dsn: dsn
    return _poolers(databases.server).dsn


@pytest.fixture
def direct(databases: Databases) -> Iterator[str]:
    with databases.with_schema() as dsn:
        yield dsn


@pytest.fixture
def database(direct: str, way: Callable[[str], str]) -> str:
    return way(direct)


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database) as app:
        yield app


@pytest.fixture
def pooled(direct: str, databases: Databases, _poolers: Callable[[PrivateServer], Pooler]) -> str:
    return _poolers(databases.server).dsn(direct)


@pytest.fixture
def empty_database(databases: Databases, way: Callable[[str], str]) -> Iterator[str]:
    with databases.empty() as dsn:
        yield way(dsn)


@pytest.fixture
def private_server() -> Iterator[Callable[..., PrivateServer]]:
    """`private_server(major=18, durable=False, tcp=False)` starts one; all are gone after the test."""
    with ExitStack() as stack:

        def start(*, major: int = 18, durable: bool = False, tcp: bool = False) -> PrivateServer:
            _must_be_present(major)
            return stack.enter_context(PrivateServer.temporary(major=major, durable=durable, tcp=tcp))

        yield start


@pytest.fixture
def data_folder() -> Iterator[Path]:
    with servers.data_folder() as folder:
        yield folder / "data"


def _must_be_present(major: int) -> None:
    if major not in servers.majors_present():
        pytest.skip(f"PostgreSQL {major} is not installed here")
