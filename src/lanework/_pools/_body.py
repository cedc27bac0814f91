"""One run of a handler in the thread that calls it, sync or async. Shared by the thread pool and the child process."""

from __future__ import annotations

import asyncio
import contextvars
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from lanework.context import inside

if TYPE_CHECKING:
    from lanework.context import Context
    from lanework.handlers import Handler

#: How long tasks that a body left behind may take to end before the thread goes on without them.
_LEFTOVERS_S = 1.0


class Body:
    """Runs once. `cancel` may come from any thread, before, during or after."""

    def __init__(self, handler: Handler, context: Context, payload: dict[str, Any], version: int) -> None:
        self._handler = handler
        self._context = context
        self._payload = payload
        self._version = version
        self._lock = Lock()
        self._cancelled = False
        self._task: asyncio.Task[Any] | None = None

    def run(self, runner: asyncio.Runner) -> Any:
        """`runner` is the thread's own loop; it outlives the job, so that a client made for it can be kept."""
        inside.set(self._context)
        arguments = self._handler.load(self._payload, self._version)
        if not self._handler.is_async:
            return self._handler.fn(self._context, **arguments)
        # A Runner keeps the context it was made in: without this the job's own variables would be lost.
        return runner.run(self._main(arguments), context=contextvars.copy_context())

    def cancel(self) -> None:
        """Ends an async body at its next await. A sync body only sees `ctx.cancelled`."""
        with self._lock:
            self._cancelled = True
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def _main(self, arguments: dict[str, Any]) -> Any:
        before = asyncio.all_tasks()
        with self._lock:
            if self._cancelled:
                raise asyncio.CancelledError
            self._task = asyncio.current_task()
        try:
            return await self._handler.fn(self._context, **arguments)
        finally:
            with self._lock:
                self._task = None
            await _end(asyncio.all_tasks() - before)


async def wait_patiently(ended: asyncio.Future[Any], patience: float) -> bool:
    """Whether it ended in time. A second cancel of the waiting task changes nothing: the body still has to end."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while not ended.done() and (left := deadline - loop.time()) > 0:
        with suppress(asyncio.CancelledError):
            await asyncio.wait([ended], timeout=left)
    return ended.done()


def may_be_raised(error: BaseException) -> bool:
    """False for what would stop the worker's loop, look like its own cancel, or end a coroutine in a wrong way."""
    return isinstance(error, Exception) and not isinstance(error, (StopIteration, StopAsyncIteration))


async def _end(tasks: set[asyncio.Task[Any]]) -> None:
    """What `asyncio.run` would do: a task of this job must not run on into the next."""
    if tasks:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=_LEFTOVERS_S)
