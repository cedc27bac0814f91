"""`/admin/workers`: lanes, slots and processes, for operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from lanework.api.gate import Routes, Who
from lanework.api.jobs import Answer, JobId, Reason
from lanework.client import Lanework
from lanework.lanes import LaneChange, LaneInfo
from lanework.overview import Overview
from lanework.reports import WorkerInfo

Slots = Annotated[int, Field(ge=0, le=10_000)]


class LaneValues(BaseModel):
    """What of a lane can be changed. Slots may be null: no such limit."""

    model_config = ConfigDict(extra="forbid")

    max_slots: Slots | None = None
    worker_slots: Slots | None = None
    poll_interval_ms: Annotated[int, Field(ge=50, le=120_000)] | None = None
    stale_timeout_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None
    enabled: bool | None = None
    job_types: list[str] | None = None

    def given(self) -> dict[str, Any]:
        """What was said; a null counts only where it means something."""
        return {
            name: value
            for name, value in self.model_dump(exclude_unset=True).items()
            if value is not None or name in ("max_slots", "worker_slots")
        }


class NewLane(LaneValues):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,62}$")]


class OldAndNew(BaseModel):
    old: Any
    new: Any


class Change(BaseModel):
    """What a change did, field by field."""

    name: str
    changed: dict[str, OldAndNew]


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
        return await self.app.lanes.alist()

    async def lane(self, name: str) -> LaneInfo:
        return await self.app.lanes.aget(name)

    async def create(self, who: Who, lane: NewLane) -> Change:
        values = {name: value for name, value in lane.given().items() if name != "name"}
        return _shown(await self.app.lanes.acreate(lane.name, by=who.name, **values))

    async def change(self, who: Who, name: str, values: LaneValues) -> Change:
        """Acts within one poll; lowering slots stops no running job."""
        return _shown(await self.app.lanes.aset(name, by=who.name, **values.given()))

    async def remove(self, who: Who, name: str, move_to: Annotated[str | None, Query()] = None) -> None:
        """A lane that has job types asks for the lane that takes them."""
        await self.app.lanes.aremove(name, move_to=move_to, by=who.name)

    async def cancel(self, who: Who, job_id: JobId, reason: Reason | None = None) -> Answer:
        status = await self.app.acancel(job_id, by=who.name, reason=reason.reason if reason else "")
        return Answer(id=job_id, status=status)


def _shown(change: LaneChange) -> Change:
    pairs: Mapping[str, tuple[Any, Any]] = change.changed
    return Change(name=change.name, changed={name: OldAndNew(old=old, new=new) for name, (old, new) in pairs.items()})
