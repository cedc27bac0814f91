"""Permits and rates: what one costs, how fast a process passes it on, how fast it is handed from process to process."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from lanework import Lanework
from lanework.bench.context import Bench
from lanework.bench.report import Limit, Line, Section

COST = Limit("<", 2)
THREADS = 8


def measure(bench: Bench) -> list[Section]:
    count = bench.sizes.steps
    with bench.server.fresh() as dsn, Lanework(dsn) as app, Lanework(dsn) as other:
        alone = _alone(app, count)
        passed = _passed_on(app, count)
        handed = _handed_over(app, other, max(count // 4, 50))
        taken = _rate(app, count * 4)
    return [
        Section("Permits and rates", [
            Line("acquire and release, nobody else: p50", "permit_p50_ms", statistics.median(alone), "ms", limit=COST),
            Line("the same: p99", "permit_p99_ms", statistics.quantiles(alone, n=100)[98], "ms"),
            Line(f"one permit passed on among {THREADS} threads of a process", "permit_passed_per_s", passed, "/s"),
            Line("one permit between two processes' pools", "permit_handed_per_s", handed, "/s"),
            Line(f"takes of a rate, {THREADS} threads", "rate_takes_per_s", taken, "/s"),
        ])
    ]  # fmt: skip


def _alone(app: Lanework, count: int) -> list[float]:
    with app.permit("bench"):
        pass
    times = []
    for _ in range(count):
        start = time.perf_counter()
        with app.permit("bench"):
            pass
        times.append((time.perf_counter() - start) * 1000)
    return times


def _passed_on(app: Lanework, count: int) -> float:
    def use(_: int) -> None:
        with app.permit("bench", wait=60):
            pass

    start = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(use, range(count)))
    return count / (time.perf_counter() - start)


def _handed_over(app: Lanework, other: Lanework, count: int) -> float:
    """Both want it all the time; each gives way after a second, so most is passed on within one of them."""

    def use(n: int) -> None:
        with (app, other)[n % 2].permit("shared", wait=60):
            pass

    start = time.perf_counter()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(count)))
    return count / (time.perf_counter() - start)


def _rate(app: Lanework, count: int) -> float:
    rate = app.rate("bench", requests=60_000_000, tokens=6_000_000_000)
    rate.take()
    start = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda _: rate.take(tokens=100), range(count)))
    return count / (time.perf_counter() - start)
