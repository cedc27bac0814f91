"""`/admin/workers`: drains and freezes, and what holds a lane up."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from lanework.api.deciding import Moved, NewPriority
from lanework.api.fields import Body, Id, Name, Reason, Words
from lanework.api.gate import Routes, Who
from lanework.api.jobs import JobId
from lanework.client import Lanework
from lanework.explanations import Brake
from lanework.freezes import Freeze


class WorkerState(BaseModel):
    id: int
    state: str


class Everything(BaseModel):
    """`changed`: false if it was so already."""

    drained: bool
    changed: bool


class NewFreeze(Body):
    """`expires`: seconds after which it ends by itself, 7 days at most."""

    lanes: Annotated[list[Name], Field(min_length=1, max_length=100)]
    reason: Words = ""
    expires: Annotated[float, Field(ge=1, le=604_800, allow_inf_nan=False)] = 3600.0


class Thawed(BaseModel):
    """The lanes that it held; each is again as its own settings say."""

    id: int
    lanes: list[str]


class Crew:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        def add(method: str, path: str, endpoint: object, needs: str = "workers:manage", status: int = 200) -> None:
            assert callable(endpoint)
            routes.add(method, f"/admin/workers{path}", endpoint, needs=needs, status_code=status, tags=["workers"])

        add("POST", "/drain", self.drain_all)
        add("POST", "/resume", self.resume_all)
        add("GET", "/freezes", self.freezes, "workers:view")
        add("POST", "/freezes", self.freeze, status=201)
        add("DELETE", "/freezes/{freeze_id}", self.thaw)
        add("GET", "/lanes/{name}/explain", self.explain, "workers:view")
        add("PATCH", "/jobs/{job_id}/priority", self.priority)
        add("POST", "/{worker_id}/drain", self.drain)
        add("POST", "/{worker_id}/resume", self.resume)

    async def drain(self, who: Who, worker_id: Id) -> WorkerState:
        """The worker claims nothing more once this has answered; what it runs finishes."""
        return WorkerState(id=worker_id, state=await self.app.adrain_worker(worker_id, by=who.name))

    async def resume(self, who: Who, worker_id: Id) -> WorkerState:
        """Ends the drain of a worker."""
        return WorkerState(id=worker_id, state=await self.app.aresume_worker(worker_id, by=who.name))

    async def drain_all(self, who: Who, reason: Reason | None = None) -> Everything:
        """Nothing starts in any lane once this has answered; what runs finishes. Lanes keep their own settings."""
        changed = await self.app.adrain_all(by=who.name, reason=reason.reason if reason else "")
        return Everything(drained=True, changed=changed)

    async def resume_all(self, who: Who) -> Everything:
        """Ends the drain of everything. Lanes that are drained themselves stay so."""
        return Everything(drained=False, changed=await self.app.aresume_all(by=who.name))

    async def freezes(self) -> list[Freeze]:
        """Lanes that start nothing for a while, held by a run of a job or by an operator."""
        return await self.app.freezes.alist()

    async def freeze(self, who: Who, freeze: NewFreeze) -> Freeze:
        """Nothing more starts in these lanes; running jobs go on. It ends by itself, or with its DELETE."""
        made = await self.app.freezes.astart(freeze.lanes, by=who.name, reason=freeze.reason, expires=freeze.expires)
        return next(one for one in await self.app.freezes.alist() if one.id == made)

    async def thaw(self, who: Who, freeze_id: Id) -> Thawed:
        """Ends a freeze."""
        return Thawed(id=freeze_id, lanes=list(await self.app.freezes.aend(freeze_id, by=who.name)))

    async def explain(self, name: str) -> Brake:
        """The one reason why a lane does not start more than it does."""
        return await self.app.lanes.aexplain(name)

    async def priority(self, who: Who, job_id: JobId, new: NewPriority) -> Moved:
        """Moves any waiting job in the queue, at once effective."""
        old = await self.app.aset_priority(job_id, new.priority, by=who.name)
        job = await self.app.aget(job_id)
        return Moved(id=job_id, status=job.status, old=old, new=new.priority)
