"""`Handle[R]`, a submitted job; `JobInfo`, a job as read at one moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast
from uuid import UUID

from lanework.approvals import Approval, ApprovalRequest
from lanework.errors import JobCancelled, JobFailed, JobNotFinished, JobNotFound
from lanework.estimates import Actual, Estimate

if TYPE_CHECKING:
    from lanework.events import Event

R_co = TypeVar("R_co", covariant=True)

FINAL = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobInfo:
    """A job as it was when it was read."""

    id: int
    type: str
    status: str
    priority: int
    lane: str
    attempt: int
    tries_used: int
    max_tries: int
    version: int
    payload: Any
    result: Any
    error_class: str | None
    error_code: str | None
    error: str | None
    owner: str | None
    tags: tuple[str, ...]
    parent: int | None
    created_at: datetime
    run_at: datetime | None
    claimed_at: datetime | None
    finished_at: datetime | None
    deadline: datetime | None
    worker_id: int | UUID | None
    partial: bool
    session: str | None
    blocked_on: str | None
    continues: int | None
    progress: float | None
    progress_message: str
    cancel_requested: bool
    #: Of exactly this job: type, version, payload, owner. An approval is for a hash.
    hash: str = ""
    estimate: Estimate | None = None
    #: What it has cost so far; None: it has not run, and nothing was told.
    actual: Actual | None = None
    approval: Approval | None = None
    #: While it is `awaiting_approval`: since when, until when, and why.
    approval_request: ApprovalRequest | None = None

    @property
    def finished(self) -> bool:
        """True when nothing will happen any more, unless somebody redrives it."""
        return self.status in FINAL


class Reading(Protocol):
    """What a handle asks of its application."""

    def _info(self, job_id: int) -> JobInfo: ...

    async def _ainfo(self, job_id: int) -> JobInfo: ...

    def _wait(self, job_id: int, timeout: float | None) -> JobInfo: ...

    async def _await(self, job_id: int, timeout: float | None) -> JobInfo: ...

    def cancel(self, job_id: int, *, by: str = "", reason: str = "", children: bool = True) -> str: ...

    async def acancel(self, job_id: int, *, by: str = "", reason: str = "", children: bool = True) -> str: ...

    def events(self, *, after: str | None = None, job: int | None = None) -> Iterator[Event]: ...

    def aevents(self, *, after: str | None = None, job: int | None = None) -> AsyncIterator[Event]: ...


class Handle(Generic[R_co]):
    """A submitted job. Cheap: it holds the id, and reads when asked."""

    __slots__ = ("_app", "_pending", "id")

    def __init__(self, app: Reading, job_id: int, pending: Callable[[], bool] | None = None) -> None:
        self._app = app
        self._pending = pending
        self.id = job_id

    def info(self) -> JobInfo:
        """The job as it is now."""
        return self._app._info(self.id)

    async def ainfo(self) -> JobInfo:
        return await self._app._ainfo(self.id)

    def wait(self, timeout: float | None = None) -> JobInfo:
        """Blocks until the job is final, whatever the outcome; `JobNotFinished` after `timeout` seconds."""
        # inside the caller's own transaction nobody else can see the job: a wait would never end
        if self._may_be_uncommitted():
            try:
                self._app._info(self.id)
            except JobNotFound:
                raise self._uncommitted() from None
        self._pending = None  # the connection may serve other transactions from now on
        return self._ended(self._app._wait(self.id, timeout))

    async def await_(self, timeout: float | None = None) -> JobInfo:
        if self._may_be_uncommitted():
            try:
                await self._app._ainfo(self.id)
            except JobNotFound:
                raise self._uncommitted() from None
        self._pending = None
        return self._ended(await self._app._await(self.id, timeout))

    def result(self, timeout: float | None = None) -> R_co:
        """Waits for the job and gives what it returned, as the JSON that was stored: a model comes back as a dict.

        Raises `JobFailed`, `JobCancelled`, or `JobNotFinished` after `timeout` seconds.
        """
        return self._outcome(self.wait(timeout))

    async def aresult(self, timeout: float | None = None) -> R_co:
        return self._outcome(await self.await_(timeout))

    def cancel(self, reason: str = "", *, children: bool = True) -> str:
        """`cancelled` at once for a waiting job, `stopping` for a running one, or the final state that came first."""
        return self._app.cancel(self.id, reason=reason, children=children)

    async def acancel(self, reason: str = "", *, children: bool = True) -> str:
        return await self._app.acancel(self.id, reason=reason, children=children)

    def events(self, *, after: str | None = None) -> Iterator[Event]:
        """What happens to the job, from its submit (or a cursor) on: states, progress, log lines, what operators do. Ends after
        its final state."""
        return self._app.events(after=after, job=self.id)

    def aevents(self, *, after: str | None = None) -> AsyncIterator[Event]:
        return self._app.aevents(after=after, job=self.id)

    def _may_be_uncommitted(self) -> bool:
        return self._pending is not None and self._pending()

    def _uncommitted(self) -> JobNotFinished:
        return JobNotFinished(
            f"job {self.id} was submitted in a transaction that is still open: commit it before waiting for the job"
        )

    def _ended(self, info: JobInfo) -> JobInfo:
        if not info.finished:
            raise JobNotFinished(f"job {self.id} ({info.type}) is {info.status}; it goes on")
        return info

    def _outcome(self, info: JobInfo) -> R_co:
        if info.status == "failed":
            why = info.error_class or "unknown"
            message = f"job {info.id} ({info.type}) failed as {why}: {info.error or 'no message'}"
            raise JobFailed(message, job_id=info.id, error_class=why)
        if info.status == "cancelled":
            raise JobCancelled(f"job {info.id} ({info.type}) was cancelled" + (f": {info.error}" if info.error else ""))
        return cast("R_co", info.result)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and other.id == self.id and other._app is self._app

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Handle job={self.id}>"
