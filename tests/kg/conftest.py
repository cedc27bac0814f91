from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kg.house import House, open_house
from tests.kg.provider import Provider, started


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
