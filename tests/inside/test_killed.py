"""Real workers, killed at named points: what was stored or paid for stays, and happens once."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from lanework._guard.processes import is_gone
from tests.inside.house import Inside
from tests.processes.harness import expiring

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]


@pytest.mark.parametrize("job", ["pipeline", "apipeline"])
def test_promise_8_a_stored_step_never_runs_again(site: Inside, job: str) -> None:
    """The worker dies after each step that it has stored. Seen red: with `past` always false, `a` runs in every
    attempt."""
    site.start(LANEWORK_FAILPOINTS="after_step=kill")
    handle = site.job(job).submit()
    (ended,) = site.completed(handle.id, seconds=90)
    assert (ended.result, ended.attempt, ended.tries_used) == (["a", "b"], 3, 0)
    assert site.words(handle.id, "run") == ["a", "b"]
    assert [(step.key, step.attempt) for step in site.client.steps(handle.id)] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("where", ["thread", pytest.param("process", marks=pytest.mark.chaos)])
def test_what_an_estimate_has_paid_for_is_not_paid_for_again(site: Inside, where: str) -> None:
    """The worker dies after each step that the estimate, and then the run, has stored. Nothing starts before the approval.
    Seen red: with the estimate's steps left where they are, the run pays for `a` and `b` again."""
    site.start(LANEWORK_FAILPOINTS="after_step=kill", **expiring(60))  # attempts are counted: none may end by a late beat
    handle = site.job(f"priced_{where}").submit()
    site.until(lambda: site.status(handle.id) == "awaiting_approval", "the estimate", 90)
    waits = site.client.get(handle.id)
    estimate = site.sql.one("select estimate_id from lanework.estimates where job_id = %s", handle.id)
    assert site.client.get(estimate).attempt == 3 and waits.attempt == 0 and site.words(handle.id) == []
    assert waits.estimate is not None and (waits.estimate.low, waits.estimate.high, waits.estimate.items) == (1, 3, 2)
    site.client.approve(handle.id, hash=waits.hash, by="boss")
    (ended,) = site.completed(handle.id, seconds=90)
    assert (ended.result, ended.attempt, ended.tries_used) == (["a", "b", "c"], 2, 0)
    assert (site.words(estimate, "run"), site.words(handle.id, "run")) == (["a", "b"], ["c"])
    assert ended.actual is not None and ended.actual.cost == 0.5


def test_a_step_that_was_not_stored_runs_again(site: Inside) -> None:
    """The worker dies between the end of the step and its commit: nothing was stored, so nothing is skipped."""
    first = site.start("first", LANEWORK_FAILPOINTS="before_step=kill")
    handle = site.job("pipeline").submit()
    site.until(lambda: site.words(handle.id, "run"), "the step to run")
    pid = first.pid
    site.until(lambda: is_gone(pid), "the worker to die")
    first.kill_tree()
    assert site.client.steps(handle.id) == []
    site.start("second")
    (ended,) = site.completed(handle.id, seconds=90)
    assert ended.result == ["a", "b"]
    words = site.words(handle.id, "run")
    assert words.count("a") >= 2 and words.count("b") == 1


def test_what_a_continuing_job_inherits_survives_kills(site: Inside) -> None:
    """Killed after each step that it stores, it still finds the steps of the job that it continues, and its own."""
    site.start(LANEWORK_FAILPOINTS="after_step=kill")
    first = site.job("chapters").submit("c")
    site.until(lambda: site.status(first.id) == "failed", "the first one to fail", 90)
    second = site.job("chapters").options(continues=first.id).submit()
    (ended,) = site.completed(second.id, seconds=120)
    assert ended.result == ["a", "b", "c", "item 1", "item 2", 900_000]
    words = site.words(second.id, "run")
    assert set(words) >= {"c", "big"} and not {"a", "b"} & set(words) and words.count("c") == 1


def test_what_a_killed_attempt_has_said_and_saved_is_kept(site: Inside) -> None:
    """Its checkpoint was durable when `checkpoint` returned, and its lines are those of its own attempt, in order."""
    site.start()
    handle = site.job("says_and_dies").submit()
    (ended,) = site.completed(handle.id, seconds=90)
    assert (ended.result, ended.attempt, ended.tries_used) == ({"saved": 1}, 2, 0)
    lines = [(entry.attempt, entry.text.strip()) for entry in site.client.logs(handle.id)]
    assert lines == [(1, "before 0"), (1, "before 1"), (2, "after 1")]


