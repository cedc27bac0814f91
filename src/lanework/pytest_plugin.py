"""Fixtures for the tests of applications that use lanework; pytest loads them by itself.

lanework_server     the DSN of an embedded PostgreSQL that lives as long as the test session
lanework_database   the DSN of a new database in it, for one test; its name says that it is for tests, so time can be moved
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture(scope="session")
def lanework_server() -> Iterator[str]:
    from lanework import embedded  # noqa: PLC0415 - who does not use the fixture does not load it

    # not pytest's own folder: root's is closed to the user as whom the server then runs
    with TemporaryDirectory(prefix="lanework-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with embedded.acquire(Path(folder) / "server") as lease:
            yield lease.dsn


@pytest.fixture
def lanework_database(lanework_server: str) -> Iterator[str]:
    import psycopg  # noqa: PLC0415
    from psycopg import sql  # noqa: PLC0415
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415

    name = f"lanework_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(lanework_server, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            yield make_conninfo(lanework_server, dbname=name)
        finally:
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
