"""Bugs of the guard and of the way to it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from lanework._store.claims import Held, settle
from lanework.retries import Verdict
from tests.processes.plants import a_plant, put

GUARD, BEATS = "lanework._guard.guard:Guard", "lanework._guard.beats:Beats"


async def never(*_: object, **__: object) -> None:
    await asyncio.sleep(1000)


async def nothing(*_: object, **__: object) -> None:
    return None


@a_plant
def blind_guard() -> None:
    """The guard does not see its worker die; it goes on beating."""
    put("lanework._guard.guard", "wait_for_death", never)


@a_plant
def deaf_worker() -> None:
    """The worker does not see its guard die."""
    put("lanework._guard.link", "wait_for_death", never)


@a_plant
def claims_stay_open() -> None:
    """A claim whose answer was lost still counts as known."""
    put("lanework._guard.link:GuardLink", "close_claim", lambda self, no: None)


@a_plant
def beats_for_the_stopped() -> None:
    """A worker that was stopped is beaten for for ever."""
    put(BEATS, "_stopped_too_long", lambda self: False)


@a_plant
def loop_beats() -> None:
    """The heartbeat lives on the worker's event loop: no beat while the loop does not move."""

    async def run_once(self: Any) -> Any:
        return 0.1 if time.monotonic() - self._guard.last_tick > 1.0 else await right(self)

    right = put(BEATS, "run_once", run_once)


@a_plant
def own_clock() -> None:
    """A beat is stamped with the clock of the machine that sends it."""

    async def run_once(self: Any) -> Any:
        pause = await right(self)
        async with self._keeper.connection() as conn:
            sql = "update lanework.workers set seen_at = to_timestamp(%s) where id = %s"
            await conn.execute(sql, [time.time(), self._guard.worker_id])
        return pause

    right = put(BEATS, "run_once", run_once)


@a_plant
def no_stand_in() -> None:
    """Nobody keeps deadlines while the worker's loop is blocked."""
    put(GUARD, "stand_in", nothing)


@a_plant
def no_sweep() -> None:
    """Nobody looks for stale and overdue jobs."""

    async def run_once(self: Any) -> float:
        return 0.5

    put("lanework._guard.rounds:Rounds", "run_once", run_once)


@a_plant
def all_to_blame() -> None:
    """The death of a shared process is a loss for every job in it, and nobody is a suspect."""

    async def bury(self: Any, because: str) -> None:
        if self._keeper is not None:
            async with self._keeper.connection() as conn:
                sql = "select id, attempt, claim_id::text from lanework.jobs where worker_id = %s and status = 'running'"
                rows = await (await conn.execute(sql, [self.worker_id])).fetchall()
            blame = Verdict("retry", uses_try=True, loss=True, error_class="worker_lost", error=because, cause=because)
            if rows:
                await self._keeper.run(settle(self.worker_id, [(Held(*row), blame) for row in rows]))
        await right(self, because)

    right = put(GUARD, "bury", bury)


@a_plant
def no_orphans_ended() -> None:
    """The guard gives claims back without ending what the worker has left behind."""
    put("lanework._guard.guard", "end_all", nothing)


@a_plant
def only_leaders_ended() -> None:
    """The guard waits for the children's end, not for the end of what these have started."""

    async def end_all(pids: set[int], *, own_orphans: bool) -> None:
        for pid in pids:
            while not is_gone(pid):
                await asyncio.sleep(0.01)

    from lanework._guard.processes import is_gone

    put("lanework._guard.guard", "end_all", end_all)
