"""How many submits a user may send to this process: a bucket per user that refills."""

from __future__ import annotations

import time
from collections.abc import Iterable

from fastapi import Request

from kg.access.caller import Caller
from kg.api.door import Door
from kg.errors import TooMany
from lanework.api.gate import Caller as Engine

#: Paths whose POSTs make jobs.
SUBMITS = ("/jobs", "/ingest")


class Pace:
    def __init__(self, per_minute: int) -> None:
        self._each = 60.0 / per_minute
        self._burst = max(per_minute / 10, 1.0) * self._each
        self._next: dict[str, float] = {}

    def take(self, name: str) -> None:
        now = time.monotonic()
        due = max(self._next.get(name, 0.0), now - self._burst)
        if due > now:
            wait = max(int(due - now) + 1, 1)
            raise TooMany(f"too many submits; try again in {wait} s", retry_after=wait)
        if len(self._next) > 10_000:
            self._next = {key: value for key, value in self._next.items() if value > now - self._burst}
        self._next[name] = due + self._each


class PacedDoor:
    """The door, with a limit on submits."""

    def __init__(self, door: Door, per_minute: int) -> None:
        self._door, self._pace = door, Pace(per_minute)

    async def __call__(self, request: Request) -> Caller:
        caller = await self._door(request)
        if request.method == "POST" and request.url.path in SUBMITS:
            self._pace.take(caller.name)
        return caller

    async def recheck(self, callers: Iterable[Engine]) -> list[Engine]:
        return await self._door.recheck(callers)
