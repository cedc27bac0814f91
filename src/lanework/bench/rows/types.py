"""Claim time with 1, 15 and 1,000 job types in the lane."""

from __future__ import annotations

from lanework import Lanework
from lanework.bench.claimer import Claimer
from lanework.bench.context import Bench
from lanework.bench.jobs import declare_types
from lanework.bench.report import Line, Section

COUNTS, BATCH = (1, 15, 1000), 100


def measure(bench: Bench) -> list[Section]:
    times = {count: _claim_ms(bench, count) for count in COUNTS}
    lines = [
        Line(f"{count:,} types", f"claim_{count}_types_ms", ms, "ms", *_against(count, ms, times[1])) for count, ms in times.items()
    ]
    return [Section(f"A claim of {BATCH} jobs, all types with jobs waiting (× = against one type)", lines)]


def _against(count: int, ms: float, one: float) -> tuple[float | None, str | None]:
    return (None, None) if count == 1 else (ms / one, f"types_ratio_{count}")


def _claim_ms(bench: Bench, types: int) -> float:
    """Every type has the same number of jobs waiting, and jobs enough for all the claims."""
    jobs_each = (bench.sizes.claims + 2) * BATCH // types + 1
    with bench.server.fresh() as dsn, Lanework(dsn) as app:
        declared = declare_types(app, types)
        app.lanes.create("types", max_slots=10_000)
        for job in declared:
            job.submit_many([(i,) for i in range(jobs_each)])
        claimer = Claimer(dsn, "types")
        try:
            return claimer.median_ms(bench.sizes.claims, BATCH)
        finally:
            claimer.close()
