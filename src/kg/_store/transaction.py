"""Several statements in one commit: on a connection of their own, or in a job's fenced block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg

from kg._store.verb import Verb
from lanework import Context, Lanework
from lanework._steps import refused
from lanework._store.claims import Held
from lanework._store.verb import arun, arun_all, origin, storable, translated
from lanework._transactions import AsyncTransaction
from lanework.outcomes import Finished, ItemError

T = TypeVar("T")
_TRIES = 5
#: Another transaction was in the way: the same again may well succeed. What is unique was taken in this moment: it is visible now.
IN_THE_WAY = (pg.DeadlockDetected, pg.SerializationFailure, pg.ForeignKeyViolation, pg.UniqueViolation)


class Transaction:
    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self.connection = connection

    async def run(self, verb: Verb[T]) -> T:
        return await arun(self.connection, verb)

    async def run_all(self, verbs: Sequence[Verb[Any]]) -> list[Any]:
        """In one round trip."""
        return await arun_all(self.connection, verbs)


class Block(Transaction):
    """A job's own: `finish` ends the job in the same commit."""

    def __init__(self, tx: AsyncTransaction) -> None:
        super().__init__(tx.connection)
        self._tx = tx

    async def finish(self, result: Any, errors: Sequence[ItemError] = ()) -> Finished:
        return await self._tx.finish(result, errors)


@asynccontextmanager
async def transaction(work: Lanework) -> AsyncIterator[Transaction]:
    keeper = (await work._async_keeper()).for_blocks()
    with storable(), translated():
        async with keeper.connection() as connection, connection.transaction():
            if origin.get():
                await connection.execute("select set_config('lanework.origin', %s, true)", [origin.get()])
            yield Transaction(connection)


async def once(work: Lanework, act: Callable[[Transaction], Awaitable[T]]) -> T:
    """Carries it out in one transaction; from the start again if another one was in the way."""
    for left in reversed(range(_TRIES)):
        try:
            async with transaction(work) as tx:
                return await act(tx)
        except IN_THE_WAY:
            if not left:
                raise
    raise AssertionError("unreachable")


async def fenced_alone(ctx: Context, make: Callable[[Held], Verb[tuple[bool, T]]], what: str) -> T:
    """One statement that looks at the job's fence itself, and says whether it holds."""
    holds, found = await (await ctx._link.adatabase()).run(make(ctx._held))
    if not holds:
        raise refused(ctx, what)
    return found


async def fenced(ctx: Context, act: Callable[[Block], Awaitable[T]], timeout: float = 60.0) -> T:
    """The same in a job's fenced block."""
    for left in reversed(range(_TRIES)):
        try:
            async with ctx.atransaction(timeout=timeout) as tx:
                return await act(Block(tx))
        except IN_THE_WAY:
            if not left:
                raise
    raise AssertionError("unreachable")