def test_promise_7_one_row_in_the_ledger_for_each_completed_job(site: Inside) -> None:
    """Killed between the effect and the finish, inside the block after `tx.finish`, and after its commit.

    Seen red: with the step of `transact` stored by the engine, it dies between the two and pays twice."""
    site.client.lanes.set("inside", worker_slots=1)  # one at a time: a kill must not meet another job in its block
    site.start(LANEWORK_FAILPOINTS="before_step=kill")  # a `transact` has no such moment: it would die there
    plan = {"after_transact": 2, "before_commit": 2, "after_commit": 1, "": 1}
    for name, dies in [*(("pays_thread", dies) for dies in plan), ("pays_async", "before_commit")]:
        handle = site.job(name).submit(dies)
        (ended,) = site.completed(handle.id, seconds=60)
        assert (dies, ended.result, ended.attempt) == (dies, {"paid": 2}, plan[dies])
        assert (dies, site.ledger(handle.id)) == (dies, ["transact", "finish"])
    assert site.sql.one("select count(*) from ledger") == 10
    again = "select job from ledger group by job having count(*) <> 2"
    assert site.sql.rows(again) == []


def test_a_worker_is_killed_while_a_parent_is_parked(site: Inside) -> None:
    """The parent belongs to nobody; its children are given back, and wake it whoever ends them."""
    worker = site.start()
    handle = site.job("family").submit([1, 2, 3], gate="kids")
    site.until(lambda: site.status(handle.id) == "blocked", "the parent to wait")
    kids = [child.id for child in site.client.children(handle.id)]
    for kid in kids:
        site.until(lambda kid=kid: site.words(kid, "start"), "its children to start")  # type: ignore[misc]
    worker.kill_worker()
    for kid in kids:
        site.until(lambda kid=kid: site.words(kid, "start", 2), "its children to start again")  # type: ignore[misc]
    assert site.status(handle.id) == "blocked"
    site.open("kids")
    (ended,) = site.completed(handle.id)
    assert ([result for _, _, result in ended.result], ended.attempt, ended.tries_used) == ([1, 2, 3], 2, 0)


def test_families_over_several_workers_do_not_wait_for_a_sweep(site: Inside) -> None:
    """Children that end at the same moment in different processes: the second one sees the first. (The moment itself
    is in `test_children.py`; the sweep comes in ten minutes here.)"""
    for worker in site.start_many(3, LANEWORK_SWEEP="600"):
        assert worker.ready()
    site.client.lanes.set("kids", worker_slots=2)
    handles = site.job("family").submit_many([([1, 2, 3, 4],) for _ in range(60)])
    ended = site.completed(*(handle.id for handle in handles), seconds=90)
    assert {one.attempt for one in ended} == {2}


def test_order_of_sessions_over_killed_workers(site: Inside) -> None:
    """Eight sessions, four worker processes, retries, failures, snoozes, cancels, and kills."""
    dice = random.Random(5)
    workers = site.start_many(4)
    modes = ["pause", "pause", "", "retry", "snooze", "fail", "cancel", "wait"]
    ids = []
    for n in range(12):
        for key in "abcdefgh":
            mode = dice.choice(modes)
            ids.append(site.job("ordered").options(session=key).submit(key, n, mode).id)
    for victim in (workers[0], workers[1], workers[2]):
        site.sql.rows("select pg_sleep(%s)", dice.uniform(0.3, 0.8))
        victim.kill_worker()  # its guard starts another one
    site.ended(*ids, seconds=120)
    seen: dict[str, list[int]] = defaultdict(list)
    for one in sorted(site.notes, key=lambda note: note.at):
        if one.word.startswith(("begin ", "end ")):
            _, key, number = one.word.split()
            seen[key].append(int(number))
    assert set(seen) == set("abcdefgh")
    for key, numbers in seen.items():
        assert (key, numbers) == (key, sorted(numbers))
        assert set(numbers) == set(range(12))


def test_a_start_hook_that_fails_in_a_child_process(site: Inside) -> None:
    """No job is given to that child, it is said why, and another one is started; what its hook loads is there before a job."""
    for n in (1, 2):
        (site.folder / f"fail-child-{n}").touch()
    site.start()
    jobs = [site.job("loaded_process").submit() for _ in range(2)]
    ended = site.completed(*(job.id for job in jobs))
    assert [one.result[:-1] for one in ended] == [["child"]] * 2 and {one.tries_used for one in ended} == {0}
    assert list(site.folder.glob("fail-child-*")) == []
    assert "no child process for" in site.logs() and "this child's start fails" in site.logs()


def test_a_start_hook_that_fails_in_a_worker_process(site: Inside) -> None:
    """No row, no claim, and a word in its log; then it works."""
    (site.folder / "fail-start-1").touch()
    handle = site.job("loaded_thread").submit()
    site.start()
    (ended,) = site.completed(handle.id)
    assert ended.result[0] == "worker" and not (site.folder / "fail-start-1").exists()
    assert "a start hook failed; this worker takes no jobs until it succeeds" in site.logs()
