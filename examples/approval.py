"""An expensive job: what it would cost is estimated first, a person says yes, and what it has cost is kept beside the estimate.

The estimate is a job of its own. What it has fetched is stored, and the run finds it there.
"""

import asyncio

from lanework import Above, Context, Estimate, Lanework

app = Lanework()


def fetch(book: str) -> list[str]:
    print(f"fetched {book}")
    return [f"{book}, chapter {number}" for number in range(1, 9 if book == "long.txt" else 3)]


@app.job(approval=Above(2.00))
def summarise(ctx: Context, book: str) -> int:
    chapters = ctx.step("fetch", fetch, book)
    for chapter in chapters:
        ctx.spent(0.45, tokens=900, items=1, key=chapter)  # as the provider's bill says
    return len(chapters)


@summarise.estimator
def summarise_cost(ctx: Context, book: str) -> Estimate:
    chapters = ctx.step("fetch", fetch, book)
    return Estimate(low=0.3 * len(chapters), high=0.6 * len(chapters), tokens=1000 * len(chapters), items=len(chapters))


async def main() -> None:
    async with app, app.worker():
        short, long = await summarise.asubmit("short.txt"), await summarise.options(owner="ada").asubmit("long.txt")
        print(f"short: {await short.aresult(timeout=30)} chapters, nobody had to be asked")

        while (job := await long.ainfo()).approval_request is None:  # noqa: ASYNC110 - a page would look again, too
            await asyncio.sleep(0.05)
        print(f"long: {job.status}, {job.approval_request.why}")
        await app.aapprove(job.id, hash=job.hash, limit=5.00, by="grace")  # exactly what was shown, up to this sum
        await long.aresult(timeout=30)

        job = await long.ainfo()
        assert job.estimate and job.actual and job.approval
        print(f"approved by {job.approval.by}, up to {job.approval.limit:.2f}")
        print(f"estimate {job.estimate.low:.2f} to {job.estimate.high:.2f}, {job.estimate.tokens} tokens")
        print(f"actual   {job.actual.cost:.2f}, {job.actual.tokens} tokens, {job.actual.items} chapters")


if __name__ == "__main__":
    asyncio.run(main())
