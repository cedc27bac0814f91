"""Where a handler's body runs: the seam between the worker and its pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from lanework.context import Context
    from lanework.handlers import Handler


@dataclass(slots=True)
class Call:
    """One run of one job, as a pool sees it."""

    handler: Handler
    context: Context
    payload: dict[str, Any]
    version: int
    job_id: int
    attempt: int
    claim_id: str
    fence: int


class Executor(Protocol):
    """Runs a body somewhere and answers with what it returned, or raises what it raised.

    `run` is cancelled to stop the body: it must not return before the body has ended, and raises `CancelledError`
    then. A body that cannot be ended (a thread) makes `run` raise `Quarantined` instead; the pool keeps its place taken
    until the body is gone.
    """

    async def start(self) -> None: ...

    async def run(self, call: Call) -> Any: ...

    async def stop(self) -> None: ...


class Quarantined(Exception):
    """The body goes on although its claim was given up; its slot stays taken until `ended` is done."""

    def __init__(self, ended: Any) -> None:
        super().__init__("the body goes on; its slot is quarantined")
        self.ended = ended


class Unavailable:
    """Stands in for a pool that cannot be made: each job says why."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def start(self) -> None:
        return

    async def run(self, call: Call) -> Any:
        raise self._error

    async def stop(self) -> None:
        return
