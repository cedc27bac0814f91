"""`/health`: alive is the process; ready is the database, really asked."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from lanework.api.gate import Routes
from lanework.client import Lanework
from lanework.errors import DatabaseUnavailable


class Ready(BaseModel):
    """`degraded`: it answers, and something is wrong. `polls_only`: jobs are found by looking alone, without hints."""

    status: Literal["ready", "degraded"]
    workers: int
    leader: bool
    polls_only: bool


class Health:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        why = "load balancers and orchestrators ask without credentials"
        routes.add("GET", "/health/live", self.live, needs=None, because=why, tags=["health"])
        routes.add("GET", "/health/ready", self.ready, needs=None, because=why, tags=["health"])

    async def live(self) -> dict[str, str]:
        """The process answers."""
        return {"status": "alive"}

    async def ready(self) -> Ready:
        """503 when the database does not answer. Says nothing about who works what: that needs a permission."""
        found = await self.app.ahealth()
        if "error" in found:
            raise DatabaseUnavailable(f"the database is away ({found['code']})")
        return Ready(
            status="ready" if found["ok"] else "degraded",
            workers=found["workers"],
            leader=found["leader"] is not None,
            polls_only=any(not one["listening"] for one in found["here"]),
        )
