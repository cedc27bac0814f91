"""Fires schedules. It computes when; the database decides whether."""

from __future__ import annotations

import logging
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
#: Sweeps between two looks while nothing is due. A change is told by a hint; lost, it costs this.
IDLE_SWEEPS = 3


class Scheduler(Service):
    """Every guard has one. The leader's looks when something is due; the others' look for what was left undone."""

    name = "schedules"

    def __init__(self, guard: Guard, keeper: AsyncKeeper) -> None:
        super().__init__()
        self._guard, self._keeper = guard, keeper

    async def run_once(self) -> float:
        sweep = self._guard.settings.sweep
        wait, unsettled, due = await self._keeper.run(due_schedules(self._guard.worker_id))
        fired = [await self._fire(one) for one in due]
        if unsettled:
            for name, because in await self._keeper.run(settle_schedules()):
                logger.error("schedule %s is disabled: %s", name, because)
        if due:
            return AGAIN if all(fired) else sweep
        idle = sweep * IDLE_SWEEPS
        return idle if wait is None else max(min(wait, idle), 0.001)

    async def _fire(self, one: DueSchedule) -> bool:
        """One that cannot be fired keeps no other waiting."""
        try:
            found = _due(one)
        except Exception as error:
            logger.error("schedule %s: its times cannot be computed: %s", one.name, error)
            await self._keeper.run(schedule_broken(one.name, one.revision, f"{type(error).__name__}: {error}"))
            return True
        verb = fire(one.name, one.revision, found.ticks, first_missed=found.first_missed, missed=found.missed, next=found.next)
        try:
            ticks = await self._keeper.run(verb)
        except Exception as error:
            if is_outage(error):
                raise
            logger.error("schedule %s could not be fired, and is tried again: %s", one.name, error)
            return False
        for tick, outcome, reason, _ in ticks:
            if outcome in ("error", "missed"):
                logger.warning("schedule %s, tick %s: %s: %s", one.name, tick.isoformat(), outcome, reason)
        return True


def _due(one: DueSchedule) -> _ticks.Due:
    it = _ticks.rhythm(cron=one.cron, every_s=one.every_s, tz=one.tz, anchor=one.anchor)
    return _ticks.due(it, one.last_tick, one.now)
