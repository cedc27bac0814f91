"""`/admin/audit`: what operators did."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from lanework.api.fields import Before, Limit, Moment
from lanework.api.gate import Routes
from lanework.audit import AuditEntry
from lanework.client import Lanework

Some = Annotated[str | None, Query(max_length=300)]


class AuditPage(BaseModel):
    entries: list[AuditEntry]
    #: Pass it as `before` to get the next page; null when there is none.
    next: int | None


class Audit:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        routes.add("GET", "/admin/audit", self.entries, needs="audit:read", tags=["audit"])

    async def entries(  # noqa: PLR0917 - each is a filter, by name
        self,
        actor: Some = None,
        act: Some = None,
        target: Some = None,
        since: Moment | None = None,
        before: Before = None,
        limit: Limit = 100,
    ) -> AuditPage:
        """Newest first. `act` is `job.cancel`, or `job` for all acts on jobs; `target` is `job:17`."""
        found = await self.app.aaudit_log(actor=actor, act=act, target=target, since=since, before=before, limit=limit)
        return AuditPage(entries=found, next=found[-1].id if len(found) == limit else None)
