"""What an operator does while jobs run: priorities, cancels by filter, a freeze from inside a job; and who did what."""

import asyncio

from lanework import Context, Lanework

app = Lanework()
order: list[str] = []


@app.job(lane="reports")
async def report(ctx: Context, name: str) -> None:
    order.append(name)


@app.job(lane="backups")
async def backup(ctx: Context) -> str:
    async with ctx.afreeze(["reports"], reason="backup"):  # begins when nothing runs there; ends with the block, or with this run
        waiting = await report.asubmit("after the backup")
        await asyncio.sleep(0.2)
        return (await waiting.ainfo()).status


async def main() -> None:
    async with app:
        await app.adrain_all(by="ada", reason="a quiet moment")
        jobs = {name: await report.asubmit(name) for name in ("monday", "tuesday", "wednesday")}
        await report.options(tags=["old"]).asubmit_many([(f"old {n}",) for n in range(1500)])
        print("would be cancelled:", (await app.acancel_many(tag="old", dry_run=True)).matched)
        done = await app.acancel_many(tag="old", by="ada", reason="nobody reads them")
        print("cancelled:", done.done, "of", done.matched)
        print("priority was", await app.aset_priority(jobs["wednesday"].id, 10, by="ada"))
        async with app.worker():
            await app.aresume_all(by="ada")
            await asyncio.gather(*(job.await_(60) for job in jobs.values()))
            print("in this order:", ", ".join(order))
            print("during the backup:", await (await backup.asubmit()).aresult(timeout=60))
        for entry in reversed(await app.aaudit_log(actor="ada")):
            print(entry.actor, entry.act, entry.target.partition(":")[0])


if __name__ == "__main__":
    asyncio.run(main())
