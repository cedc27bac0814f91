"""With a database: what is queued is worked, what waits is approved, and time is moved."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lanework._store.testing import claimable, move_time
from lanework.handlers import ESTIMATES
from lanework.job import Handle

if TYPE_CHECKING:
    from lanework.client import Lanework


def approve(app: Lanework, *jobs: Handle[Any] | int, limit: float | None = None, by: str = "tests") -> list[int]:
    """Approves these jobs, or all that wait for an approval; answers their ids. Estimates are work: `drain` first."""
    ids = [job if isinstance(job, int) else job.id for job in jobs] or [
        job.id for job in app.list(status="awaiting_approval", limit=1000)
    ]
    for job_id in ids:
        app.approve(job_id, limit=limit, by=by)
    return ids


def drain(app: Lanework, *lanes: str, timeout: float = 60.0) -> None:
    """Works the queued jobs of these lanes (or all), with a real worker in this process, until nothing is claimable or runs.

    Delayed jobs are left alone: move the clock first. Jobs that wait for an estimate get it; those that then wait for an approval
    are left alone: `approve` them, and drain again.
    """

    async def alone() -> None:
        try:
            await adrain(app, *lanes, timeout=timeout)
        finally:
            await app._close_loop()  # the connections of this loop end with it; the application stays open

    asyncio.run(alone())


async def adrain(app: Lanework, *lanes: str, timeout: float = 60.0) -> None:
    served = list(lanes) or None
    if served and any(handler.estimates for handler in app.handlers.values()):
        served.append(ESTIMATES)
    async with asyncio.timeout(timeout), app.worker(lanes=served, notify=False) as worker:
        while await app._arun(claimable(served, list(app.handlers))):
            worker.poller.wake()
            await asyncio.sleep(0.02)


class Clock:
    """Moves `lanework.now()` of a test's database. Refuses a database whose name does not say that it is for tests."""

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self.offset = timedelta()

    def advance(self, **by: float) -> None:
        """`clock.advance(hours=1)`: everything that is due by then becomes due."""
        self.offset += timedelta(**by)
        self._app._run(move_time(self.offset))

    async def aadvance(self, **by: float) -> None:
        self.offset += timedelta(**by)
        await self._app._arun(move_time(self.offset))

    def reset(self) -> None:
        self.offset = timedelta()
        self._app._run(move_time(self.offset))
