"""Rates: requests and tokens per minute, for the whole cluster, paused for all by one 429."""

from __future__ import annotations

import asyncio
import builtins
import logging
import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lanework._limits.change import LimitChange, change
from lanework._limits.slices import Share
from lanework._store import rates as store
from lanework._store.verb import Row, Verb
from lanework.errors import InvalidLimit, LaneworkError, LimitNotFound, PermitBusy

if TYPE_CHECKING:
    from lanework.client import Lanework

logger = logging.getLogger("lanework")

#: Between two looks of a caller behind others.
LOOK_S = 0.005
LONGEST_NAP_S = 0.5


@dataclass(frozen=True, slots=True)
class RateInfo:
    """A rate's row. `requests` and `tokens` are what any window of `window_s` seconds may have; `burst` is the share of it that
    may go at once."""

    name: str
    requests: float | None
    tokens: float | None
    window_s: float
    burst: float
    paused_until: datetime | None
    waiting: int
    set_by: str
    updated_at: datetime


class Rate:
    """`rate = app.rate("openai", requests=500, tokens=90_000)`, then `rate.take(tokens=1200)` before each call."""

    def __init__(self, app: Lanework, name: str, requests: float | None, tokens: float | None, per: float) -> None:
        self._app, self.name = app, name
        self._first = store.ensure_rate(name, requests, tokens, per)
        self._known = False
        self._fetching: set[asyncio.Task[None]] = set()

    def take(self, tokens: float = 0.0, *, wait: float | None = 60.0) -> None:
        """Waits for its turn. Raises `PermitBusy` if that is not within `wait` seconds (None: for ever)."""
        _check(tokens)
        if not self._known:
            self._app._run(self._first)
            self._known = True
        share, deadline = self._app._share(self.name), _deadline(wait)
        turn = share.enter(tokens)
        try:
            while not share.serve(turn):
                if share.is_first(turn):
                    pauses = share.pauses
                    slice = self._app._run(self._asking(share, tokens))
                    share.add(slice, pauses)
                    nap = 0.0 if slice.requests else slice.wait_s
                else:
                    nap = LOOK_S
                time.sleep(self._nap(nap, deadline, wait))
        except BaseException:
            share.leave(turn)
            raise

    async def atake(self, tokens: float = 0.0, *, wait: float | None = 60.0) -> None:
        _check(tokens)
        await self._begin()
        share, deadline = self._app._share(self.name), _deadline(wait)
        turn = share.enter(tokens)
        try:
            while not share.serve(turn):
                if share.is_first(turn):
                    pauses = share.pauses
                    slice = await self._app._arun(self._asking(share, tokens))
                    share.add(slice, pauses)
                    nap = 0.0 if slice.requests else slice.wait_s
                else:
                    nap = LOOK_S
                await asyncio.sleep(self._nap(nap, deadline, wait))
        except BaseException:
            share.leave(turn)
            raise
        if share.runs_out():
            task = asyncio.ensure_future(self._fetch(share))
            self._fetching.add(task)
            task.add_done_callback(self._fetching.discard)

    async def _begin(self) -> None:
        """Its row, if there is none."""
        if not self._known:
            await self._app._arun(self._first)
            self._known = True

    async def _fetch(self, share: Share) -> None:
        """The next slice, before the last one ends: who calls without a pause never waits for the database."""
        pauses = share.pauses
        try:
            share.add(await self._app._arun(self._asking(share, 0.0)), pauses)
        except LaneworkError as error:  # whoever needs it asks, and is told
            logger.debug("the next slice of rate %s could not be fetched: %s", self.name, error)
        finally:
            share.fetched()

    def pause(self, seconds: float, *, by: str | None = None) -> datetime:
        """Nobody in the cluster gets anything for so long; after that the burst is one."""
        self._app._share(self.name).drop()
        self._app._run(self._first)
        return self._app._run(store.pause_rate(self.name, _seconds(seconds), by))

    async def apause(self, seconds: float, *, by: str | None = None) -> datetime:
        self._app._share(self.name).drop()
        await self._app._arun(self._first)
        return await self._app._arun(store.pause_rate(self.name, _seconds(seconds), by))

    def _asking(self, share: Share, tokens: float) -> Verb[store.Slice]:
        requests, many = share.wanted()
        return store.take_rate(self.name, requests=1.0, tokens=tokens, want_requests=requests, want_tokens=max(many, tokens))

    def _nap(self, wanted: float, deadline: float, wait: float | None) -> float:
        left = deadline - time.monotonic()
        if wanted > left:
            raise PermitBusy(f"rate {self.name!r} has no room within {wait:g} s")
        return min(wanted, LONGEST_NAP_S)  # a pause may end sooner


def _check(tokens: float) -> None:
    if isinstance(tokens, bool) or not isinstance(tokens, (int, float)) or not 0 <= tokens < float("inf"):
        raise InvalidLimit(f"tokens: expected 0 or more, got {tokens!r}")


def _seconds(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 86_400:
        raise InvalidLimit(f"seconds: expected 0 to 86400, got {value!r}")
    return float(value)


def _deadline(wait: float | None) -> float:
    return float("inf") if wait is None else time.monotonic() + wait


class Rates:
    """`app.rates`: what operators see and change. Each verb has an async twin with an `a` in front."""

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def list(self) -> builtins.list[RateInfo]:
        return self._app._run(store.list_rates(None, _row))

    async def alist(self) -> builtins.list[RateInfo]:
        return await self._app._arun(store.list_rates(None, _row))

    def get(self, name: str) -> RateInfo:
        return _one(name, self._app._run(store.list_rates(name, _row)))

    async def aget(self, name: str) -> RateInfo:
        return _one(name, await self._app._arun(store.list_rates(name, _row)))

    def set(self, name: str, *, by: str = "operator", **values: Any) -> LimitChange:
        """Changes what is given: requests, tokens (None: no such limit), window_s, burst."""
        return change(name, self._app._run(store.set_rate(name, _checked(values), by)))

    async def aset(self, name: str, *, by: str = "operator", **values: Any) -> LimitChange:
        return change(name, await self._app._arun(store.set_rate(name, _checked(values), by)))

    def pause(self, name: str, seconds: float, *, by: str = "operator") -> datetime:
        return self._app._run(store.pause_rate(name, _seconds(seconds), by))

    async def apause(self, name: str, seconds: float, *, by: str = "operator") -> datetime:
        return await self._app._arun(store.pause_rate(name, _seconds(seconds), by))

    def resume(self, name: str, *, by: str = "operator") -> bool:
        """False if it was not paused."""
        return self._app._run(store.resume_rate(name, by))

    async def aresume(self, name: str, *, by: str = "operator") -> bool:
        return await self._app._arun(store.resume_rate(name, by))


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    for field, value in values.items():
        if field not in ("requests", "tokens", "window_s", "burst"):
            raise InvalidLimit(f"{field}: a rate has no such setting; it has requests, tokens, window_s, burst")
        if value is None and field in ("requests", "tokens"):
            continue
        most = 1.0 if field == "burst" else 1e12
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < most:
            raise InvalidLimit(f"{field}: expected a number above 0 and below {most:g}, got {value!r}")
    return values


def _row(row: Row) -> RateInfo:
    return RateInfo(*row)


def _one(name: str, found: builtins.list[RateInfo]) -> RateInfo:
    if not found:
        raise LimitNotFound(f"there is no rate {name!r}; a rate begins with its first use, or with `rates set`")
    return found[0]
