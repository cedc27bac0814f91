"""A verb is a value: one statement, its parameters, and what its rows mean. Two executors run it, and one runs several."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from lanework._codec import decode
from lanework._store.committed import Committed
from lanework.errors import (
    BY_CODE,
    DatabaseUnavailable,
    InvalidApproval,
    InvalidDeadLetters,
    InvalidFilter,
    InvalidJob,
    InvalidLane,
    InvalidSchedule,
    LaneworkError,
    SchemaError,
    UnstorableValue,
)

T = TypeVar("T")
Row = tuple[Any, ...]
_RETRIES = 4


@dataclass(frozen=True, slots=True)
class Verb(Generic[T]):
    sql: bytes
    params: Mapping[str, Any]
    decode: Callable[[list[Row]], T]
    #: Rows in the server's own format. It is quicker for many rows of numbers, and has no room for `jsonb` as it is.
    binary: bool = False
    #: Commits by itself, and so cannot be part of a transaction. (It is no act of an operator's: nothing of it is audited.)
    commits: bool = False


#: Where an act came from (an address, a command), for the audit rows of what is done for it. Edges set it around a call.
origin: ContextVar[str] = ContextVar("lanework_origin", default="")
_ORIGIN = b"select set_config('lanework.origin', %(origin)s, true)"


@cache
def query(name: str) -> bytes:
    """The text of `queries/<name>.sql`."""
    return files(__package__).joinpath("queries", f"{name}.sql").read_bytes()


def verb(name: str, decode: Callable[[list[Row]], T], /, **params: Any) -> Verb[T]:
    return Verb(query(name), params, decode)


def nothing(rows: list[Row]) -> None:
    return None


def rows(found: list[Row]) -> list[Row]:
    return found


def scalar(found: list[Row]) -> Any:
    return found[0][0] if found else None


def pair(found: list[Row]) -> tuple[Any, Any]:
    """A row before and after a change."""
    before, after = found[0]
    return (None if before is None else decode(before), decode(after))


def run(conn: psycopg.Connection[Any], verb: Verb[T]) -> T:
    for left in reversed(range(_RETRIES)):
        with translated():
            try:
                # not `conn.execute`: a caller's connection makes cursors and rows to its own taste
                cursor = psycopg.Cursor(conn, row_factory=tuple_row)
                if verb.commits:
                    return _run_committing(cursor, verb)
                told = origin.get()
                with conn.transaction() if told else nullcontext():
                    if told:
                        cursor.execute(_ORIGIN, {"origin": told})
                    cursor.execute(verb.sql, verb.params, binary=verb.binary)
                    return verb.decode(cursor.fetchall() if _has_rows(cursor) else [])
            except (pg.DeadlockDetected, pg.SerializationFailure):
                if not left or conn.info.transaction_status != TransactionStatus.IDLE:
                    raise  # a caller's transaction: it is lost as a whole, and only the caller can begin it again
    raise AssertionError("unreachable")


async def arun(conn: psycopg.AsyncConnection[Any], verb: Verb[T]) -> T:
    for left in reversed(range(_RETRIES)):
        with translated():
            try:
                cursor = psycopg.AsyncCursor(conn, row_factory=tuple_row)
                if verb.commits:
                    return await _arun_committing(cursor, verb)
                told = origin.get()
                async with conn.transaction() if told else nullcontext():
                    if told:
                        await cursor.execute(_ORIGIN, {"origin": told})
                    await cursor.execute(verb.sql, verb.params, binary=verb.binary)
                    return verb.decode(await cursor.fetchall() if _has_rows(cursor) else [])
            except (pg.DeadlockDetected, pg.SerializationFailure):
                if not left or conn.info.transaction_status != TransactionStatus.IDLE:
                    raise  # a caller's transaction: it is lost as a whole, and only the caller can begin it again
    raise AssertionError("unreachable")


async def arun_all(conn: psycopg.AsyncConnection[Any], verbs: Sequence[Verb[Any]]) -> list[Any]:
    """One after the other in the caller's transaction, and one round trip for all. Each sees what those before it did."""
    if len(verbs) < 2:
        return [await arun(conn, verb) for verb in verbs]
    cursors = []
    with translated():
        async with conn.pipeline():
            for verb in verbs:
                cursors.append(psycopg.AsyncCursor(conn, row_factory=tuple_row))
                await cursors[-1].execute(verb.sql, verb.params, binary=verb.binary)
    return [verb.decode(await cursor.fetchall() if _has_rows(cursor) else []) for verb, cursor in zip(verbs, cursors, strict=True)]


