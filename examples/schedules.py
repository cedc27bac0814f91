"""A schedule in code, changed by an operator; a condition that launches only when there is work; a maintenance task."""

import asyncio

from lanework import Context, Lanework

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


async def ticks(*wanted: str) -> None:
    """Waits until the first ticks have these outcomes."""
    while [one.outcome for one in reversed(await app.schedules.ahistory("documents"))][: len(wanted)] != list(wanted):
        await asyncio.sleep(0.05)


async def main() -> None:
    async with app, app.worker():
        await ticks("completed", "completed", "skipped")
        await app.schedules.aset("documents", cron="30 2 * * *", tz="Europe/Zurich", by="ada")  # code leaves it alone from now on
        for tick in list(reversed(await app.schedules.ahistory("documents")))[:3]:
            print(tick.outcome, (await app.aget(tick.job_id)).result if tick.job_id else tick.reason)
        times = await app.schedules.anext_times("documents", 2)
        print("next:", [f"{one:%H:%M %Z}" for one in times])
        while not (runs := [run for run in await app.maintenance.aresults("forget") if run.outcome == "ok"]):
            await asyncio.sleep(0.05)
        print(runs[0].task, runs[0].counts)


if __name__ == "__main__":
    asyncio.run(main())
