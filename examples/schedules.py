"""A schedule in code, changed by an operator; a condition that launches only when there is work; a maintenance task."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from lanework import Context, Lanework
from lanework.maintenance import TaskRun
from lanework.schedules import Tick

T = TypeVar("T")

app = Lanework()
inbox = ["b.pdf", "a.pdf"]


def new_document(ctx: Context) -> dict[str, str] | None:
    """Asked at each tick, by a worker: nothing to do, or the arguments of the job."""
    return {"name": inbox.pop()} if inbox else None


@app.schedule("documents", cron="* * * * * *", condition=new_document, overlap="queue")
@app.job
async def read(ctx: Context, name: str = "") -> str:
    return f"read {name}"


@app.maintenance("forget", every=3600, timeout=30)
def forget(ctx: Context) -> dict[str, int]:
    """Removes old caches."""
    return {"removed": 3}


async def until(found: Callable[[], Awaitable[T]]) -> T:
    while not (answer := await found()):  # noqa: ASYNC110 - a look now and then is enough here
        await asyncio.sleep(0.05)
    return answer


async def three_ticks() -> list[Tick]:
    """The first three, once they have ended."""
    found = [one for one in reversed(await app.schedules.ahistory("documents")) if one.ended_at]
    return found[:3] if len(found) >= 3 else []


async def kept_house() -> list[TaskRun]:
    return [run for run in await app.maintenance.aresults("forget") if run.outcome == "ok"]


async def main() -> None:
    async with app, app.worker():
        first = await until(three_ticks)
        await app.schedules.aset("documents", cron="30 2 * * *", tz="Europe/Zurich", by="ada")  # code leaves it alone from now on
        for tick in first:
            print(tick.outcome, (await app.aget(tick.job_id)).result if tick.job_id else tick.reason)
        times = await app.schedules.anext_times("documents", 2)
        print("next:", [f"{one:%H:%M %Z}" for one in times])
        runs = await until(kept_house)
        print(runs[0].task, runs[0].counts)


if __name__ == "__main__":
    asyncio.run(main())
