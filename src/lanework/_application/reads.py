"""Reading: a job, many of them, and what hangs on one."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lanework._application.database import Database, answered
from lanework._children import ChildResult, results
from lanework._inputs import known_id, moment, page, place, texts
from lanework._store.explanations import explain
from lanework._store.inside import item_errors, list_children, list_steps
from lanework._store.reads import get_job, job_attempts, job_logs, list_jobs
from lanework._store.verb import Verb
from lanework._store.workers import workers
from lanework.errors import InvalidJob
from lanework.explanations import Explanation
from lanework.job import JobInfo
from lanework.reports import (
    Attempt,
    ItemFailure,
    LogEntry,
    Step,
    WorkerInfo,
    attempt_row,
    item_row,
    log_row,
    step_row,
    worker_row,
)

STATUSES = ("pending", "awaiting_approval", "scheduled", "blocked", "approved", "running", "completed", "failed", "cancelled")
MOST_LISTED = 1000


class Reads(Database):
    def get(self, job_id: int) -> JobInfo:
        return answered(job_id, self._run(get_job(known_id(job_id))))

    async def aget(self, job_id: int) -> JobInfo:
        return answered(job_id, await self._arun(get_job(known_id(job_id))))

    def list(self, **filters: Any) -> builtins.list[JobInfo]:
        """Newest first. Filters: status, type, lane (one or several), owner, tag, error_class, created_after, before, limit.

        Pages: pass the last id of a page as `before` to get the next one.
        """
        return self._run(_list(**filters))

    async def alist(self, **filters: Any) -> builtins.list[JobInfo]:
        return await self._arun(_list(**filters))

    def logs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> builtins.list[LogEntry]:
        return [log_row(row) for row in self._run(job_logs(known_id(job_id), place(after, "after"), page(limit)))]

    async def alogs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> builtins.list[LogEntry]:
        return [log_row(row) for row in await self._arun(job_logs(known_id(job_id), place(after, "after"), page(limit)))]

    def attempts(self, job_id: int) -> builtins.list[Attempt]:
        """The attempts that did not succeed, each with its error and traceback."""
        return [attempt_row(row) for row in self._run(job_attempts(known_id(job_id)))]

    async def aattempts(self, job_id: int) -> builtins.list[Attempt]:
        return [attempt_row(row) for row in await self._arun(job_attempts(known_id(job_id)))]

    def steps(self, job_id: int, *, limit: int = 1000) -> builtins.list[Step]:
        """The stored steps of a job, in the order in which they were stored."""
        return [step_row(row) for row in self._run(list_steps(known_id(job_id), page(limit)))]

    async def asteps(self, job_id: int, *, limit: int = 1000) -> builtins.list[Step]:
        return [step_row(row) for row in await self._arun(list_steps(known_id(job_id), page(limit)))]

    def item_errors(self, job_id: int, *, limit: int = 1000) -> builtins.list[ItemFailure]:
        """The items of a partial job that failed."""
        return [item_row(row) for row in self._run(item_errors(known_id(job_id), page(limit)))]

    async def aitem_errors(self, job_id: int, *, limit: int = 1000) -> builtins.list[ItemFailure]:
        return [item_row(row) for row in await self._arun(item_errors(known_id(job_id), page(limit)))]

    def children(self, job_id: int) -> builtins.list[ChildResult]:
        rows = self._run(list_children(known_id(job_id)))
        return results(rows)

    async def achildren(self, job_id: int) -> builtins.list[ChildResult]:
        rows = await self._arun(list_children(known_id(job_id)))
        return results(rows)

    def workers(self, *, ended: bool = False) -> builtins.list[WorkerInfo]:
        return [worker_row(row) for row in self._run(workers(ended=ended))]

    async def aworkers(self, *, ended: bool = False) -> builtins.list[WorkerInfo]:
        return [worker_row(row) for row in await self._arun(workers(ended=ended))]

    def explain(self, job_id: int) -> Explanation:
        """The one reason why it is not running now, and what would change it."""
        return self._run(explain(job_id))

    async def aexplain(self, job_id: int) -> Explanation:
        return await self._arun(explain(job_id))


def _list(
    *,
    status: str | Sequence[str] | None = None,
    type: str | Sequence[str] | None = None,
    lane: str | Sequence[str] | None = None,
    owner: str | None = None,
    tag: str | None = None,
    error_class: str | None = None,
    created_after: datetime | None = None,
    before: int | None = None,
    limit: int = 100,
) -> Verb[list[JobInfo]]:
    statuses = _several(status)
    for one in statuses or ():
        if one not in STATUSES:
            raise InvalidJob(f"status: expected one of {', '.join(STATUSES)}, got {one!r}", field="status")
    texts(owner=owner, tag=tag, error_class=error_class)
    moment("created_after", created_after)
    return list_jobs(
        statuses=statuses, types=_several(type), lanes=_several(lane), owner=owner, tag=tag, error_class=error_class,
        created_after=created_after, before=None if before is None else place(before, "before"), limit=page(limit, MOST_LISTED),
    )  # fmt: skip


def _several(value: str | Sequence[str] | None) -> list[str] | None:
    return [value] if isinstance(value, str) else None if value is None else list(value)
