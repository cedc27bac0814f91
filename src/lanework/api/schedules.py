"""`/admin/schedules`: rows that make jobs when their time comes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field

from lanework.api.fields import Body, Change, Limit, Moment, Name, Priority, Reason, given, shown
from lanework.api.gate import Routes, Who
from lanework.client import Lanework
from lanework.schedules import ScheduleInfo, Tick

_NULLABLE = ("condition", "priority", "owner", "session", "tags")
Finite = Annotated[float, Field(ge=0, le=366 * 86_400, allow_inf_nan=False)]


class ScheduleChanges(Body):
    """What is left out stays as it is. `cron` or `every` (seconds); null takes away condition, priority, owner, session, tags."""

    type: Name | None = None
    args: dict[str, Any] | None = None
    cron: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    every: Finite | None = None
    tz: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    jitter: Finite | None = None
    overlap: Literal["skip", "queue", "cancel"] | None = None
    misfire: Literal["skip", "one", "all"] | None = None
    misfire_after: Finite | None = None
    condition: Name | None = None
    enabled: bool | None = None
    priority: Priority | None = None
    owner: Name | None = None
    session: Name | None = None
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=20)] | None = None

    def values(self) -> dict[str, Any]:
        found = given(self, *_NULLABLE, without=frozenset({"name", "type", "args"}))
        return found if self.args is None else {**found, "payload": self.args}


class NewSchedule(ScheduleChanges):
    """A schedule for a job type, with `cron` or `every`; `args` are the job's arguments."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    type: Name


class Forced(Body):
    """`force`: without its condition, and beside a job that still runs."""

    force: bool = False


class Schedules:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        def add(method: str, path: str, endpoint: object, needs: str = "schedules:manage", status: int = 200) -> None:
            assert callable(endpoint)
            routes.add(method, f"/admin/schedules{path}", endpoint, needs=needs, status_code=status, tags=["schedules"])

        one = "/{name:path}"  # names may have a slash in them
        add("GET", "", self.schedules, "schedules:read")
        add("POST", "", self.create, status=201)
        add("GET", f"{one}/next", self.next, "schedules:read")
        add("GET", f"{one}/history", self.history, "schedules:read")
        add("POST", f"{one}/pause", self.pause)
        add("POST", f"{one}/resume", self.resume)
        add("POST", f"{one}/reset", self.reset)
        add("POST", f"{one}/run", self.run, status=201)
        add("GET", one, self.get, "schedules:read")
        add("PATCH", one, self.change)
        add("DELETE", one, self.remove, status=204)

    async def schedules(self) -> list[ScheduleInfo]:
        """All schedules: of code, and of operators."""
        return await self.app.schedules.alist()

    async def get(self, name: str) -> ScheduleInfo:
        """One schedule as it is now."""
        return await self.app.schedules.aget(name)

    async def create(self, who: Who, schedule: NewSchedule) -> ScheduleInfo:
        """A new schedule for a job type."""
        await self.app.schedules.acreate(schedule.name, schedule.type, by=who.name, **schedule.values())
        return await self.app.schedules.aget(schedule.name)

    async def change(self, who: Who, name: str, changes: ScheduleChanges) -> Change:
        """Other times count from now on; code does not overwrite the schedule any more."""
        return shown(await self.app.schedules.aset(name, job=changes.type, by=who.name, **changes.values()))

    async def pause(self, who: Who, name: str, reason: Reason | None = None) -> ScheduleInfo:
        """No more ticks until it is resumed; jobs that it made go on."""
        await self.app.schedules.apause(name, by=who.name, reason=reason.reason if reason else "")
        return await self.app.schedules.aget(name)

    async def resume(self, who: Who, name: str) -> ScheduleInfo:
        """Goes on from now: what fell into the pause was not missed."""
        await self.app.schedules.aresume(name, by=who.name)
        return await self.app.schedules.aget(name)

    async def reset(self, who: Who, name: str) -> ScheduleInfo:
        """Takes back what operators did: the schedule is as code says, and follows it."""
        await self.app.schedules.areset(name, by=who.name)
        return await self.app.schedules.aget(name)

    async def run(self, who: Who, name: str, forced: Forced | None = None) -> Tick:
        """As if its time had come, paused or not."""
        return await self.app.schedules.arun_now(name, by=who.name, force=forced.force if forced else False)

    async def next(self, name: str, count: Annotated[int, Query(ge=1, le=1000)] = 5) -> list[datetime]:
        """The ticks to come, in the schedule's own zone, without jitter."""
        return await self.app.schedules.anext_times(name, count)

    async def history(self, name: str, before: Moment | None = None, limit: Limit = 100) -> list[Tick]:
        """Ticks, newest first, those that made no job too. The last `tick` of a page is the `before` of the next."""
        return await self.app.schedules.ahistory(name, before=before, limit=limit)

    async def remove(self, who: Who, name: str) -> None:
        """Jobs that it made go on. Code that declares it does not bring it back; its reset does."""
        await self.app.schedules.aremove(name, by=who.name)
