from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from lanework import Context, Lanework
from tests.cli.commands import Cli


@pytest.fixture
def cli(database: str, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(database, capsys)


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database) as app:

        @app.job(lane="quick")
        def double(ctx: Context, n: int) -> int:
            return 2 * n

        @app.job(lane="slow")
        def sleepy(ctx: Context, label: str = "") -> None: ...

        yield app


@pytest.fixture
def submit(app: Lanework) -> Callable[..., list[int]]:
    """So many jobs of a type, without anybody who works them."""

    def submit(kind: str = "double", count: int = 1, **options: Any) -> list[int]:
        from lanework.job import Submitter

        job: Submitter[..., Any] = Submitter(app, app.handlers[kind]).options(**options)
        return [job.submit(*([n] if kind == "double" else [])).id for n in range(count)]

    return submit


@pytest.fixture
def sql(database: str) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
    with psycopg.connect(database, autocommit=True) as db:

        def do(statement: str, *values: Any) -> list[tuple[Any, ...]]:
            cursor = db.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

        yield do
