"""Lanework as a contestant: fill from this process, drain and pick up by one `lanework worker` process."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version

from lanework import Job, Lanework
from lanework.bench.jobs import LANES, Jobs, declare
from lanework.bench.peer import Run
from lanework.bench.worker import rate, wait_finished, worker


@contextmanager
def opened(dsn: str) -> Iterator[Jobs]:
    """The bench's application on a fresh database, its lanes made."""
    with Lanework(dsn) as app:
        jobs = declare(app)
        for name, slots in LANES.items():
            app.lanes.create(name, max_slots=slots)
        yield jobs


def run(dsn: str, jobs: int, pings: int) -> Run:
    with opened(dsn) as app:
        enqueue_per_s, last = fill(app.noop, jobs)
        with worker(dsn, "bench") as process:
            wait_finished(dsn, last, process)
            delays = pickup(app, pings) if pings else []
        p50, p99 = quantiles(delays)
    return Run(enqueue_per_s, rate(dsn, "noop"), p50, p99, version("lanework"))


def fill(job: Job[[int], None], count: int) -> tuple[float, int]:
    """Submit in one call; jobs a second, and the id of the last one."""
    start = time.perf_counter()
    handles = job.submit_many([(i,) for i in range(count)])
    return count / (time.perf_counter() - start), handles[-1].id


def pickup(app: Jobs, pings: int) -> list[float]:
    """Milliseconds from before the call of `submit` to the start of the handler, in another process."""
    time.sleep(0.5)
    handles = []
    for _ in range(pings):
        handles.append(app.ping.submit(time.time()))
        time.sleep(random.uniform(0.01, 0.03))  # noqa: S311 - spacing, not secrecy
    return [handle.result(timeout=30) for handle in handles]


def quantiles(delays: Sequence[float]) -> tuple[float | None, float | None]:
    if not delays:
        return None, None
    cuts = statistics.quantiles(delays, n=100, method="inclusive")
    return cuts[49], cuts[98]
