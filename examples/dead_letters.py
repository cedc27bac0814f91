"""Jobs die of one cause. Somebody is told, once; the cause is removed; one job goes ahead, and the others follow."""

import asyncio

from lanework import Context, Lanework, Notification

app = Lanework(sweep=0.2)
models = {"small"}
told: asyncio.Queue[int] = asyncio.Queue()


@app.notifier(name="pager", every=1)
async def pager(notification: Notification) -> None:
    for group in notification.groups:
        for job_id in group.job_ids:
            told.put_nowait(job_id)


@app.job(max_tries=1)
async def extract(ctx: Context, page: int, model: str) -> str:
    if model not in models:
        raise LookupError(f"page {page}: there is no model {model!r}")
    return f"page {page} by {model}"


async def main() -> None:
    async with app, app.worker():
        jobs = [await extract.asubmit(page, "large") for page in range(5)]
        for job in jobs:
            await job.await_(timeout=60)
        (group,) = await app.dead.agroups()
        print(f"{group.count} dead letters: {group.error_class}: {group.message}")

        heard = [await told.get() for _ in jobs]
        print("told of each once:", sorted(heard) == sorted(job.id for job in jobs))

        models.add("large")
        redrive = await app.dead.aredrive(group, per_minute=6000, by="ada")
        while not redrive.ended:
            await asyncio.sleep(0.05)
            redrive = await app.dead.aget_redrive(redrive.id)
        print(await jobs[4].aresult(timeout=60))
        print(f"redrive {redrive.state}: {redrive.moved} of {redrive.matched}, {len(await app.dead.agroups())} groups left")


if __name__ == "__main__":
    asyncio.run(main())
