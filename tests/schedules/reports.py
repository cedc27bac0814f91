"""An application whose job is scheduled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from lanework import Context, Lanework
from lanework.schedules import Tick


def application(dsn: str, **settings: Any) -> Lanework:
    app = Lanework(dsn, **{"beat": 0.2, "idle_beat": 0.2, "sweep": 0.3, "upkeep": 0.2, **settings})
    for lane in ("default", "lanework"):
        app.lane(lane, max_slots=None, poll_interval_ms=100)

    @app.job
    def report(ctx: Context, region: str = "all", fail: bool = False) -> str:
        if fail:
            raise ValueError("no data")
        return region

    return app


async def until(found: Callable[[], Awaitable[Any]], seconds: float = 90) -> Any:
    async with asyncio.timeout(seconds):
        while not (answer := await found()):
            await asyncio.sleep(0.02)
    return answer


async def ticks(app: Lanework, name: str, *outcomes: str) -> list[Tick]:
    """Waits until the schedule has ticks with these outcomes, oldest first."""
    seen: list[Tick] = []

    async def there() -> bool:
        seen[:] = reversed(await app.schedules.ahistory(name))
        return [one.outcome for one in seen][: len(outcomes)] == list(outcomes)

    try:
        await until(there)
    except TimeoutError:
        raise AssertionError(f"waited for {outcomes}, got {seen}") from None
    return seen
