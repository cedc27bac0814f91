"""The caller's own connection, whatever it is: psycopg, SQLAlchemy, Django. A job submitted through it is visible if and only if
the caller's transaction commits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg

from lanework._store.verb import Verb, arun, run, translate
from lanework.errors import InvalidJob

T = TypeVar("T")
_NAMED = re.compile(r"%\((\w+)\)s")
_WAITING = "lanework.hints"


def kind_of(connection: Any) -> str:
    """`psycopg`, `psycopg-async`, `sqlalchemy`, `sqlalchemy-async` or `django`."""
    if isinstance(connection, psycopg.Connection):
        return "psycopg"
    if isinstance(connection, psycopg.AsyncConnection):
        return "psycopg-async"
    for base in type(connection).__mro__:
        if base.__module__.startswith("sqlalchemy.ext.asyncio"):
            return "sqlalchemy-async"
        if base.__module__.startswith("sqlalchemy."):
            return "sqlalchemy"
        # `django.db.connection` is a proxy, from a module of its own
        if base.__module__.startswith(("django.db.", "django.utils.connection")):
            return "django"
    raise InvalidJob(
        f"connection: expected a psycopg, SQLAlchemy or Django connection (or session), got {type(connection).__name__}",
        field="connection",
    )


def run_in(connection: Any, verb: Verb[T]) -> T:
    match kind_of(connection):
        case "psycopg":
            return run(connection, verb)
        case "sqlalchemy":
            return _translated(lambda: verb.decode([tuple(row) for row in connection.execute(_text(verb), dict(verb.params))]))
        case "django":
            return _translated(lambda: _run_django(connection, verb))
    raise InvalidJob("connection: this one is async; use asubmit", field="connection")


async def arun_in(connection: Any, verb: Verb[T]) -> T:
    match kind_of(connection):
        case "psycopg-async":
            return await arun(connection, verb)
        case "sqlalchemy-async":
            result = await _atranslated(connection.execute(_text(verb), dict(verb.params)))
            return verb.decode([tuple(row) for row in result])
    raise InvalidJob("connection: this one blocks; use submit, or an async connection", field="connection")


def tells_of_commit(connection: Any) -> bool:
    """True where somebody calls us after the commit: a SQLAlchemy session, Django. (A SQLAlchemy connection calls before it.)"""
    kind = kind_of(connection)
    return kind == "django" or (kind == "sqlalchemy" and hasattr(connection, "get_bind"))


def after_commit(connection: Any, send: Callable[[str], None], lane: str) -> None:
    """Calls `send(lane)` once the caller's transaction has committed."""
    if kind_of(connection) == "django":
        from django.db import transaction  # noqa: PLC0415 - only who has Django comes here

        transaction.on_commit(lambda: send(lane), using=connection.alias)
        return
    session = _own(connection)
    if _WAITING not in session.info:
        session.info[_WAITING] = set()
        _listen_to(session)
    session.info[_WAITING].add((send, lane))


def _listen_to(session: Any) -> None:
    """Once per session: SQLAlchemy keeps a listener for as long as the session lives, also one that is meant to act once."""
    from sqlalchemy import event  # noqa: PLC0415 - only who has SQLAlchemy comes here

    def committed(session: Any) -> None:
        if session.in_nested_transaction():
            return  # only a savepoint was released
        waiting = session.info[_WAITING]
        while waiting:
            send, lane = waiting.pop()
            send(lane)

    event.listen(session, "after_commit", committed)


def driver_of(connection: Any) -> psycopg.Connection[Any]:
    """The psycopg connection underneath, for COPY."""
    match kind_of(connection):
        case "psycopg":
            return connection  # type: ignore[no-any-return]
        case "sqlalchemy":
            held = connection.connection() if hasattr(connection, "get_bind") else connection
            driver = held.connection.driver_connection
        case "django":
            connection.ensure_connection()
            driver = connection.connection
        case _:
            raise InvalidJob("connection: this one is async; use asubmit_many", field="connection")
    return _must_be_psycopg(driver, psycopg.Connection)  # type: ignore[no-any-return]


async def adriver_of(connection: Any) -> psycopg.AsyncConnection[Any]:
    match kind_of(connection):
        case "psycopg-async":
            return connection  # type: ignore[no-any-return]
        case "sqlalchemy-async":
            held = await connection.connection() if hasattr(connection, "sync_session") else connection
            driver = (await held.get_raw_connection()).driver_connection
            return _must_be_psycopg(driver, psycopg.AsyncConnection)  # type: ignore[no-any-return]
    raise InvalidJob("connection: this one blocks; use submit_many, or an async connection", field="connection")


def is_in_transaction(connection: Any) -> Callable[[], bool]:
    """A question to ask later: is what was submitted through this connection still uncommitted?"""
    kind = kind_of(connection)
    if kind.startswith("psycopg"):
        status = psycopg.pq.TransactionStatus
        return lambda: (
            not connection.closed and connection.info.transaction_status in (status.INTRANS, status.ACTIVE, status.INERROR)
        )
    if kind == "django":
        return lambda: bool(connection.in_atomic_block)
    return _own(connection).in_transaction  # type: ignore[no-any-return]


def _own(connection: Any) -> Any:
    """The session itself: a scoped one hands out one per thread or task, and does not have all of its methods."""
    return connection.registry() if hasattr(connection, "registry") else connection


def _must_be_psycopg(driver: Any, kind: type[Any]) -> Any:
    if not isinstance(driver, kind):
        raise InvalidJob(f"connection: bulk submits need psycopg 3 underneath, got {type(driver).__module__}", field="connection")
    return driver


def _text(verb: Verb[Any]) -> Any:
    from sqlalchemy import text  # noqa: PLC0415 - only who has SQLAlchemy comes here

    return text(_NAMED.sub(r":\1", verb.sql.decode()))


def _run_django(connection: Any, verb: Verb[T]) -> T:
    with connection.cursor() as cursor:
        cursor.execute(verb.sql.decode(), dict(verb.params))
        return verb.decode(cursor.fetchall())


def _translated(call: Callable[[], T]) -> T:
    try:
        return call()
    except Exception as error:
        raise _ours(error) from error


async def _atranslated(call: Any) -> Any:
    try:
        return await call
    except Exception as error:
        raise _ours(error) from error


def _ours(error: Exception) -> Exception:
    """Finds the database's own error under the wrappers of SQLAlchemy and Django."""
    inner: BaseException | None = getattr(error, "orig", None) or error.__cause__
    if isinstance(inner, psycopg.Error):
        return translate(inner) or error
    return error
