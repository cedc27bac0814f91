"""Go on from a job that has ended: a new job inherits the stored steps of an old one and pays only for the rest."""

import asyncio

from lanework import Context, Fail, Lanework

app = Lanework()


def fetch(url: str) -> str:
    print("fetched", url)
    return f"text of {url}"


def summarise(text: str, words: int) -> str:
    print("summarised in", words, "words")
    return f"{text}, in {words} words"


@app.job()
def digest(ctx: Context, url: str, words: int) -> str | Fail:
    text = ctx.step("fetch", fetch, url)
    summary = ctx.step("summary", summarise, text, words)
    return summary if words >= 10 else Fail(f"{words} words say too little")


async def main() -> None:
    async with app, app.worker():
        first = await digest.asubmit("example.org", words=5)
        print("first:", (await first.await_(timeout=60)).status)
        # all steps are inherited: the summary of five words, too
        same = await digest.options(continues=first).asubmit("example.org", words=50)
        print("same steps:", await same.aresult(timeout=60))
        # from `summary` on they are dropped, and run again with the new arguments
        again = await digest.options(continues=first, from_step="summary").asubmit("example.org", words=50)
        print("again from summary:", await again.aresult(timeout=60))
        for job in (first, same, again):
            print([entry.text for entry in await app.alogs(job.id)])


if __name__ == "__main__":
    asyncio.run(main())
