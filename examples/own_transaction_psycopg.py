"""Submit inside your own psycopg transaction, sync and async: the job exists if and only if it commits."""

import asyncio
import os

import psycopg

from lanework import Context, Handle, JobNotFound, Lanework, embedded

DSN = os.environ.get("LANEWORK_DSN") or embedded.acquire().dsn
app = Lanework(DSN)


@app.job()
def send_invoice(ctx: Context, order: int) -> str:
    return f"invoice for order {order}"


def place_order(order: int) -> Handle[str]:
    with psycopg.connect(DSN) as connection, connection.transaction():
        connection.execute("create table if not exists orders (id int)")
        connection.execute("insert into orders values (%s)", [order])
        return send_invoice.options(connection=connection).submit(order)


def change_my_mind(order: int) -> Handle[str]:
    with psycopg.connect(DSN) as connection, connection.transaction(force_rollback=True):
        connection.execute("insert into orders values (%s)", [order])
        return send_invoice.options(connection=connection).submit(order)


async def place_order_async(order: int) -> Handle[str]:
    async with await psycopg.AsyncConnection.connect(DSN) as connection, connection.transaction():
        await connection.execute("insert into orders values (%s)", [order])
        return await send_invoice.options(connection=connection).asubmit(order)


async def main() -> None:
    async with app, app.worker():
        jobs = [await asyncio.to_thread(place_order, 1), await place_order_async(2)]
        print([await job.aresult(timeout=60) for job in jobs])
        try:
            await (await asyncio.to_thread(change_my_mind, 3)).ainfo()
        except JobNotFound as error:
            print(f"{error.code}: rolled back, so there never was a job")


if __name__ == "__main__":
    asyncio.run(main())
