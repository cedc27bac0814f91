"""Deciding about one job: whether it may go, with what, again, or away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanework._application.database import answered
from lanework._application.reads import Reads
from lanework._codec import PAYLOAD_LIMIT, encode
from lanework._handle import FINAL
from lanework._inputs import known_id
from lanework._store import approvals as store
from lanework._store.dead import retry
from lanework._store.overview import delete_job
from lanework._store.verb import Verb
from lanework.errors import JobRunning
from lanework.job import JobInfo


class Decides(Reads):
    def approve(self, job_id: int, *, hash: str | None = None, limit: float | None = None, by: str = "") -> str:
        """Lets a job go that is `awaiting_approval`; answers its next state. `hash` is that of what you saw (`get(job_id).hash`):
        if the job has changed since, `ApprovalOutdated`. `limit`: up to this sum."""
        shown = self.get(job_id).hash if hash is None else hash
        return answered(job_id, self._run(store.approve(known_id(job_id), shown, limit, by)))

    async def aapprove(self, job_id: int, *, hash: str | None = None, limit: float | None = None, by: str = "") -> str:
        shown = (await self.aget(job_id)).hash if hash is None else hash
        return answered(job_id, await self._arun(store.approve(known_id(job_id), shown, limit, by)))

    def reject(self, job_id: int, reason: str, *, by: str = "") -> str:
        """Says no to a job that waits for its estimate or for an approval: it is cancelled, with the reason."""
        return answered(job_id, self._run(store.reject(known_id(job_id), reason, by)))

    async def areject(self, job_id: int, reason: str, *, by: str = "") -> str:
        return answered(job_id, await self._arun(store.reject(known_id(job_id), reason, by)))

    def edit(self, job_id: int, payload: Mapping[str, Any], *, by: str = "") -> str:
        """Gives a job that waits other arguments, all of them, and starts it anew: its approval, its estimate and its stored steps
        were for the old ones. Answers its next state."""
        return answered(job_id, self._run(self._edit(self.get(job_id), payload, by)))

    async def aedit(self, job_id: int, payload: Mapping[str, Any], *, by: str = "") -> str:
        return answered(job_id, await self._arun(self._edit(await self.aget(job_id), payload, by)))

    def _edit(self, job: JobInfo, payload: Mapping[str, Any], by: str) -> Verb[str | None]:
        """Checked by the handler's own annotations, where this application has it."""
        if job.type not in self.handlers:
            return store.edit(job.id, encode(dict(payload), field="payload", limit=PAYLOAD_LIMIT), None, by)
        handler = self.handlers[job.type]
        return store.edit(job.id, handler.bind_json(payload), handler.version, by)

    def retry(self, job_id: int, *, by: str = "", max_age: float | None = None) -> str:
        """Sends a failed job back to the queue: its attempts go on counting, its tries start again, its steps are kept. Answers
        its state. `max_age`: seconds from now; without it a deadline that has passed is given anew as its type says, or dropped."""
        return self._run(retry(job_id, by, max_age))

    async def aretry(self, job_id: int, *, by: str = "", max_age: float | None = None) -> str:
        return await self._arun(retry(job_id, by, max_age))

    def delete(self, job_id: int, *, by: str = "") -> None:
        """Removes a job that has ended, with its log, steps and result."""
        _deleted(job_id, self._run(delete_job(known_id(job_id), by)))

    async def adelete(self, job_id: int, *, by: str = "") -> None:
        _deleted(job_id, await self._arun(delete_job(known_id(job_id), by)))


def _deleted(job_id: int, status: str | None) -> None:
    if answered(job_id, status) not in FINAL:
        raise JobRunning(f"job {job_id} is {status}; only a job that has ended can be deleted: cancel it first")
