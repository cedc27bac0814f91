"""Promises 10 (permits) and 23: never more than the capacity, never more than the budget, whoever is killed."""

from __future__ import annotations

import random
import time
from decimal import Decimal

import pytest

from tests.pace import bound
from tests.processes.harness import Process, Site

pytestmark = pytest.mark.processes
CAPACITIES = {"permit_1": 1, "permit_2": 2, "permit_5": 5, "permit_inside": 2}


def kill_now_and_then(site: Site, workers: list[Process], times: int, seed: int) -> dict[int, float]:
    """Kills workers proper, one at a time; answers when each process died. Their guards start them again."""
    chance, killed = random.Random(seed), dict[int, float]()
    for _ in range(times):
        victim = chance.choice(workers)
        site.until(victim.ready, f"{victim.name} to be there")
        pid = victim.pid
        victim.kill_worker()
        killed[pid] = time.monotonic()
        time.sleep(chance.uniform(0.1, 0.5))
    return killed


def most_at_once(site: Site, kind: str, killed: dict[int, float]) -> int:
    """Bodies of a kind in the part that the permit guards; one that was killed there was there until then."""
    changes: list[tuple[float, int]] = []
    notes = site.notes
    ends = {(one.job, one.attempt): one.at for one in reversed(notes) if one.word == f"out {kind}"}  # the first counts
    for begun in [one for one in notes if one.word == f"in {kind}"]:
        end = ends.get((begun.job, begun.attempt), killed.get(begun.pid, begun.at))
        changes += [(begun.at, 1), (end, -1)]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def test_permits_are_never_exceeded(site: Site) -> None:
    """Eight workers, capacities 1, 2 and 5 and two inside of bodies, kills. The oracle has the database's view."""
    workers = site.start_many(8)
    jobs = [site.submit(kind, seconds=0.02) for kind in CAPACITIES for _ in range(60)]
    killed = kill_now_and_then(site, workers, 10, seed=10)
    ended = site.completed(*jobs, seconds=90)
    assert sum(one.tries_used for one in ended) == 0
    # long enough to meet, on any machine: what is free is used
    site.completed(*(site.submit(kind, seconds=bound(0.5)) for kind, most in CAPACITIES.items() for _ in range(most)), seconds=90)
    assert {kind: most_at_once(site, kind, killed) for kind in CAPACITIES} == CAPACITIES
    assert site.sql.one("select count(*) from proof.permit_changes") > 100
    site.until(lambda: not site.sql.one("select coalesce(sum(used), 0) from lanework.permit_use"), "all permits to be free")


def test_a_dead_workers_permits_are_free_within_two_seconds(site: Site) -> None:
    """Expiry alone would take 20 s here."""
    workers = [site.start(LANEWORK_EXPIRY="20", LANEWORK_FENCE_AFTER="15") for _ in range(2)]
    first = site.submit("permit_inside", seconds=60)
    site.until(lambda: site.noted(first, "in permit_inside"), "the first to hold it")
    site.client.permits.set("inside", 1)
    site.submit("permit_inside")
    (victim,) = [one for one in workers if one.id == site.client.get(first).worker_id]
    victim.kill_worker()
    assert site.until(
        lambda: len([one for one in site.notes if one.word == "in permit_inside"]) == 2, "another to have it"
    ) < bound(6)


def test_no_budget_is_exceeded(site: Site) -> None:
    """429 storms, retries, kills: what was billed is at most what was allowed."""
    site.client.budgets.set("provider", 40)
    workers = site.start_many(4)
    jobs = [site.submit("pays", calls=6, seed=n) for n in range(30)]
    kill_now_and_then(site, workers, 6, seed=23)
    parked = "select count(*) from lanework.jobs where blocked_on = 'budget:provider'"
    left = "select count(*) from lanework.jobs"
    site.until(lambda: site.sql.one(left) and site.sql.one(left) == site.sql.one(parked), "the money to be spent", 90)

    def billed() -> Decimal:
        return sum((Decimal(one.word.split()[1]) for one in site.notes if one.word.startswith("bill")), Decimal(0))

    info = site.client.budgets.get("provider")
    assert billed() <= info.spent + info.reserved <= 40
    assert billed() > 25
    assert {row["blocked_on"] for row in site.sql.rows("select blocked_on from lanework.jobs")} == {"budget:provider"}
    site.client.budgets.set("provider", 1000, by="boss")
    ended = site.completed(*jobs, seconds=90)
    assert sum(one.tries_used for one in ended) == 0
    info = site.client.budgets.get("provider")
    assert billed() <= info.spent <= 1000
