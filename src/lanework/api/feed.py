"""One reader of the event log per process, whatever the number of streams: it passes events on, and wakes the streams of the jobs
that they are about."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence

from lanework.client import Lanework
from lanework.errors import LaneworkError
from lanework.events import Event, position

logger = logging.getLogger("lanework")
#: Events that wait for a client; one that falls behind further is dropped, and goes on from its last event when it comes back.
MOST_WAITING = 2000
#: A job's stream looks by itself now and then, should a wake-up be lost.
LOOK = 15.0


class Feed:
    def __init__(self, app: Lanework) -> None:
        self._app = app
        self._task: asyncio.Task[None] | None = None
        self._queues: set[asyncio.Queue[Event | None]] = set()
        self._bells: dict[int, set[asyncio.Event]] = defaultdict(set)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._read(), name="lanework-feed")

    async def _read(self) -> None:
        cursor: str | None = None
        while True:
            try:
                async for event in self._app.aevents(after=cursor):
                    cursor = event.cursor
                    self._pass_on(event)
            except LaneworkError as error:
                logger.warning("the event log cannot be read (%s); streams go on when it can", error)
            await asyncio.sleep(1.0)

    def _pass_on(self, event: Event) -> None:
        for queue in list(self._queues):
            if queue.qsize() >= MOST_WAITING:
                self._queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)
        for job in self._watched(event.jobs):
            for bell in self._bells[job]:
                bell.set()

    def _watched(self, jobs: Sequence[int]) -> list[int]:
        if len(jobs) > len(self._bells):
            return [job for job in self._bells if job in jobs] if isinstance(jobs, range) else [*self._bells.keys() & set(jobs)]
        return [job for job in jobs if job in self._bells]

    # -- what streams follow -----------------------------------------------------------------------------------------------

    async def job(self, job_id: int, after: str | None) -> AsyncIterator[Event]:
        """One job's events until its final state. Reads when told to, and holds nothing in between."""
        self._start()
        bell = asyncio.Event()
        self._bells[job_id].add(bell)
        at = position(after, job_id, None, None)
        try:
            while True:
                bell.clear()
                page = at.take(await self._app._arun(at.verb()))
                for event in page.events:
                    yield event
                if page.ended:
                    return
                if not page.more:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(LOOK):
                            await bell.wait()
        finally:
            self._bells[job_id].discard(bell)
            if not self._bells[job_id]:
                del self._bells[job_id]

    async def all(self, after: str | None, topics: Sequence[str] | None) -> AsyncIterator[Event]:
        """Everything from a position on: what is stored first, then what comes."""
        self._start()
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            last = (0, 0)
            if after is not None:
                async for event in self._stored(after, topics):
                    last = _place(event)
                    yield event
            while (found := await queue.get()) is not None:
                if _place(found) > last and (topics is None or found.topic in topics):
                    yield found
        finally:
            self._queues.discard(queue)

    async def _stored(self, after: str, topics: Sequence[str] | None) -> AsyncIterator[Event]:
        at = position(after, None, topics, None)
        more = True
        while more:
            page = at.take(await self._app._arun(at.verb()))
            for event in page.events:
                yield event
            more = page.more


def _place(event: Event) -> tuple[int, int]:
    xid, _, id = event.cursor.partition("-")
    return int(xid), int(id)
