"""`/admin/workers`: lanes, slots and processes, for operators."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from lanework.api.fields import Body, Change, Name, Reason, given, shown
from lanework.api.gate import Routes, Who
from lanework.api.jobs import Answer, JobId
from lanework.client import Lanework
from lanework.lanes import LaneInfo
from lanework.overview import Overview
from lanework.reports import WorkerInfo

_NULLABLE = ("max_slots", "worker_slots")
Slots = Annotated[int, Field(ge=0, le=10_000)]


class LaneValues(Body):
    """What of a lane can be changed. Slots may be null: no such limit."""

    max_slots: Slots | None = None
    worker_slots: Slots | None = None
    poll_interval_ms: Annotated[int, Field(ge=50, le=120_000)] | None = None
    stale_timeout_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None
    enabled: bool | None = None
    #: Its owners take turns, whatever one of them has queued.
    fair: bool | None = None
    job_types: Annotated[list[Name], Field(max_length=1000)] | None = None


class NewLane(LaneValues):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,62}$")]


class Workers:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        add("GET", "/admin/workers", self.processes, needs="workers:view", tags=["workers"])
        add("GET", "/admin/workers/status", self.status, needs="workers:view", tags=["workers"])
        add("GET", "/admin/workers/lanes", self.lanes, needs="workers:view", tags=["workers"])
        add("GET", "/admin/workers/lanes/{name}", self.lane, needs="workers:view", tags=["workers"])
        add("POST", "/admin/workers/lanes", self.create, needs="workers:manage", status_code=201, tags=["workers"])
        add("PATCH", "/admin/workers/lanes/{name}", self.change, needs="workers:manage", tags=["workers"])
        add("DELETE", "/admin/workers/lanes/{name}", self.remove, needs="workers:manage", status_code=204, tags=["workers"])
        add("POST", "/admin/workers/jobs/{job_id}/cancel", self.cancel, needs="workers:manage", tags=["workers"])

    async def processes(self, ended: bool = False) -> list[WorkerInfo]:
        """Worker processes: their heartbeats, what they serve, and which one does the maintenance."""
        return await self.app.aworkers(ended=ended)

    async def status(self) -> Overview:
        """Per lane: slots and who holds each, what waits and since when; and the totals."""
        return await self.app.aoverview()

    async def lanes(self) -> list[LaneInfo]:
        """All lanes, with how many jobs run there."""
        return await self.app.lanes.alist()

    async def lane(self, name: str) -> LaneInfo:
        """One lane."""
        return await self.app.lanes.aget(name)

    async def create(self, who: Who, lane: NewLane) -> Change:
        """A new lane; what is left out has its default."""
        values = given(lane, *_NULLABLE, without=frozenset({"name"}))
        return shown(await self.app.lanes.acreate(lane.name, by=who.name, **values))

    async def change(self, who: Who, name: str, values: LaneValues) -> Change:
        """Acts within one poll; lowering slots stops no running job."""
        return shown(await self.app.lanes.aset(name, by=who.name, **given(values, *_NULLABLE)))

    async def remove(self, who: Who, name: str, move_to: Annotated[str | None, Query()] = None) -> None:
        """A lane that has job types asks for the lane that takes them."""
        await self.app.lanes.aremove(name, move_to=move_to, by=who.name)

    async def cancel(self, who: Who, job_id: JobId, reason: Reason | None = None) -> Answer:
        """Cancels any job: `cancelled` for one that waited, `stopping` for a running one."""
        status = await self.app.acancel(job_id, by=who.name, reason=reason.reason if reason else "")
        return Answer(id=job_id, status=status)
