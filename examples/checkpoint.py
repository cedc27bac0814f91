"""A job that is killed in the middle and goes on where it was.

`ctx.checkpoint` is durable when it returns; the next attempt finds the state in `ctx.saved`.
"""

import asyncio
import os
import signal

from lanework import Context, Lanework

app = Lanework()


@app.job(executor="process")
def import_rows(ctx: Context, rows: int) -> dict[str, int]:
    state = ctx.saved or {"done": 0, "first_attempt": ctx.attempt}
    print(f"attempt {ctx.attempt} starts at row {state['done']}")
    for row in range(state["done"], rows):
        state["done"] = row + 1
        ctx.checkpoint(state)
        if ctx.attempt == 1 and row == rows // 2:
            os.kill(os.getpid(), signal.SIGKILL)  # as the machine would, without a word
    return {**state, "last_attempt": ctx.attempt}


async def main() -> None:
    async with app, app.worker():
        job = await import_rows.asubmit(10)
        print(await job.aresult(timeout=60))
        for attempt in await app.aattempts(job.id):
            print(f"attempt {attempt.attempt} ended by {attempt.cause}")
        for entry in await app.alogs(job.id):
            print(entry.text)


if __name__ == "__main__":
    asyncio.run(main())
