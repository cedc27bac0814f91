"""Effects in the same database, exactly once: `ctx.transact` and `tx.finish`. The job is killed between the two, and after both.

A block without `finish` is in here, too: it is atomic, but it runs again if the job does.
"""

import asyncio
import os
import signal
from typing import Any

import psycopg

from lanework import Context, Lanework, embedded
from lanework.outcomes import Finished

DSN = os.environ.get("LANEWORK_DSN") or embedded.acquire().dsn
app = Lanework(DSN)


def book(db: psycopg.Connection[Any], account: str, cents: int) -> int:
    """Plain psycopg. The step's row is part of the same commit."""
    row = db.execute("insert into bookings values (%s, %s) returning cents", [account, cents]).fetchone()
    assert row is not None
    return int(row[0])


@app.job(executor="process")
def pay(ctx: Context, account: str, cents: int) -> int | Finished:
    booked = ctx.transact("book", book, account, cents)
    with ctx.transaction() as tx:
        tx.execute("insert into notes values (%s)", [f"attempt {ctx.attempt} was here"])  # no finish: once per attempt
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    with ctx.transaction() as tx:
        tx.execute("insert into receipts values (%s, %s)", [account, booked])
        return tx.finish(booked)  # the receipt and `completed` are one commit


async def main() -> None:
    with psycopg.connect(DSN, autocommit=True) as db:
        db.execute("create table if not exists bookings (account text, cents int)")
        db.execute("create table if not exists receipts (account text, cents int)")
        db.execute("create table if not exists notes (text text)")
    async with app, app.worker():
        job = await pay.asubmit("ada", 500)
        print(await job.aresult(timeout=60), "cents after", (await job.ainfo()).attempt, "attempts")
    with psycopg.connect(DSN) as db:
        for table in ("bookings", "receipts", "notes"):
            print(table, db.execute(f"select * from {table} order by 1").fetchall())


if __name__ == "__main__":
    asyncio.run(main())
