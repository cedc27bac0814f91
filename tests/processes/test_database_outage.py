"""The database is away for longer than a worker may go without it: it stops its jobs itself, and goes on when it is back."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from lanework._guard.processes import state_of
from tests.processes.database_outage import OutageSite, outage_site
from tests.processes.database_proxy import Proxy
from tests.processes.harness import Note, Process, kill
from tests.servers import PrivateServer

pytestmark = pytest.mark.processes
BEATING = "select count(*) from pg_stat_activity where application_name like 'lanework-%%-guard' and state <> 'idle'"
LEADS_ON = "select count(*) from lanework.leader where worker_id = %s and until > %s"


def test_a_stopped_database_stops_the_jobs_and_nobody_is_expired_when_it_is_back(
    private_server: Callable[..., PrivateServer], tmp_path: Path
) -> None:
    # Red with the fence not passed on to the runs (the bodies go on), and with a release that uses a try.
    server = private_server(durable=True)
    with outage_site(server, tmp_path) as site:
        workers = [site.start_worker() for _ in range(2)]
        rows, trees = [one.id for one in workers], site.trees(*workers)
        ids = [site.submit("watchful", name="later") for _ in range(6)]
        for job in ids:
            site.began(job, 1)
        server.stop("fast")
        for job in ids:  # fence_after is 2 s; expiry, after which others may take them, is 3 s
            site.until(lambda job=job: site.noted(job, "stopped", 1), f"job {job} to be stopped", 20)  # type: ignore[misc]
        server.start()
        site.reconnect()
        site.open("later")
        ended = site.completed(*ids, seconds=40)
        assert [(one.attempt, one.tries_used, one.result) for one in ended] == [(2, 0, 2)] * 6
        site.beats_past_expiry(workers[0].id)
        assert ([one.id for one in workers], site.trees(*workers)) == (rows, trees)
        assert {state for _, state in site.states()} == {"active"}
        assert {one.cause for one in site.client.attempts(ids[0])} == {"its worker lost the database"}


def test_nobody_is_expired_by_the_first_who_is_back(private_server: Callable[..., PrivateServer], tmp_path: Path) -> None:
    # Red with a reaper that asks neither for the server's start nor for its own gap (review 5.9).
    server = private_server(durable=True)
    with outage_site(server, tmp_path) as site:
        patient = {"LANEWORK_EXPIRY": "60", "LANEWORK_FENCE_AFTER": "50", "LANEWORK_LEASE": "0.5"}
        quick, slow = site.start_worker(**patient), site.start_worker(**patient)
        guards = [quick.popen.pid, slow.popen.pid]
        kill(*guards, number=signal.SIGSTOP)
        site.until(lambda: all(state_of(pid) == "T" for pid in guards) and not site.sql.one(BEATING), "the last beats")
        # as after an outage of an hour: everybody was last seen before it
        site.sql.rows("update lanework.workers set seen_at = seen_at - interval '1 h' returning 1")
        server.restart("immediate")
        site.reconnect()
        kill(quick.popen.pid, number=signal.SIGCONT)
        for _ in range(3):  # rounds of the one who is back, each with a look for silent workers
            before = site.sql.one("select until from lanework.leader")
            site.until(lambda: site.sql.one(LEADS_ON, quick.id, before), "its next round")  # noqa: B023
        assert site.states() == [(quick.name, "active"), (slow.name, "active")]
        kill(slow.popen.pid, number=signal.SIGCONT)
        site.completed(*[site.submit("nap") for _ in range(10)])


def test_a_blackhole_fences_the_worker_before_another_one_takes_its_job(
    private_server: Callable[..., PrivateServer], tmp_path: Path
) -> None:
    # Red with the fence not passed on to the runs: both bodies run at once.
    server = private_server()
    with outage_site(server, tmp_path) as site, Proxy(site.dsn) as proxy:
        cut_off = site.start_worker(LANEWORK_DSN=proxy.dsn, LANEWORK_STATEMENT_TIMEOUT="3", LANEWORK_CONNECT_TIMEOUT="2")
        first = cut_off.id
        job = site.submit("watchful", name="later")
        site.began(job, 1)
        other = site.start_worker()
        proxy.blackhole()
        site.submit("nap")  # for whoever is first; its hint, and perhaps a claim, is lost in the hole
        begun = site.began(job, 2, seconds=60)
        stopped = only(site, job, "stopped")
        assert stopped.pid != begun.pid
        assert stopped.at < begun.at  # two bodies of one job never ran at once
        proxy.heal()
        site.open("later")
        (ended,) = site.completed(job)
        assert (ended.attempt, ended.tries_used, ended.worker_id) == (2, 0, other.id)
        assert len(site.noted(job, "end")) == 1
        works_again(site, cut_off, first, other)


def only(site: OutageSite, job: int, word: str) -> Note:
    (found,) = site.noted(job, word)
    return found


def works_again(site: OutageSite, worker: Process, first: int, other: Process) -> None:
    """It was declared dead, has found out, and works under a new number."""
    other.popen.terminate()
    assert other.wait() == 0
    ids = [site.submit(kind) for kind in ("nap", "nap_thread", "nap_process")]
    ended = site.completed(*ids)
    assert worker.popen.poll() is None
    assert worker.id != first
    assert {one.worker_id for one in ended} == {worker.id}
    assert site.sql.one("select state from lanework.workers where id = %s", first) == "dead"
