"""`/health`: alive is the process; ready is the database, really asked."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from lanework.api.gate import Routes
from lanework.client import Lanework


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

    async def ready(self, response: Response) -> dict[str, Any]:
        """503 when the database does not answer. Says nothing about who works what: that needs a permission."""
        found = await self.app.ahealth()
        if "error" in found:
            response.status_code = 503
            response.headers["Retry-After"] = "5"
            return {"status": "the database is away", "code": found["code"]}
        return {
            "status": "ready" if found["ok"] else "degraded",
            "workers": found["workers"],
            "leader": found["leader"] is not None,
            "polls_only": any(not one["listening"] for one in found["here"]),
        }
