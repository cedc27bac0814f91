"""Promise 5: a write by a superseded attempt is refused, whichever of the processes had been stopped."""

from __future__ import annotations

import signal

import pytest

from tests.pace import bound
from tests.processes.harness import Process, Site, kill

pytestmark = pytest.mark.processes


@pytest.mark.timeout(180)
def test_zombies_write_nothing(site: Site) -> None:
    """Worker, guard, or both are stopped past the expiry; somebody else claims; then they go on."""
    for lane in "abc":
        site.lane(lane, f"writer_{lane}")
    zombies = [site.start(f"zombie-{lane}", lanes=lane, wait=False) for lane in "abc"]
    for one in zombies:
        site.until(one.ready, f"{one.name} to start", 60)
    ids = [site.submit(f"writer_{lane}", silent=silent) for lane in "abc" for silent in (False, True)]
    for job in ids:
        site.began(job, 1)
    first = [one.id for one in zombies]
    site.start("healthy", lanes="abc")

    a, b, c = zombies
    stopped = [a.pid, b.popen.pid, c.pid, c.popen.pid]
    kill(*stopped, number=signal.SIGSTOP)
    for job in ids:
        site.began(job, 2, seconds=40)
    site.open("attempt-1")
    # whoever lost only its guard is awake: it finds out by itself, from the answer to its finish
    site.until(lambda: begun_again(b, first[1]) or site.status(ids[3]) != "running", "a zombie to be refused")
    assert [site.status(job) for job in ids] == ["running"] * 6
    kill(*stopped, number=signal.SIGCONT)

    for job in ids:
        site.until(lambda job=job: site.noted(job, "wrote", 1), f"the zombie of job {job} to write")  # type: ignore[misc]
    for one, id in zip(zombies, first, strict=True):
        site.until(lambda one=one, id=id: begun_again(one, id), f"{one.name} to begin again")  # type: ignore[misc]
    assert [(now.status, now.attempt) for now in map(site.client.get, ids)] == [("running", 2)] * 6
    assert written_by(site, 1) == 0

    site.open("attempt-2")
    ended = site.ended(*ids)
    assert [(one.status, one.attempt, one.result) for one in ended] == [("completed", 2, "of attempt 2")] * 6
    assert {one.tries_used for one in ended} == {0}
    assert site.sql.one("select count(*) from proof.history where status = 'completed'") == 6
    assert (written_by(site, 1), written_by(site, 2)) == (0, 9)


def begun_again(zombie: Process, before: int) -> bool:
    """It has heard that it was declared dead, and has another number."""
    return zombie.id > before and zombie.ready()


def written_by(site: Site, attempt: int) -> int:
    tables = ("progress", "logs", "checkpoints")
    return sum(site.sql.one(f"select count(*) from lanework.{table} where attempt = %s", attempt) for table in tables)


def test_a_companion_that_dies_is_replaced(site: Site) -> None:
    """Within about a second, under the same worker id: no claim is lost."""
    worker = site.start_inside()
    site.start(lanes=["nothing"])  # somebody who would declare it dead
    job = site.submit("hold_thread")
    site.began(job)
    id, old = worker.id, worker.companion
    site.until(lambda: worker.companion, "the companion")
    kill(old)
    assert site.until(lambda: worker.companion not in (0, old), "another companion") < bound(4)
    site.beats_past_expiry(id)
    site.open("go")
    (ended,) = site.ended(job)
    assert (ended.status, ended.attempt, ended.worker_id) == ("completed", 1, id)
    assert worker.id == id
    site.open("leave")
    assert worker.wait() == 0
    assert worker.row is not None and worker.row["state"] == "stopped"
