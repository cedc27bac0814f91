"""Children and a join: a parent submits jobs below it, waits for them without holding a slot, and goes on with their results."""

import asyncio

from lanework import Context, JobFailed, Lanework, Wait

app = Lanework()
app.lane("pages", max_slots=4, poll_interval_ms=250)


@app.job(lane="pages")
async def count_words(ctx: Context, text: str) -> int:
    if not text:
        raise ValueError("an empty page")
    return len(text.split())


@app.job(lane="pages", max_tries=1)
async def count_book(ctx: Context, pages: list[str], tolerate: int = 0) -> dict[str, int] | Wait:
    if not (children := await ctx.achildren()):  # the first time; once per name, whatever runs again
        started = await ctx.asubmit_children("page", count_words.options(max_tries=1), [(page,) for page in pages])
        return Wait(started, tolerate=tolerate)
    return {"words": sum(child.result for child in children if child.ok), "pages": len([c for c in children if c.ok])}


async def main() -> None:
    good, bad = ["one two", "three", "four five six"], ["one two", "", "three"]
    async with app, app.worker():
        print(await (await count_book.asubmit(good)).aresult(timeout=60))
        print(await (await count_book.asubmit(bad, tolerate=1)).aresult(timeout=60))
        strict = await count_book.asubmit(bad)
        try:
            await strict.aresult(timeout=60)
        except JobFailed as error:
            print(error.code, error.error_class, "-", error)
        for child in await app.achildren(strict.id):
            print(child.name, child.status, child.result)


if __name__ == "__main__":
    asyncio.run(main())
