"""Promises 14 and 15: two leaders, or none, change latency only; each tick makes at most one job, whoever is killed."""

from __future__ import annotations

import itertools
import random
import time
from datetime import timedelta
from typing import Any

import pytest

from tests.pace import bound
from tests.processes.harness import Site

pytestmark = pytest.mark.processes
LEADS = "select w.name from lanework.leader l join lanework.workers w on w.id = l.worker_id where l.until > lanework.now()"


def schedule(site: Site, name: str = "often", **values: Any) -> None:
    given = {"cron": "* * * * * *", "overlap": "queue", "misfire": "all", **values}
    site.client.schedules.create(name, "nap", **given)


def rows(site: Site, name: str = "often") -> list[dict[str, Any]]:
    return site.sql.rows("select * from lanework.ticks where schedule = %s order by tick", name)


def made(site: Site) -> int:
    return int(site.sql.one("select count(*) from lanework.all_jobs where type = 'nap'"))


def judge(site: Site) -> list[dict[str, Any]]:
    """Seconds without a hole, each with one job; and no job that is nobody's."""
    found = rows(site)
    assert all(b["tick"] - a["tick"] == timedelta(seconds=1) for a, b in itertools.pairwise(found)), found
    assert [row["outcome"] for row in found] == ["submitted"] * len(found)
    jobs = [row["job_id"] for row in found]
    assert len(set(jobs)) == len(jobs) == made(site)
    return found


def rest(site: Site) -> None:
    """No more ticks; what was submitted ends."""
    site.client.schedules.pause("often")
    site.until(lambda: not site.sql.one("select count(*) from lanework.jobs"), "all jobs to end", 60)


def test_two_leaders_fire_each_tick_once(site: Site) -> None:
    """Everybody believes that he leads: the lease is broken."""
    body = site.sql.one("select pg_get_functiondef('lanework.lead'::regproc)")
    site.sql.rows(body.replace("l.worker_id = p_worker or l.until < v_now", "true"))
    due = site.sql.one("select pg_get_functiondef('lanework.due_schedules'::regproc)")
    site.sql.rows(due.replace("then interval '0' else interval '2 s' end", "then interval '0' else interval '0' end"))
    schedule(site)
    site.start_many(3)
    site.until(lambda: len(rows(site)) >= 6, "six ticks")
    rest(site)
    judge(site)
    ran = site.sql.rows("select task, fence, count(*) from lanework.maintenance_runs group by task, fence having count(*) > 1")
    assert ran == []


def test_without_a_leader_ticks_come_later_and_none_is_lost(site: Site) -> None:
    body = site.sql.one("select pg_get_functiondef('lanework.lead'::regproc)")
    site.sql.rows(body.replace("l.worker_id = p_worker or l.until < v_now", "false"))
    schedule(site)
    site.start_many(2)
    job = site.submit("nap")
    site.completed(job)
    site.until(lambda: len(rows(site)) >= 5, "five ticks")
    assert site.sql.rows(LEADS) == []
    rest(site)
    site.sql.rows("delete from lanework.jobs_done where id = %s", job)
    found = judge(site)
    assert max(row["at"] - row["tick"] for row in found) < timedelta(seconds=bound(10))  # two seconds and a sweep, twice
    site.sql.rows("delete from proof.history where job_id = %s", job)


def kill_leaders(site: Site, seconds: float, every: float, seed: int) -> int:
    """One that leads dies, with all its processes, again and again; another one is started for it."""
    chance, crew, kills = random.Random(seed), site.start_many(3), 0
    schedule(site)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(every * chance.uniform(0.5, 1.5))
        leader = site.sql.rows(LEADS)
        for one in [each for each in crew if leader and each.name == leader[0]["name"]]:
            chance.choice([one.kill_tree, one.kill_tree, one.kill_guard, one.kill_worker])()
            kills += 1
            crew.append(site.start(wait=False))
    return kills


def after_kills(site: Site, kills: int) -> None:
    assert kills >= 2
    last = site.sql.one("select max(tick) from lanework.ticks")
    site.until(lambda: site.sql.one("select max(tick) > %s from lanework.ticks", last), "ticks to go on")
    rest(site)
    found = judge(site)
    print(f"{kills} kills, {len(found)} ticks, latest {max(row['at'] - row['tick'] for row in found)}")


def test_leaders_that_are_killed_fire_each_tick_once(site: Site) -> None:
    after_kills(site, kill_leaders(site, 8, 2.0, seed=1))


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_leaders_that_are_killed_every_five_seconds(site: Site) -> None:
    after_kills(site, kill_leaders(site, 120, 5.0, seed=2))


def test_a_killed_worker_answers_a_condition_once(site: Site) -> None:
    """It dies while it asks: the condition is asked again, and its tick makes one job."""
    schedule(site, "asks", cron="0 0 1 1 *", condition="gated")
    worker = site.start()
    tick = site.client.schedules.run_now("asks")
    assert tick.outcome == "asking"
    asked = tick.job_id or 0
    site.began(asked)
    worker.kill_worker()
    site.began(asked, 2)
    site.open("condition")
    site.until(lambda: made(site) == 1, "the job of the tick")
    (row,) = rows(site, "asks")
    assert (row["outcome"], row["condition_id"]) == ("submitted", asked)
    site.ended(row["job_id"])
