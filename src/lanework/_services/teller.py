"""Hints that there are new events: one now, and one more after a while if something has happened since."""

from __future__ import annotations

import asyncio

from lanework._services.service import Service
from lanework._store.events import hint_events
from lanework._store.keeper import AsyncKeeper

#: At most so often, whatever happens.
PAUSE = 0.25


class Teller(Service):
    """The hint has a transaction of its own: what it tells of does not wait for it. One that is lost costs a poll."""

    name = "teller"

    def __init__(self, keeper: AsyncKeeper) -> None:
        super().__init__()
        self._keeper = keeper
        self._news = False

    def told(self) -> None:
        if not self._news:
            self._news = True
            self.wake()

    async def run_once(self) -> float:
        if not self._news:
            return 3600.0
        self._news = False
        await self._keeper.run(hint_events())
        await asyncio.sleep(PAUSE)
        return 0.0