@asynccontextmanager
async def abegun(conn: psycopg.AsyncConnection[Any], verb: Verb[T]) -> AsyncIterator[T]:
    """A transaction and its first statement, in one round trip. Gives what that says."""
    async with AsyncExitStack() as stack:
        cursor = psycopg.AsyncCursor(conn, row_factory=tuple_row)
        with translated():
            async with conn.pipeline():
                await stack.enter_async_context(psycopg.AsyncTransaction(conn))  # `conn.transaction()` would stay in the pipeline
                await cursor.execute(verb.sql, verb.params, binary=verb.binary)
            found = verb.decode(await cursor.fetchall())
        yield found


def _run_committing(cursor: psycopg.Cursor[Any], verb: Verb[T]) -> T:
    with Committed(cursor.connection) as committed:
        cursor.execute(verb.sql, verb.params)
        return verb.decode(cursor.fetchall())
    return verb.decode(committed.rows)


async def _arun_committing(cursor: psycopg.AsyncCursor[Any], verb: Verb[T]) -> T:
    with Committed(cursor.connection) as committed:
        await cursor.execute(verb.sql, verb.params)
        return verb.decode(await cursor.fetchall())
    return verb.decode(committed.rows)


def _has_rows(cursor: psycopg.Cursor[Any] | psycopg.AsyncCursor[Any]) -> bool:
    """Not `cursor.description`: it describes every column, and a claim has many."""
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


@contextmanager
def translated() -> Iterator[None]:
    """Database errors as errors of ours, where they mean one."""
    try:
        yield
    except psycopg.Error as error:
        if (known := translate(error)) is not None:
            raise known from error
        raise


def translate(error: psycopg.Error) -> LaneworkError | None:
    state = error.sqlstate or ""
    message = (error.diag.message_primary or str(error)).strip()
    if state.startswith("LW") and (kind := BY_CODE.get(f"LW-{state[2:]}")):
        if issubclass(kind, (InvalidJob, InvalidLane, InvalidFilter, InvalidApproval, InvalidDeadLetters, InvalidSchedule)):
            return kind(message, field=message.split(":", 1)[0] if ":" in message else "")
        return kind(message)
    if isinstance(error, (pg.UndefinedTable, pg.UndefinedFunction, pg.InvalidSchemaName, pg.UndefinedColumn)):
        return SchemaError(f"the database has no (or an older) lanework schema: {message}; run `lanework migrate`")
    if isinstance(error, pg.CheckViolation) and error.diag.table_name == "jobs":
        return InvalidJob(f"payload: the database refuses this job: {message}", field="payload")
    if is_outage(error):
        return DatabaseUnavailable(f"PostgreSQL is not answering: {message or type(error).__name__}")
    return None


@contextmanager
def storable() -> Iterator[None]:
    """For callers who gave the values. (A worker looks for the one at fault in its batch, and wants the error as it is.)"""
    try:
        yield
    except psycopg.DataError as error:
        message = (error.diag.message_primary or str(error)).strip()
        raise UnstorableValue(f"the database cannot take a value that was given: {message}") from error


def is_outage(error: BaseException) -> bool:
    """True for errors after which the same call may succeed on a new connection."""
    if not isinstance(error, psycopg.Error):
        return isinstance(error, (OSError, DatabaseUnavailable))
    state = error.sqlstate or ""
    if state == "":
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return (state[:2] in ("08", "57", "58") and state != "57014") or state == "53300"
