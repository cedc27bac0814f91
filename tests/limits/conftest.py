"""`app`: an application on a database of its own. `other()`: further ones on the same, each with a pool of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lanework import Lanework
from tests.sql.engine import Engine, connect

FAST = {"beat": 0.3, "idle_beat": 0.3, "sweep": 0.3, "expiry": 3.0, "fence_after": 2.0, "connections": 12}


def application(dsn: str) -> Lanework:
    return Lanework(dsn, allow_unsafe=True, **FAST)


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with application(database) as app:
        yield app


@pytest.fixture
def other(database: str) -> Iterator[Callable[[], Lanework]]:
    made: list[Lanework] = []

    def make() -> Lanework:
        made.append(application(database))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def sql(database: str) -> Iterator[Engine]:
    with connect(database) as db:
        yield Engine(db)
