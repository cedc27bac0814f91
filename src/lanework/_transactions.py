"""Effects in the same database, exactly once: in one commit with the step that says so, or with the job's completion.

A block that ends with neither `finish` nor a step is fenced and atomic, but it runs again if its job does.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, Token
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

import psycopg
from psycopg.types.json import set_json_loads

from lanework._codec import RESULT_LIMIT, decode, encode
from lanework._steps import from_text, refused, to_text
from lanework._store.claims import Held, completed, settle
from lanework._store.inside import enter_transaction, save_step
from lanework._store.running import save_checkpoint
from lanework._store.verb import Verb, abegun, arun, run
from lanework.errors import ConfigError, InvalidResult
from lanework.outcomes import Finished, ItemError
from lanework.retries import Verdict

if TYPE_CHECKING:
    from lanework.context import Context

LONGEST = 600.0
#: The limit of a `transact`; whoever needs longer uses `transaction(timeout=…)`.
TRANSACT_S = 30.0
#: The job whose block is open here: in this thread or task, and in what it starts. Items of a map have blocks of their own.
_open_here: ContextVar[int | None] = ContextVar("lanework_block", default=None)


class _Base:
    def __init__(self, context: Context, connection: Any) -> None:
        self._context, self.connection = context, connection
        self.finished = False

    @property
    def _held(self) -> Held:
        return self._context._held

    def _finish_verb(self, result: Any, errors: Sequence[ItemError]) -> Verb[Any]:
        """Answers something true if the job is completed now: partial, if items have failed, of a map or as told."""
        if self.finished:
            raise ConfigError("tx.finish: this job is finished already")
        text = None if result is None else encode(result, field="result", limit=RESULT_LIMIT, error=InvalidResult)
        failed = (*self._context._failed_items, *(asdict(error) for error in errors))
        if not failed:
            return completed(self._context._worker_id, [(*self._held, text)])
        verdict = Verdict("complete", result=None if text is None else decode(text), errors=failed)
        return settle(self._context._worker_id, [(self._held, verdict)])

    def _checkpoint_verb(self, state: Any) -> Verb[bool]:
        return save_checkpoint(self._held, encode(state, field="checkpoint", limit=RESULT_LIMIT, error=InvalidResult))

    def commit(self) -> NoReturn:
        raise ConfigError("commit inside ctx.transaction(): the block commits when it ends")

    def rollback(self) -> NoReturn:
        raise ConfigError("rollback inside ctx.transaction(): raise an exception to leave the block without its effects")


class Transaction(_Base):
    """`with ctx.transaction() as tx`: plain psycopg on `tx.connection`, or `tx.execute`."""

    connection: psycopg.Connection[Any]

    def execute(self, query: Any, params: Any = None) -> psycopg.Cursor[Any]:
        return self.connection.execute(query, params)

    @contextmanager
    def sqlalchemy(self) -> Iterator[Any]:
        """A SQLAlchemy `Session` on this very connection: its work is part of the block's commit."""
        from sqlalchemy import create_engine  # noqa: PLC0415 - only who has SQLAlchemy comes here
        from sqlalchemy.orm import Session  # noqa: PLC0415
        from sqlalchemy.pool import StaticPool  # noqa: PLC0415

        lent = {"creator": lambda: self.connection, "poolclass": StaticPool, "pool_reset_on_return": None}
        engine = create_engine("postgresql+psycopg://", **lent)
        for act in ("do_commit", "do_rollback", "do_close"):  # the block commits, and the connection is only lent
            setattr(engine.dialect, act, lambda connection: None)
        with Session(engine) as session:
            yield session
            session.flush()

    def finish(self, result: Any = None, errors: Sequence[ItemError] = ()) -> Finished:
        """The job is `completed`, with this result, in the same commit as the block's effects: partial, with `errors`. Return what
        it returns."""
        self._context._link.ask("drain", {})  # what it has said is stored while its claim still holds
        if not run(self.connection, self._finish_verb(result, errors)):
            raise refused(self._context, "its finish")
        self.finished = True
        return Finished(result)

    def checkpoint(self, state: Any) -> None:
        """The handler's state, in the same commit."""
        if not run(self.connection, self._checkpoint_verb(state)):
            raise refused(self._context, "its checkpoint")
        self._context._saved = state


