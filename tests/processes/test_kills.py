"""Promise 4: no job stays `running` without a living worker, nor does a claim whose answer was lost."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from tests.pace import bound
from tests.processes.harness import Note, Site, expiring

pytestmark = pytest.mark.processes


def test_a_dead_worker_is_noticed_at_once(site: Site) -> None:
    """Within 2 s while its guard lives; expiry alone would take 20 s here."""
    worker = site.start(LANEWORK_EXPIRY="20", LANEWORK_FENCE_AFTER="15")
    job = site.submit("hold")
    site.began(job)
    worker.kill_worker()
    assert site.until(lambda: given_back(site, job), "the job to be given back") < bound(4)
    site.began(job, 2)
    site.open("go")
    (ended,) = site.ended(job)
    assert (ended.status, ended.attempt, ended.tries_used) == ("completed", 2, 0)


def test_silence_is_noticed_at_expiry(site: Site) -> None:
    """Within 5 s at the scale of tests, when guard and worker die together."""
    workers = site.start_many(2)
    job = site.submit("hold")
    site.began(job)
    (victim,) = [one for one in workers if one.id == site.client.get(job).worker_id]
    victim.kill_tree()
    assert site.until(lambda: given_back(site, job), "the job to be given back") < bound(10)
    site.open("go")
    (ended,) = site.ended(job)
    assert (ended.status, ended.attempt, ended.tries_used) == ("completed", 2, 0)


def test_a_worker_outlives_its_guard(site: Site) -> None:
    """Another one is started, and the claims stay where they are."""
    expiry = bound(3)  # another guard has to be there before: a busy machine takes its time to start a process
    worker = site.start(**expiring(expiry))
    job = site.submit("hold")
    begun, id = site.began(job), worker.id
    worker.kill_guard()
    site.beats_past_expiry(id, expiry)
    site.open("go")
    (ended,) = site.ended(job)
    assert (ended.status, ended.attempt, ended.worker_id) == ("completed", 1, id)
    assert site.noted(job, "end")[0].pid == begun.pid


def test_lost_answers(site: Site) -> None:
    """A claim that the worker never heard of is handed back; a finish whose answer was lost is not done twice."""
    worker = site.start(LANEWORK_FAILPOINTS="after_claim_commit=raise*1 after_finish_commit=raise*1")
    job = site.submit("nap")
    (ended,) = site.ended(job, seconds=20)
    assert (ended.status, ended.attempt, ended.tries_used) == ("completed", 2, 0)
    (lost,) = site.client.attempts(job)
    assert (lost.attempt, lost.outcome, lost.cause) == (1, "release", "the answer to the claim was lost")
    assert len(site.noted(job, "end")) == 1
    after = site.submit("nap")  # nothing is left of the two: the lane works on
    site.ended(after, seconds=10)
    assert worker.ready()
    assert "superseded" not in site.logs()


def test_random_kills(site: Site) -> None:
    rampage(site, seed=4, kills=6, jobs=90)


@pytest.mark.chaos
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(10, 16))
def test_many_random_kills(site: Site, seed: int) -> None:
    rampage(site, seed=seed, kills=40, jobs=900)


def rampage(site: Site, *, seed: int, kills: int, jobs: int) -> None:
    """A fault phase and a healing phase: whatever is killed and when, every job completes, and costs nobody a try."""
    dice = random.Random(seed)
    site.client.lanes.set("work", worker_slots=6)
    workers = site.start_many(3)
    kinds = ("nap", "nap", "nap_thread", "nap_process")
    ids = [site.submit(dice.choice(kinds), seconds=round(dice.uniform(0.02, 0.5), 2)) for _ in range(jobs)]
    for _ in range(kills):
        site.sql.rows("select pg_sleep(%s)", dice.uniform(0.2, 0.9))
        victims = [one for one in workers if one.row]
        if not victims:
            continue
        victim = dice.choice(victims)
        match dice.choice(("worker", "guard", "tree")):
            case "worker":
                victim.kill_worker()  # its guard starts another one
                continue
            case "guard":
                victim.kill_guard()  # it lives on, with a companion
            case "tree":
                victim.kill_tree()
        workers[workers.index(victim)] = site.start(wait=False)
    assert {one.tries_used for one in site.completed(*ids, seconds=60)} == {0}
    assert site.sql.one("select count(*) from lanework.jobs") == 0
    assert overlaps(site.notes) == []


def overlaps(notes: list[Note]) -> list[Note]:
    """Signs of life of an attempt that come after those of a later one: two bodies of one job at once."""
    latest: dict[int, int] = defaultdict(int)
    found = []
    for one in sorted(notes, key=lambda note: note.at):
        if one.attempt < latest[one.job]:
            found.append(one)
        latest[one.job] = max(latest[one.job], one.attempt)
    return found


def given_back(site: Site, job: int) -> bool:
    now = site.client.get(job)
    return now.status == "approved" or now.attempt == 2
