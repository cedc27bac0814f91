"""`/admin/doctor`, `/admin/health` and `/metrics`: how things stand, for people and for Prometheus."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from lanework.api.gate import Routes
from lanework.client import Lanework
from lanework.diagnosis import ERROR, Finding, diagnose
from lanework.exposition import MEDIA_TYPE, expose


class Diagnosis(BaseModel):
    """`ok`: no finding is an error."""

    ok: bool
    findings: list[Finding]


class Exposition(PlainTextResponse):
    media_type = MEDIA_TYPE


class Doctor:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        routes.add("GET", "/admin/doctor", self.examine, needs="doctor:read", tags=["health"])
        routes.add("GET", "/admin/health", self.health, needs="doctor:read", tags=["health"])
        routes.add("GET", "/metrics", self.metrics, needs="metrics:read", tags=["health"], response_class=Exposition)

    async def examine(self) -> Diagnosis:
        """What `lanework doctor` says: each check with what it found and what to do."""
        found = await asyncio.to_thread(diagnose, self.app)
        return Diagnosis(ok=all(one.level != ERROR for one in found), findings=found)

    async def health(self) -> dict[str, Any]:
        """The details behind `/health/ready`: the database, who works and leads, what nobody serves, alarms."""
        return await self.app.ahealth()

    async def metrics(self) -> str:
        """In the text format of Prometheus. Counters begin anew at midnight UTC."""
        return await expose(self.app)
