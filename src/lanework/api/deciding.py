"""`/jobs/{id}/approve` and the like: what people decide about one job."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body as InBody
from pydantic import Field

from lanework._store.overview import job_owners
from lanework.api.fields import Body, Money, Priority, Seconds
from lanework.api.gate import Forbidden, Routes, Who
from lanework.api.jobs import Answer, JobId, Jobs
from lanework.client import Lanework
from lanework.explanations import Explanation
from lanework.job import JobInfo


class Yes(Body):
    """`hash` is that of the job as it was seen; if it has changed since, the answer is 409. `limit`: up to this sum."""

    hash: Annotated[str, Field(max_length=200)] | None = None
    limit: Money | None = None


class No(Body):
    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class Again(Body):
    """`max_age`: seconds from now within which it must have ended."""

    max_age: Seconds | None = None


class NewPriority(Body):
    priority: Priority


class Moved(Answer):
    """The priority that the job had, and the one that it has."""

    old: int
    new: int


class Edit(Body):
    """All arguments of the job, by name."""

    args: dict[str, Any]


class Deciding:
    def __init__(self, app: Lanework, jobs: Jobs) -> None:
        self.app, self.jobs = app, jobs

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        add("POST", "/jobs/{job_id}/approve", self.approve, needs="jobs:approve", tags=["jobs"])
        add("POST", "/jobs/{job_id}/reject", self.reject, needs="jobs:approve", tags=["jobs"])
        add("POST", "/jobs/{job_id}/retry", self.retry, needs="jobs:retry", tags=["jobs"])
        add("POST", "/jobs/{job_id}/priority", self.priority, needs="jobs:priority", tags=["jobs"])
        add("PATCH", "/jobs/{job_id}", self.edit, needs="jobs:submit", tags=["jobs"])
        add("GET", "/jobs/{job_id}/explain", self.explain, needs="jobs:read", tags=["jobs"])

    async def approve(self, who: Who, job_id: JobId, yes: Annotated[Yes | None, InBody()] = None) -> Answer:
        """Lets a job go that is `awaiting_approval`; answers its next state."""
        await self.jobs.visible(who, "jobs:approve", job_id)
        yes = yes or Yes()
        return Answer(id=job_id, status=await self.app.aapprove(job_id, hash=yes.hash, limit=yes.limit, by=who.name))

    async def reject(self, who: Who, job_id: JobId, no: No) -> Answer:
        """Says no to a job that waits for its estimate or for an approval: it is cancelled, with the reason."""
        await self.jobs.visible(who, "jobs:approve", job_id)
        return Answer(id=job_id, status=await self.app.areject(job_id, no.reason, by=who.name))

    async def retry(self, who: Who, job_id: JobId, again: Annotated[Again | None, InBody()] = None) -> Answer:
        """Sends a failed job back to the queue: its tries start again, its stored steps are kept."""
        await self.jobs.visible(who, "jobs:retry", job_id)
        return Answer(id=job_id, status=await self.app.aretry(job_id, by=who.name, max_age=again.max_age if again else None))

    async def priority(self, who: Who, job_id: JobId, new: NewPriority) -> Moved:
        """Moves a waiting job in the queue, at once effective."""
        job = await self.jobs.visible(who, "jobs:priority", job_id)
        old = await self.app.aset_priority(job_id, new.priority, by=who.name)
        return Moved(id=job_id, status=job.status, old=old, new=new.priority)

    async def edit(self, who: Who, job_id: JobId, edit: Edit) -> JobInfo:
        """Gives a job that waits other arguments and starts it anew: its approval, its estimate and its stored steps were for the
        old ones."""
        job = await self.jobs.visible(who, "jobs:submit", job_id)
        if not who.may_submit(job.type):
            raise Forbidden(f"jobs:submit:{job.type}")
        await self.app.aedit(job_id, edit.args, by=who.name)
        return await self.app.aget(job_id)

    async def explain(self, who: Who, job_id: JobId) -> Explanation:
        """The one reason why a job is not running now, and what would change it."""
        await self.jobs.visible(who, "jobs:read", job_id)
        found = await self.app.aexplain(job_id)
        if who.scope("jobs:read") == "all":
            return found
        mine = await self.app._arun(job_owners([who.name], [(one, one) for one in sorted(found.named)]))
        return found.known_to({job_id, *(one for _, first, last in mine for one in range(first, last + 1))})
