"""What the engine adds to a `thread` job and to a `process` job that do nothing."""

from __future__ import annotations

from lanework import Job
from lanework.bench.context import Bench
from lanework.bench.jobs import LANES
from lanework.bench.ours import fill, opened
from lanework.bench.report import Line, Section
from lanework.bench.worker import median_ms, rate, wait_finished, worker

SINGLES = 200


def measure(bench: Bench) -> list[Section]:
    lines = [*_pool(bench, "thread", "threads", bench.sizes.thread_jobs)]
    lines += _pool(bench, "process", "children", bench.sizes.process_jobs)
    return [Section("Overhead of an executor, no-op jobs in one worker process", lines)]


def _pool(bench: Bench, kind: str, lane: str, count: int) -> list[Line]:
    with bench.server.fresh() as dsn, opened(dsn) as app:
        many: Job[[int], None] = getattr(app, kind)
        alone: Job[[int], None] = getattr(app, f"one_{kind}")
        lanes = (lane, f"one_{'thread' if kind == 'thread' else 'child'}")
        _work(dsn, many, count, lanes[0])
        _work(dsn, alone, SINGLES, lanes[1])
        return [
            Line(f"{kind}, {LANES[lane]} slots", f"{kind}_per_s", rate(dsn, kind), "/s"),
            Line(f"{kind}, one slot: claim to stored finish", f"{kind}_ms", median_ms(dsn, f"one_{kind}"), "ms"),
        ]


def _work(dsn: str, job: Job[[int], None], count: int, lane: str) -> None:
    _, last = fill(job, count)
    with worker(dsn, lane) as process:
        wait_finished(dsn, last, process)
