"""`engine`: the verbs on a database whose clock stands still, wiped between tests. `another`: more connections to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.servers import Databases
from tests.sql.desk import Desk
from tests.sql.engine import Engine, connect
from tests.sql.proof import complaints, instrumented, wipe

Another = Callable[..., Engine]


@pytest.fixture(scope="session")
def _kept(_fleet: object) -> Iterator[Callable[[Databases], str]]:
    """One database per server for all tests that plant no bugs: a new one for each would cost more than the tests.

    It is dropped before the fleet of servers is gone.
    """
    with ExitStack() as stack:
        made: dict[int, str] = {}

        def kept(databases: Databases) -> str:
            if id(databases) not in made:
                made[id(databases)] = stack.enter_context(databases.with_schema())
                instrumented(made[id(databases)]).db.close()
            return made[id(databases)]

        yield kept


@pytest.fixture
def shared_database(_kept: Callable[[Databases], str], databases: Databases, way: Callable[[str], str]) -> str:
    """The DSN of a database with the instruments in it, in which nothing has happened."""
    dsn = _kept(databases)
    with connect(dsn) as db:
        wipe(Engine(db), frozen=True)
    return way(dsn)


@pytest.fixture
def engine(shared_database: str) -> Iterator[Engine]:
    with connect(shared_database) as db:
        engine = Engine(db)
        yield engine
        # whatever a test does, the engine keeps its promises
        assert complaints(engine) == []


@pytest.fixture
def another(request: pytest.FixtureRequest, shared_database: str) -> Iterator[Another]:
    """Opens further connections to the test's database. A deadlock is an answer that tests wait for: it comes soon."""
    if request.config.getoption("--through"):
        pytest.skip("not through a pooler: it sets limits of several sessions, and looks at who waits for whom")
    with ExitStack() as stack:

        def opened(options: str = "") -> Engine:
            return Engine(stack.enter_context(connect(shared_database, options=f"-c deadlock_timeout=100ms {options}")))

        yield opened


@pytest.fixture
def desk(engine: Engine) -> Desk:
    return Desk(engine)
