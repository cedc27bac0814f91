"""`GET /jobs/{id}` and `POST /jobs` by wrk, beside a bare FastAPI route with one query: lanes idle, then full."""

from __future__ import annotations

import statistics
import tempfile
import time

from lanework.bench.context import Bench
from lanework.bench.http import POST, Api, Wrk, missing, serving, wrk
from lanework.bench.jobs import LANES, Jobs
from lanework.bench.ours import opened
from lanework.bench.report import Limit, Line, Section, ratio
from lanework.bench.worker import worker

TITLE = "HTTP, one process, 8 connections"
DOUBLE = Limit("<", 2)
#: The lanes of the worker that runs beside it: 2,000 async jobs and 32 threads that wait, as for a model, and as many
#: processes that compute as there are cores.
FULL = ("bench", "threads", "children")
Figures = dict[str, Wrk]


def measure(bench: Bench) -> list[Section]:
    if reason := missing(wrk=True):
        return [Section(TITLE, [Line("HTTP", "get_p95_ms", None, reason=reason)])]
    with bench.server.fresh() as dsn, opened(dsn) as app, serving(dsn) as api, tempfile.TemporaryDirectory() as folder:
        job = app.noop.options(priority=-1000).submit(1).id
        idle = _figures(bench, api, job, folder)
        _fill(app, seconds=8 + 3 * bench.sizes.wrk_rounds * (bench.sizes.wrk_seconds + 0.5))
        with worker(dsn, *FULL):
            _wait_full(app)
            full = _figures(bench, api, job, folder)
    return [Section(TITLE, [*_lines("idle", idle), *_lines("lanes full", full), *_beside(idle, full)])]


def _figures(bench: Bench, api: Api, job: int, folder: str) -> Figures:
    """The routes in turn, so that a noisy machine disturbs all alike; the median round of each."""
    wanted = {"bare": (f"/bare/{job}", ""), "get": (f"/jobs/{job}", ""), "post": ("/jobs", POST)}
    runs: dict[str, list[Wrk]] = {name: [] for name in wanted}
    for _ in range(bench.sizes.wrk_rounds):
        for name, (path, setup) in wanted.items():
            runs[name].append(wrk(api.url(path), bench.sizes.wrk_seconds, folder, setup))
    return {name: _median(found) for name, found in runs.items()}


def _median(runs: list[Wrk]) -> Wrk:
    if bad := sum(run.errors for run in runs):
        raise RuntimeError(f"{bad} requests were not answered well")
    middle = statistics.median
    return Wrk(middle(run.per_s for run in runs), middle(run.p50_ms for run in runs), middle(run.p95_ms for run in runs), 0)


def _fill(app: Jobs, seconds: float) -> None:
    """As many as there are slots, and as many again that wait for one."""
    app.hold.options(priority=10).submit_many([(seconds,)] * 2 * LANES["bench"])
    app.hold_thread.options(priority=10).submit_many([(seconds,)] * 2 * LANES["threads"])
    app.burn.options(priority=10).submit_many([(seconds,)] * 2 * LANES["children"])


def _wait_full(app: Jobs) -> None:
    until = time.monotonic() + 60
    for lane in FULL:
        while sum(1 for _ in app.app.list(lane=lane, status="running", limit=1000)) < min(LANES[lane], 1000):
            if time.monotonic() > until:
                raise TimeoutError(f"lane {lane} did not fill")
            time.sleep(0.2)


def _lines(when: str, found: Figures) -> list[Line]:
    mark = "" if when == "idle" else "full_"
    bare = found["bare"]
    names = {"get": "GET /jobs/{id}", "post": "POST /jobs"}
    lines = [
        Line(f"bare route with one query, {when}", f"{mark}bare_per_s", bare.per_s, "/s"),
        Line("  p95", f"{mark}bare_p95_ms", bare.p95_ms, "ms"),
    ]
    for key, label in names.items():
        one = found[key]
        beside = ratio(one.per_s, bare.per_s)
        lines.append(Line(f"{label}, {when}", f"{mark}{key}_per_s", one.per_s, "/s", beside, f"{mark}{key}_ratio_bare"))
        lines.append(Line("  p95", f"{mark}{key}_p95_ms", one.p95_ms, "ms"))
    return lines


def _beside(idle: Figures, full: Figures) -> list[Line]:
    grown = ratio(full["get"].p95_ms, idle["get"].p95_ms)
    return [Line("p95 of a GET, full beside idle", "get_p95_full_ms", full["get"].p95_ms, "ms", grown, "get_p95_ratio", DOUBLE)]
