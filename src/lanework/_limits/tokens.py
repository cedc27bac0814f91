"""Holds that belong to whoever has their token, until they expire."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from lanework._limits.asked import Asked
from lanework._store import permits as store
from lanework._store.verb import Verb
from lanework.errors import PermitBusy, PermitLost

if TYPE_CHECKING:
    from lanework.client import Lanework

#: Between two looks of somebody who waits.
LOOK_S = 0.1


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


def acquire(app: Lanework, asked: Asked, wait: float, holder: str = "") -> store.Token:
    verb, deadline = _asking(asked, wait, holder), time.monotonic() + wait
    while (found := app._run(verb)) is None:
        if time.monotonic() >= deadline:
            raise PermitBusy(f"permit {', '.join(asked.names)!r} is not free", name=asked.names[0])
        time.sleep(min(LOOK_S, max(deadline - time.monotonic(), 0.001)))
    return found


async def aacquire(app: Lanework, asked: Asked, wait: float, holder: str = "") -> store.Token:
    verb, deadline = _asking(asked, wait, holder), time.monotonic() + wait
    while (found := await app._arun(verb)) is None:
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
