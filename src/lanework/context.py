"""What a handler can do: `ctx`, always its first parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lanework.errors import ClaimLost


class Link(Protocol):
    """How a context reaches the worker: directly in its process, over a private pipe from a child."""

    def tell(self, op: str, data: dict[str, Any]) -> None:
        """Fire and forget: `progress` and `log`."""

    def ask(self, op: str, data: dict[str, Any]) -> Any:
        """Waits for the answer; raises what the worker raised. For sync bodies."""

    async def aask(self, op: str, data: dict[str, Any]) -> Any:
        """The same for async bodies."""


class Context:
    """One attempt of one job, from the inside.

    Everything written through it is fenced: once the attempt is superseded, writes raise `ClaimLost`.
    """

    __slots__ = (
        "_cancel_reason",
        "_link",
        "_lost",
        "_saved",
        "attempt",
        "fence",
        "job_id",
        "lane",
        "owner",
        "tries_used",
        "type",
    )

    def __init__(
        self,
        link: Link,
        *,
        job_id: int,
        attempt: int,
        fence: int,
        type: str,
        lane: str,
        tries_used: int = 0,
        owner: str | None = None,
        saved: Any = None,
    ) -> None:
        self._link = link
        self._saved = saved
        self._cancel_reason: str | None = None
        self._lost = False
        self.job_id = job_id
        self.attempt = attempt
        self.fence = fence
        self.type = type
        self.lane = lane
        self.tries_used = tries_used
        self.owner = owner

    def progress(self, fraction: float | None = None, message: str = "", **data: Any) -> None:
        """Says how far the job is (0 to 1), shown live and kept. Cheap: sent at most a few times a second."""
        if self._lost:
            raise ClaimLost(f"job {self.job_id}: attempt {self.attempt} was superseded")
        self._link.tell("progress", {"fraction": fraction, "message": message, "data": data})

    def log(self, message: str, *, level: str = "info") -> None:
        """One entry in the job's own log."""
        self._link.tell("log", {"stream": level, "text": message})

    def checkpoint(self, state: Any) -> None:
        """Stores the handler's own small state; the next attempt finds it in `ctx.saved`. Durable when it returns."""
        self._link.ask("checkpoint", {"state": state})
        self._saved = state

    async def acheckpoint(self, state: Any) -> None:
        """`checkpoint` for async handlers."""
        await self._link.aask("checkpoint", {"state": state})
        self._saved = state

    @property
    def saved(self) -> Any:
        """The last checkpoint of any attempt of this job, or None."""
        return self._saved

    @property
    def cancelled(self) -> bool:
        """True once the job must stop: it was cancelled, timed out, or its claim is gone. Look at it in loops."""
        return self._cancel_reason is not None or self._lost

    def idempotency_key(self, step: str = "") -> str:
        """A key for outside effects that is the same in every attempt of this job."""
        return f"lanework-{self.job_id}-{step}" if step else f"lanework-{self.job_id}"

    def _stop(self, reason: str, *, lost: bool = False) -> None:
        self._cancel_reason = reason
        self._lost = self._lost or lost

    def __repr__(self) -> str:
        return f"<Context job={self.job_id} type={self.type!r} attempt={self.attempt}>"

    def _describe(self) -> Mapping[str, Any]:
        """What a child process needs to rebuild this context."""
        return {
            "job_id": self.job_id,
            "attempt": self.attempt,
            "fence": self.fence,
            "type": self.type,
            "lane": self.lane,
            "tries_used": self.tries_used,
            "owner": self.owner,
            "saved": self._saved,
        }
