import asyncio

from lanework import Context, Lanework

app = Lanework()  # LANEWORK_DSN, or an embedded PostgreSQL


@app.job()
def greet(ctx: Context, name: str) -> str:
    return f"Hello, {name}!"


async def main() -> None:
    async with app, app.worker():
        job = await greet.asubmit("Ada")
        print(await job.aresult(timeout=60))


if __name__ == "__main__":
    asyncio.run(main())
