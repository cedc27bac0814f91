"""What one worker process costs the database: connections while it works, transactions while it waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg

from lanework.bench.context import Bench
from lanework.bench.ours import fill, opened
from lanework.bench.report import Limit, Line, Section
from lanework.bench.server import Server
from lanework.bench.worker import wait_finished, worker

LANES = ("bench", "threads", "children")
COUNT = "select count(*) from pg_stat_activity where datname = %s and application_name <> 'bench'"
COMMITS = "select xact_commit + xact_rollback from pg_stat_database where datname = %s"
SETTLE = 12
"""Seconds until a backend that went idle has reported what it did before."""


def measure(bench: Bench) -> list[Section]:
    with bench.server.fresh() as dsn:
        database = urlsplit(dsn).path.lstrip("/")
        with opened(dsn) as app:  # closed again before anybody counts
            last = max(fill(job, 200)[1] for job in (app.noop, app.thread, app.process))
        with worker(dsn, *LANES) as process:
            connections = Peak(bench.server, database)
            with connections:
                wait_finished(dsn, last, process)
                time.sleep(SETTLE)
            queries = _rate(bench.server, database, bench.sizes.idle_seconds)
    lines = [
        Line("queries a second while idle", "idle_queries_per_s", queries, "/s", limit=Limit("<", 1)),
        Line("connections at most", "connections", connections.most, limit=Limit("≤", 6)),
    ]
    return [Section("One worker process, three lanes, default settings", lines)]


def _rate(server: Server, database: str, seconds: float) -> float:
    """Transactions that ended there a second. We look from another database, so none of them is ours; and autovacuum, whose
    transactions would count too, pauses meanwhile."""
    with server.admin() as admin, _without_autovacuum(admin):
        before, start = admin.execute(COMMITS, [database]).fetchall()[0][0], time.monotonic()
        time.sleep(seconds)
        admin.execute("select pg_stat_clear_snapshot()")
        after, end = admin.execute(COMMITS, [database]).fetchall()[0][0], time.monotonic()
    return float((after - before) / (end - start))


@contextmanager
def _without_autovacuum(admin: psycopg.Connection[Any]) -> Iterator[None]:
    admin.execute("alter system set autovacuum = off")
    admin.execute("select pg_reload_conf()")
    time.sleep(2)
    try:
        yield
    finally:
        admin.execute("alter system reset autovacuum")
        admin.execute("select pg_reload_conf()")


class Peak:
    """The most connections seen, looked at every 20 ms."""

    def __init__(self, server: Server, database: str) -> None:
        self.most = 0
        self._server, self._database = server, database
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        with self._server.admin() as admin:
            while not self._stop.wait(0.02):
                self.most = max(self.most, admin.execute(COUNT, [self._database]).fetchall()[0][0])
