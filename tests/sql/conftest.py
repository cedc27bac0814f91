"""`engine`: the verbs on a database whose clock stands still, wiped between tests. `another`: more connections to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from psycopg.pq import TransactionStatus

from tests.servers import Databases
from tests.sql.desk import Desk
from tests.sql.engine import Engine, connect
from tests.sql.operations import lanes
from tests.sql.proof import complaints, instrumented, wipe
from tests.sql.timetable import House

Another = Callable[..., Engine]


#: A session as new, but for what it knows of functions and tables: to learn that takes longer than most of the tests.
AS_NEW = "reset session authorization; reset all; unlisten *; discard temp; discard sequences; select pg_advisory_unlock_all()"


class Kept:
    """A database with the instruments in it, and a session there, both handed from test to test."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._engine = instrumented(dsn)

    def engine(self) -> Engine:
        if self._engine.db.info.transaction_status in (TransactionStatus.ACTIVE, TransactionStatus.UNKNOWN):
            self._engine.db.close()  # it was closed, lost, or broken off in the middle of a statement
            self._engine = Engine(connect(self.dsn))
        self._engine.db.rollback()
        self._engine.db.execute(AS_NEW)
        return self._engine

    def close(self) -> None:
        self._engine.db.close()


@pytest.fixture(scope="session")
def _kept(_fleet: object) -> Iterator[Callable[[Databases], Kept]]:
    """One per server for all tests that plant no bugs: a new one for each would cost more than the tests.

    It is dropped before the fleet of servers is gone.
    """
    with ExitStack() as stack:
        made: dict[int, Kept] = {}

        def kept(databases: Databases) -> Kept:
            if id(databases) not in made:
                made[id(databases)] = stack.enter_context(closing(Kept(stack.enter_context(databases.with_schema()))))
            return made[id(databases)]

        yield kept


@pytest.fixture
def _wiped(_kept: Callable[[Databases], Kept], databases: Databases) -> Kept:
    kept = _kept(databases)
    wipe(kept.engine(), frozen=True)
    return kept


@pytest.fixture
def shared_database(_wiped: Kept, way: Callable[[str], str]) -> str:
    """The DSN of a database with the instruments in it, in which nothing has happened."""
    return way(_wiped.dsn)


@pytest.fixture
def engine(request: pytest.FixtureRequest, _wiped: Kept, shared_database: str) -> Iterator[Engine]:
    with ExitStack() as stack:
        through = request.config.getoption("--through")  # a pooler hands out sessions as it likes
        engine = Engine(stack.enter_context(connect(shared_database))) if through else _wiped.engine()
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
def lane(engine: Engine) -> int:
    return lanes(engine)


@pytest.fixture
def house(engine: Engine) -> House:
    return House(engine)


@pytest.fixture
def desk(engine: Engine) -> Desk:
    return Desk(engine)
