"""One job at one child: sent, watched, answered, or stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Any

from lanework._capture import Sink
from lanework._child import answers
from lanework._child.death import kill_group, resident_bytes
from lanework.errors import LaneworkError, ProcessDied

if TYPE_CHECKING:
    from lanework._child.process import Child
    from lanework._pools.base import Call

MEMORY_CHECK_S = 0.25
_MEGABYTE = 1_000_000

_log = logging.getLogger("lanework.child")


class Errand:
    def __init__(self, child: Child, call: Call, number: int) -> None:
        self._child = child
        self._call = call
        self._number = number
        self._loop = asyncio.get_running_loop()
        self._timers: list[asyncio.TimerHandle] = []
        self._waiter: asyncio.Future[None] = self._loop.create_future()
        self._answer: list[Any] | None = None
        self._cause: str | None = None
        self._clean = True
        self._terminated = False
        self.sink = Sink(call.context._link)

    async def run(self, grace: tuple[float, float]) -> Any:
        self._child.send("run", self._number, self._told())
        self._watch_memory()
        try:
            await self._waiter
        except asyncio.CancelledError:
            await self._stop(*grace)
            raise
        finally:
            for timer in self._timers:
                timer.cancel()
        if self._answer is None:
            raise ProcessDied(self._cause or "unknown", pid=self._child.pid)
        return answers.take(self._answer)

    def hear(self, message: list[Any]) -> None:
        match message:
            case ["tell", self._number, op, data]:
                self._tell(op, data)
            case ["ask", self._number, asked, op, data]:
                self._child.keep(self._loop.create_task(self._reply(asked, op, data)))
            case ["done", self._number, clean, answer]:
                self._clean = clean
                self._answer = answer
                self._wake()

    def died(self, cause: str) -> None:
        """Called when nothing of the process's group is left."""
        self._cause = cause
        self._wake()

    def _told(self) -> dict[str, Any]:
        call = self._call
        return {
            "type": call.handler.name,
            "home": getattr(call.handler.fn, "__module__", ""),
            "payload": call.payload,
            "version": call.version,
            "context": dict(call.context._describe()),
        }

    @property
    def _ended(self) -> bool:
        return self._answer is not None or self._cause is not None

    def _wake(self) -> None:
        if not self._waiter.done():
            self._waiter.set_result(None)

    async def _stop(self, ask: float, term: float) -> None:
        """Asked, then SIGTERM, then SIGKILL; ends when the body has."""
        context = self._call.context
        self._child.send("cancel", self._number, context._cancel_reason or "cancelled", context._lost)
        self._timers += [
            self._loop.call_later(ask, self._terminate),
            self._loop.call_later(ask + term, self._child.kill, "cancelled"),
        ]
        await self._until(lambda: self._ended)
        # What the body left behind (threads, processes) is the body too.
        if self._terminated or not self._clean:
            self._child.kill("cancelled")
            await self._until(lambda: self._cause is not None)

    async def _until(self, condition: Any) -> None:
        while not condition():
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            except asyncio.CancelledError:
                continue  # told a second time; the body still has to end first

    def _terminate(self) -> None:
        self._terminated = True
        # The group: a body that waits for a program it started is freed by that program's end.
        kill_group(self._child.pid, signal.SIGTERM)

    def _tell(self, op: str, data: dict[str, Any]) -> None:
        if op == "log":
            self._child.drain_output()  # what was printed before comes before
        try:
            self._call.context._link.tell(op, data)
        except LaneworkError as error:
            _log.debug("job %s: %s refused: %s", self._call.job_id, op, error)

    async def _reply(self, asked: int, op: str, data: dict[str, Any]) -> None:
        try:
            value = await self._call.context._link.aask(op, data)
            self._child.send("answer", self._number, asked, True, value)
        except Exception as error:
            code = error.code if isinstance(error, LaneworkError) else LaneworkError.code
            self._child.send("answer", self._number, asked, False, [code, f"{error}" or type(error).__name__])

    def _watch_memory(self) -> None:
        limit = self._call.handler.memory_limit
        if limit is None or self._ended:
            return
        used = resident_bytes(self._child.pid)
        if used > limit:
            self._child.kill(f"out of memory: {used // _MEGABYTE} MB over the limit of {limit // _MEGABYTE} MB")
        else:
            self._timers[:1] = [self._loop.call_later(MEMORY_CHECK_S, self._watch_memory)]
