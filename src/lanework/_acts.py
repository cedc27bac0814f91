"""What an operator does to jobs, workers and lanes, as methods of the application. Each act has one audit row, in its own
transaction; `by` is who."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from lanework._application.database import Database, answered
from lanework._inputs import known_id, moment
from lanework._store import freezes as holds
from lanework._store import operations as acts
from lanework.audit import AuditCheck, AuditEntry, audit_row, check_row, listing, verifying
from lanework.operations import Operation, preview

if TYPE_CHECKING:
    from lanework.freezes import Freezes
    from lanework.operations import Operations

T = TypeVar("T")


class Acts(Database):
    operations: Operations
    freezes: Freezes

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def cancel(self, job_id: int, *, by: str = "", reason: str = "", children: bool = True) -> str:
        """`cancelled` at once for a waiting job, `stopping` for a running one, or the final state that came first.

        `children`: the jobs that it has submitted are cancelled with it.
        """
        return answered(job_id, self._run(acts.cancel(known_id(job_id), by, reason, children=children)))

    async def acancel(self, job_id: int, *, by: str = "", reason: str = "", children: bool = True) -> str:
        return answered(job_id, await self._arun(acts.cancel(known_id(job_id), by, reason, children=children)))

    def cancel_many(
        self, *, by: str = "", reason: str = "", children: bool = True, dry_run: bool = False, **filter: Any
    ) -> Operation:
        """Cancels all jobs that match, a thousand a commit, and comes back when that is done. Filters as in `operations`.
        `dry_run`: only `matched` is found out."""
        return self._many("cancel", filter, {"children": children}, by=by, reason=reason, dry_run=dry_run)

    async def acancel_many(
        self, *, by: str = "", reason: str = "", children: bool = True, dry_run: bool = False, **filter: Any
    ) -> Operation:
        return await self._amany("cancel", filter, {"children": children}, by=by, reason=reason, dry_run=dry_run)

    def set_priority(self, job_id: int, priority: int, *, by: str = "") -> int:
        """For a job that waits, at once effective. Answers the priority that it had."""
        return self._run(acts.set_priority(known_id(job_id), priority, by))

    async def aset_priority(self, job_id: int, priority: int, *, by: str = "") -> int:
        return await self._arun(acts.set_priority(known_id(job_id), priority, by))

    def set_priority_many(
        self, priority: int, *, by: str = "", reason: str = "", dry_run: bool = False, **filter: Any
    ) -> Operation:
        """The same for all waiting jobs that match."""
        return self._many("priority", filter, {"priority": priority}, by=by, reason=reason, dry_run=dry_run)

    async def aset_priority_many(
        self, priority: int, *, by: str = "", reason: str = "", dry_run: bool = False, **filter: Any
    ) -> Operation:
        return await self._amany("priority", filter, {"priority": priority}, by=by, reason=reason, dry_run=dry_run)

    def approve_many(
        self, *, limit: float | None = None, seen_at: datetime | None = None, by: str = "", reason: str = "", dry_run: bool = False,
        **filter: Any,
    ) -> Operation:  # fmt: skip
        """Approves all that match and have waited since before `seen_at` (without it: before now), so that nothing is approved that
        nobody can have seen: neither what came later nor what was edited since. `limit`: each up to this sum."""
        return self._many("approve", filter, _approval(limit, seen_at), by=by, reason=reason, dry_run=dry_run)

    async def aapprove_many(
        self, *, limit: float | None = None, seen_at: datetime | None = None, by: str = "", reason: str = "", dry_run: bool = False,
        **filter: Any,
    ) -> Operation:  # fmt: skip
        return await self._amany("approve", filter, _approval(limit, seen_at), by=by, reason=reason, dry_run=dry_run)

    def reject_many(self, reason: str, *, by: str = "", dry_run: bool = False, **filter: Any) -> Operation:
        """Says no to all that match and wait for an approval."""
        return self._many("reject", filter, {"reason": reason}, by=by, reason=reason, dry_run=dry_run)

    async def areject_many(self, reason: str, *, by: str = "", dry_run: bool = False, **filter: Any) -> Operation:
        return await self._amany("reject", filter, {"reason": reason}, by=by, reason=reason, dry_run=dry_run)

    def retry_many(
        self, *, max_age: float | None = None, by: str = "", reason: str = "", dry_run: bool = False, **filter: Any
    ) -> Operation:
        """Sends all failed jobs that match, and are not archived, back to the queue, as fast as they come. (With a canary and a
        rate: `dead.redrive`.)"""
        return self._many("retry", filter, _age(max_age), by=by, reason=reason, dry_run=dry_run)

    async def aretry_many(
        self, *, max_age: float | None = None, by: str = "", reason: str = "", dry_run: bool = False, **filter: Any
    ) -> Operation:
        return await self._amany("retry", filter, _age(max_age), by=by, reason=reason, dry_run=dry_run)

    def _many(
        self, kind: str, filter: Mapping[str, Any], args: Mapping[str, Any], *, by: str, reason: str, dry_run: bool
    ) -> Operation:
        if dry_run:
            return preview(kind, filter, self.operations.count(kind, filter), by, reason)
        return self.operations.wait(self.operations.start(kind, filter, args=args, by=by, reason=reason).id)

    async def _amany(
        self, kind: str, filter: Mapping[str, Any], args: Mapping[str, Any], *, by: str, reason: str, dry_run: bool
    ) -> Operation:
        if dry_run:
            return preview(kind, filter, await self.operations.acount(kind, filter), by, reason)
        started = await self.operations.astart(kind, filter, args=args, by=by, reason=reason)
        return await self.operations.await_(started.id)

    # -- workers and everything ----------------------------------------------------------------------------------------

    def drain_worker(self, worker_id: int, *, by: str = "") -> str:
        """It claims nothing more once this has answered; what it runs finishes. Ends with `resume_worker`, or with the worker."""
        return self._run(holds.drain_worker(worker_id, by))

    async def adrain_worker(self, worker_id: int, *, by: str = "") -> str:
        return await self._arun(holds.drain_worker(worker_id, by))

    def resume_worker(self, worker_id: int, *, by: str = "") -> str:
        return self._run(holds.resume_worker(worker_id, by))

    async def aresume_worker(self, worker_id: int, *, by: str = "") -> str:
        return await self._arun(holds.resume_worker(worker_id, by))

    def drain_all(self, *, by: str = "", reason: str = "") -> bool:
        """Nothing starts in any lane once this has answered; what runs finishes. Lanes keep their own settings. False: it was
        so already."""
        return self._run(holds.drain_all(by, reason))

    async def adrain_all(self, *, by: str = "", reason: str = "") -> bool:
        return await self._arun(holds.drain_all(by, reason))

    def resume_all(self, *, by: str = "") -> bool:
        """Ends `drain_all`. Lanes that are drained themselves stay so."""
        return self._run(holds.resume_all(by))

    async def aresume_all(self, *, by: str = "") -> bool:
        return await self._arun(holds.resume_all(by))

    # -- lanes ---------------------------------------------------------------------------------------------------------

    def freeze(
        self, lanes: Sequence[str], *, by: str = "", reason: str = "", expires: float = 3600.0, timeout: float | None = None
    ) -> AbstractContextManager[int]:
        """`with app.freeze(["interactive", "books"], by="ann"):` the block begins when nothing runs there any more, and nothing
        starts there until it ends, or `expires` seconds are over. `timeout`: how long to wait for running jobs."""
        return self.freezes.hold(lanes, by=by, reason=reason, expires=expires, timeout=timeout)

    def afreeze(
        self, lanes: Sequence[str], *, by: str = "", reason: str = "", expires: float = 3600.0, timeout: float | None = None
    ) -> AbstractAsyncContextManager[int]:
        return self.freezes.ahold(lanes, by=by, reason=reason, expires=expires, timeout=timeout)

    # -- what was done -------------------------------------------------------------------------------------------------

    def audit_log(self, **filters: Any) -> list[AuditEntry]:
        """Newest first. Filters: actor, act (`job.cancel`, or `job` for all acts on jobs), target (`job:17`), since, before, limit.

        Pages: pass the last id of a page as `before` to get the next one.
        """
        return [audit_row(row) for row in self._run(listing(**filters))]

    async def aaudit_log(self, **filters: Any) -> list[AuditEntry]:
        return [audit_row(row) for row in await self._arun(listing(**filters))]

    def verify_audit(self) -> AuditCheck:
        """Goes through the chain of seals: has a row of the audit log been changed, taken out or put in?"""
        return check_row(self._run(verifying()))

    async def averify_audit(self) -> AuditCheck:
        return check_row(await self._arun(verifying()))


def _approval(limit: float | None, seen_at: datetime | None) -> dict[str, Any]:
    moment("seen_at", seen_at)
    return {"limit": limit} | ({} if seen_at is None else {"asked_at": seen_at.isoformat()})


def _age(max_age: float | None) -> dict[str, Any]:
    return {} if max_age is None else {"max_age_s": max_age}
