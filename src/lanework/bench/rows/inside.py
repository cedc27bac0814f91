"""What a job does from the inside: a stored step, a fan-out with its join, and what an ordered key adds to a job."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from lanework import Job
from lanework.bench.context import Bench
from lanework.bench.ours import opened
from lanework.bench.report import Limit, Line, Section
from lanework.bench.worker import rate, wait_finished, worker

STEP, JOIN, ORDERED = Limit("≤", 1.5), Limit("≤", 10), Limit("≤", 1.3)
#: More sessions than slots: a lane that waits for its sessions would measure them and not their cost.
SESSIONS = 2000
PATIENCE = 240


def measure(bench: Bench) -> list[Section]:
    return [Section("Inside a job, one worker process", [*_steps(bench), _children(bench), *_ordered(bench)])]


def _steps(bench: Bench) -> list[Line]:
    with bench.server.fresh() as dsn, opened(dsn) as app, worker(dsn, "inside"):
        each: dict[str, Job[[int], float]] = {"async": app.steps, "thread": app.thread_steps}
        times = {kind: job.submit(bench.sizes.steps).result(timeout=PATIENCE) for kind, job in each.items()}
        bare = _commit_ms(dsn, bench.sizes.steps)
    return [
        Line("a stored step, async: p50", "step_p50_ms", times["async"], "ms", limit=STEP),
        Line("a stored step, thread: p50", "step_thread_p50_ms", times["thread"], "ms"),
        Line("for comparison: one row and its commit", "commit_p50_ms", bare, "ms"),
    ]


def _commit_ms(dsn: str, count: int) -> float:
    """What the disk asks for a commit that must be durable: no step can cost less."""
    with psycopg.connect(dsn, autocommit=True, application_name="bench") as db:
        db.execute("create table bare (key text primary key, result jsonb)")
        times = []
        for i in range(count):
            start = time.perf_counter()
            db.execute("insert into bare values (%s, '1')", [f"step-{i}"])
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def _children(bench: Bench) -> Line:
    """From the parent's submit to its stored end, by the database's clock."""
    with bench.server.fresh() as dsn, opened(dsn) as app, worker(dsn, "bench", "inside"):
        info = app.family.submit(bench.sizes.children).wait(timeout=PATIENCE)
    assert info.finished_at is not None and info.result == bench.sizes.children, f"the family ended as {info.status}"
    seconds = (info.finished_at - info.created_at).total_seconds()
    return Line(f"fan-out and join of {bench.sizes.children:,} children", "fan_out_s", seconds, "s", limit=JOIN)


def _ordered(bench: Bench) -> list[Line]:
    """Pairs of a plain and an ordered run, one right after the other, each first in every second pair: what else the machine does
    slows both. The median pair counts."""
    pairs: list[tuple[Cost, Cost]] = []
    while len(pairs) < bench.sizes.pairs and not (pairs and bench.late()):
        runs = {sessions: _cost(bench, sessions) for sessions in (None, SESSIONS)[:: 1 if len(pairs) % 2 else -1]}
        pairs.append((runs[None], runs[SESSIONS]))
    plain, ordered = (Cost.median(of) for of in zip(*pairs, strict=True))
    count = f"{bench.sizes.ordered_jobs:,} jobs"
    keyed = f"{count} in {SESSIONS:,} sessions"
    drain = statistics.median(two.drain / one.drain for one, two in pairs)
    life = statistics.median(two.life / one.life for one, two in pairs)
    return [
        Line(f"{count}, plain: submit to finish", "plain_job_us", plain.life, "µs"),
        Line(f"{keyed}: the same", "ordered_job_us", ordered.life, "µs", life, "ordered_cost_ratio", ORDERED),
        Line(f"{count}, plain: drain alone", "plain_drain_us", plain.drain, "µs"),
        Line(f"{keyed}: the same", "ordered_drain_us", ordered.drain, "µs", drain, "ordered_drain_ratio"),
    ]


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds a job: of its drain, and of its submit and drain."""

    drain: float
    life: float

    @staticmethod
    def median(of: Sequence[Cost]) -> Cost:
        return Cost(statistics.median(one.drain for one in of), statistics.median(one.life for one in of))


def _cost(bench: Bench, sessions: int | None) -> Cost:
    with bench.server.fresh() as dsn, opened(dsn):
        start = time.perf_counter()
        last = _fill(dsn, bench.sizes.ordered_jobs, sessions)
        submit = (time.perf_counter() - start) / bench.sizes.ordered_jobs * 1e6
        with worker(dsn, "bench") as process:
            wait_finished(dsn, last, process)
        drain = 1e6 / rate(dsn, "noop")
        return Cost(drain, submit + drain)


def _fill(dsn: str, count: int, sessions: int | None) -> int:
    """By the function that every single submit calls; then the first of each session is let go, as after a submit."""
    session = "null" if sessions is None else f"'s' || i % {sessions}"
    with psycopg.connect(dsn, autocommit=True, application_name="bench") as db:
        db.execute("select count(*) from lanework.job_types")  # a connection of its own is no part of the cost
        [(last,)] = db.execute(
            f"select max(lanework.enqueue('noop', jsonb_build_object('i', i), session => {session}, hint => false))"  # noqa: S608
            f" from generate_series(1, {count}) i"
        ).fetchall()
        if sessions is not None:
            db.execute(f"select lanework.promote_sessions(array(select 's' || i from generate_series(0, {sessions - 1}) i))")  # noqa: S608
    return int(last)
