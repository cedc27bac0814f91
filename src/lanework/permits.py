"""Permits: named, counted holds for the whole cluster, a host or a process. Locks are permits of capacity 1."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import random
import socket
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import UUID, uuid4

from lanework._limits.holds import Grant, Waiter
from lanework._store import permits as store
from lanework._store.verb import Row, Verb
from lanework.errors import InvalidLimit, LimitNotFound, PermitBusy, PermitLost, PermitOrder

if TYPE_CHECKING:
    from lanework._limits.pool import PermitPool
    from lanework.client import Lanework

Scope = Literal["cluster", "host", "process"]
SCOPES = ("cluster", "host", "process")
#: How long a wait goes on unless it is said.
WAIT_S = 30.0
#: And in the middle of a job's body, which has a slot meanwhile. After that the job is parked, without its slot.
WAIT_IN_BODY_S = 5.0
#: How long the end of a block waits for the database to know that the hold is free.
TELL_S = 1.0
#: Between two looks of somebody outside a process.
LOOK_S = 0.1


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


@dataclass(frozen=True, slots=True)
class Asked:
    """One of each of these names together, all or none."""

    names: tuple[str, ...]
    capacity: int | None
    scope: Scope
    ttl: float | None

    @classmethod
    def checked(cls, names: Sequence[str], capacity: int | None, scope: str, ttl: float | None) -> Asked:
        for name in names:
            if not isinstance(name, str) or not 1 <= len(name) <= 150 or "@" in name or "\0" in name:
                raise InvalidLimit(f"permit: expected a name of 1 to 150 characters without '@', got {name!r}")
        if not names:
            raise InvalidLimit("permit: expected at least one name")
        if capacity is not None and (isinstance(capacity, bool) or not isinstance(capacity, int) or not 0 <= capacity <= 10_000):
            raise InvalidLimit(f"capacity: expected 0 to 10000, got {capacity!r}")
        if scope not in SCOPES:
            raise InvalidLimit(f"scope: expected cluster, host or process, got {scope!r}")
        if ttl is not None and not 0 < ttl <= 86_400:
            raise InvalidLimit(f"ttl: expected more than 0 seconds and at most a day, got {ttl!r}")
        if ttl is not None and scope == "process":
            raise InvalidLimit("ttl: a hold of this process alone has no expiry")
        host = f"@{socket.gethostname()}" if scope == "host" else ""
        return cls(tuple(sorted({f"{name}{host}" for name in names})), capacity, scope, ttl)  # type: ignore[arg-type]

    @property
    def shown(self) -> tuple[str, ...]:
        """The names as they are ordered and compared."""
        return tuple(f"{name}@process" for name in self.names) if self.scope == "process" else self.names


def check_order(held: Sequence[str], asked: Sequence[str], wait: float) -> None:
    """Who holds permits waits only for names above all of them. Who does not wait cannot wait for ever."""
    if held and wait > 0 and min(asked) <= max(held):
        raise PermitOrder(
            f"permit {min(asked)!r} is asked for by a holder of {max(held)!r}: names are taken in rising order, so that two "
            "holders never wait for each other; take them together, or in that order, or with wait=0"
        )


class Hold:
    """What `with app.permit(…) as hold` gives. `fence` rises with every grant: send it along, and let the receiver refuse lower
    ones."""

    def __init__(self, given: Given, names: tuple[str, ...], source: Source) -> None:
        self._given, self.names, self._source = given, names, source

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def token(self) -> str:
        return self._given.token

    @property
    def fence(self) -> int:
        return self._given.fence

    @property
    def lost(self) -> bool:
        """True once this hold may be somebody else's: the process was silent for too long, or it was not renewed in time."""
        return bool(getattr(self._given, "lost", False))

    def check(self) -> None:
        if self.lost:
            raise PermitLost(f"the hold of permit {self.name!r} is lost; only its fence protects what is written now")

    def renew(self, ttl: float | None = None) -> None:
        """Of a hold with a ttl: once more so long. Raises `PermitLost` if it has expired."""
        self._renewable().renew(ttl)

    async def arenew(self, ttl: float | None = None) -> None:
        await self._renewable().arenew(ttl)

    def _renewable(self) -> TokenGiven:
        if not isinstance(self._given, TokenGiven):
            raise InvalidLimit(f"permit {self.name!r} was taken without a ttl: it lives as long as its process")
        return self._given

    def __repr__(self) -> str:
        return f"<Hold {', '.join(self.names)} fence={self.fence}>"


#: What the code around holds, and of whom.
_around: ContextVar[tuple[tuple[object, str], ...]] = ContextVar("lanework_permits", default=())


