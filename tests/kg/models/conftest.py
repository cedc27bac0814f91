from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kg.models.bench import Bench
from tests.kg.provider import Provider


@pytest.fixture
def bench(database: str, provider: Provider, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(database, provider, tmp_path)
    yield bench
    bench.work.close()
