"""Claim time with 1,000 and with 1,000,000 jobs queued."""

from __future__ import annotations

from lanework import Job
from lanework.bench.claimer import Claimer
from lanework.bench.context import Bench
from lanework.bench.ours import opened
from lanework.bench.report import Limit, Line, Section

SMALL, BATCH, CHUNK = 1_000, 100, 100_000


def measure(bench: Bench) -> list[Section]:
    many = bench.sizes.backlog_jobs
    small, large = _claim_ms(bench, SMALL), _claim_ms(bench, many)
    lines = [
        Line(f"{SMALL:,} queued", "claim_small_ms", small, "ms"),
        Line(f"{many:,} queued", "claim_large_ms", large, "ms", large / small, "backlog_ratio", Limit("≤", 2)),
    ]
    return [Section(f"A claim of {BATCH} jobs from a backlog of (median of {bench.sizes.claims})", lines)]


def _claim_ms(bench: Bench, queued: int) -> float:
    with bench.server.fresh() as dsn, opened(dsn) as app:
        for done in range(0, queued, CHUNK):
            _submit(app.noop, min(CHUNK, queued - done))
        claimer = Claimer(dsn, "bench")
        try:
            return claimer.median_ms(bench.sizes.claims, BATCH, refill=lambda: _submit(app.noop, BATCH))
        finally:
            claimer.close()


def _submit(job: Job[[int], None], count: int) -> None:
    job.submit_many([(i,) for i in range(count)])
