"""Watching: events as they happen, what the metrics say, how lanes and workers are doing."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lanework._application.database import Database
from lanework._store.events import event_horizon
from lanework._store.schedules import schedule_alarms
from lanework._store.workers import health, unserved_types
from lanework.errors import LaneworkError
from lanework.events import Event, apages, pages, position
from lanework.hooks import H, Hooks, Kind
from lanework.metrics import Metric, metrics
from lanework.overview import Overview, look

if TYPE_CHECKING:
    from lanework.worker import Worker


class Watches(Database):
    hooks: Hooks
    _workers: list[Worker]

    def events(
        self, *, after: str | None = None, job: int | None = None, topics: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None, follow: bool = True,
    ) -> Iterator[Event]:  # fmt: skip
        """Events in order, from now on, or after a cursor ("0-0": from the oldest that is kept). With `job`, that job's own
        stream from its submit on, which ends after its final state. `follow=False` ends when there is nothing more now.

        `event.cursor` is where to go on, in this process or another. No connection is held between the reads.
        """
        for found in pages(self._app, position(after, job, topics, kinds), follow=follow):
            yield from found.events

    async def aevents(
        self, *, after: str | None = None, job: int | None = None, topics: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None, follow: bool = True,
    ) -> AsyncIterator[Event]:  # fmt: skip
        async for found in apages(self._app, position(after, job, topics, kinds), follow=follow):
            for event in found.events:
                yield event

    def on(self, kind: Kind) -> Callable[[H], H]:
        """Registers a hook, sync or async: `@app.on("failed")`. It runs in the worker's process, aside from its jobs."""
        return self.hooks.on(kind)

    def metrics(
        self, *, since: datetime | timedelta = timedelta(hours=1), until: datetime | timedelta | None = None,
        lane: str | Sequence[str] | None = None, type: str | Sequence[str] | None = None, step: timedelta | float | None = None,
    ) -> builtins.list[Metric]:  # fmt: skip
        """A row per lane and type, and per `step` (whole minutes) if there is one. `since`, `until`: a time, or how long ago."""
        return self._run(metrics(since, until, lane, type, step))

    async def ametrics(
        self, *, since: datetime | timedelta = timedelta(hours=1), until: datetime | timedelta | None = None,
        lane: str | Sequence[str] | None = None, type: str | Sequence[str] | None = None, step: timedelta | float | None = None,
    ) -> builtins.list[Metric]:  # fmt: skip
        return await self._arun(metrics(since, until, lane, type, step))

    async def aoverview(self) -> Overview:
        """Each lane's slots and who holds them, what waits there, and the totals."""
        return await look(self._app)

    def health(self) -> dict[str, Any]:
        """Is the database there, who works, who leads, is anything waiting that nobody serves?"""
        try:
            alarms = self._run(schedule_alarms())
            return self._healthy(self._run(health()), self._run(unserved_types()), self._run(event_horizon()), alarms)
        except LaneworkError as error:
            return self._ill(error)

    async def ahealth(self) -> dict[str, Any]:
        try:
            alarms = await self._arun(schedule_alarms())
            horizon = await self._arun(event_horizon())
            return self._healthy(await self._arun(health()), await self._arun(unserved_types()), horizon, alarms)
        except LaneworkError as error:
            return self._ill(error)

    def _healthy(self, row: Any, unserved: Any, horizon: Any, alarms: Any) -> dict[str, Any]:
        version, fsync, connections, notifications, living, leader = row
        here = [worker.health() for worker in self._workers]
        failing = [one for worker in here for one in worker["services"] if one["state"] == "failing"]
        return {
            "ok": not failing and not unserved and not alarms,
            "database": {"version": version, "durable": fsync, "max_connections": connections, "notify_queue": notifications},
            "workers": living,
            "leader": leader,
            "unserved_types": [{"type": kind, "lane": lane} for kind, lane in unserved],
            "polling_only": any(worker["state"] == "running" and not worker["listening"] for worker in here),
            "events": _horizon(horizon),
            "alarms": [{"kind": kind, "name": name, "what": what} for kind, name, what in alarms],
            "here": here,
        }

    def _ill(self, error: LaneworkError) -> dict[str, Any]:
        return {"ok": False, "error": str(error), "code": error.code, "here": [worker.health() for worker in self._workers]}


def _horizon(row: Any) -> dict[str, Any]:
    """The stream of all events ends at the oldest transaction that writes, anywhere on the server."""
    waiting, since, pid, database, application, started_at = row
    holder = {"pid": pid, "database": database, "application": application, "since": started_at}
    return {"waiting": waiting, "since": since, "held_by": holder if waiting and database is not None else None}
