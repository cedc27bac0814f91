"""Jobs that wait inside until they are let go, and looks of a worker that are counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from lanework import Context, Lanework, Worker


class Bodies:
    """Jobs that wait until they are let go, and who is inside."""

    def __init__(self, app: Lanework, *names: str, **options: Any) -> None:
        self.app, self.inside, self.most = app, dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        self.order: list[str] = []
        self._go = asyncio.Event()
        self.jobs = {name: app.job(name, **options)(self._body(name)) for name in names}

    def _body(self, name: str) -> Callable[[Context], Awaitable[None]]:
        async def body(ctx: Context) -> None:
            self.inside[name] += 1
            self.order.append(name)
            self.most[name] = max(self.most[name], self.inside[name])
            await self._go.wait()
            self.inside[name] -= 1

        return body

    def let_go(self) -> None:
        self._go.set()

    def close(self) -> None:
        self._go.clear()

    async def until(self, **inside: int) -> None:
        """Waits until exactly so many of each are inside."""
        async with asyncio.timeout(90):
            while {name: self.inside[name] for name in inside} != inside:
                await asyncio.sleep(0.01)

    async def stay(self, worker: Worker, **inside: int) -> None:
        """Still so after the worker has looked twice more: what was asked for before the first look is seen in the second."""
        for _ in range(2):
            looked = LOOKS[worker.worker_id]
            async with asyncio.timeout(90):
                while LOOKS[worker.worker_id] == looked:
                    await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert {name: self.inside[name] for name in inside} == inside


LOOKS: Counter[int] = Counter()


def counted(worker: Worker) -> None:
    """Counts the looks of the worker's poller."""
    look = worker.poller.run_once

    async def run_once() -> float:
        pause = await look()
        LOOKS[worker.worker_id] += 1
        return pause

    worker.poller.run_once = run_once  # type: ignore[method-assign]
