"""Schedules: rows that make jobs when their time comes. Code declares first values; operators change them while everything runs."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from lanework import _ticks
from lanework._codec import decode
from lanework._schedule_values import ScheduleValues, check_jitter, check_name
from lanework._store import schedules as store
from lanework._store.verb import Row, Verb
from lanework.errors import InvalidSchedule, ScheduleNotFound

if TYPE_CHECKING:
    from lanework.client import Lanework
    from lanework.job import Job

MOST_TIMES = 1000
MOST_LISTED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleInfo:
    """A schedule's row. `ScheduleValues` says what its values mean.

    enabled            False: paused, or disabled after five errors in a row; `disabled_because` says which
    set_by             `code`, or `operator` once one has changed it
    declared           code declares it: a removal is remembered, and `reset` brings back what code says
    errors             in a row
    """

    name: str
    type: str
    payload: Any
    version: int
    cron: str | None
    every: float | None
    tz: str
    jitter: float
    overlap: str
    misfire: str
    misfire_after: float
    condition: str | None
    priority: int | None
    owner: str | None
    session: str | None
    tags: tuple[str, ...]
    enabled: bool
    disabled_because: str | None
    set_by: str
    changed_by: str
    errors: int
    last_error: str | None
    next_at: datetime | None
    last_tick: datetime
    anchor: datetime
    declared: bool
    updated_at: datetime
    now: datetime

    @property
    def when(self) -> str:
        """`cron` or `every` as one text."""
        return f"{self.cron} ({self.tz})" if self.cron is not None else f"every {self.every:g} s"


@dataclass(frozen=True, slots=True)
class Tick:
    """What became of one tick.

    outcome      submitted (or, later, the state of its job), asking, skipped, missed, error
    until        this row stands for all ticks from `tick` to there; `count` of them, if they were counted
    asked_by     who said "run now"; None: its time had come
    """

    tick: datetime
    outcome: str
    reason: str = ""
    job_id: int | None = None
    condition_job_id: int | None = None
    until: datetime | None = None
    count: int | None = None
    asked_by: str | None = None
    decided_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """What a change did: the values that differ, old and new."""

    name: str
    changed: Mapping[str, tuple[Any, Any]]


class Schedules:
    """`app.schedules`: each verb has an async twin with an `a` in front."""

    def __init__(self, app: Lanework) -> None:
        self._app = app

    # -- reading -------------------------------------------------------------------------------------------------------

    def list(self) -> builtins.list[ScheduleInfo]:
        return self._app._run(_list())

    async def alist(self) -> builtins.list[ScheduleInfo]:
        return await self._app._arun(_list())

    def get(self, name: str) -> ScheduleInfo:
        return _one(name, self._app._run(_list(name)))

    async def aget(self, name: str) -> ScheduleInfo:
        return _one(name, await self._app._arun(_list(name)))

    def next_times(self, name: str, count: int = 5) -> builtins.list[datetime]:
        """The ticks to come, in the schedule's own zone, without jitter."""
        return _times(self.get(name), count)

    async def anext_times(self, name: str, count: int = 5) -> builtins.list[datetime]:
        return _times(await self.aget(name), count)

    def history(self, name: str, *, before: datetime | None = None, limit: int = 100) -> builtins.list[Tick]:
        """Ticks, newest first, those that made no job too. Pages: pass the last `tick` of a page as `before`."""
        return [Tick(*row) for row in self._app._run(_history(name, before, limit))]

    async def ahistory(self, name: str, *, before: datetime | None = None, limit: int = 100) -> builtins.list[Tick]:
        return [Tick(*row) for row in await self._app._arun(_history(name, before, limit))]

    # -- acts ----------------------------------------------------------------------------------------------------------

    def create(
        self, name: str, job: Job[..., Any] | str, *, by: str = "operator", **values: Unpack[ScheduleValues]
    ) -> ScheduleChange:
        """A new schedule for a job type. `payload` has the job's arguments; `ScheduleValues` lists the rest."""
        return _change(name, self._app._run(self._create(name, job, by, values)))

    async def acreate(
        self, name: str, job: Job[..., Any] | str, *, by: str = "operator", **values: Unpack[ScheduleValues]
    ) -> ScheduleChange:
        return _change(name, await self._app._arun(self._create(name, job, by, values)))

    def set(
        self, name: str, *, job: Job[..., Any] | str | None = None, by: str = "operator", **values: Unpack[ScheduleValues]
    ) -> ScheduleChange:
        """Changes what is given. Other times count from now on; code does not overwrite the schedule any more."""
        return _change(name, self._app._run(self._set(self.get(name), job, by, values)))

    async def aset(
        self, name: str, *, job: Job[..., Any] | str | None = None, by: str = "operator", **values: Unpack[ScheduleValues]
    ) -> ScheduleChange:
        return _change(name, await self._app._arun(self._set(await self.aget(name), job, by, values)))

    def pause(self, name: str, *, by: str = "operator", reason: str = "") -> None:
        """No more ticks until `resume`; jobs that it made go on."""
        self._app._run(store.pause_schedule(name, by, reason))

    async def apause(self, name: str, *, by: str = "operator", reason: str = "") -> None:
        await self._app._arun(store.pause_schedule(name, by, reason))

    def resume(self, name: str, *, by: str = "operator") -> None:
        """Goes on from now: what fell into the pause was not missed."""
        self._app._run(store.resume_schedule(name, by))

    async def aresume(self, name: str, *, by: str = "operator") -> None:
        await self._app._arun(store.resume_schedule(name, by))

    def run_now(self, name: str, *, by: str = "operator", force: bool = False) -> Tick:
        """As if its time had come, paused or not. `force`: without its condition, and beside a job that still runs."""
        return Tick(*self._app._run(store.run_schedule(name, by, force=force)))

    async def arun_now(self, name: str, *, by: str = "operator", force: bool = False) -> Tick:
        return Tick(*await self._app._arun(store.run_schedule(name, by, force=force)))

    def remove(self, name: str, *, by: str = "operator") -> None:
        """Jobs that it made go on. Code that declares it does not bring it back; `reset` does."""
        self._app._run(store.remove_schedule(name, by))

    async def aremove(self, name: str, *, by: str = "operator") -> None:
        await self._app._arun(store.remove_schedule(name, by))

    def reset(self, name: str, *, by: str = "operator") -> None:
        """Takes back what operators did: the schedule is as code says, and follows it."""
        self._app._run(store.reset_schedule(name, by))

    async def areset(self, name: str, *, by: str = "operator") -> None:
        await self._app._arun(store.reset_schedule(name, by))

    # -- checks --------------------------------------------------------------------------------------------------------

    def _create(self, name: str, job: Job[..., Any] | str, by: str, given: ScheduleValues) -> Verb[tuple[Any, Any]]:
        check_name(name)
        if "cron" not in given and "every" not in given:
            raise InvalidSchedule("cron, every: say when, with one of them", field="cron")
        values = self._app._plans.values({"payload": {}, **given})
        return store.set_schedule(name, self._for_job(job, values), by=by, create=True)

    def _set(self, now: ScheduleInfo, job: Any, by: str, given: ScheduleValues) -> Verb[tuple[Any, Any]]:
        values = self._app._plans.values(given)
        if not values and job is None:
            raise InvalidSchedule("say what to change", field="")
        check_jitter({"every_s": None if "cron" in values else now.every, "jitter_s": now.jitter, **values})
        if job is not None or "payload" in values:
            values = self._for_job(job if job is not None else now.type, {"payload": now.payload, **values})
        return store.set_schedule(now.name, values, by=by, create=False)

    def _for_job(self, job: Job[..., Any] | str, values: dict[str, Any]) -> dict[str, Any]:
        """Arguments are checked where the job is known; elsewhere, by the worker that runs it."""
        check_jitter(values)
        name = job if isinstance(job, str) else job.name
        handler = self._app.handlers.get(name)
        if handler is None:
            return {**values, "type": name}
        self._app._ensure(handler)
        payload = handler.bind_json(values["payload"], by_code=not isinstance(job, str))
        return {**values, "type": name, "payload": decode(payload), "version": handler.version}