class Permit:
    """`with` and `async with`. Each use of it is one hold."""

    def __init__(self, source: Source, asked: Asked, wait: float | None) -> None:
        self._source, self._asked = source, asked
        self._wait = source.wait if wait is None else float(wait)
        self._given: builtins.list[tuple[Given, Token[tuple[tuple[object, str], ...]]]] = []

    def __enter__(self) -> Hold:
        self._check()
        return self._taken(self._source.take(self._asked, self._wait))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._source.give(self._last())

    async def __aenter__(self) -> Hold:
        self._check()
        return self._taken(await self._source.atake(self._asked, self._wait))

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        await self._source.agive(self._last())

    def _check(self) -> None:
        check_order([name for who, name in _around.get() if who == self._source.who], self._asked.shown, self._wait)

    def _taken(self, given: Given) -> Hold:
        added = tuple((self._source.who, name) for name in self._asked.shown)
        self._given.append((given, _around.set((*_around.get(), *added))))
        return Hold(given, self._asked.names, self._source)

    def _last(self) -> Given:
        given, before = self._given.pop()
        with contextlib.suppress(ValueError):  # left in another context than it was entered in
            _around.reset(before)
        return given


class TokenGiven:
    """A hold with a token and an expiry, for as long as it is renewed."""

    def __init__(self, app: Lanework, found: store.Token, ttl: float) -> None:
        self._app, self.token, self.fence, self.expires_at = app, found.token, found.fence, found.expires_at
        self._ttl, self._until = ttl, time.monotonic() + ttl

    @property
    def lost(self) -> bool:
        return time.monotonic() > self._until

    def renew(self, ttl: float | None) -> None:
        self._renewed(self._app._run(store.renew_permits(self.token, ttl or self._ttl)), ttl)

    async def arenew(self, ttl: float | None) -> None:
        self._renewed(await self._app._arun(store.renew_permits(self.token, ttl or self._ttl)), ttl)

    def _renewed(self, until: datetime | None, ttl: float | None) -> None:
        if until is None:
            self._until = 0.0
            raise PermitLost("the hold has expired: it was not renewed in time, or somebody took it away")
        self._ttl = ttl or self._ttl
        self.expires_at, self._until = until, time.monotonic() + self._ttl


class AppSource:
    """Holds for code outside of jobs."""

    wait = WAIT_S

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self.who: object = weakref.ref(app)  # its id would be another one's when it is gone
        self._pool: PermitPool | None = None

    def take(self, asked: Asked, wait: float) -> Given:
        if asked.ttl is not None:
            return self._app.permits._take_token(asked, wait)
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
            return await self._app.permits._atake_token(asked, wait)
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


