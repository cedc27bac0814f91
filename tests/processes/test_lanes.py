"""Promises 31, 32 and 10: lanes do not wait for each other, one slot keeps the order, and slots are exact."""

from __future__ import annotations

import random
import time

import pytest

from tests.pace import bound
from tests.processes.harness import Site

pytestmark = pytest.mark.processes


def test_a_stuck_lane_delays_no_other(site: Site) -> None:
    """4 spinning jobs and a dead-locked one, in threads and processes, and more of them waiting."""
    site.lane("maintenance", "spin_thread", "spin_process", "dead_locked")
    site.lane("interactive", "nap", "nap_thread", "nap_process")
    site.start(LANEWORK_MAX_THREADS="8", LANEWORK_MAX_CHILDREN="8")  # every other lane keeps one place, those of the engine too
    kinds = ("nap", "nap_thread", "nap_process")
    site.ended(*map(site.submit, kinds))  # its children are warm
    stuck = [site.submit(type) for type in ("spin_thread", "spin_process", "dead_locked", "spin_thread", "spin_process")]
    for job in stuck:
        site.began(job)
    for type in ("spin_thread", "spin_process", "dead_locked") * 2:
        site.submit(type)
    for _ in range(4):
        asked = time.monotonic()
        for job in map(site.submit, kinds):
            assert site.began(job).at - asked < bound(3)  # one poll is 0.25 s; the machine has its spinners to run too
    assert [site.status(job) for job in stuck] == ["running"] * 5
    site.open("give-up")


ORDER = b"""
create table proof.looks (xid xid8 primary key, seen pg_snapshot not null);
-- what a claim can have known when it chose: recorded once it has the lane's lock, before it looks for jobs
alter function lanework.try_lane_lock(int) rename to try_lane_lock_itself;
create function lanework.try_lane_lock(p_lane int) returns boolean language plpgsql as $$
begin
    if not lanework.try_lane_lock_itself(p_lane) then return false; end if;
    insert into proof.looks values (pg_current_xact_id(), pg_current_snapshot())
    on conflict (xid) do update set seen = excluded.seen;
    return true;
end $$;
create view proof.places as
select id, rank, created_at from lanework.jobs union all select id, rank, created_at from lanework.jobs_done
union all select id, rank, created_at from lanework.jobs_failed;
-- a claim, and a job that was claimable for it and should have come first
create view proof.inversions as
select c.seq, c.job_id, better.job_id as better
from proof.history c join proof.looks l on l.xid = c.xid
join lateral (
    select distinct on (h.job_id) h.job_id, h.status from proof.history h
    where h.place = 'jobs' and h.seq < c.seq and pg_visible_in_snapshot(h.xid, l.seen) order by h.job_id, h.seq desc
) better on better.status = 'approved' and better.job_id <> c.job_id
join proof.places mine on mine.id = c.job_id join proof.places other on other.id = better.job_id
where c.status = 'running' and c.place = 'jobs'
  and (other.rank, other.created_at, other.id) < (mine.rank, mine.created_at, mine.id);
create view proof.unseen as
select c.seq, c.job_id from proof.history c
where c.status = 'running' and c.place = 'jobs' and not exists (select from proof.looks l where l.xid = c.xid);
"""


@pytest.mark.timeout(180)
def test_one_slot_keeps_the_order(site: Site) -> None:
    """Priority, then age, then id, with kills, retries and late submits in between."""
    site.sql.db.execute(ORDER)
    dice = random.Random(32)
    site.lane("one", "once_broken", "once_broken_too", max_slots=1)
    workers = site.start_many(2)
    ids = []
    for wave in range(3):
        for _ in range(25):
            type, failures = dice.choice(("once_broken", "once_broken_too")), dice.choice((0, 0, 1))
            ids.append(site.submit(type, seconds=0.02, failures=failures, priority=dice.choice((0, 0, 5, 10))))
        some = ids[wave * 25 + 12]
        site.until(lambda some=some: site.client.get(some).attempt > 0, "half of the wave", 60)  # type: ignore[misc]
        holder = site.sql.rows("select worker_id from lanework.jobs where status = 'running'")
        for worker in workers:
            if holder and worker.id == holder[0]["worker_id"]:
                worker.kill_worker()
    site.completed(*ids, seconds=90)
    assert site.sql.rows("select * from proof.unseen limit 5") == [], "these claims cannot be judged"
    assert site.sql.rows("select * from proof.inversions limit 5") == []
    assert site.sql.one("select max(in_lane) from proof.load") == 1


@pytest.mark.timeout(180)
def test_slots_are_exact(site: Site) -> None:
    slots(site, seed=10, workers=4, rounds=5, jobs=160)


@pytest.mark.chaos
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(3))
def test_slots_of_many_workers(site: Site, seed: int) -> None:
    slots(site, seed=seed, workers=8, rounds=40, jobs=2000)


def slots(site: Site, *, seed: int, workers: int, rounds: int, jobs: int) -> None:
    """The cap of a lane changes while workers are killed; a type in it has one too. Never cap + 1, by the history."""
    dice = random.Random(seed)
    site.lane("capped", "nap", "nap_thread", max_slots=2)
    site.sql.rows("update lanework.job_types set concurrency = 3, set_by = 'operator' where name = 'nap'")
    running = site.start_many(workers)
    types = ("nap", "nap_thread")
    ids = [site.submit(dice.choice(types), seconds=round(dice.uniform(0.0, 0.1), 3)) for _ in range(jobs)]
    for number in range(rounds):
        site.client.lanes.set("capped", max_slots=(5, 1, 2)[number % 3])
        begun = site.sql.one("select count(*) from proof.history where status = 'running'")
        site.until(lambda begun=begun: claims_since(site, begun) > 15 or is_empty(site), "jobs to pass", 60)  # type: ignore[misc]
        site.until(lambda: any(one.row for one in running), "a worker", 120)  # all of them may be starting
        victim = dice.choice([one for one in running if one.row])
        if dice.random() < 0.5:
            victim.kill_worker()
        else:
            victim.kill_tree()
            running[running.index(victim)] = site.start(wait=False)
    site.client.lanes.set("capped", max_slots=5)
    assert {one.tries_used for one in site.completed(*ids, seconds=120)} == {0}
    site.completed(*(site.submit("nap_thread", seconds=bound(0.5)) for _ in range(6)))  # long enough to meet, on any machine
    assert site.sql.rows("select * from proof.over_slots limit 5") == []
    assert site.sql.one("select max(in_lane) from proof.load") == 5  # and they were used


def claims_since(site: Site, before: int) -> int:
    return int(site.sql.one("select count(*) from proof.history where status = 'running'")) - before


def is_empty(site: Site) -> bool:
    return not site.sql.one("select count(*) from lanework.jobs")