def _row(row: Row) -> ScheduleInfo:
    values = dict(zip(ScheduleInfo.__dataclass_fields__, row, strict=True))
    return ScheduleInfo(**{**values, "payload": decode(values["payload"]), "tags": tuple(values["tags"])})


def _list(name: str | None = None) -> Verb[list[ScheduleInfo]]:
    return store.list_schedules(name, _row)


def _one(name: str, found: list[ScheduleInfo]) -> ScheduleInfo:
    if not found:
        raise ScheduleNotFound(f"there is no schedule {name!r}", field="name")
    return found[0]


def _times(it: ScheduleInfo, count: int) -> list[datetime]:
    if not 1 <= count <= MOST_TIMES:
        raise InvalidSchedule(f"count: expected 1 to {MOST_TIMES}, got {count!r}", field="count")
    rhythm = _ticks.rhythm(cron=it.cron, every_s=it.every, tz=it.tz, anchor=it.anchor)
    after = max(it.now, it.last_tick)
    return [tick.astimezone(_ticks.zone(it.tz)) for tick in _ticks.next_times(rhythm, after, count)]


def _history(name: str, before: datetime | None, limit: int) -> Verb[list[Row]]:
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidSchedule(f"limit: expected 1 to {MOST_LISTED}, got {limit!r}", field="limit")
    return store.schedule_history(name, before, limit)


def _change(name: str, rows: tuple[Any, Any]) -> ScheduleChange:
    before, after = rows
    hidden = ("set_by", "changed_by", "errors", "last_error")
    fields = {key: ((before or {}).get(key), value) for key, value in after.items() if key not in hidden}
    return ScheduleChange(name, {key: pair for key, pair in fields.items() if pair[0] != pair[1]})
