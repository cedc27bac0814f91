"""What operators do to real processes: cancels that survive crashes and bodies that loop in C, acts on many jobs that are carried
on, drains, freezes, priorities."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pace import bound
from tests.processes.database_outage import outage_site
from tests.processes.harness import Process, Site, descendants, kill
from tests.servers import PrivateServer

pytestmark = pytest.mark.processes


def many(site: Site, type: str, count: int) -> None:
    site.sql.rows(
        "insert into lanework.jobs (type_id, status) select t.id, 'approved' from lanework.job_types t, generate_series(1, %s) "
        "where t.name = %s", count, type)  # fmt: skip


#: `listen` is the last thing that such a connection says.
LISTENS = """
    select count(*) from pg_stat_activity
    where datname = current_database() and application_name like 'lanework-%%-listen'
      and query ilike 'listen%%' and state = 'idle'"""


def looked_again(site: Site, worker: Process) -> None:
    """A while in which an idle worker with free slots would have claimed: it polls four times a second here."""
    now = site.sql.one("select lanework.now()")
    beaten = "select seen_at > %s + make_interval(secs => 0.8) from lanework.workers where id = %s"
    site.until(lambda: site.sql.one(beaten, now, worker.id), "beats")


# cancels


@pytest.mark.parametrize("kind", ["busy", "busy_thread"])
def test_a_cancel_of_a_body_that_loops_in_c(site: Site, kind: str) -> None:
    """It holds the GIL, so that not even its worker can move: the guard reports it cancelled. (2 s; a busy machine gets 5.)"""
    site.start()
    job, queued = site.submit(kind, seconds=1000), site.submit("hold", name="never")
    site.began(job)
    assert site.client.cancel(job, by="ann") == "stopping"
    assert site.until(lambda: site.status(job) == "cancelled", "the cancel") < bound(5)
    assert site.client.cancel(job) == "cancelled"
    assert site.client.cancel(queued) in ("cancelled", "stopping")


def test_a_cancel_survives_a_crash_of_worker_and_database(private_server: Callable[..., PrivateServer], tmp_path: Path) -> None:
    server = private_server(durable=True)
    with outage_site(server, tmp_path) as site:
        worker = site.start()
        job, other = site.submit("hold"), site.submit("hold")
        site.began(job), site.began(other)
        tree = [worker.popen.pid, *descendants(worker.popen.pid)]
        kill(*tree, number=signal.SIGSTOP)  # nobody can act on it before the crash
        assert site.client.cancel(job, by="ann", reason="enough") == "stopping"
        server.stop("immediate")
        kill(*tree)
        server.start()
        site.reconnect()
        site.open("go")
        site.start()
        ended, completed = site.ended(job, other, seconds=40)
        assert (ended.status, ended.attempt, completed.status, completed.attempt) == ("cancelled", 1, "completed", 2)
        assert [one.attempt for one in site.notes if one.job == job] == [1]
        assert [one.actor for one in site.client.audit_log(target=f"job:{job}")] == ["ann"]


def test_children_end_with_their_parent(site: Site) -> None:
    """In whatever state they are, and within the bounds of their own bodies; spared if the operator says so."""
    site.lane("kids", "hold_process", max_slots=None)
    site.start()
    for spared in (False, True):
        parent = site.submit("hold", name="never")
        site.began(parent)
        kids = [int(row["child_id"]) for row in site.sql.rows(
            """select c.child_id from lanework.jobs j, lanework.submit_children(
                   j.id, j.attempt, j.claim_id, '{a,b}', 'hold_process', %s, 1, null, null, null, null) c where j.id = %s""",
            [json.dumps({"name": f"kids-{spared}"})] * 2, parent)]  # fmt: skip
        for kid in kids:
            site.began(kid)
        assert site.client.cancel(parent, children=not spared) == "stopping"
        assert [one.status for one in site.ended(parent)] == ["cancelled"]
        if spared:
            assert {site.status(kid) for kid in kids} == {"running"}
            site.open(f"kids-{spared}")
        assert [one.status for one in site.ended(*kids)] == ["completed" if spared else "cancelled"] * 2


# acts on many jobs


def test_an_act_on_many_jobs_is_carried_on(site: Site) -> None:
    """Whoever carries it is killed in the middle; the next one goes on from there, and every job is changed once."""
    site.lane("closed", "hold_too", enabled=False)
    many(site, "hold_too", 8_000)
    act = int(site.sql.one("select lanework.start_operation('cancel', '{\"lane\": [\"closed\"]}', '{}', 'ann')"))
    done = "select done from lanework.operations where id = %s"
    worker = site.start()
    site.until(lambda: site.sql.one(done, act) >= 1000, "the first commits")
    worker.kill_tree()
    site.until(
        lambda: not site.sql.one("select count(*) from pg_locks where relation = 'lanework.operations'::regclass"), "the locks"
    )
    assert site.client.operations.get(act).state == "running"
    before = site.sql.one(done, act)
    site.start()
    site.until(lambda: site.client.operations.get(act).state == "done", "the rest", 60)
    found = site.client.operations.get(act)
    assert (found.matched, found.done, found.skipped, before < 8_000) == (8_000, 8_000, 0, True)
    assert site.sql.rows("select status::text, count(*) as n from lanework.jobs_done group by 1") == [
        {"status": "cancelled", "n": 8_000}
    ]


def test_jobs_run_on_while_many_others_are_cancelled(site: Site) -> None:
    site.lane("one", "nap", max_slots=1)
    site.start()
    many(site, "nap_thread", 5000)
    site.client.lanes.drain("work")
    site.sql.rows("select lanework.start_operation('cancel', '{\"type\": [\"nap_thread\"]}', '{}', 'ann')")
    site.completed(*[site.submit("nap") for _ in range(20)])
    site.until(lambda: site.client.operations.list()[0].state == "done", "the act")


# priority


def test_a_raised_job_is_next(site: Site) -> None:
    """It lies before what the worker has claimed last, and the worker never looks there by itself (planted): the hint says so."""
    site.lane("two", "hold", max_slots=2, poll_interval_ms=120_000, enabled=False)
    low = [site.submit("hold", name="low") for _ in range(3)]
    raised = site.submit("hold", name="low")
    high = [site.submit("hold", priority=9, name=f"high-{n}") for n in range(2)]
    site.client.lanes.resume("two")
    site.start(plant="only_positions,tells_hints")
    site.began(high[0]), site.began(high[1])
    site.until(lambda: site.sql.one(LISTENS), "the worker to listen")
    assert site.client.set_priority(raised, 9, by="ann") == 0
    site.until((site.folder / "heard-two").exists, "the hint")
    site.open("high-0")
    site.began(raised)
    assert [site.status(job) for job in low] == ["approved"] * 3
    site.open("high-1")
    site.open("low")
    site.completed(*low, raised)


# drains


def test_a_worker_is_drained_and_resumed(site: Site) -> None:
    worker = site.start()
    running = site.submit("hold")
    site.began(running)
    assert site.client.drain_worker(worker.id, by="ann") == "draining"
    waiting = site.submit("nap")
    looked_again(site, worker)
    assert (site.status(running), site.status(waiting)) == ("running", "approved")
    site.open("go")
    site.completed(running)
    looked_again(site, worker)
    assert site.status(waiting) == "approved" and worker.row is not None and worker.row["state"] == "draining"
    number = worker.id
    assert site.client.resume_worker(worker.id, by="ann") == "active"
    site.completed(waiting)
    assert worker.id == number  # it has not begun again
    assert site.client.drain_worker(worker.id) == "draining"
    kill(worker.popen.pid, number=signal.SIGTERM)
    assert worker.wait() == 0


def test_everything_is_drained_and_resumed(site: Site) -> None:
    site.lane("late", "hold_too")
    worker = site.start()
    running = [site.submit("hold"), site.submit("hold_too")]
    for job in running:
        site.began(job)
    assert site.client.drain_all(by="ann", reason="upgrade")
    waiting = [site.submit("nap"), site.submit("hold_too")]
    site.open("go")
    site.completed(*running)
    looked_again(site, worker)
    assert [site.status(job) for job in waiting] == ["approved"] * 2
    assert site.client.resume_all(by="ann")
    site.completed(*waiting)


# freezes


@pytest.mark.parametrize("executor", ["async", "thread", "process"])
def test_a_job_freezes_lanes_its_own_among_them(site: Site, executor: str) -> None:
    """It waits for what runs there, a body that was cancelled and has not ended included, and for nothing else."""
    site.lane("other", "endless_thread", "hold_too")
    worker = site.start()
    stubborn, running = site.submit("endless_thread"), site.submit("hold", name="mine")
    site.began(stubborn), site.began(running)
    freezer = site.submit(f"freezer_{executor}", lanes=["work", "other"])
    site.began(freezer)
    site.until(site.client.freezes.list, "the hold")
    later = [site.submit("nap"), site.submit("hold_too", name="mine")]
    site.client.cancel(stubborn)
    site.open("mine")
    site.completed(running)
    site.until(lambda: site.status(stubborn) == "cancelled", "the cancel")
    looked_again(site, worker)
    assert not site.noted(freezer, "quiet"), "the thread goes on"
    site.open("give-up")
    site.until(lambda: site.noted(freezer, "quiet"), "the lanes to be quiet")
    looked_again(site, worker)
    assert [site.status(job) for job in later] == ["approved"] * 2
    site.open("thaw")
    site.completed(freezer, *later)
    assert site.client.freezes.list() == []
    starts = [one.at for job in later for one in site.noted(job, "start")]
    assert min(starts) > site.noted(freezer, "end")[0].at


def test_a_freeze_ends_with_the_worker_of_its_job(site: Site) -> None:
    site.lane("other", "nap")
    owner = site.start(lanes=["work"])
    freezer = site.submit("freezer_process", lanes=["other"], name="never")
    site.until(lambda: site.noted(freezer, "quiet"), "the hold")
    site.client.lanes.set("other", max_slots=3, by="ann")
    waiting = site.submit("nap")
    other = site.start(lanes=["other"])
    looked_again(site, other)
    assert site.status(waiting) == "approved"
    owner.kill_tree()
    site.completed(waiting)
    assert site.client.lanes.get("other").max_slots == 3
    site.until(lambda: site.client.freezes.list() == [], "the sweep")


def test_an_operator_freezes_lanes_for_a_block(site: Site) -> None:
    worker = site.start()
    running = site.submit("nap", seconds=1)
    site.began(running)
    with site.client.freeze(["work"], by="ann", reason="backup", timeout=30):
        assert site.status(running) == "completed"
        waiting = site.submit("nap")
        looked_again(site, worker)
        assert site.status(waiting) == "approved"
    site.completed(waiting)
    assert [one.act for one in site.client.audit_log(actor="ann")] == ["lanes.thaw", "lanes.freeze"]
