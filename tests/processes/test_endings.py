"""Timeouts, cancels, stale and overdue jobs: bodies that do not want to end."""

from __future__ import annotations

import pytest

from tests.pace import bound
from tests.processes.harness import Site
from tests.processes.test_kills import overlaps

pytestmark = pytest.mark.processes


def test_bodies_that_do_not_end_when_asked(site: Site) -> None:
    """Async 2 s, a process 10 s (killed), a thread as async: fenced, reported, and its slot is taken until it really ends.

    The timeouts are shorter than the start of a cold child: they count from the body's first step.
    """
    site.lane("one", "stubborn", max_slots=1)
    site.lane("two", "endless_thread", max_slots=1)
    site.start()
    site.ended(
        *(site.submit("nap_process", seconds=0.5) for _ in range(2))
    )  # two children are warm: a timeout counts from the claim
    cancelled = {type: site.submit(type) for type in ("stubborn", "endless_thread", "endless_process")}
    timed = {type: site.submit(type) for type in ("stubborn_timeout", "endless_thread_timeout", "endless_process_timeout")}
    for job in (*cancelled.values(), *timed.values()):
        site.began(job)
    waiting = [site.submit(type) for type in ("stubborn", "endless_thread")]

    for job in cancelled.values():
        assert site.client.cancel(job, reason="enough") == "stopping"
    soon = [cancelled["stubborn"], cancelled["endless_thread"]]
    assert site.until(lambda: all(site.status(job) == "cancelled" for job in soon), "cancels") < bound(5)
    assert site.until(lambda: site.status(cancelled["endless_process"]) == "cancelled", "the kill") < bound(15)
    for one in site.ended(*timed.values()):
        assert (one.status, one.error_class, one.tries_used) == ("failed", "timeout", 1)

    # a process is dead; the others go on, and their lanes' one slot is theirs
    assert [site.status(job) for job in waiting] == ["approved", "approved"]
    site.open("give-up")
    assert [one.status for one in site.ended(*waiting)] == ["completed", "completed"]
    for job in soon:
        assert site.noted(job, "end")[0].at < min(site.began(one).at for one in waiting if same(site, one, job))
    assert site.status(cancelled["stubborn"]) == "cancelled"


def same(site: Site, one: int, other: int) -> bool:
    return site.client.get(one).type == site.client.get(other).type


def test_deadlines_while_the_loop_is_blocked(site: Site) -> None:
    """The guard stands in: a child is killed, what blocks the loop is fenced, and in the end the worker is killed for it."""
    worker = site.start(plant="impatient")
    innocent = site.submit("hold")
    site.began(innocent)
    before = worker.pid
    child, cancelled = site.submit("slow_process"), site.submit("hold_process")
    site.began(child)
    site.began(cancelled)
    blocker = site.submit("blocker")
    site.began(blocker)
    site.client.cancel(cancelled)
    ended = site.ended(child, cancelled, seconds=15)
    assert [(one.status, one.error_class) for one in ended] == [("failed", "timeout"), ("cancelled", None)]
    assert worker.pid == before  # it is still blocked: this was the guard
    (again,) = site.ended(blocker, seconds=40)
    assert (again.status, again.attempt, again.tries_used) == ("completed", 2, 1)
    assert [one.error_class for one in site.client.attempts(blocker)] == ["timeout"]
    site.began(innocent, 2)
    site.open("go")
    (spared,) = site.ended(innocent)
    assert (spared.status, spared.attempt, spared.tries_used) == ("completed", 2, 0)
    assert worker.pid != before
    assert overlaps(site.notes) == []


def test_stale_and_too_old(site: Site) -> None:
    """No progress for its stale time: stopped, a try used, again. Over its max_age: failed, running or not."""
    site.lane("closed", "hold_too", enabled=False)
    site.start()
    queued = site.submit("hold_too", max_age=1)
    running = site.submit("hold", max_age=2)
    silent = site.submit("stalls")
    old = site.ended(queued, running, seconds=20)
    assert [(one.status, one.error_class, one.attempt) for one in old] == [("failed", "timeout", 0), ("failed", "timeout", 1)]
    (again,) = site.ended(silent, seconds=30)
    assert (again.status, again.attempt, again.tries_used) == ("completed", 2, 1)
    assert [one.error_class for one in site.client.attempts(silent)] == ["stalled"]
    # not before it had fallen silent, although it ran longer than its stale time
    assert site.noted(silent, "silent", 1)
