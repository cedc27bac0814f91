"""Freezes: lanes that start nothing for a while, held by a run of a job or by an operator. Nobody's settings are changed."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lanework._store import freezes as store
from lanework._store.verb import Row
from lanework.errors import FreezeNotFound, LanesBusy

if TYPE_CHECKING:
    from lanework._store.keeper import AsyncKeeper, Keeper
    from lanework.client import Lanework
    from lanework.context import Context

PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Freeze:
    """Lanes that are held. `job_id`: the job whose run holds them; `until`: when an operator's hold ends by itself."""

    id: int
    lanes: tuple[str, ...]
    job_id: int | None
    by: str
    reason: str
    since: datetime
    until: datetime | None


class Freezes:
    """`app.freezes`: each verb has an async twin with an `a` in front."""

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def start(self, lanes: Sequence[str], *, by: str = "", reason: str = "", expires: float = 3600.0) -> int:
        """Holds the lanes, for `expires` seconds at most. Running jobs go on; `wait` until they have ended."""
        return self._app._run(store.freeze(_names(lanes), by, reason, expires))

    async def astart(self, lanes: Sequence[str], *, by: str = "", reason: str = "", expires: float = 3600.0) -> int:
        return await self._app._arun(store.freeze(_names(lanes), by, reason, expires))

    def end(self, id: int, *, by: str = "") -> tuple[str, ...]:
        """The lanes that it held; each is again as its own settings say."""
        lanes = self._app._run(store.thaw(id, by))
        return tuple(lanes)

    async def aend(self, id: int, *, by: str = "") -> tuple[str, ...]:
        lanes = await self._app._arun(store.thaw(id, by))
        return tuple(lanes)

    def list(self) -> builtins.list[Freeze]:
        return [_row(row) for row in self._app._run(store.list_freezes())]

    async def alist(self) -> builtins.list[Freeze]:
        return [_row(row) for row in await self._app._arun(store.list_freezes())]

    def wait(self, lanes: Sequence[str], timeout: float | None = None) -> None:
        """Until nothing runs in these lanes, in any process."""
        _wait(lambda: self._app._run(store.busy_lanes(_names(lanes), None)), _Patience(timeout))

    async def await_(self, lanes: Sequence[str], timeout: float | None = None) -> None:
        patience = _Patience(timeout)
        while busy := await self._app._arun(store.busy_lanes(_names(lanes), None)):  # noqa: ASYNC110 - other processes tell nothing
            await asyncio.sleep(patience.left(busy))

    @contextmanager
    def hold(
        self, lanes: Sequence[str], *, by: str = "", reason: str = "", expires: float = 3600.0, timeout: float | None = None
    ) -> Iterator[int]:
        held = self.start(lanes, by=by, reason=reason, expires=expires)
        try:
            self.wait(lanes, timeout)
            yield held
        finally:
            with contextlib.suppress(FreezeNotFound):  # it has expired, or somebody has ended it
                self.end(held, by=by)

    @asynccontextmanager
    async def ahold(
        self, lanes: Sequence[str], *, by: str = "", reason: str = "", expires: float = 3600.0, timeout: float | None = None
    ) -> AsyncIterator[int]:
        held = await self.astart(lanes, by=by, reason=reason, expires=expires)
        try:
            await self.await_(lanes, timeout)
            yield held
        finally:
            with contextlib.suppress(FreezeNotFound):
                await self.aend(held, by=by)


# -- inside a job ------------------------------------------------------------------------------------------------------


@contextmanager
def hold_inside(ctx: Context, keeper: Keeper, lanes: Sequence[str], reason: str, timeout: float | None) -> Iterator[int]:
    """Ends with the block, or with this run of the job, whatever comes first."""
    names = _names(lanes)
    held = keeper.run(store.freeze_for(ctx._held, names, reason))
    try:
        _wait(lambda: keeper.run(store.busy_lanes(names, ctx.job_id)), _Patience(timeout), ctx.raise_if_cancelled)
        yield held
    finally:
        with contextlib.suppress(FreezeNotFound):
            keeper.run(store.thaw(held, f"job:{ctx.job_id}"))


@asynccontextmanager
async def ahold_inside(ctx: Context, lanes: Sequence[str], reason: str, timeout: float | None) -> AsyncIterator[int]:
    names = _names(lanes)
    keeper: AsyncKeeper = await ctx._link.adatabase()
    held = await keeper.run(store.freeze_for(ctx._held, names, reason))
    patience = _Patience(timeout)
    try:
        while busy := await keeper.run(store.busy_lanes(names, ctx.job_id)):
            ctx.raise_if_cancelled()
            await asyncio.sleep(patience.left(busy))
        yield held
    finally:
        with contextlib.suppress(FreezeNotFound):
            await keeper.run(store.thaw(held, f"job:{ctx.job_id}"))


class _Patience:
    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def left(self, busy: list[Row]) -> float:
        """Seconds until the next look."""
        if self._deadline is None:
            return PAUSE
        left = self._deadline - time.monotonic()
        if left <= 0:
            lanes = ", ".join(f"{lane} ({used})" for lane, used in busy)
            raise LanesBusy(f"jobs still run after {self._timeout} s in {lanes}; nothing was stopped, and the lanes are let go")
        return min(PAUSE, left)


def _wait(busy: Callable[[], list[Row]], patience: _Patience, check: Callable[[], None] = lambda: None) -> None:
    while found := busy():
        check()
        time.sleep(patience.left(found))


def _names(lanes: Sequence[str]) -> list[str]:
    return [lanes] if isinstance(lanes, str) else list(lanes)


def _row(row: Row) -> Freeze:
    return Freeze(row[0], tuple(row[1]), *row[2:])
