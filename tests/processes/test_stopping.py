"""Promise 12: SIGTERM loses nothing and runs nothing twice."""

from __future__ import annotations

import random
import signal
import time
from functools import partial
from typing import Any

import pytest

from tests.pace import bound
from tests.processes.harness import Process, Site, descendants, kill
from tests.processes.test_kills import overlaps

pytestmark = pytest.mark.processes
RUNNING = "select count(*) from lanework.jobs where worker_id = %s and status = 'running'"


def test_a_stop(site: Site) -> None:
    """What can finish within the grace does; the rest goes back with no try used: what cannot be ended, after its process."""
    site.lane("late", "hold_too")
    worker = site.start(lanes=["work", "late"], LANEWORK_GRACE="1.5", plant="short_of_time")
    short = site.submit("nap", seconds=1)
    long = [site.submit(type, name="never") for type in ("hold", "hold_process")]
    stuck = [site.submit("endless_thread"), site.submit("stubborn")]
    for job in (short, *long, *stuck):
        site.began(job)
    asked = time.monotonic()
    kill(worker.popen.pid, number=signal.SIGTERM)
    site.until(lambda: worker.row and worker.row["state"] == "draining", "the worker to drain", 4)
    late = site.submit("hold_too")
    site.start(lanes=["work"])  # takes what is given back
    assert worker.wait(40) == 0
    assert time.monotonic() - asked < bound(40)
    for job in (*long, *stuck):
        site.began(job, 2)
    assert overlaps(site.notes) == []
    (ended,) = site.ended(short)
    assert (ended.status, ended.attempt) == ("completed", 1)
    for job in (*long, *stuck):
        now = site.client.get(job)
        assert (now.status, now.attempt, now.tries_used) == ("running", 2, 0)
    assert (site.status(late), site.client.get(late).attempt) == ("approved", 0)
    assert worker.row is not None and worker.row["state"] == "stopped"


def test_a_ctrl_c_reaches_everybody(site: Site) -> None:
    """A terminal, or systemd, signals all processes at once: only the guard and the worker may act on it, and in order."""
    worker = site.start()
    ids = [site.submit(type, seconds=2) for type in ("nap", "nap_thread", "nap_process")]
    for job in ids:
        site.began(job)
    kill(worker.popen.pid, *descendants(worker.popen.pid), number=signal.SIGINT)
    assert worker.wait() == 0
    assert [(one.status, one.attempt) for one in site.ended(*ids)] == [("completed", 1)] * 3


def test_rolling_restarts_under_load(site: Site) -> None:
    roll(site, seed=12, rounds=2, jobs=90)


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(5))
def test_many_rolling_restarts(site: Site, seed: int) -> None:
    roll(site, seed=seed, rounds=12, jobs=800)


def roll(site: Site, *, seed: int, rounds: int, jobs: int) -> None:
    """Rounds of claims are slow here, so that most stops meet one on its way, with finishes in it. Each stop meets a worker that
    has jobs, however long others took to start: one that has none loses nothing, whatever it does."""
    dice = random.Random(seed)
    site.client.lanes.set("work", worker_slots=6)
    slow: dict[str, Any] = {"LANEWORK_FAILPOINTS": "before_claim=sleep:0.15", "LANEWORK_GRACE": "20"}
    living: list[Process] = site.start_many(2, **slow)
    kinds = ("nap", "nap", "nap_thread", "nap_process")
    ids: list[int] = []

    def submit(count: int) -> None:
        ids.extend(site.submit(dice.choice(kinds), seconds=round(dice.uniform(0.02, 0.4), 2)) for _ in range(count))

    def has_some(worker: int) -> bool:
        submit(1)  # the others may have taken all that there were
        return bool(site.sql.one(RUNNING, worker))

    for _ in range(rounds):
        living.append(site.start(**slow))
        oldest = living.pop(0)
        submit(jobs // rounds)
        site.until(partial(has_some, oldest.id), f"{oldest.name} to have a job")
        kill(oldest.popen.pid, number=signal.SIGTERM)
        assert oldest.wait(40) == 0
    assert {(one.attempt, one.tries_used) for one in site.completed(*ids, seconds=90)} == {(1, 0)}, site.explain()
    effects = [one.job for one in site.notes if one.word == "end"]
    assert sorted(effects) == sorted(ids)
    assert site.sql.rows("select * from lanework.attempts") == []
