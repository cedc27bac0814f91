"""`/admin/dead-letters`: failed jobs in groups of the same error, the way back, rules, and who is told."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field, SecretStr

from lanework.api.fields import LARGEST, Body, Id, Limit, Moment, Name, Reason, Words, given
from lanework.api.gate import Routes, Who
from lanework.api.operations import Several
from lanework.client import Lanework
from lanework.dead import DeadGroup, ErrorRule, Redrive
from lanework.errors import DeadLettersNotFound
from lanework.job import JobInfo
from lanework.notifiers import NotificationInfo, NotifierInfo


class Chosen(Body):
    """Which dead letters: a group by its fingerprint, or filters. Something must be said."""

    group: Name | None = None
    type: Several | None = None
    lane: Several | None = None
    owner: Name | None = None
    tag: Name | None = None
    error_class: Name | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None
    ids: Annotated[list[Id], Field(max_length=10_000)] | None = None


class NewRedrive(Chosen):
    """`canary`: one goes ahead, and only if it completes the others follow, at most `per_minute`."""

    canary: bool = True
    per_minute: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class Archive(Chosen):
    """`dry_run`: nothing is done; `count` says how many it would be."""

    reason: Words = ""
    dry_run: bool = False


class Archived(BaseModel):
    count: int
    dry_run: bool


class DeadPage(BaseModel):
    jobs: list[JobInfo]
    #: Pass it as `after` to get the next page; null when there is none.
    next: int | None


class NewRule(Body):
    """For a group; or for a pattern (as of LIKE) of the normalised message, of one type or of all."""

    group: Name | None = None
    type: Name | None = None
    pattern: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    error_class: Literal["permanent", "transient", "throttled"]


class Webhook(Body):
    """What is left out stays as it is. The secret is never shown again. Of one group it is told at most once in
    `every` seconds."""

    url: Annotated[str, Field(max_length=2000)] | None = None
    secret: Annotated[SecretStr, Field(min_length=16, max_length=500)] | None = None
    enabled: bool | None = None
    every: Annotated[int, Field(ge=0, le=86_400)] | None = None


_ACTS = frozenset({"canary", "per_minute", "reason", "dry_run"})


class DeadLetters:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        def add(method: str, path: str, endpoint: object, needs: str = "dead:manage", status: int = 200) -> None:
            assert callable(endpoint)
            routes.add(method, f"/admin/dead-letters{path}", endpoint, needs=needs, status_code=status, tags=["dead letters"])

        add("GET", "", self.groups, "dead:read")
        add("GET", "/jobs", self.jobs, "dead:read")
        add("POST", "/archive", self.archive)
        add("GET", "/redrives", self.redrives, "dead:read")
        add("POST", "/redrives", self.redrive, status=201)
        add("GET", "/redrives/{redrive_id}", self.get_redrive, "dead:read")
        add("POST", "/redrives/{redrive_id}/stop", self.stop)
        add("GET", "/rules", self.rules, "dead:read")
        add("POST", "/rules", self.rule, status=201)
        add("DELETE", "/rules/{rule_id}", self.remove_rule, status=204)
        add("GET", "/webhooks", self.webhooks, "dead:read")
        add("PUT", "/webhooks/{name}", self.set_webhook)
        add("DELETE", "/webhooks/{name}", self.remove_webhook, status=204)
        add("GET", "/notifications", self.notifications, "dead:read")
        add("GET", "/{group}", self.get, "dead:read")

    async def groups(
        self,
        type: Annotated[list[str] | None, Query()] = None,
        error_class: str | None = None,
        limit: Limit = 100,
    ) -> list[DeadGroup]:
        """Groups of the same error, the one that was seen last first."""
        return await self.app.dead.agroups(type=type, error_class=error_class, limit=limit)

    async def get(self, group: str) -> DeadGroup:
        """One group, with what its newest job said."""
        return await self.app.dead.aget(group)

    async def jobs(  # noqa: PLR0917 - each is a filter, by name
        self,
        group: str | None = None,
        type: Annotated[list[str] | None, Query()] = None,
        lane: Annotated[list[str] | None, Query()] = None,
        owner: str | None = None,
        after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
        limit: Limit = 100,
    ) -> DeadPage:
        """The jobs, in the order of their ids."""
        chosen = {name: value for name, value in (("type", type), ("lane", lane), ("owner", owner)) if value is not None}
        found = await self.app.dead.alist(group, after=after, limit=limit, **chosen)
        return DeadPage(jobs=found, next=found[-1].id if len(found) == limit else None)

    async def redrive(self, who: Who, redrive: NewRedrive) -> Redrive:
        """Sends those that are dead now back to the queue: one with a single try first, then the others."""
        chosen = given(redrive, without=_ACTS)
        return await self.app.dead.aredrive(canary=redrive.canary, per_minute=redrive.per_minute, by=who.name, **chosen)

    async def redrives(self, active: bool = False, limit: Limit = 100) -> list[Redrive]:
        """Newest first. `active`: only those under way."""
        return await self.app.dead.aredrives(active=active, limit=limit)

    async def get_redrive(self, redrive_id: Id) -> Redrive:
        """How far it has come, and what became of those that were sent back."""
        return await self.app.dead.aget_redrive(redrive_id)

    async def stop(self, who: Who, redrive_id: Id, reason: Reason | None = None) -> Redrive:
        """What is back in the queue stays there; the others stay dead."""
        return await self.app.dead.astop(redrive_id, by=who.name, reason=reason.reason if reason else "")

    async def archive(self, who: Who, archive: Archive) -> Archived:
        """Takes dead letters out of the groups, and keeps them."""
        chosen = given(archive, without=_ACTS)
        if archive.dry_run:
            return Archived(count=await self.app.dead.acount(**chosen), dry_run=True)
        return Archived(count=await self.app.dead.aarchive(by=who.name, reason=archive.reason, **chosen), dry_run=False)

    async def rules(self) -> list[ErrorRule]:
        """What operators have said that errors mean."""
        return await self.app.dead.arules()

    async def rule(self, who: Who, rule: NewRule) -> ErrorRule:
        """From now on such an error is `permanent` (fails at once), `transient` (tried again) or `throttled` (waits,
        uses no try)."""
        made = await self.app.dead.arule(rule.group, rule.error_class, type=rule.type, pattern=rule.pattern, by=who.name)
        return next(one for one in await self.app.dead.arules() if one.id == made)

    async def remove_rule(self, who: Who, rule_id: Id) -> None:
        """The error means again what it meant before."""
        await self.app.dead.aremove_rule(rule_id, by=who.name)

    async def webhooks(self) -> list[NotifierInfo]:
        """Who is told of dead letters: webhooks, and functions of the application. Secrets are never shown."""
        return await self.app.dead.webhooks.alist()

    async def set_webhook(self, who: Who, name: str, webhook: Webhook) -> NotifierInfo:
        """Adds a webhook, or changes what is given."""
        secret = webhook.secret.get_secret_value() if webhook.secret is not None else None
        await self.app.dead.webhooks.aset(
            name, webhook.url, secret=secret, enabled=webhook.enabled, every=webhook.every, by=who.name
        )
        for one in await self.app.dead.webhooks.alist():
            if one.name == name:
                return one
        raise DeadLettersNotFound(f"there is no notifier {name!r}", field="name")

    async def remove_webhook(self, who: Who, name: str) -> None:
        """What waits for it is given up."""
        await self.app.dead.webhooks.aremove(name, by=who.name)

    async def notifications(
        self, state: Literal["pending", "sent", "failed"] | None = None, limit: Limit = 100
    ) -> list[NotificationInfo]:
        """Messages about dead letters, newest first."""
        return await self.app.dead.anotifications(state=state, limit=limit)
