"""pgqueuer in its fastest documented configuration: asyncpg, uvloop, batches of 100.

pgqueuer_driver.py DSN JOBS PINGS     fill, drain, pick up; prints one JSON line
pgqueuer_driver.py DSN submit PINGS   the other process of the pickup measurement
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from importlib.metadata import version
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.queries import Queries

ENQUEUE, DEQUEUE = 1000, 100


async def fill(queries: Any, jobs: int) -> float:
    start = time.perf_counter()
    for first in range(0, jobs, ENQUEUE):
        size = min(ENQUEUE, jobs - first)
        payloads = [b'{"i": %d}' % i for i in range(first, first + size)]
        await queries.enqueue(["noop"] * size, payloads, [0] * size)
    return jobs / (time.perf_counter() - start)


async def drain(pool: Any, jobs: int) -> float:
    """From the first handler's start until the last job has left the table: completion is buffered."""
    worker, starts = PgQueuer(AsyncpgPoolDriver(pool)), [0.0]
    done, finished = 0, asyncio.Event()

    async def noop(job: Any) -> None:
        nonlocal done
        starts[0] = starts[0] or time.perf_counter()
        done += 1
        if done == jobs:
            finished.set()

    worker.entrypoint("noop")(noop)
    running = asyncio.create_task(worker.run(batch_size=DEQUEUE))
    await finished.wait()
    while await pool.fetchval("select exists (select from pgqueuer)"):  # noqa: ASYNC110 - the event is a row's end
        await asyncio.sleep(0.005)
    elapsed = time.perf_counter() - starts[0]
    await stop(worker, running)
    return jobs / elapsed


async def pickup(pool: Any, dsn: str, pings: int) -> dict[str, float]:
    worker, delays, finished = PgQueuer(AsyncpgPoolDriver(pool)), list[float](), asyncio.Event()

    async def ping(job: Any) -> None:
        delays.append((time.time() - float(job.payload)) * 1000)
        if len(delays) == pings:
            finished.set()

    worker.entrypoint("ping")(ping)
    running = asyncio.create_task(worker.run(batch_size=DEQUEUE))
    await asyncio.sleep(0.5)
    await asyncio.create_subprocess_exec(sys.executable, __file__, dsn, "submit", str(pings))
    await finished.wait()
    await stop(worker, running)
    cuts = statistics.quantiles(delays, n=100, method="inclusive")
    return {"pickup_p50_ms": cuts[49], "pickup_p99_ms": cuts[98]}


async def stop(worker: Any, running: asyncio.Task[None]) -> None:
    worker.shutdown.set()
    await running


async def submit(queries: Any, pings: int) -> None:
    for _ in range(pings):
        await queries.enqueue("ping", repr(time.time()).encode())
        await asyncio.sleep(random.uniform(0.01, 0.03))  # noqa: S311 - spacing, not secrecy


async def main(dsn: str, jobs: str, pings: int) -> None:
    queries = Queries(AsyncpgDriver(await asyncpg.connect(dsn)))
    if jobs == "submit":
        return await submit(queries, pings)
    await queries.install()
    figures = {"enqueue_per_s": await fill(queries, int(jobs))}
    async with asyncpg.create_pool(dsn, min_size=2, max_size=10) as pool:
        figures["drain_per_s"] = await drain(pool, int(jobs))
    async with asyncpg.create_pool(dsn, min_size=2, max_size=10) as pool:
        figures |= await pickup(pool, dsn, pings) if pings else {}
    sys.stdout.write(json.dumps({"version": version("pgqueuer"), **figures}) + "\n")
    return None


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
