"""A provider that takes two calls at a time, over all workers: a permit that the job type declares."""

import asyncio

from lanework import Context, Lanework

app = Lanework()
running: set[int] = set()
at_once: list[int] = []


@app.job(permits={"provider": 2}, lane="calls")
async def call(ctx: Context, n: int) -> int:
    running.add(n)
    at_once.append(len(running))
    await asyncio.sleep(0.02)
    running.remove(n)
    return n


async def main() -> None:
    app.lane("calls", max_slots=None)
    async with app, app.worker():
        handles = [await call.asubmit(n) for n in range(10)]
        print("answers:", sum([await handle.aresult(timeout=30) for handle in handles]))
        print("at once:", max(at_once))


if __name__ == "__main__":
    asyncio.run(main())
