"""Callers' own connections, of every kind that a job can be submitted through: how each begins, commits and rolls back."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

#: Seconds that a commit through SQLAlchemy takes: a hint that was sent before it is used up by then.
takes = [0.0]


@dataclass
class Unit:
    """A caller's connection, and how its owner begins, commits and rolls back."""

    connection: Any
    begin: Callable[[], Any]
    commit: Callable[[], Any]
    rollback: Callable[[], Any]

    @classmethod
    def of(cls, connection: Any) -> Unit:
        return cls(connection, lambda: None, connection.commit, connection.rollback)


def _psycopg(dsn: str, stack: ExitStack) -> Unit:
    return Unit.of(stack.enter_context(psycopg.connect(dsn)))


def _psycopg_with_own_rows(dsn: str, stack: ExitStack) -> Unit:
    connection = psycopg.connect(dsn, row_factory=dict_row, cursor_factory=psycopg.ClientCursor)
    return Unit.of(stack.enter_context(connection))


def _engine(dsn: str, stack: ExitStack) -> Engine:
    engine = create_engine("postgresql+psycopg://", connect_args=conninfo_to_dict(dsn))
    stack.callback(engine.dispose)
    commit = engine.dialect.do_commit

    def slow_commit(connection: Any) -> None:
        time.sleep(takes[0])
        commit(connection)

    engine.dialect.do_commit = slow_commit  # type: ignore[assignment, method-assign]
    return engine


def _sqlalchemy_connection(dsn: str, stack: ExitStack) -> Unit:
    engine = _engine(dsn, stack)
    return Unit.of(stack.enter_context(engine.connect()))


def _sqlalchemy_session(dsn: str, stack: ExitStack) -> Unit:
    engine = _engine(dsn, stack)
    return Unit.of(stack.enter_context(Session(engine)))


def _sqlalchemy_scoped_session(dsn: str, stack: ExitStack) -> Unit:
    engine = _engine(dsn, stack)
    session = scoped_session(sessionmaker(engine))
    stack.callback(session.remove)
    return Unit.of(session)


def _django(dsn: str, stack: ExitStack) -> Unit:
    import django
    from django.conf import settings
    from django.db import connections, transaction

    given = conninfo_to_dict(dsn)
    database: dict[str, Any] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": given["dbname"],
        "USER": given["user"],
        "HOST": given["host"],
    }
    database |= {"PORT": str(given.get("port", "")), "OPTIONS": {"passfile": given["passfile"]}}
    if not settings.configured:
        settings.configure(DATABASES={})
        django.setup()
    alias = str(given["dbname"])
    connections.settings[alias] = connections.configure_settings({alias: database, "default": {}})[alias]
    stack.callback(connections[alias].close)
    blocks: list[Any] = []

    def begin() -> None:
        blocks.append(transaction.atomic(using=alias))
        blocks[-1].__enter__()

    def end(error: BaseException | None) -> None:
        blocks.pop().__exit__(None if error is None else type(error), error, None)

    return Unit(connections[alias], begin, lambda: end(None), lambda: end(RuntimeError()))


def _django_proxy(dsn: str, stack: ExitStack) -> Unit:
    """`from django.db import connection` is not a connection but a proxy of one."""
    from django.db import connections
    from django.utils.connection import ConnectionProxy

    unit = _django(dsn, stack)
    unit.connection = ConnectionProxy(connections, str(conninfo_to_dict(dsn)["dbname"]))
    return unit


KINDS: dict[str, Callable[[str, ExitStack], Unit]] = {
    "psycopg": _psycopg,
    "psycopg with rows and cursors of its own": _psycopg_with_own_rows,
    "sqlalchemy connection": _sqlalchemy_connection,
    "sqlalchemy session": _sqlalchemy_session,
    "sqlalchemy scoped session": _sqlalchemy_scoped_session,
    "django": _django,
    "django proxy": _django_proxy,
}


@contextmanager
def unit_of(kind: str, dsn: str, *, commit_takes: float = 0.0) -> Iterator[Unit]:
    takes[0] = commit_takes
    with ExitStack() as stack:
        yield KINDS[kind](dsn, stack)


@asynccontextmanager
async def async_unit_of(kind: str, dsn: str) -> AsyncIterator[Unit]:
    async with AsyncExitStack() as stack:
        if kind == "psycopg async":
            connection: Any = await stack.enter_async_context(
                await psycopg.AsyncConnection.connect(dsn, row_factory=dict_row, cursor_factory=psycopg.AsyncClientCursor)
            )
        else:
            engine = create_async_engine("postgresql+psycopg://", connect_args=conninfo_to_dict(dsn))
            stack.push_async_callback(engine.dispose)
            connection = await stack.enter_async_context(AsyncSession(engine) if "session" in kind else engine.connect())
        yield Unit.of(connection)


ASYNC_KINDS = ["psycopg async", "sqlalchemy async connection", "sqlalchemy async session"]
