"""Money per owner and day: reserved before a call, settled after it; a job without money waits until a person gives more."""

import asyncio

from lanework import Context, JobInfo, Lanework

app = Lanework()


@app.job(executor="thread")
def summarise(ctx: Context, text: str) -> int:
    with ctx.spend("model", upto=0.50) as call:
        words = len(text.split())
        call.settle(0.10 * words)
    return words


async def settled(job: int) -> JobInfo:
    """Once it neither waits to start nor runs."""
    while True:
        info = await app.aget(job)
        if info.status not in ("approved", "running"):
            return info
        await asyncio.sleep(0.02)


async def main() -> None:
    async with app, app.worker():
        await app.budgets.aset("owner:alice", 0.60, per="day")
        for text in ("one two three", "four"):
            handle = await summarise.options(owner="alice").asubmit(text)
            info = await settled(handle.id)
            print(info.status, info.blocked_on)
        print("spent", (await app.budgets.aget("owner:alice")).spent.normalize())
        await app.budgets.aset("owner:alice", 1)
        print("words", await handle.aresult(timeout=30))


if __name__ == "__main__":
    asyncio.run(main())
