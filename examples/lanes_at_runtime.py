"""Lanes are rows: create, change, drain and resume them while everything runs."""

import asyncio

from lanework import Context, InvalidLane, Lanework

app = Lanework()


@app.job(lane="books")
async def analyse(ctx: Context, book: int) -> int:
    await asyncio.sleep(0.05)
    return book


async def main() -> None:
    async with app, app.worker():
        await app.lanes.adrain("books", by="ada")  # nothing starts
        jobs = await analyse.asubmit_many([(book,) for book in range(20)])
        print("waiting:", len(await app.alist(lane="books", status="approved")))
        change = await app.lanes.aset("books", max_slots=5, poll_interval_ms=500, by="ada")
        print("changed:", dict(change.changed)["max_slots"])
        await app.lanes.aresume("books", by="ada")
        print("sum:", sum([await job.aresult(timeout=60) for job in jobs]))
        try:
            await app.lanes.aset("books", max_slots=10_001)
        except InvalidLane as error:
            print(f"{error.code} {error}")


if __name__ == "__main__":
    asyncio.run(main())
