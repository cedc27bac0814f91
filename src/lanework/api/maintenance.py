"""`/admin/maintenance`: the engine's own housekeeping, and the application's."""

from __future__ import annotations

from lanework.api.fields import Limit
from lanework.api.gate import Routes, Who
from lanework.client import Lanework
from lanework.maintenance import TaskInfo, TaskRun


class Maintenance:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        def add(method: str, path: str, endpoint: object, needs: str = "schedules:manage", status: int = 200) -> None:
            assert callable(endpoint)
            routes.add(method, f"/admin/maintenance{path}", endpoint, needs=needs, status_code=status, tags=["maintenance"])

        add("GET", "", self.tasks, "schedules:read")
        add("GET", "/runs", self.runs, "schedules:read")
        add("GET", "/{name}", self.get, "schedules:read")
        add("GET", "/{name}/runs", self.runs_of, "schedules:read")
        add("POST", "/{name}/run", self.run, status=202)
        add("POST", "/{name}/enable", self.enable)
        add("POST", "/{name}/disable", self.disable)
        add("DELETE", "/{name}", self.remove, status=204)

    async def tasks(self) -> list[TaskInfo]:
        """All maintenance tasks, with how their last run ended."""
        return await self.app.maintenance.alist()

    async def get(self, name: str) -> TaskInfo:
        """One task."""
        return await self.app.maintenance.aget(name)

    async def runs(self, limit: Limit = 20) -> list[TaskRun]:
        """Recent runs of all tasks, newest first."""
        return await self.app.maintenance.aresults(limit=limit)

    async def runs_of(self, name: str, limit: Limit = 20) -> list[TaskRun]:
        """Recent runs of one task, newest first."""
        await self.app.maintenance.aget(name)
        return await self.app.maintenance.aresults(name, limit=limit)

    async def run(self, who: Who, name: str) -> TaskInfo:
        """At the leader's next look, enabled or not; a run that is under way is waited for."""
        await self.app.maintenance.arun_now(name, by=who.name)
        return await self.app.maintenance.aget(name)

    async def enable(self, who: Who, name: str) -> TaskInfo:
        """The task runs at its times."""
        await self.app.maintenance.aenable(name, by=who.name)
        return await self.app.maintenance.aget(name)

    async def disable(self, who: Who, name: str) -> TaskInfo:
        """The task does not run by itself."""
        await self.app.maintenance.adisable(name, by=who.name)
        return await self.app.maintenance.aget(name)

    async def remove(self, who: Who, name: str) -> None:
        """For tasks of the application: code that still declares it does not bring it back."""
        await self.app.maintenance.aunregister(name, by=who.name)
