"""Everybody's share of the upkeep: plain SQL, in rounds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lanework._services.service import Service
from lanework._store.keeper import AsyncKeeper
from lanework._store.workers import tend

if TYPE_CHECKING:
    from lanework._guard.guard import Guard

logger = logging.getLogger("lanework")

#: Seconds until the next commit of an act on many jobs.
CARRY = 0.05
#: A new leader keeps house this many seconds later: mostly it is a worker that starts, and its first jobs come first.
FIRST_JOBS = 1.5


class Rounds(Service):
    """Keeps or takes the lead, declares silent workers dead, sweeps."""

    name = "maintenance"

    def __init__(self, guard: Guard, keeper: AsyncKeeper) -> None:
        super().__init__()
        self._guard, self._keeper = guard, keeper

    async def run_once(self) -> float:
        settings = self._guard.settings
        leads, recovered, _, unfinished = await self._keeper.run(tend(self._guard.worker_id, settings.lease))
        newly, self._guard.leads = leads and not self._guard.leads, leads
        if newly:
            self._guard.look_now(house_in=min(settings.sweep, FIRST_JOBS))
        if recovered:
            logger.warning("recovered %d jobs of workers that fell silent", recovered)
        # acts on many jobs go on in small commits, with room for the heartbeat between them
        return CARRY if unfinished else settings.sweep
