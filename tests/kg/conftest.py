from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from kg._store.schema import prepare
from lanework import Lanework
from tests.kg.graphs import Body, make_platform, with_two
from tests.kg.house import House, open_house
from tests.kg.provider import Provider, started
from tests.servers import Databases


@pytest.fixture
def direct(databases: Databases) -> Iterator[str]:
    """With the platform's schema in it, too."""
    with databases.like("kg_template", _prepared) as dsn:
        yield dsn


def _prepared(dsn: str) -> None:
    with Lanework(dsn) as work:
        prepare(work)


@pytest.fixture
def house(database: str) -> Iterator[House]:
    with open_house(database) as house:
        yield house


@pytest.fixture(scope="session")
def _provider() -> Iterator[Provider]:
    with started() as provider:
        yield provider


@pytest.fixture
def provider(_provider: Provider) -> Provider:
    """A model provider in a process of its own, as new."""
    _provider.reset()
    return _provider


@pytest.fixture
def platform(database: str) -> str:
    make_platform(database)
    return database


@pytest.fixture
def graphs(platform: str) -> Callable[[Body], None]:
    """Runs a coroutine function with a connection and two empty ontologies."""
    return partial(with_two, platform)
