"""`/jobs/{id}/stream` and `/events`: what happens, as it happens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Protocol

from fastapi import Header, Query
from pydantic import BaseModel
from starlette.responses import Response

from lanework.api.feed import Feed
from lanework.api.gate import Caller, Gate, Routes, Who
from lanework.api.jobs import JobId, Jobs
from lanework.api.sources import Everything, OneJob
from lanework.api.streams import Stream, Streams
from lanework.client import Lanework
from lanework.errors import DatabaseUnavailable, InvalidFilter
from lanework.events import TOPICS, position

logger = logging.getLogger("lanework")
#: How often the callers of open streams are looked at again.
RECHECK = 0.5
LastEventId = Annotated[str | None, Header(max_length=200)]


class Rechecks(Protocol):
    """A gate that can tell which callers of open streams may not follow any more."""

    async def recheck(self, callers: Iterable[Caller]) -> list[Caller]: ...


class JobEvent(BaseModel):
    cursor: str
    at: Any
    topic: str
    kind: str
    data: dict[str, Any]


class Live:
    """`topics`: those of the application's own that can be followed."""

    def __init__(self, app: Lanework, jobs: Jobs, gate: Gate, topics: Sequence[str] = ()) -> None:
        self.app, self.jobs, self.gate, self.topics = app, jobs, gate, (*TOPICS, *topics)
        self.streams, self.feed = Streams(), Feed(app)

    def add_to(self, routes: Routes) -> None:
        sse: dict[str, Any] = {"response_class": Stream, "status_code": 200, "tags": ["live"]}
        told: dict[int | str, Any] = {204: {"description": "It has ended, and you have all of it"}}
        routes.add("GET", "/jobs/{job_id}/stream", self.job, needs="jobs:read", responses=told, **sse)
        routes.add("GET", "/events", self.all, needs="events:read", **sse)
        routes.add("GET", "/jobs/{job_id}/events", self.stored, needs="jobs:read", tags=["jobs"])

    async def job(self, who: Who, job_id: JobId, last_event_id: LastEventId = None) -> Response:
        """A job's changes of state, progress and log lines as they come; ends after its final state. Who has all of it is told
        so with 204, which tells a browser not to come back."""
        await self.jobs.visible(who, "jobs:read", job_id)
        source = OneJob(self.feed, job_id, last_event_id or None)
        if await source.begin():
            return Stream(self.streams, who, source)
        source.close()
        return Response(status_code=204)

    async def all(self, who: Who, topic: Annotated[list[str] | None, Query()] = None, last_event_id: LastEventId = None) -> Stream:
        """Everything that happens; for who may see only what is his own, what happens to his jobs."""
        if unknown := [one for one in topic or () if one not in self.topics]:
            raise InvalidFilter(f"topic: there is no {unknown[0][:100]!r}; there are {', '.join(self.topics)}", field="topic")
        owner = None if who.scope("events:read") == "all" else who.name
        source = Everything(self.app, self.feed, last_event_id or None, topic, owner)
        await source.begin()
        return Stream(self.streams, who, source)

    async def stored(self, who: Who, job_id: JobId, after: Annotated[str | None, Query(max_length=200)] = None) -> list[JobEvent]:
        """What has happened to a job so far; `after` is the cursor of the last one that is known."""
        await self.jobs.visible(who, "jobs:read", job_id)
        at = position(after, job_id, None, None)
        page = at.take(await self.app._arun(at.verb()))
        return [JobEvent(cursor=one.cursor, at=one.at, topic=one.topic, kind=one.kind, data=one.data) for one in page.events]

    @asynccontextmanager
    async def lifespan(self, _: Any) -> AsyncIterator[dict[str, Any]]:
        """While the application lives. The server that runs it calls `state.streams.close` when it is told to stop: a stream must
        not hold it up."""
        watching = asyncio.create_task(self._watch(), name="lanework-streams")
        try:
            yield {"streams": self.streams}
        finally:
            self.streams.close()
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            await self.feed.stop()

    async def _watch(self) -> None:
        """Ends streams whose caller has lost his right. Runs as long as the application."""
        recheck = getattr(self.gate, "recheck", None)
        while recheck is not None:
            await asyncio.sleep(RECHECK)
            if not self.streams.open:
                continue
            try:
                self.streams.end_of(await recheck(self.streams.callers()), "your access has changed; come in again")
            except DatabaseUnavailable as error:  # nor can anything be read for them
                logger.info("the callers of open streams cannot be looked at: %s", error)
            except Exception:
                logger.exception("the callers of open streams cannot be looked at")
