from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.approval.shop import Shop


@pytest.fixture
def shop(database: str) -> Iterator[Shop]:
    shop = Shop(database)
    with shop.app:
        yield shop
