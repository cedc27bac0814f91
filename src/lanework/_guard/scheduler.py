"""Fires schedules. It computes when; the database decides whether."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from lanework import _ticks
from lanework._services.service import Service
from lanework._store.keeper import AsyncKeeper
from lanework._store.schedules import DueSchedule, due_schedules, fire, schedule_broken, settle_schedules
from lanework._store.verb import is_outage

if TYPE_CHECKING:
    from lanework._guard.guard import Guard

logger = logging.getLogger("lanework")

#: After a round that fired something, the next look comes this soon.
AGAIN = 0.02


class Scheduler(Service):
    """Every guard has one. The leader's looks when something is due; the others' look for what was left undone."""

    name = "schedules"

    def __init__(self, guard: Guard, keeper: AsyncKeeper) -> None:
        super().__init__()
        self._guard, self._keeper = guard, keeper
        self._settle_at = 0.0

    async def run_once(self) -> float:
        sweep = self._guard.settings.sweep
        wait, due = await self._keeper.run(due_schedules(self._guard.worker_id))
        for one in due:
            await self._try(one)
        if time.monotonic() >= self._settle_at:
            self._settle_at = time.monotonic() + sweep
            for name, because in await self._keeper.run(settle_schedules()):
                logger.error("schedule %s is disabled: %s", name, because)
        if due:
            return AGAIN
        return sweep if wait is None else max(min(wait, sweep), 0.001)

    async def _try(self, one: DueSchedule) -> None:
        """One that cannot be fired keeps no other waiting."""
        try:
            await self._fire(one)
        except Exception as error:
            if is_outage(error):
                raise
            logger.error("schedule %s cannot be fired: %s", one.name, error)
            await self._keeper.run(schedule_broken(one.name, one.revision, f"{type(error).__name__}: {error}"))

    async def _fire(self, one: DueSchedule) -> None:
        it = _ticks.rhythm(cron=one.cron, every_s=one.every_s, tz=one.tz, anchor=one.anchor)
        found = _ticks.due(it, one.last_tick, one.now)
        verb = fire(one.name, one.revision, found.ticks, first_missed=found.first_missed, missed=found.missed, next=found.next)
        for tick, outcome, reason, _ in await self._keeper.run(verb):
            if outcome in ("error", "missed"):
                logger.warning("schedule %s, tick %s: %s: %s", one.name, tick.isoformat(), outcome, reason)
