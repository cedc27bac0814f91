"""Watching: a job's life as it happens, going on after any event of it, a hook, and counts."""

import asyncio

from lanework import Context, HookEvent, Lanework

app = Lanework()
heard: list[str] = []


@app.job(executor="async")
async def read(ctx: Context, pages: int) -> int:
    for page in range(1, pages + 1):
        print("page", page)
        ctx.progress(page / pages)
        await asyncio.sleep(0.3)
    return pages


@app.on("completed")
def note(event: HookEvent) -> None:  # in a thread of its own: slow or broken, it delays no job
    heard.append(f"hook: {event.kind} in {event.duration:.1f} s")


async def main() -> None:
    async with app, app.worker():
        job = await read.asubmit(2)
        cursors = []
        async for event in job.aevents():  # ends after the final state
            cursors.append(event.cursor)
            match event.topic:
                case "log":
                    print("line:", event.data["text"])
                case "progress":
                    print("progress:", event.data["fraction"])
                case _:
                    print(event.kind)
        rest = [event.kind async for event in job.aevents(after=cursors[0])]
    print(*heard, sep="\n")  # a worker that stops lets its hooks finish
    print("after the first:", *rest)
    (counts,) = await app.ametrics()
    print(counts.submitted, "submitted,", counts.completed, "completed")
    await app.aclose()


asyncio.run(main())
