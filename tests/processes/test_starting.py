"""Start hooks that fail, background services that die, clocks that are wrong."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.processes.harness import Site, kill
from tests.servers import PrivateServer

pytestmark = pytest.mark.processes

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


def test_a_start_hook_that_fails(site: Site) -> None:
    """A worker whose start hook fails takes no job, says so, and tries again."""
    for number in range(2):
        (site.folder / f"fail-start-{number}").touch()
    job = site.submit("nap")
    worker = site.start(wait=False)
    site.until(lambda: len(list(site.folder.glob("fail-start-*"))) == 1, "the first failure", 60)
    assert worker.row is None and site.client.get(job).attempt == 0
    site.until(lambda: not list(site.folder.glob("fail-start-*")), "the second failure")
    assert worker.row is None and site.client.get(job).attempt == 0
    (ended,) = site.ended(job)
    assert (ended.status, ended.attempt) == ("completed", 1)
    assert site.logs().count("a start hook failed") == 2


def test_a_worker_that_cannot_start_can_be_stopped(site: Site) -> None:
    for number in range(9):
        (site.folder / f"fail-start-{number}").touch()
    worker = site.start(wait=False)
    site.until(lambda: len(list(site.folder.glob("fail-start-*"))) < 8, "two failures", 60)
    kill(worker.popen.pid, number=signal.SIGTERM)
    assert worker.wait(15) == 0
    assert worker.row is None


def test_a_supervisor_outlives_a_start_that_fails(site: Site, pg: PrivateServer) -> None:
    """The worker dies while the database takes no connections: it is started again until it can work."""
    worker = site.start()
    job, before = site.submit("hold"), worker.id
    site.began(job)
    with psycopg.connect(pg.dsn_of("postgres"), autocommit=True) as admin:
        name = site.sql.db.info.dbname
        admin.execute(f"alter database {name} allow_connections false".encode())
        worker.kill_worker()
        site.until(lambda: "not currently accepting connections" in site.logs(), "a start that fails")
        admin.execute(f"alter database {name} allow_connections true".encode())
    site.until(lambda: worker.id > before and worker.ready(), "another start")
    site.open("go")
    (ended,) = site.completed(job)
    assert (ended.attempt, ended.tries_used) == (2, 0)


def test_a_service_that_dies_is_restarted(site: Site) -> None:
    """And shows in the health of its application."""
    site.start_inside(LANEWORK_NOTIFY="off", plant="failing_poller")
    site.until(lambda: poller(site)["restarts"] >= 3, "three restarts")
    (ended,) = site.ended(site.submit("nap"), seconds=10)
    assert ended.status == "completed"
    site.until(lambda: poller(site)["state"] == "running", "the poller to run again")
    assert poller(site)["error"] == "RuntimeError: planted: the poller dies"


def poller(site: Site) -> dict[str, Any]:
    file = site.folder / "health.json"
    here = json.loads(file.read_text())["here"] if file.exists() else []
    found: list[dict[str, Any]] = [one for worker in here for one in worker["services"] if one["name"] == "poller"]
    return found[0] if found else {"restarts": 0, "state": "none"}


@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed (Debian: apt install faketime)")
def test_clocks_of_workers_do_not_matter(site: Site) -> None:
    """Promise 20: one worker's clock is an hour slow, another's an hour fast, beside one that is right."""
    site.start("right", wait=False)
    for name, skew in (("slow", "-1h"), ("fast", "+1h")):
        site.lane(name, *(f"writer_{letter}" for letter in ("ab" if name == "slow" else "c")))
        site.start(name, lanes=["work", name], **skewed(skew))
    before = site.sql.one("select lanework.now()")
    site.open("attempt-1")  # no body may sleep: libfaketime 0.9.10 and `time.sleep` do not go together
    ids = [site.submit(type) for type in ("nap", "nap_thread", "nap_process") for _ in range(6)]
    again = [site.submit("once_broken", failures=2) for _ in range(4)]
    written = [site.submit(f"writer_{letter}") for letter in "abc"]
    ended = site.completed(*ids, *again, *written, seconds=30)
    assert {(one.attempt, one.tries_used) for one in ended} == {(1, 0), (3, 2)}
    assert site.sql.rows("select name, ended_because from lanework.workers where state <> 'active'") == []
    stamps = {"jobs_done": ("claimed_at", "finished_at"), "logs": ("at",), "progress": ("at",), "workers": ("seen_at",)}
    for table, column in ((table, column) for table, columns in stamps.items() for column in columns):
        wrong = f"select count(*) from lanework.{table} where {column} not between %s and lanework.now()"
        assert site.sql.one(wrong, before) == 0, (table, column)
    site.beats_past_expiry(site.sql.one("select id from lanework.workers where name = 'slow'"))
    assert site.sql.rows("select name, ended_because from lanework.workers where state <> 'active'") == []


def skewed(by: str) -> dict[str, Any]:
    preload = ":".join(filter(None, [str(FAKETIME), os.environ.get("LD_PRELOAD", "")]))
    return {"LD_PRELOAD": preload, "FAKETIME": by, "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
