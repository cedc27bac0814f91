"""`engine`: the verbs on a new database whose clock stands still. `another`: more connections to the same database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.sql.engine import Engine, connect
from tests.sql.proof import complaints, instrumented


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    engine = instrumented(database, frozen=True)
    with engine.db:
        yield engine
        # whatever a test does, the engine keeps its promises
        assert not engine.db.broken and complaints(engine) == []


@pytest.fixture
def another(database: str) -> Iterator[Callable[..., Engine]]:
    """Opens further connections to the test's database."""
    with ExitStack() as stack:

        def opened(**options: str) -> Engine:
            return Engine(stack.enter_context(connect(database, **options)))

        yield opened
