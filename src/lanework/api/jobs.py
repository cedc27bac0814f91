"""`/jobs`: submit, read, cancel, delete. What is outside a caller's scope is not found."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query, Response
from pydantic import BaseModel, Field

from lanework._children import ChildResult
from lanework._handle import FINAL, JobInfo
from lanework.api.fields import LARGEST, Before, Body, Id, Limit, Moment, Name, Priority, Reason, Seconds
from lanework.api.gate import Caller, Forbidden, Routes, Who
from lanework.client import Lanework
from lanework.errors import JobNotFound, JobRunning
from lanework.reports import Attempt, ItemFailure, LogEntry, Step

JobId = Id
Some = Annotated[str | None, Query(max_length=200)]


class NewJob(Body):
    """A job to submit. Options that are left out are as its type declares."""

    type: Name
    args: dict[str, Any] = Field(default_factory=dict)
    priority: Priority | None = None
    run_at: Moment | None = None
    owner: Name | None = None
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=20)] | None = None
    max_age: Seconds | None = None
    max_tries: Annotated[int, Field(ge=1, le=100)] | None = None
    session: Name | None = None
    continues: JobId | None = None
    from_step: Name | None = None


class Answer(BaseModel):
    """What became of an act: the state the job is in now, or is going to."""

    id: int
    status: str


class Page(BaseModel):
    jobs: list[JobInfo]
    #: Pass it as `before` to get the next page; null when there is none.
    next: int | None


class Jobs:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        add("POST", "/jobs", self.submit, needs="jobs:submit", status_code=202, tags=["jobs"])
        add("GET", "/jobs", self.find, needs="jobs:read", tags=["jobs"])
        add("GET", "/jobs/{job_id}", self.get, needs="jobs:read", tags=["jobs"])
        add("DELETE", "/jobs/{job_id}", self.delete, needs="jobs:cancel", tags=["jobs"])
        add("POST", "/jobs/{job_id}/cancel", self.cancel, needs="jobs:cancel", tags=["jobs"])
        add("GET", "/jobs/{job_id}/attempts", self.attempts, needs="jobs:read", tags=["jobs"])
        add("GET", "/jobs/{job_id}/steps", self.steps, needs="jobs:read", tags=["jobs"])
        add("GET", "/jobs/{job_id}/logs", self.logs, needs="jobs:read", tags=["jobs"])
        add("GET", "/jobs/{job_id}/item-errors", self.item_errors, needs="jobs:read", tags=["jobs"])
        add("GET", "/jobs/{job_id}/children", self.children, needs="jobs:read", tags=["jobs"])

    async def submit(
        self,
        who: Who,
        job: NewJob,
        response: Response,
        idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
    ) -> JobInfo:
        """Stores a job; the answer comes after the commit. The same Idempotency-Key with the same body is the same job."""
        if not who.may_submit(job.type):
            raise Forbidden(f"jobs:submit:{job.type}")
        owner = job.owner or who.name
        if owner != who.name and who.scope("jobs:submit") != "all":
            raise Forbidden("jobs:submit for others")
        options = job.model_dump(exclude={"type", "args"}, exclude_none=True) | {"owner": owner}
        if idempotency_key is not None:
            options["idempotency_key"] = idempotency_key
        if job.continues is not None:
            await self.visible(who, "jobs:read", job.continues)
        handle = await self.app.asubmit_json(job.type, job.args, **options)
        response.headers["Location"] = f"/jobs/{handle.id}"
        return await self.app.aget(handle.id)

    async def find(  # noqa: PLR0917 - each is a filter, by name
        self,
        who: Who,
        status: Annotated[list[str] | None, Query()] = None,
        type: Annotated[list[str] | None, Query()] = None,
        lane: Annotated[list[str] | None, Query()] = None,
        owner: Some = None,
        tag: Some = None,
        error_class: Some = None,
        created_after: Moment | None = None,
        before: Before = None,
        limit: Limit = 100,
    ) -> Page:
        """Newest first; those of the caller, or all with the right to see all."""
        if who.scope("jobs:read") != "all":
            if owner not in (None, who.name):
                return Page(jobs=[], next=None)
            owner = who.name
        found = await self.app.alist(
            status=status, type=type, lane=lane, owner=owner, tag=tag, error_class=error_class, created_after=created_after,
            before=before, limit=limit,
        )  # fmt: skip
        return Page(jobs=found, next=found[-1].id if len(found) == limit else None)

    async def get(self, who: Who, job_id: JobId) -> JobInfo:
        """A job as it is now, with its result when it has ended."""
        return await self.visible(who, "jobs:read", job_id)

    async def delete(self, who: Who, job_id: JobId) -> Answer:
        """Cancels a job that waits, removes one that has ended. A running one must be cancelled first."""
        job = await self.visible(who, "jobs:cancel", job_id)
        if job.status == "running":
            raise JobRunning(f"job {job_id} is running; POST /jobs/{job_id}/cancel stops it, then it can be deleted")
        if job.status not in FINAL:
            return Answer(id=job_id, status=await self.app.acancel(job_id, by=who.name))
        await self.app.adelete(job_id, by=who.name)
        return Answer(id=job_id, status="deleted")

    async def cancel(self, who: Who, job_id: JobId, reason: Reason | None = None) -> Answer:
        """`cancelled` for a job that waited, `stopping` for a running one, or the final state that came first."""
        await self.visible(who, "jobs:cancel", job_id)
        status = await self.app.acancel(job_id, by=who.name, reason=reason.reason if reason else "")
        return Answer(id=job_id, status=status)

    async def attempts(self, who: Who, job_id: JobId) -> list[Attempt]:
        """The attempts that did not succeed, each with its error and traceback."""
        await self.visible(who, "jobs:read", job_id)
        return await self.app.aattempts(job_id)

    async def steps(self, who: Who, job_id: JobId, limit: Limit = 1000) -> list[Step]:
        """The stored steps, in the order in which they were stored."""
        await self.visible(who, "jobs:read", job_id)
        return await self.app.asteps(job_id, limit=limit)

    async def logs(
        self, who: Who, job_id: JobId, after: Annotated[int, Query(ge=0, le=LARGEST)] = 0, limit: Limit = 1000
    ) -> list[LogEntry]:
        """What it has written; `after` is the id of the last line that is known."""
        await self.visible(who, "jobs:read", job_id)
        return await self.app.alogs(job_id, after=after, limit=limit)

    async def item_errors(self, who: Who, job_id: JobId, limit: Limit = 1000) -> list[ItemFailure]:
        """The items of a partial job that failed."""
        await self.visible(who, "jobs:read", job_id)
        return await self.app.aitem_errors(job_id, limit=limit)

    async def children(self, who: Who, job_id: JobId) -> list[ChildResult]:
        """The jobs that it has submitted."""
        await self.visible(who, "jobs:read", job_id)
        return await self.app.achildren(job_id)

    async def visible(self, who: Caller, permission: str, job_id: int) -> JobInfo:
        """The job, if the caller's permission reaches it; otherwise there is no such job for him."""
        job = await self.app.aget(job_id)
        if who.scope(permission) != "all" and job.owner != who.name:
            raise JobNotFound(f"there is no job {job_id}")
        return job
