from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kg.served import Served, serve


@pytest.fixture
def served(database: str) -> Iterator[Served]:
    with serve(database) as served:
        yield served
