from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanework import Lanework
from tests.schedules.reports import application
from tests.sql.engine import Engine, connect


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with application(database) as app:
        yield app


@pytest.fixture
def sql(database: str) -> Iterator[Engine]:
    with connect(database) as db:
        yield Engine(db)
