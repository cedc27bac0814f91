"""Jobs in threads, at most `size` at a time. For one lane of one worker.

A thread cannot be ended from outside. A body that ignores its cancel keeps its place until it ends by itself, and the
claim is given up without it: `Quarantined`.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from lanework._capture import captured
from lanework._pools._body import Body, may_be_raised, wait_patiently
from lanework._pools.base import Call, Quarantined
from lanework._pools.remote import RemoteError

#: Seconds a cancelled body has to end before its place is quarantined.
PATIENCE_S = 2.0
_STOP_S = 2.0


class ThreadPool:
    """`Executor` over daemon threads: the process can exit while a body hangs.

    size        threads at most; started when jobs need them
    name        in the threads' names
    patience    seconds a cancelled body has to end
    on_thread   called in each new thread before its first job
    """

    def __init__(
        self,
        size: int,
        *,
        name: str = "default",
        patience: float = PATIENCE_S,
        on_thread: Callable[[], None] | None = None,
    ) -> None:
        self._size = size
        self._name = name
        self._patience = patience
        self._on_thread = on_thread
        self._orders: SimpleQueue[_Order | None] = SimpleQueue()
        self._threads: dict[threading.Thread, asyncio.Future[None]] = {}
        self._taken = 0

    @property
    def free(self) -> int:
        """Places without a body; a quarantined one has a body."""
        return max(0, self._size - self._taken)

    async def start(self) -> None:
        """Threads start when jobs need them."""

    async def run(self, call: Call) -> Any:
        order = _Order(call, asyncio.get_running_loop(), self._release)
        self._taken += 1
        if len(self._threads) < min(self._size, self._taken):
            self._add_thread()
        self._orders.put(order)
        try:
            await order.waiter
        except asyncio.CancelledError:
            await self._stop(order)
            raise
        return order.result()

    async def stop(self) -> None:
        """Ends the idle threads. A thread with a body is left to it."""
        for _ in self._threads:
            self._orders.put(None)
        if self._threads:
            await asyncio.wait(self._threads.values(), timeout=_STOP_S)

    async def _stop(self, order: _Order) -> None:
        context = order.call.context
        context._stop(context._cancel_reason or "cancelled")
        if order.drop():
            self._release()
            return
        order.body.cancel()
        if not await wait_patiently(order.ended, self._patience):
            raise Quarantined(order.ended)

    def _release(self) -> None:
        self._taken -= 1

    def _add_thread(self) -> None:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        name = f"lanework-{self._name}-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._work, args=(loop, ended), name=name, daemon=True)
        self._threads[thread] = ended
        thread.start()

    def _work(self, loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
        runner = asyncio.Runner()  # makes its loop when the first async body comes
        try:
            if self._on_thread is not None:
                self._on_thread()
            while (order := self._orders.get()) is not None:
                order.work(runner)
                del order  # an idle thread must not keep the last job's values alive
        finally:
            runner.close()
            _call(loop, ended.set_result, None)


class _Order:
    """One job on its way through a thread. `waiter` is what `run` waits for, and a cancel of `run` cancels it; `ended` is
    the truth about the body."""

    def __init__(self, call: Call, loop: asyncio.AbstractEventLoop, release: Callable[[], None]) -> None:
        self.call = call
        self.body = Body(call.handler, call.context, call.payload, call.version)
        self.waiter: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._release = release
        self._variables = contextvars.copy_context()
        self._lock = threading.Lock()
        self._begun = self._dropped = False
        self._value: Any = None
        self._error: BaseException | None = None

    def work(self, runner: asyncio.Runner) -> None:
        """In the pool's thread."""
        with self._lock:
            if self._dropped:
                return
            self._begun = True
        try:
            self._value = self._variables.run(self._run, runner)
        except BaseException as error:
            self._error = error
        _call(self._loop, self._finish)

    def drop(self) -> bool:
        """True if it had not begun; then it never will."""
        with self._lock:
            self._dropped = not self._begun
            return self._dropped

    def result(self) -> Any:
        error, self._error = self._error, None
        if error is None:
            return self._value
        raise error if may_be_raised(error) else RemoteError.of(error)

    def _run(self, runner: asyncio.Runner) -> Any:
        with captured(self.call.context._link):
            return self.body.run(runner)

    def _finish(self) -> None:
        self._release()
        self.ended.set_result(None)
        if not self.waiter.done():
            self.waiter.set_result(None)


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
        loop.call_soon_threadsafe(function, *arguments)
