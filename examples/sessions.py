"""Order: jobs of one session run one at a time, in the order of their submits, whatever fails or is tried again in between."""

import asyncio

from lanework import Context, Lanework

app = Lanework()
app.lane("chat", max_slots=10, poll_interval_ms=250)
said: dict[str, list[str]] = {"ada": [], "bob": []}


@app.job(lane="chat", max_tries=2, backoff_base=0.2)
async def answer(ctx: Context, who: str, message: str) -> None:
    if message == "two" and ctx.tries_used == 0:
        raise ConnectionError("try again")  # its followers wait for its second try; other sessions do not
    if message == "three":
        raise SystemError("never works")  # a job that has failed holds nobody up
    said[who].append(message)


async def main() -> None:
    async with app, app.worker():
        jobs = [
            await answer.options(session=f"chat-{who}").asubmit(who, message)
            for message in ("one", "two", "three", "four")
            for who in said
        ]
        states = [(await job.await_(timeout=60)).status for job in jobs]
        print(said)
        print(states.count("completed"), "completed,", states.count("failed"), "failed")


if __name__ == "__main__":
    asyncio.run(main())
