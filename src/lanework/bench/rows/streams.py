"""Open streams: what one costs, and how fast events reach them all. A real server process, one client with all the connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import psycopg

from lanework.bench import sse
from lanework.bench.context import Bench
from lanework.bench.http import Api, missing, more_files, serving
from lanework.bench.ours import opened
from lanework.bench.report import Line, Section
from lanework.bench.worker import worker

PATIENCE = 240
TOLD = 200
AT_ONCE = 100
CONNECTIONS = "select count(*) from pg_stat_activity where datname = current_database() and application_name <> 'bench'"


def measure(bench: Bench) -> list[Section]:
    if reason := missing(wrk=False):
        return [Section("Open streams", [Line("streams", "stream_kb", None, reason=reason)])]
    count = min(bench.sizes.streams, more_files() - 200)
    with bench.server.fresh() as dsn, opened(dsn) as app, serving(dsn) as api:
        jobs = [handle.id for handle in app.chatty.submit_many([()] * count)]
        of_jobs = asyncio.run(_of_jobs(dsn, api, jobs))
    with bench.server.fresh() as dsn, opened(dsn), serving(dsn) as api:
        of_all = asyncio.run(_of_all(dsn, api, count))
    return [Section(f"{count:,} open streams, one process", of_jobs + of_all)]


async def _opened(api: Api, paths: list[str]) -> tuple[list[sse.Stream], float, float]:
    """The streams, how many were opened a second, and kilobytes of memory for each."""
    (await sse.follow(api.port, paths[0])).close()
    before, start = api.rss_kb(), time.perf_counter()
    streams: list[sse.Stream] = []
    for at in range(0, len(paths), AT_ONCE):
        streams += await asyncio.gather(*(sse.follow(api.port, path) for path in paths[at : at + AT_ONCE]))
    return streams, len(paths) / (time.perf_counter() - start), (api.rss_kb() - before) / len(paths)


async def _of_jobs(dsn: str, api: Api, jobs: list[int]) -> list[Line]:
    """Each follows a job of its own; then a worker runs them all."""
    streams, opened_per_s, each = await _opened(api, [f"/jobs/{job}/stream" for job in jobs])
    seen = 0
    first = 0.0

    async def follow(stream: sse.Stream) -> None:
        nonlocal seen, first
        async for message in stream:
            seen += 1
            if message.kind == "started":
                first = first or time.perf_counter()

    with psycopg.connect(dsn, autocommit=True, application_name="bench") as db:
        held = db.execute(CONNECTIONS).fetchall()[0][0]
    with worker(dsn, "inside"):
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(follow(stream) for stream in streams))
        seconds = time.perf_counter() - first
    return [
        Line("a job's stream: memory", "stream_kb", each, "KB"),
        Line("opened a second", "streams_opened_per_s", opened_per_s, "/s"),
        Line("connections to the database meanwhile", "streams_connections", held),
        Line("events of jobs that run, to their streams", "job_events_per_s", seen / seconds, "/s"),
        Line("the server's memory after all of it", "streams_rss_mb", api.rss_kb() / 1024, "MB"),
    ]


async def _of_all(dsn: str, api: Api, count: int) -> list[Line]:
    """All follow everything; then some events are told."""
    streams, _, each = await _opened(api, ["/events?topic=bench"] * count)
    start = time.perf_counter()
    await asyncio.to_thread(_tell, dsn)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(_take(stream, lambda message: message.data["data"]["n"] == TOLD) for stream in streams))
    seconds = time.perf_counter() - start
    line = Line("one event to all streams of /events", "fan_out_events_per_s", count * TOLD / seconds, "/s")
    memory = Line("a stream of /events: memory", "events_stream_kb", each, "KB")
    return [memory, line, await _storm(dsn, api, streams)]


async def _storm(dsn: str, api: Api, streams: list[sse.Stream]) -> Line:
    """All connections break at once; each comes back, and gets what was told meanwhile."""
    places = [stream.last_id for stream in streams]
    for stream in streams:
        stream.close()
    await asyncio.to_thread(_tell, dsn)
    start = time.perf_counter()
    again = await asyncio.gather(*(sse.follow(api.port, "/events?topic=bench", after=place) for place in places))
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(_all_of_them(stream) for stream in again))
    seconds = time.perf_counter() - start
    for stream in again:
        stream.close()
    await asyncio.sleep(0.2)
    return Line("all come back at once: until each has what it missed", "storm_s", seconds, "s")


async def _all_of_them(stream: sse.Stream) -> None:
    for n in range(1, TOLD + 1):
        message = await anext(stream)
        if message.data["data"]["n"] != n:
            raise RuntimeError(f"expected event {n}, got {message.data}")


async def _take(stream: sse.Stream, last: Callable[[sse.Message], bool]) -> None:
    async for message in stream:
        if last(message):
            return
    raise RuntimeError("a stream was dropped")


def _tell(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True, application_name="bench") as db:
        for n in range(1, TOLD + 1):
            db.execute("select lanework.tell('bench', 'told', null, jsonb_build_object('n', %s::int))", [n])
        db.execute("select lanework.hint_events()")
