"""Permits: named, counted holds for the whole cluster, a host or a process. Locks are permits of capacity 1."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lanework._limits.asked import Asked, check_order
from lanework._limits.change import LimitChange, change
from lanework._limits.source import Given, Source
from lanework._limits.tokens import TokenGiven, aacquire, acquire
from lanework._store import permits as store
from lanework._store.verb import Row
from lanework.errors import InvalidLimit, LimitNotFound, PermitLost

if TYPE_CHECKING:
    from lanework.client import Lanework


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
        return acquire(self._app, Asked.checked(names, capacity, "cluster", ttl), wait, holder)

    async def aacquire(
        self, *names: str, ttl: float, capacity: int | None = None, wait: float = 0.0, holder: str = ""
    ) -> store.Token:  # fmt: skip
        return await aacquire(self._app, Asked.checked(names, capacity, "cluster", ttl), wait, holder)

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
