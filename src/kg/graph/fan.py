"""Workers of a request that asks many things at once: at most eight of its own, and at most eight in the process."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")
PER_REQUEST = 8
PER_PROCESS = 8


class Places:
    """So many in the process, whichever loop they run on; who came first goes first."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        await self._take()
        try:
            yield
        finally:
            self._give()

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            turn: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, turn))
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                if (loop, turn) in self._waiting:
                    self._waiting.remove((loop, turn))
                    raise
            self._give()  # it was ours already
            raise

    def _give(self) -> None:
        with self._lock:
            while self._waiting:
                loop, turn = self._waiting.popleft()
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_wake, turn)
                    return
            self._free += 1


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


PLACES = Places(PER_PROCESS)


async def fan_out(items: Iterable[T], act: Callable[[T], Awaitable[None]], places: Places = PLACES) -> None:
    """`act` on each item. What fails, or is cancelled from outside, ends all."""
    left = iter(items)

    async def worker() -> None:
        for item in left:
            async with places.place():
                await act(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(PER_REQUEST):
                group.create_task(worker())
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None  # one is enough for who asked
