"""Where holds come from."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

from lanework._limits.asked import Asked
from lanework._limits.holds import Grant, Waiter
from lanework._limits.tokens import TokenGiven, aacquire, acquire
from lanework.errors import PermitBusy

if TYPE_CHECKING:
    from lanework._limits.pool import PermitPool
    from lanework.client import Lanework

#: How long a wait goes on unless it is said.
WAIT_S = 30.0
#: And in the middle of a job's body, which has a slot meanwhile. After that the job is parked, without its slot.
WAIT_IN_BODY_S = 5.0
#: How long the end of a block waits for the database to know that the hold is free.
TELL_S = 1.0


class Given(Protocol):
    """What a source of holds gives: `token` and `fence` are the holder's."""

    @property
    def token(self) -> str: ...
    @property
    def fence(self) -> int: ...


class Source(Protocol):
    """Where holds come from: this process's pool, or, inside a job, its worker."""

    wait: float
    #: Who holds: holds of others do not matter for the order.
    who: object

    def take(self, asked: Asked, wait: float) -> Given: ...
    async def atake(self, asked: Asked, wait: float) -> Given: ...
    def give(self, given: Given) -> None: ...
    async def agive(self, given: Given) -> None: ...


class AppSource:
    """Holds for code outside of jobs."""

    wait = WAIT_S

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self.who: object = weakref.ref(app)  # its id would be another one's when it is gone
        self._pool: PermitPool | None = None

    def take(self, asked: Asked, wait: float) -> Given:
        if asked.ttl is not None:
            return TokenGiven(self._app, acquire(self._app, asked, wait), asked.ttl)
        self._app._ready()
        pool = self._pool = self._app._permit_pool()
        waiter = ask(pool, asked, wait, None)
        try:
            return waiter.future.result(None if wait <= 0 else wait)
        except BaseException as error:
            pool.abandon(waiter)
            raise _busy(asked, wait, error) from None

    async def atake(self, asked: Asked, wait: float) -> Given:
        if asked.ttl is not None:
            return TokenGiven(self._app, await aacquire(self._app, asked, wait), asked.ttl)
        await self._app._prepare()
        self._pool = self._app._permit_pool()
        return await take_from(self._pool, asked, wait, None)

    def give(self, given: Given) -> None:
        if (told := self._give(given)) is not None:
            with contextlib.suppress(TimeoutError):
                told.result(TELL_S)
        else:
            self._app.permits.release(given.token)

    async def agive(self, given: Given) -> None:
        if (told := self._give(given)) is not None:
            await asyncio.wait([asyncio.wrap_future(told)], timeout=TELL_S)
        else:
            await self._app.permits.arelease(given.token)

    def _give(self, given: Given) -> Future[None] | None:
        return self._pool.release(given) if isinstance(given, Grant) and self._pool is not None else None


def ask(pool: PermitPool, asked: Asked, wait: float, job: int | None) -> Waiter:
    if asked.scope == "process":
        return pool.acquire_here(asked.names, 1 if asked.capacity is None else asked.capacity, job=job, once=wait <= 0)
    return pool.acquire(asked.names, asked.capacity, job=job, once=wait <= 0)


async def take_from(pool: PermitPool, asked: Asked, wait: float, job: int | None) -> Grant:
    waiter = ask(pool, asked, wait, job)
    try:
        async with asyncio.timeout(None if wait <= 0 else wait):
            return await _here(waiter.future)
    except BaseException as error:
        pool.abandon(waiter)
        raise _busy(asked, wait, error) from None


def _here(future: Future[Grant]) -> asyncio.Future[Grant]:
    """`asyncio.wrap_future` in one step less: what is given back on this loop is passed on in its next round."""
    loop, thread = asyncio.get_running_loop(), threading.get_ident()
    ours: asyncio.Future[Grant] = loop.create_future()

    def hand_over() -> None:
        if ours.done():
            return
        if (error := future.exception()) is not None:
            ours.set_exception(error)
        else:
            ours.set_result(future.result())

    def done(_: Future[Grant]) -> None:
        if future.cancelled() or loop.is_closed():
            return
        if threading.get_ident() == thread:
            hand_over()
        else:
            loop.call_soon_threadsafe(hand_over)

    future.add_done_callback(done)
    return ours


def _busy(asked: Asked, wait: float, error: BaseException) -> BaseException:
    if not isinstance(error, TimeoutError):
        return error
    return PermitBusy(f"permit {', '.join(asked.names)!r} was not free within {wait:g} s", name=asked.names[0])