# -- what operators see ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has some of a permit: a process, with the jobs it has them for as it last said; or the owner of a token."""

    name: str
    host: str
    pid: int
    count: int
    jobs: tuple[int, ...]
    token: str | None
    fence: int | None
    since: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who waits: a process, somebody outside of one, or jobs that are queued."""

    name: str
    count: int
    since: datetime
    jobs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PermitInfo:
    """A permit's row. `holders` and `waiters` only from `get`."""

    name: str
    capacity: int
    held: int
    waiting: int
    set_by: str
    updated_at: datetime
    holders: tuple[Holder, ...] = ()
    waiters: tuple[Waiting, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitChange:
    """What a change did: the fields that differ, old and new."""

    name: str
    changed: Mapping[str, tuple[Any, Any]]


class Permits:
    """`app.permits`: each verb has an async twin with an `a` in front."""

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def list(self) -> builtins.list[PermitInfo]:
        return self._app._run(store.list_permits(None, _row))

    async def alist(self) -> builtins.list[PermitInfo]:
        return await self._app._arun(store.list_permits(None, _row))

    def get(self, name: str) -> PermitInfo:
        run = self._app._run
        found = run(store.list_permits(name, _row))
        return _whole(name, found, run(store.permit_holders(name)), run(store.permit_waiters(name)))

    async def aget(self, name: str) -> PermitInfo:
        run = self._app._arun
        found = await run(store.list_permits(name, _row))
        return _whole(name, found, await run(store.permit_holders(name)), await run(store.permit_waiters(name)))

    def set(self, name: str, capacity: int, *, by: str = "operator") -> LimitChange:
        """Lowering it takes nothing away: who has one keeps it."""
        return change(name, self._app._run(store.set_permit(name, capacity, by)))

    async def aset(self, name: str, capacity: int, *, by: str = "operator") -> LimitChange:
        return change(name, await self._app._arun(store.set_permit(name, capacity, by)))

    def acquire(
        self, *names: str, ttl: float, capacity: int | None = None, wait: float = 0.0, holder: str = ""
    ) -> store.Token:  # fmt: skip
        """A hold that belongs to nobody's process: whoever has the token renews and releases it. For a chat session's lock."""
        return self._acquire(Asked.checked(names, capacity, "cluster", ttl), wait, holder)

    async def aacquire(
        self, *names: str, ttl: float, capacity: int | None = None, wait: float = 0.0, holder: str = ""
    ) -> store.Token:  # fmt: skip
        return await self._aacquire(Asked.checked(names, capacity, "cluster", ttl), wait, holder)

    def renew(self, token: str, ttl: float | None = None) -> datetime:
        """Once more so long (or as long as before). Raises `PermitLost` if it has expired: it may be somebody else's now."""
        return _alive(token, self._app._run(store.renew_permits(_uuid(token), ttl)))

    async def arenew(self, token: str, ttl: float | None = None) -> datetime:
        return _alive(token, await self._app._arun(store.renew_permits(_uuid(token), ttl)))

    def release(self, token: str) -> bool:
        """False if this token holds nothing: it was released before, or has expired."""
        return self._app._run(store.release_permits(_uuid(token)))

    async def arelease(self, token: str) -> bool:
        return await self._app._arun(store.release_permits(_uuid(token)))

    def revoke(self, token: str, *, by: str = "operator") -> bool:
        """Takes somebody's hold away. Only its fence protects after that."""
        return self._app._run(store.revoke_permit(_uuid(token), by))

    async def arevoke(self, token: str, *, by: str = "operator") -> bool:
        return await self._app._arun(store.revoke_permit(_uuid(token), by))

    # -- holds with a token ----------------------------------------------------------------------------------------------

    def _take_token(self, asked: Asked, wait: float) -> TokenGiven:
        return TokenGiven(self._app, self._acquire(asked, wait, ""), asked.ttl or 0.0)

    async def _atake_token(self, asked: Asked, wait: float) -> TokenGiven:
        return TokenGiven(self._app, await self._aacquire(asked, wait, ""), asked.ttl or 0.0)

    def _acquire(self, asked: Asked, wait: float, holder: str) -> store.Token:
        verb, deadline = _asking(asked, wait, holder), time.monotonic() + wait
        while (found := self._app._run(verb)) is None:
            if time.monotonic() >= deadline:
                raise PermitBusy(f"permit {', '.join(asked.names)!r} is not free", name=asked.names[0])
            time.sleep(min(LOOK_S, max(deadline - time.monotonic(), 0.001)))
        return found

    async def _aacquire(self, asked: Asked, wait: float, holder: str) -> store.Token:
        verb, deadline = _asking(asked, wait, holder), time.monotonic() + wait
        while (found := await self._app._arun(verb)) is None:
            if time.monotonic() >= deadline:
                raise PermitBusy(f"permit {', '.join(asked.names)!r} is not free", name=asked.names[0])
            await asyncio.sleep(min(LOOK_S, max(deadline - time.monotonic(), 0.001)))
        return found


def _asking(asked: Asked, wait: float, holder: str) -> Verb[store.Token | None]:
    waiter = -random.getrandbits(62) - 1 if wait > 0 else None
    return store.acquire_permits(
        asked.names, asked.capacity, asked.ttl or 0.0, holder=holder or socket.gethostname(), job=None, token=str(uuid4()),
        waiter=waiter,
    )  # fmt: skip


def _uuid(token: str) -> str:
    try:
        return str(UUID(str(token)))
    except ValueError:
        raise InvalidLimit(f"token: expected the token of a hold, got {token!r}") from None


def _alive(token: str, until: datetime | None) -> datetime:
    if until is None:
        raise PermitLost(f"token {token} holds nothing: it has expired, was released, or somebody took it away")
    return until


def _row(row: Row) -> PermitInfo:
    return PermitInfo(*row)


def _whole(name: str, found: builtins.list[PermitInfo], holders: builtins.list[Row], waiters: builtins.list[Row]) -> PermitInfo:
    if not found:
        raise LimitNotFound(f"there is no permit {name!r}; a permit begins with its first use, or with `permits set`")
    one = found[0]
    return PermitInfo(
        one.name, one.capacity, one.held, one.waiting, one.set_by, one.updated_at,
        tuple(_holder(*row) for row in holders), tuple(_waiting(*row) for row in waiters),
    )  # fmt: skip


def _holder(name: str, host: str, pid: int, count: int, jobs: Sequence[int], *rest: Any) -> Holder:
    return Holder(name, host, pid, count, tuple(jobs), *rest)


def _waiting(name: str, count: int, since: datetime, jobs: Sequence[int]) -> Waiting:
    return Waiting(name, count, since, tuple(jobs))


def change(name: str, rows: tuple[Any, Any]) -> LimitChange:
    before, after = rows
    hidden = ("updated_at", "set_by", "name")
    fields = {key: ((before or {}).get(key), value) for key, value in after.items() if key not in hidden}
    return LimitChange(name, {key: pair for key, pair in fields.items() if pair[0] != pair[1]})
