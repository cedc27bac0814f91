"""Maintenance: plain SQL, in rounds."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from lanework._services.service import Service
from lanework._store.keeper import AsyncKeeper
from lanework._store.workers import prune, tend, upkeep

if TYPE_CHECKING:
    from lanework._guard.guard import Guard

logger = logging.getLogger("lanework")

#: Seconds until the next commit of an act on many jobs.
CARRY = 0.05


class Rounds(Service):
    """Maintenance: everybody's share each sweep, the leader's housekeeping now and then."""

    name = "maintenance"

    def __init__(self, guard: Guard, keeper: AsyncKeeper) -> None:
        super().__init__()
        self._guard, self._keeper = guard, keeper
        self._upkeep_at = 0.0

    async def run_once(self) -> float:
        settings = self._guard.settings
        leads, recovered, _, unfinished = await self._keeper.run(tend(self._guard.worker_id, settings.lease))
        if recovered:
            logger.warning("recovered %d jobs of workers that fell silent", recovered)
        if leads and time.monotonic() >= self._upkeep_at:
            self._upkeep_at = time.monotonic() + settings.upkeep
            await self._keeper.run(upkeep())
            await self._keeper.run(prune())
        # acts on many jobs go on in small commits, with room for the heartbeat between them
        return CARRY if unfinished else settings.sweep