class AsyncTransaction(_Base):
    """`async with ctx.atransaction() as tx`."""

    connection: psycopg.AsyncConnection[Any]

    async def execute(self, query: Any, params: Any = None) -> psycopg.AsyncCursor[Any]:
        return await self.connection.execute(query, params)

    async def finish(self, result: Any = None, errors: Sequence[ItemError] = ()) -> Finished:
        await self._context._link.aask("drain", {})
        if not await arun(self.connection, self._finish_verb(result, errors)):
            raise refused(self._context, "its finish")
        self.finished = True
        return Finished(result)

    async def checkpoint(self, state: Any) -> None:
        if not await arun(self.connection, self._checkpoint_verb(state)):
            raise refused(self._context, "its checkpoint")
        self._context._saved = state


@contextmanager
def open_transaction(context: Context, timeout: float) -> Iterator[Transaction]:
    entered = _enter(context, timeout)
    try:
        with context._link.database().for_blocks().connection() as connection, connection.transaction():
            if not run(connection, enter_transaction(context._held, timeout)):
                raise refused(context, "its transaction")
            tx = Transaction(context, connection)
            with _plain(connection):
                yield tx
    finally:
        context._blocks.pop()
        _open_here.reset(entered)
    if tx.finished:
        context._link.tell("finished", {})


@asynccontextmanager
async def aopen_transaction(context: Context, timeout: float) -> AsyncIterator[AsyncTransaction]:
    entered = _enter(context, timeout)
    try:
        async with (
            (await context._link.adatabase()).for_blocks().connection() as connection,
            abegun(connection, enter_transaction(context._held, timeout)) as held,
        ):
            if not held:
                raise refused(context, "its transaction")
            tx = AsyncTransaction(context, connection)
            with _plain(connection):
                yield tx
    finally:
        context._blocks.pop()
        _open_here.reset(entered)
    if tx.finished:
        context._link.tell("finished", {})


@contextmanager
def _plain(connection: Any) -> Iterator[None]:
    """The engine reads JSON as it comes; a handler finds what psycopg would give it."""
    set_json_loads(json.loads, connection)
    try:
        yield
    finally:
        set_json_loads(_as_it_comes, connection)


def _as_it_comes(data: bytes | str) -> bytes | str:
    return data


def _enter(context: Context, timeout: float) -> Token[int | None]:
    if _open_here.get() == context.job_id:
        raise ConfigError("ctx.transaction() inside another one of the same job: one block, one commit")
    if not 0 < timeout <= LONGEST:
        raise ConfigError(
            f"timeout: expected up to {LONGEST} s, got {timeout!r}; longer work goes to staging tables and is swapped in"
        )
    context._check_lost()
    context._blocks.append(context.job_id)
    return _open_here.set(context.job_id)


def transact(context: Context, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    key = context._steps.take(name)
    if context._past and (stored := context._link.ask("get_step", {"key": key})) is not None:
        return from_text(stored["text"], fn)
    with open_transaction(context, TRANSACT_S) as tx:
        text = to_text(key, fn(tx.connection, *args, **kwargs))
        if not run(tx.connection, save_step(tx._held, key, text)):
            raise refused(context, f"step {key!r}")
    return from_text(text, fn)


async def atransact(context: Context, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    key = context._steps.take(name)
    if context._past and (stored := await context._link.aask("get_step", {"key": key})) is not None:
        return from_text(stored["text"], fn)
    async with aopen_transaction(context, TRANSACT_S) as tx:
        text = to_text(key, await fn(tx.connection, *args, **kwargs))
        if not await arun(tx.connection, save_step(tx._held, key, text)):
            raise refused(context, f"step {key!r}")
    return from_text(text, fn)
