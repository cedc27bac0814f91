"""`/jobs/bulk/…` and `/operations`: acts on all jobs that match a filter, carried out in small commits."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import BaseModel, Field

from lanework.api.fields import Before, Body, Id, Limit, Moment, Money, Name, Priority, Seconds, Words, given
from lanework.api.gate import Caller, Forbidden, Routes, Who
from lanework.client import Lanework
from lanework.errors import OperationNotFound
from lanework.operations import Operation, preview

Several = Annotated[list[Name], Field(max_length=100)]


class Filter(Body):
    """Which jobs: all that is said must match, and something must be said."""

    status: Several | None = None
    type: Several | None = None
    lane: Several | None = None
    ids: Annotated[list[Id], Field(max_length=10_000)] | None = None
    owner: Name | None = None
    tag: Name | None = None
    error_class: Name | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None


class Bulk(Body):
    """`dry_run`: nothing is done; `matched` says how many jobs it would concern."""

    filter: Filter
    reason: Words = ""
    dry_run: bool = False


class BulkCancel(Bulk):
    """`children`: the jobs that they have submitted are cancelled with them."""

    children: bool = True


class BulkApprove(Bulk):
    limit: Money | None = None


class BulkReject(Bulk):
    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class BulkRetry(Bulk):
    max_age: Seconds | None = None


class BulkPriority(Bulk):
    priority: Priority


class OperationPage(BaseModel):
    operations: list[Operation]
    #: Pass it as `before` to get the next page; null when there is none.
    next: int | None


class Operations:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        def add(kind: str, endpoint: Any, needs: str) -> None:
            routes.add("POST", f"/jobs/bulk/{kind}", endpoint, needs=needs, status_code=201, tags=["operations"])

        add("cancel", self.cancel, "jobs:cancel")
        add("retry", self.retry, "jobs:retry")
        add("approve", self.approve, "jobs:approve")
        add("reject", self.reject, "jobs:approve")
        add("priority", self.priority, "jobs:priority")
        add("archive", self.archive, "dead:manage")
        routes.add("GET", "/operations", self.find, needs="jobs:read", tags=["operations"])
        routes.add("GET", "/operations/{operation_id}", self.get, needs="jobs:read", tags=["operations"])
        routes.add("POST", "/operations/{operation_id}/stop", self.stop, needs="jobs:cancel", tags=["operations"])

    async def cancel(self, who: Who, bulk: BulkCancel, response: Response) -> Operation:
        """Cancels all jobs that match. The first thousand are done with the answer; workers carry on with the rest."""
        return await self._start(who, "jobs:cancel", "cancel", bulk, args={"children": bulk.children}, response=response)

    async def retry(self, who: Who, bulk: BulkRetry, response: Response) -> Operation:
        """Sends all failed jobs that match back to the queue. (With a canary and a rate: `/admin/dead-letters/redrives`.)"""
        args = {} if bulk.max_age is None else {"max_age_s": bulk.max_age}
        return await self._start(who, "jobs:retry", "retry", bulk, args=args, response=response)

    async def approve(self, who: Who, bulk: BulkApprove, response: Response) -> Operation:
        """Approves all that match and waited for an approval already when this was asked. `limit`: each up to this sum."""
        args = {} if bulk.limit is None else {"limit": bulk.limit}
        return await self._start(who, "jobs:approve", "approve", bulk, args=args, response=response)

    async def reject(self, who: Who, bulk: BulkReject, response: Response) -> Operation:
        """Says no to all that match and wait for an approval."""
        return await self._start(who, "jobs:approve", "reject", bulk, args={"reason": bulk.reason}, response=response)

    async def priority(self, who: Who, bulk: BulkPriority, response: Response) -> Operation:
        """Gives all waiting jobs that match a priority."""
        return await self._start(who, "jobs:priority", "priority", bulk, args={"priority": bulk.priority}, response=response)

    async def archive(self, who: Who, bulk: Bulk, response: Response) -> Operation:
        """Takes all failed jobs that match out of the groups of dead letters, and keeps them."""
        return await self._start(who, "dead:manage", "archive", bulk, args={}, response=response)

    async def _start(
        self, who: Caller, permission: str, kind: str, bulk: Bulk, *, args: dict[str, Any], response: Response
    ) -> Operation:
        filter = _within(who, permission, given(bulk.filter))
        if bulk.dry_run:
            response.status_code = 200
            return preview(kind, filter, await self.app.operations.acount(kind, filter), who.name, bulk.reason)
        started = await self.app.operations.astart(kind, filter, args=args, by=who.name, reason=bulk.reason)
        response.headers["Location"] = f"/operations/{started.id}"
        return started

    async def find(
        self,
        who: Who,
        state: Annotated[str | None, Query(max_length=50)] = None,
        before: Before = None,
        limit: Limit = 100,
    ) -> OperationPage:
        """Newest first; those that the caller has begun, or all with the right to see all jobs."""
        by = None if who.scope("jobs:read") == "all" else who.name
        found = await self.app.operations.alist(state=state, by=by, before=before, limit=limit)
        return OperationPage(operations=found, next=found[-1].id if len(found) == limit else None)

    async def get(self, who: Who, operation_id: Id) -> Operation:
        """How far an act on many jobs has come."""
        return await self._visible(who, "jobs:read", operation_id)

    async def stop(self, who: Who, operation_id: Id) -> Operation:
        """It goes no further; what is done stays done."""
        await self._visible(who, "jobs:cancel", operation_id)
        return await self.app.operations.astop(operation_id, by=who.name)

    async def _visible(self, who: Caller, permission: str, id: int) -> Operation:
        found = await self.app.operations.aget(id)
        if who.scope(permission) != "all" and found.by != who.name:
            raise OperationNotFound(f"there is no operation {id}")
        return found


def _within(who: Caller, permission: str, filter: dict[str, Any]) -> dict[str, Any]:
    """A filter that says nothing is refused, also for who reaches only what is his own."""
    if who.scope(permission) == "all" or not filter:
        return filter
    if filter.get("owner", who.name) != who.name:
        raise Forbidden(f"{permission} for others")
    return {**filter, "owner": who.name}
