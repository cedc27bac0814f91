"""Drain while somebody's transaction holds a snapshot, so that no dead row can be cleared, against a clean drain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import psycopg

from lanework.bench.context import Bench
from lanework.bench.ours import fill, opened
from lanework.bench.report import Limit, Line, Section
from lanework.bench.worker import rate, wait_finished, worker


def measure(bench: Bench) -> list[Section]:
    jobs = bench.sizes.snapshot_jobs
    clean, held = 0.0, 0.0
    for number in range(bench.sizes.snapshot_rounds):
        if number and bench.late():
            break
        clean = max(clean, _drain(bench, jobs, hold=False))
        held = max(held, _drain(bench, jobs, hold=True))
    lines = [
        Line("clean", "snapshot_clean_per_s", clean, "/s"),
        Line("snapshot held", "snapshot_held_per_s", held, "/s", held / clean, "snapshot_ratio", Limit("≥", 0.8)),
    ]
    return [Section(f"Drain of {jobs:,} jobs (× = against clean)", lines)]


def _drain(bench: Bench, jobs: int, *, hold: bool) -> float:
    with bench.server.fresh() as dsn, opened(dsn) as app:
        _, last = fill(app.noop, jobs)
        with _held(dsn) if hold else nullcontext(), worker(dsn, "bench") as process:
            wait_finished(dsn, last, process)
        return rate(dsn, "noop")


@contextmanager
def _held(dsn: str) -> Iterator[None]:
    """A repeatable-read transaction with a snapshot and a transaction id of its own."""
    with psycopg.connect(dsn, application_name="bench") as db:
        db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        db.execute("select pg_current_xact_id()")
        yield
        db.rollback()
