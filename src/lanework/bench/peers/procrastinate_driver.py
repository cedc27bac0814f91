"""procrastinate in its fastest documented configuration: psycopg pool, batch defer, 20 concurrent jobs.

procrastinate_driver.py DSN JOBS PINGS     fill, drain, pick up; prints one JSON line
procrastinate_driver.py DSN submit PINGS   the other process of the pickup measurement
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

import procrastinate
import uvloop

DEFER, CONCURRENCY = 1000, 20


async def fill(noop: Any, jobs: int) -> float:
    start = time.perf_counter()
    for first in range(0, jobs, DEFER):
        await noop.batch_defer_async(*({"i": i} for i in range(first, min(jobs, first + DEFER))))
    return jobs / (time.perf_counter() - start)


async def drain(app: Any, starts: list[float], jobs: int) -> float:
    """From the first handler's start until its worker has caught up; it stores each finish before the next fetch."""
    await app.run_worker_async(queues=["noop"], concurrency=CONCURRENCY, wait=False, install_signal_handlers=False)
    if len(starts) != jobs:
        raise SystemExit(f"procrastinate ran {len(starts)} of {jobs} jobs")
    return jobs / (time.perf_counter() - starts[0])


async def pickup(app: Any, dsn: str, delays: list[float], seen: asyncio.Event, pings: int) -> dict[str, float]:
    worker = app.run_worker_async(queues=["ping"], concurrency=CONCURRENCY, install_signal_handlers=False)
    running = asyncio.create_task(worker)
    await asyncio.sleep(0.5)
    await asyncio.create_subprocess_exec(sys.executable, __file__, dsn, "submit", str(pings))
    await seen.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    cuts = statistics.quantiles(delays, n=100, method="inclusive")
    return {"pickup_p50_ms": cuts[49], "pickup_p99_ms": cuts[98]}


async def submit(ping: Any, pings: int) -> None:
    for _ in range(pings):
        await ping.defer_async(sent=time.time())
        await asyncio.sleep(random.uniform(0.01, 0.03))  # noqa: S311 - spacing, not secrecy


async def main(dsn: str, jobs: str, pings: int) -> None:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn, max_size=CONCURRENCY))
    starts, delays, seen = list[float](), list[float](), asyncio.Event()

    async def noop(i: int) -> None:
        starts.append(time.perf_counter())

    async def ping(sent: float) -> None:
        delays.append((time.time() - sent) * 1000)
        if len(delays) == pings:
            seen.set()

    noop_task, ping_task = (app.task(name=f.__name__, queue=f.__name__)(f) for f in (noop, ping))
    async with app.open_async():
        if jobs == "submit":
            return await submit(ping_task, pings)
        await app.schema_manager.apply_schema_async()
        figures = {"enqueue_per_s": await fill(noop_task, int(jobs))}
        figures["drain_per_s"] = await drain(app, starts, int(jobs))
        figures |= await pickup(app, dsn, delays, seen, pings) if pings else {}
    sys.stdout.write(json.dumps({"version": version("procrastinate"), **figures}) + "\n")
    return None


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
