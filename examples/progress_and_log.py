"""A job that says how far it is and what it did. Both are kept, and can be read from any process."""

import asyncio
import logging

from lanework import Context, Handle, Lanework

app = Lanework()
log = logging.getLogger("pages")


@app.job(lane="interactive", progress=True)
async def read_pages(ctx: Context, pages: int) -> dict[str, int]:
    for page in range(1, pages + 1):
        await asyncio.sleep(0.1)
        ctx.progress(page / pages, f"page {page} of {pages}")
    print("printed lines are in the job's log")
    log.warning("and so is logging")
    ctx.log("and what it says itself")
    return {"pages": pages}


async def follow(job: Handle[dict[str, int]]) -> None:
    while not (info := await job.ainfo()).finished:
        print(f"{info.status:<10} {info.progress or 0:4.0%} {info.progress_message}")
        await asyncio.sleep(0.2)


async def main() -> None:
    async with app, app.worker():
        job = await read_pages.asubmit(10)
        await follow(job)
        print("result", await job.aresult())
        for entry in await app.alogs(job.id):
            print(f"{entry.stream:<8} {entry.text}")


if __name__ == "__main__":
    asyncio.run(main())
