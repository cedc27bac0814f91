"""Jobs submitted from plain SQL (plain_sql.sql), worked by Python."""

import asyncio
import os
from pathlib import Path

import psycopg

from lanework import Context, Handle, Lanework, embedded

DSN = os.environ.get("LANEWORK_DSN") or embedded.acquire().dsn
app = Lanework(DSN)


@app.job()
async def index_document(ctx: Context, document: int) -> str:
    return f"document {document} indexed"


def somebody_elses_client() -> int:
    script = Path(__file__).with_suffix(".sql").read_bytes()
    with psycopg.connect(DSN, autocommit=True) as connection:
        cursor = connection.execute(script)
        while cursor.nextset():
            pass  # the last statement answers with the job's id
        return int(cursor.fetchall()[0][0])


async def main() -> None:
    async with app, app.worker():  # the worker's start has made the type known to the database
        job = Handle[str](app, await asyncio.to_thread(somebody_elses_client))
        print(await job.aresult(timeout=60))
        print(len(await app.alist(type="index_document")), "job in all")


if __name__ == "__main__":
    asyncio.run(main())
