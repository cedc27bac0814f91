"""A fair lane: whatever one owner has queued, another's first job starts with the next free slot. And why a job waits."""

import asyncio

from lanework import Context, Lanework

app = Lanework()
app.lane("shared", max_slots=1, fair=True)
order: list[str | None] = []


@app.job(lane="shared")
async def render(ctx: Context, page: int) -> None:
    order.append(ctx.owner)


async def main() -> None:
    async with app:
        await render.options(owner="greedy").asubmit_many([(page,) for page in range(20)])
        ada = await render.options(owner="ada").asubmit(1)
        why = await app.aexplain(ada.id)
        print(f"{why.reason}: {why.text} → {why.remedy}")
        async with app.worker():
            await ada.aresult(timeout=60)
            print("ada was number", order.index("ada") + 1, "of 21")
        print("lane:", (await app.lanes.aexplain("shared")).reason)


if __name__ == "__main__":
    asyncio.run(main())
