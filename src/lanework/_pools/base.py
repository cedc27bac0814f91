"""Where a handler's body runs: the seam between the worker and its pools."""

from __future__ import annotations

import asyncio
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
    """Public: where bodies run. Runs one and answers with what it returned, or raises what it raised. A body is
    `call.handler.fn(call.context, **call.handler.load(call.payload, call.version))`.

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
        raise self._error  # says itself of what class it is

    async def stop(self) -> None:
        return


class StartedFirst:
    """An executor of somebody's own: `start` has ended before the first `run`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._started: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._started is None or (self._started.done() and self._started.exception() is not None):
            self._started = asyncio.ensure_future(self._executor.start())
        await asyncio.shield(self._started)

    async def run(self, call: Call) -> Any:
        await self.start()
        return await self._executor.run(call)

    async def stop(self) -> None:
        await self._executor.stop()
