"""Promises 1 and 19: PostgreSQL crashes and restarts under load. Nothing acknowledged is lost, and everybody goes on by himself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from lanework import Context, Lanework, LaneworkError
from tests.pace import bound
from tests.processes.database_outage import outage_site
from tests.servers import PrivateServer

pytestmark = pytest.mark.processes
#: Promise 19 says 10 s after the port answers; a busy machine gets twice that.
BOUND_S = 20.0


class Load:
    """Submits from several threads until it is told to stop, and remembers every answer."""

    def __init__(self, dsn: str, threads: int = 4) -> None:
        self.app = Lanework(dsn, notify=False, connect_timeout=2)
        self.acknowledged: list[int] = []
        self.refused = 0
        self._stop = threading.Event()

        @self.app.job("echo")
        def echo(ctx: Context, value: int) -> int:
            return value

        self._echo = echo
        self._threads = [threading.Thread(target=self._run, args=[n]) for n in range(threads)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self.app.close()

    def more(self, count: int) -> None:
        """Waits until so many more are acknowledged."""
        wanted = len(self.acknowledged) + count
        give_up = time.monotonic() + 60
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < give_up, "no submit got through"
            time.sleep(0.01)

    def _run(self, n: int) -> None:
        while not self._stop.is_set():
            try:
                if n % 2:
                    self.acknowledged.append(self._echo.submit(n).id)
                else:
                    self.acknowledged += [one.id for one in self._echo.submit_many([(n,)] * 20)]
            except (LaneworkError, psycopg.Error):
                self.refused += 1
                time.sleep(0.01)


def test_what_was_acknowledged_survives_crashes_of_the_server(private_server: Callable[..., PrivateServer], pg_major: int) -> None:
    # Red with `synchronous_commit = off` for the submits' sessions: some of the last answers before a crash are gone.
    server = private_server(major=pg_major, durable=True)
    with Load(server.dsn) as load:
        load.more(400)
        for how in ("immediate", "kill", "immediate"):
            load.more(200)
            server.kill() if how == "kill" else server.stop(how)
            server.start()
        load.more(200)
    assert load.refused > 0  # they were really in the way
    with psycopg.connect(server.dsn) as db:
        found = {row[0] for row in db.execute("select id from lanework.all_jobs").fetchall()}
    lost = set(load.acknowledged) - found
    assert (len(load.acknowledged) >= 1200, lost) == (True, set())


def test_workers_go_on_by_themselves_after_every_restart(private_server: Callable[..., PrivateServer], tmp_path: Path) -> None:
    # Red with a service's loop that ends at an error of the database.
    server = private_server(durable=True)
    with outage_site(server, tmp_path) as site:
        workers = [site.start_worker(LANEWORK_EXPIRY="20", LANEWORK_FENCE_AFTER="15") for _ in range(2)]
        site.completed(*[site.submit(kind) for kind in ("nap", "nap_thread", "nap_process") for _ in range(4)])
        trees, rows = site.trees(*workers), [one.id for one in workers]
        ids: list[int] = []
        for mode in ("fast", "immediate", "fast", "immediate"):
            ids += [site.submit("nap", seconds=0.2) for _ in range(20)]
            ids += [site.submit("nap_process", seconds=0.2) for _ in range(4)]
            server.stop(mode)
            server.start()
            answered = time.monotonic()
            site.reconnect()
            after = [site.submit(kind) for kind in ("nap", "nap_thread", "nap_process")]
            site.completed(*after, seconds=60)
            assert time.monotonic() - answered < bound(BOUND_S)
            assert site.all_alive(trees)
        ended = site.completed(*ids)
        assert {one.tries_used for one in ended} == {0}
        assert site.all_alive(trees)
        assert [one.id for one in workers] == rows
        assert site.states() == [(one.name, "active") for one in workers]  # and nobody was declared dead
