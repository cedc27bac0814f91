from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kg.house import House, open_house


@pytest.fixture
def house(database: str) -> Iterator[House]:
    with open_house(database) as house:
        yield house
