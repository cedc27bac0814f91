"""Maintenance tasks: the engine's own housekeeping, and functions of the application that keep house with it."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from lanework._codec import decode
from lanework._store import maintenance as store
from lanework._store.verb import Row
from lanework.errors import InvalidSchedule, TaskNotFound

if TYPE_CHECKING:
    from lanework.client import Lanework

F = TypeVar("F", bound=Callable[..., Any])
MOST_LISTED = 1000


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task's row.

    kind            `sql`: built in, run by the leader's guard; `python`: a job for a worker that has the function
    last_outcome    of the last run that ended: ok, failed, timeout, cancelled, lost, skipped
    """

    name: str
    kind: str
    description: str
    cron: str | None
    every: float | None
    tz: str
    timeout: float
    enabled: bool
    set_by: str
    next_at: datetime
    running: bool
    last_outcome: str | None
    last_ended_at: datetime | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One run of a task, with what it did."""

    id: int
    task: str
    started_at: datetime
    ended_at: datetime | None
    outcome: str
    error: str
    counts: Any
    worker_id: int | None
    job_id: int | None
    asked_by: str | None

    @property
    def seconds(self) -> float | None:
        return None if self.ended_at is None else (self.ended_at - self.started_at).total_seconds()


class Maintenance:
    """`app.maintenance`: `@app.maintenance("name", every=3600)` declares a task. Verbs have async twins with an `a`."""

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def __call__(
        self, name: str, *, every: float | timedelta | None = None, cron: str | None = None, tz: str | None = None,
        timeout: float | timedelta = 300.0,
    ) -> Callable[[F], F]:  # fmt: skip
        """Declares `fn(ctx)` as a task: one run in the cluster at a time, in a worker that has it. What it returns is kept."""

        def declare(fn: F) -> F:
            self._app._plans.add_task(name, fn, {"every": every, "cron": cron, "tz": tz, "timeout": timeout})
            return fn

        return declare

    def list(self) -> builtins.list[TaskInfo]:
        return [TaskInfo(*row) for row in self._app._run(store.list_tasks(None))]

    async def alist(self) -> builtins.list[TaskInfo]:
        return [TaskInfo(*row) for row in await self._app._arun(store.list_tasks(None))]

    def get(self, name: str) -> TaskInfo:
        return _one(name, self._app._run(store.list_tasks(name)))

    async def aget(self, name: str) -> TaskInfo:
        return _one(name, await self._app._arun(store.list_tasks(name)))

    def run_now(self, name: str, *, by: str = "operator") -> None:
        """At the leader's next look, enabled or not; a run that is under way is waited for. `results` tells how it went."""
        self._app._run(store.ask_task(name, by))

    async def arun_now(self, name: str, *, by: str = "operator") -> None:
        await self._app._arun(store.ask_task(name, by))

    def enable(self, name: str, *, by: str = "operator") -> None:
        self._app._run(store.enable_task(name, True, by))

    async def aenable(self, name: str, *, by: str = "operator") -> None:
        await self._app._arun(store.enable_task(name, True, by))

    def disable(self, name: str, *, by: str = "operator") -> None:
        self._app._run(store.enable_task(name, False, by))

    async def adisable(self, name: str, *, by: str = "operator") -> None:
        await self._app._arun(store.enable_task(name, False, by))

    def unregister(self, name: str, *, by: str = "operator") -> None:
        """For tasks of the application: code that still declares it does not bring it back."""
        self._app._run(store.remove_task(name, by))

    async def aunregister(self, name: str, *, by: str = "operator") -> None:
        await self._app._arun(store.remove_task(name, by))

    def results(self, name: str | None = None, *, limit: int = 20) -> builtins.list[TaskRun]:
        """Recent runs, newest first, of one task or of all."""
        return [_run(row) for row in self._app._run(store.task_runs(name, _limit(limit)))]

    async def aresults(self, name: str | None = None, *, limit: int = 20) -> builtins.list[TaskRun]:
        return [_run(row) for row in await self._app._arun(store.task_runs(name, _limit(limit)))]


def _one(name: str, found: list[Row]) -> TaskInfo:
    if not found:
        raise TaskNotFound(f"there is no maintenance task {name!r}", field="name")
    return TaskInfo(*found[0])


def _run(row: Row) -> TaskRun:
    return TaskRun(*(*row[:6], decode(row[6]), *row[7:]))


def _limit(limit: int) -> int:
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidSchedule(f"limit: expected 1 to {MOST_LISTED}, got {limit!r}", field="limit")
    return limit
