"""`/admin/permits` and `/admin/rates`: what may be done at once, and how often."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, Field

from lanework.api.fields import Body, Change, given, shown
from lanework.api.gate import Routes, Who
from lanework.client import Lanework
from lanework.errors import LimitNotFound
from lanework.permits import PermitInfo
from lanework.rates import RateInfo

Name = Annotated[str, Path(min_length=1, max_length=200)]
Amount = Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]


class Capacity(Body):
    capacity: Annotated[int, Field(ge=0, le=10_000)]


class RateValues(Body):
    """What is left out stays as it is. `requests` and `tokens` may be null: no such limit."""

    requests: Amount | None = None
    tokens: Amount | None = None
    window_s: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] | None = None
    burst: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None


class Pause(Body):
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]


class Paused(BaseModel):
    name: str
    paused_until: datetime


class Resumed(BaseModel):
    """`resumed`: false if it was not paused."""

    name: str
    resumed: bool


class Limits:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        def add(method: str, path: str, endpoint: object, needs: str = "permits:manage", status: int = 200) -> None:
            assert callable(endpoint)
            routes.add(method, f"/admin{path}", endpoint, needs=needs, status_code=status, tags=["limits"])

        add("GET", "/permits", self.permits, "permits:read")
        add("DELETE", "/permits/holds/{token}", self.revoke, status=204)
        add("GET", "/permits/{name:path}", self.permit, "permits:read")
        add("PUT", "/permits/{name:path}", self.set_permit)
        add("GET", "/rates", self.rates, "permits:read")
        add("POST", "/rates/{name:path}/pause", self.pause)
        add("POST", "/rates/{name:path}/resume", self.resume)
        add("GET", "/rates/{name:path}", self.rate, "permits:read")
        add("PATCH", "/rates/{name:path}", self.set_rate)

    async def permits(self) -> list[PermitInfo]:
        """All permits: how many may be held, how many are."""
        return await self.app.permits.alist()

    async def permit(self, who: Who, name: Name) -> PermitInfo:
        """One permit, with who holds and who waits. The token of a hold is for who may take it away."""
        found = await self.app.permits.aget(name)
        if who.scope("permits:manage") is not None:
            return found
        return replace(found, holders=tuple(replace(one, token=None) for one in found.holders))

    async def set_permit(self, who: Who, name: Name, capacity: Capacity) -> Change:
        """Creates it or changes its capacity. Lowering takes nothing away: who has one keeps it."""
        return shown(await self.app.permits.aset(name, capacity.capacity, by=who.name))

    async def revoke(self, who: Who, token: UUID) -> None:
        """Takes somebody's hold away. Only its fence protects after that."""
        if not await self.app.permits.arevoke(str(token), by=who.name):
            raise LimitNotFound(f"token {token} holds nothing")

    async def rates(self) -> list[RateInfo]:
        """All rates."""
        return await self.app.rates.alist()

    async def rate(self, name: Name) -> RateInfo:
        """One rate."""
        return await self.app.rates.aget(name)

    async def set_rate(self, who: Who, name: Name, values: RateValues) -> Change:
        """Creates or changes a rate; with nothing to change it must be there."""
        changes = given(values, "requests", "tokens")
        if not changes:
            await self.app.rates.aget(name)
        return shown(await self.app.rates.aset(name, by=who.name, **changes))

    async def pause(self, who: Who, name: Name, pause: Pause) -> Paused:
        """Nobody in the cluster gets anything for so long."""
        return Paused(name=name, paused_until=await self.app.rates.apause(name, pause.seconds, by=who.name))

    async def resume(self, who: Who, name: Name) -> Resumed:
        """Ends a pause."""
        return Resumed(name=name, resumed=await self.app.rates.aresume(name, by=who.name))
