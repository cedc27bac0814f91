"""Once a poll: one statement for all lanes. It reads their rows, wakes due jobs and says where something waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from lanework._services.service import Service
from lanework._store.keeper import AsyncKeeper
from lanework._store.workers import LaneView, look


class Poller(Service):
    name = "poller"

    def __init__(
        self, keeper: AsyncKeeper, lanes: Sequence[str] | None, types: Sequence[int], seen: Callable[[list[LaneView]], None]
    ) -> None:
        super().__init__()
        self._keeper, self._lanes, self._types, self._seen = keeper, lanes, types, seen
        self.interval = 5.0
        self._due_at = float("inf")

    async def run_once(self) -> float:
        views = await self._keeper.run(look(self._lanes, self._types))
        self._seen(views)
        self.interval = min((view.poll_interval_ms / 1000 for view in views), default=5.0)
        self._due_at = float("inf")
        due = min((view.due_in for view in views if view.due_in is not None), default=None)
        return self.interval if due is None else min(self.interval, max(due, 0.01))

    def due_in(self, seconds: float) -> None:
        """A job of ours will be due sooner than the next poll: look then."""
        at = time.monotonic() + seconds
        if at < self._due_at:
            self._due_at = at
            self.wake_later(seconds)

    def wake_later(self, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds + 0.005, self.wake)
