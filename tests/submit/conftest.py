from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from lanework import Context, Job, Lanework


@pytest.fixture
def echo(app: Lanework) -> Job[[Any], Any]:
    @app.job("echo", priority=3, max_tries=7, max_age=1000)
    def echo(ctx: Context, value: Any) -> Any:
        return value

    return echo


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as db:
        yield db
