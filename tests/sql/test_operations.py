"""Acts on many jobs, priorities, drains and freezes, as SQL."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Claim, Engine, Range
from tests.sql.interleave import Beside
from tests.sql.proof import move

ANY = "select matched, done, skipped, state, position, error from lanework.operations where id = %s"


def start(engine: Engine, kind: str, filter: dict[str, Any], **args: Any) -> int:
    return int(engine.one("select lanework.start_operation(%s, %s, %s, 'ann', 'why')", kind, Jsonb(filter), Jsonb(args)))


def carry(engine: Engine, operation: int | None = None) -> bool:
    return bool(engine.one("select lanework.carry_operations(%s)", operation))


def operation(engine: Engine, id: int) -> dict[str, Any]:
    return engine.rows(ANY, id)[0]


def matching(engine: Engine, after: int = 0, limit: int = 100, **filter: Any) -> list[int]:
    rows = engine.rows("select lanework.matching(%s, %s, 9223372036854775807, %s) as id", Jsonb(filter), after, limit)
    return [row["id"] for row in rows]


def many(engine: Engine, count: int, type: str = "t") -> None:
    engine.rows(
        "insert into lanework.jobs (type_id, status) select t.id, 'approved' from lanework.job_types t, generate_series(1, %s) "
        "where t.name = %s", count, type)  # fmt: skip


def refused(engine: Engine, code: str, sql: str, *args: Any) -> str:
    with pytest.raises(psycopg.Error) as caught:
        engine.rows(sql, *args)
    assert caught.value.sqlstate == code
    return str(caught.value)


def lanes(engine: Engine) -> int:
    lane = engine.lane("l", None)
    engine.type("t", "l")
    engine.type("u", "default")
    return lane


@pytest.fixture
def lane(engine: Engine) -> int:
    return lanes(engine)


def kind(engine: Engine, name: str = "t") -> int:
    return int(engine.one("select id from lanework.job_types where name = %s", name))


# which jobs


def test_every_field_of_a_filter(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    first = engine.enqueue("t", owner="ann", tags=["x", "y"])
    other = engine.enqueue("u", owner="bob")
    move(engine, minutes=1)
    between = engine.one("select (lanework.now() - interval '1 s')::text")
    later = engine.enqueue("t", run_at=engine.one("select lanework.now() + interval '1 h'"))
    failed, done = engine.enqueue("t", priority=9), engine.enqueue("t", priority=8)
    claims = engine.claim(worker, lane, kind(engine), want=2)
    engine.settle(worker, *claims[:1], action="fail", error_class="permanent")
    engine.completed(worker, *claims[1:])
    assert matching(engine) == [first, other, later, failed, done]
    assert matching(engine, after=other, limit=2) == [later, failed]
    found: dict[str, tuple[Any, list[int]]] = {
        "status": (["scheduled", "failed"], [later, failed]), "type": (["u", "nobody"], [other]), "owner": ("ann", [first]),
        "lane": (["default"], [other]), "tag": ("y", [first]), "error_class": ("permanent", [failed]),
        "created_after": (between, [later, failed, done]), "created_before": (between, [first, other]),
        "ids": ([done, first, 10**15], [first, done]),
    }  # fmt: skip
    for field, (value, expected) in found.items():
        assert matching(engine, **{field: value}) == expected, field
    assert matching(engine, lane=["l"], status=["completed"]) == [done]
    assert matching(engine, status=[]) == matching(engine, type=[]) == matching(engine, ids=[]) == []


def test_a_job_that_waits_is_in_the_lane_of_its_type(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    job = engine.enqueue("t")
    claims = engine.claim(worker, lane, kind(engine))
    engine.rows("update lanework.job_types set lane = 'default' where name = 't'")
    assert (
        matching(engine, lane=["l"]) == [job] == [r["id"] for r in engine.rows("select id from lanework.all_jobs where lane = 'l'")]
    )
    engine.settle(worker, *claims, action="release")
    assert matching(engine, lane=["l"]) == [] and matching(engine, lane=["default"]) == [job]


@pytest.mark.parametrize(
    ("filter", "word"),
    [({"colour": "red"}, "colour"), ({"status": ["asleep"]}, "asleep"), ({"type": "t"}, "type"), ({"ids": ["1"]}, "ids"),
     ({"owner": 1}, "owner"), ([], "object"), ({}, "empty")],
)  # fmt: skip
def test_a_wrong_filter_is_refused(engine: Engine, lane: int, filter: Any, word: str) -> None:
    assert word in refused(engine, "LW500", "select lanework.start_operation('cancel', %s, '{}', 'ann')", Jsonb(filter))
    assert engine.rows("select from lanework.operations") == engine.rows("select from lanework.audit_log") == []


def test_an_unknown_act_is_refused(engine: Engine, lane: int) -> None:
    for name in ("bake", "operation", "Cancel"):
        refused(engine, "LW500", "select lanework.start_operation(%s, '{\"owner\": \"x\"}', '{}', 'ann')", name)


# cancelling many


def test_a_cancel_goes_on_in_small_commits(engine: Engine, lane: int) -> None:
    many(engine, 2500)
    many(engine, 10, "u")
    act = start(engine, "cancel", {"type": ["t"]})
    assert operation(engine, act)["matched"] == 2500
    late = engine.enqueue("t")
    for done in (1000, 2000):
        assert carry(engine)
        assert operation(engine, act)["done"] == done
        assert engine.one("select count(*) from lanework.jobs where type_id = %s", kind(engine)) == 2501 - done
    assert not carry(engine) and not carry(engine)
    assert {**operation(engine, act), "position": 0} == {
        "matched": 2500, "done": 2500, "skipped": 0, "state": "done", "position": 0, "error": None}  # fmt: skip
    assert engine.status(late) == "approved", "submitted after the act began"
    assert engine.one("select count(*) from lanework.jobs") == 11
    assert engine.rows("select distinct status::text, reason from lanework.jobs_done") == [{"status": "cancelled", "reason": "why"}]


def test_a_cancel_of_all_states(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    waiting = [engine.enqueue("t"), engine.enqueue("t", run_at=engine.one("select lanework.now() + interval '1 h'"))]
    blocked = [engine.enqueue("t", session="s") for _ in range(2)]
    engine.rows("select lanework.promote_sessions('{s}')")
    running, ended = engine.enqueue("t", priority=9), engine.enqueue("t", priority=8)
    claims = engine.claim(worker, lane, kind(engine), want=2, no=7)
    engine.completed(worker, *[c for c in claims if c.id == ended])
    act = start(engine, "cancel", {"lane": ["l"]})
    assert not carry(engine)
    assert operation(engine, act) | {"position": 0} == {
        "matched": 5, "done": 5, "skipped": 0, "state": "done", "position": 0, "error": None}  # fmt: skip
    assert {engine.status(job) for job in (*waiting, *blocked)} == {"cancelled"}
    assert (engine.status(running), engine.status(ended)) == ("running", "completed")
    assert [row["job_id"] for row in engine.beat(worker, open=[7])] == [running]
    assert engine.settle(worker, *[c for c in claims if c.id == running], action="release") == {running: "cancelled"}


def test_what_somebody_holds_is_asked(engine: Engine, another: Any, lane: int) -> None:
    """A claim is under way: the act does not wait for it, and the job does not escape."""
    worker, one = engine.worker(), another()
    job = engine.enqueue("t")
    with one.db.transaction():
        (claim,) = one.claim(worker, lane, kind(engine))
        act = start(engine, "cancel", {"lane": ["l"]})
        assert not carry(engine)
    assert operation(engine, act)["done"] == 1
    assert engine.settle(worker, claim, action="retry") == {job: "cancelled"}


def test_children_can_be_spared(engine: Engine, lane: int) -> None:
    for spared, act in ((True, "one"), (False, "one"), (True, "many"), (False, "many")):
        worker = engine.worker()
        parent = engine.enqueue("t", priority=9)
        (claim,) = engine.claim(worker, lane, kind(engine))
        (child,) = children(engine, claim)
        assert engine.settle(worker, claim, action="wait") == {parent: "blocked"}
        if act == "one":
            assert engine.one("select lanework.cancel(%s, 'ann', '', %s)", parent, not spared) == "cancelled"
        else:
            start(engine, "cancel", {"ids": [parent]}, children=not spared)
            assert not carry(engine)
        assert engine.status(parent) == "cancelled"
        engine.sweep()
        assert engine.status(child) == ("approved" if spared else "cancelled"), (spared, act)
        assert engine.rows("select from lanework.stops") == []
        engine.cancel(child)


def test_children_of_a_running_job_can_be_spared(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    for spared in (True, False):
        parent = engine.enqueue("t", priority=9)
        (claim,) = engine.claim(worker, lane, kind(engine))
        (child,) = children(engine, claim)
        assert engine.one("select lanework.cancel(%s, 'ann', '', %s)", parent, not spared) == "stopping"
        assert engine.settle(worker, claim, action="release") == {parent: "cancelled"}
        engine.sweep()
        assert engine.status(child) == ("approved" if spared else "cancelled")
        engine.cancel(child)


def children(engine: Engine, claim: Claim) -> list[int]:
    sql = "select child_id from lanework.submit_children(%s, %s, %s, '{a}', 't', '{\"{}\"}', 1, -5, null, null, null)"
    rows = engine.rows(sql, *claim)
    return [row["child_id"] for row in rows]


def test_a_stopped_act_goes_no_further(engine: Engine, lane: int) -> None:
    many(engine, 1500)
    act = start(engine, "cancel", {"type": ["t"]})
    assert carry(engine)
    assert engine.one("select lanework.stop_operation(%s, 'bob')", act) == "stopped"
    assert not carry(engine)
    assert operation(engine, act)["done"] == 1000 and engine.one("select count(*) from lanework.jobs") == 500
    assert engine.one("select lanework.stop_operation(%s, 'bob')", act) == "stopped"
    refused(engine, "LW501", "select lanework.stop_operation(999999, 'bob')")


def test_carriers_do_not_wait_for_each_other(engine: Engine, another: Any, lane: int) -> None:
    many(engine, 1500)
    engine.rows("set lock_timeout = '2s'")
    one = another()
    act = start(engine, "cancel", {"type": ["t"]})
    with one.db.transaction():
        assert carry(one)
        assert carry(engine), "somebody else has it; there is more to do"
        assert operation(engine, act)["done"] == 0
    assert not carry(engine)
    assert operation(engine, act)["done"] == 1500


def test_an_act_that_breaks_is_marked_and_holds_up_nothing(engine: Engine, lane: int) -> None:
    many(engine, 3)
    act = start(engine, "priority", {"type": ["t"]}, priority=3)
    engine.rows('update lanework.operations set args = \'{"priority": "high"}\' where id = %s', act)
    good = start(engine, "cancel", {"type": ["t"]})
    assert not carry(engine)
    assert operation(engine, act)["state"] == "failed" and "high" in operation(engine, act)["error"]
    assert operation(engine, good)["done"] == 3


def test_a_filter_that_few_match_takes_several_short_rounds(engine: Engine, lane: int) -> None:
    many(engine, 45_000, "u")
    job = engine.enqueue("t")
    act = start(engine, "cancel", {"type": ["t"]})
    rounds = 1
    while carry(engine, act):
        rounds += 1
    assert rounds == 3 and engine.status(job) == "cancelled"


def test_tend_carries_and_old_acts_leave(engine: Engine, lane: int) -> None:
    many(engine, 1200)
    worker = engine.worker()
    start(engine, "cancel", {"type": ["t"]})
    assert [engine.one("select unfinished from lanework.tend(%s, '10 s')", worker) for _ in range(2)] == [True, False]
    move(engine, days=91)
    engine.rows("select lanework.prune_operations(10)")
    assert engine.rows("select from lanework.operations") == []


# priority


def test_a_raised_job_is_first(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    jobs = [engine.enqueue("t") for _ in range(3)]
    assert engine.one("select lanework.set_priority(%s, 7, 'ann')", jobs[2]) == 0
    (claim,) = engine.claim(worker, lane, kind(engine))
    assert claim.id == jobs[2]
    assert engine.one("select priority from lanework.all_jobs where id = %s", jobs[2]) == 7
    (row,) = engine.rows("select actor, act, target, before->>'priority' as was, after->>'priority' as now from lanework.audit_log")
    assert row == {"actor": "ann", "act": "job.priority", "target": f"job:{jobs[2]}", "was": "0", "now": "7"}


def test_a_priority_that_changes_nothing_is_refused_in_words(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    job = engine.enqueue("t")
    sql = "select lanework.set_priority(%s, %s, 'ann')"
    assert "-1000 to 1000, got 1001" in refused(engine, "LW300", sql, job, 1001)
    refused(engine, "LW300", sql, job, None)
    refused(engine, "LW310", sql, 10**9, 1)
    claims = engine.claim(worker, lane, kind(engine))
    assert "is running" in refused(engine, "LW502", sql, job, 1)
    engine.completed(worker, *claims)
    assert "is already completed" in refused(engine, "LW502", sql, job, 1)
    refused(engine, "LW300", "select lanework.start_operation('priority', '{\"owner\": \"x\"}', '{\"priority\": 5000}', 'ann')")
    assert engine.rows("select from lanework.audit_log") == []


def test_priorities_by_filter(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    running = engine.enqueue("t", priority=1)
    engine.claim(worker, lane, kind(engine))
    jobs = [engine.enqueue("t") for _ in range(3)] + [engine.enqueue("t", session="s")]
    act = start(engine, "priority", {"type": ["t"]}, priority=-4)
    assert not carry(engine)
    assert operation(engine, act)["matched"] == operation(engine, act)["done"] == 4
    assert {engine.job(job)["rank"] for job in jobs} == {4} and engine.job(running)["rank"] == -1


def test_a_raise_is_announced_as_lying_behind(engine: Engine, another: Any, lane: int) -> None:
    """What a worker has claimed last lies before it: without a word it would not look there at once."""
    worker, listener = engine.worker(), another()
    listener.rows("listen lanework")
    old, new = engine.enqueue("t"), engine.enqueue("t", priority=5)
    (claim,) = engine.claim(worker, lane, kind(engine))
    assert claim.id == new
    position = (-5, engine.one("select created_at from lanework.jobs where id = %s", new), new)
    engine.one("select lanework.set_priority(%s, 5, 'ann')", old)
    assert engine.claim(worker, lane, Range(kind(engine), position, below=0), used=1) == []
    assert [notify.payload for notify in listener.db.notifies(timeout=5, stop_after=1)] == ["<l"]
    assert [claim.id for claim in engine.claim(worker, lane, kind(engine), used=1)] == [old]


# drains


def test_a_drained_worker_claims_nothing_and_finishes(engine: Engine, lane: int) -> None:
    worker, other = engine.worker(), engine.worker()
    jobs = [engine.enqueue("t") for _ in range(4)]
    claims = engine.claim(worker, lane, kind(engine))
    assert engine.one("select lanework.drain_worker(%s, 'ann')", worker) == "draining"
    assert engine.claim(worker, lane, kind(engine), done=claims) == []
    assert engine.status(jobs[0]) == "completed"
    assert [c.id for c in engine.claim(other, lane, kind(engine))] == [jobs[1]], "others go on"
    assert engine.beat(worker) == []
    assert engine.one("select lanework.resume_worker(%s, 'ann')", worker) == "active"
    assert [c.id for c in engine.claim(worker, lane, kind(engine))] == [jobs[2]]


def test_a_drain_waits_for_a_claim_under_way(engine: Engine, another: Any, lane: int) -> None:
    worker, one, two = engine.worker(), another(), another()
    engine.enqueue("t")
    with one.db.transaction():
        one.claim(worker, lane, kind(engine))
        drain = Beside(engine, two, lambda: two.one("select lanework.drain_worker(%s, 'ann')", worker))
        assert drain.blocked
    assert drain.result() == "draining"


def test_workers_that_cannot_be_steered(engine: Engine) -> None:
    worker = engine.worker()
    for verb in ("drain_worker", "resume_worker"):
        refused(engine, "LW503", f"select lanework.{verb}(12345678, 'ann')")
    assert engine.one("select lanework.resume_worker(%s, 'ann')", worker) == "active"
    engine.rows("update lanework.workers set state = 'draining'")
    assert engine.one("select lanework.drain_worker(%s, 'ann')", worker) == "draining"
    assert "stopping by itself" in refused(engine, "LW504", "select lanework.resume_worker(%s, 'ann')", worker)
    engine.end_worker(worker)
    for verb in ("drain_worker", "resume_worker"):
        refused(engine, "LW504", f"select lanework.{verb}(%s, 'ann')", worker)
    assert engine.rows("select from lanework.audit_log") == []


def test_everything_is_drained_and_resumed(engine: Engine, lane: int) -> None:
    worker, default = engine.worker(), engine.one("select id from lanework.lanes where name = 'default'")
    jobs = [engine.enqueue("t"), engine.enqueue("u")]
    engine.rows("select * from lanework.set_lane('default', '{\"enabled\": false}', 'ann', false)")
    assert engine.one("select lanework.drain_all('ann', 'upgrade')") is True
    assert engine.one("select lanework.drain_all('bob')") is False
    assert engine.claim(worker, lane, kind(engine)) == []
    assert engine.one("select lanework.held_by('l')") == ["everything is drained by ann"]
    assert engine.one("select enabled from lanework.lanes where name = 'l'") is True
    assert engine.one("select lanework.resume_all('ann')") is True
    assert engine.one("select lanework.resume_all('ann')") is False
    assert [c.id for c in engine.claim(worker, lane, kind(engine))] == jobs[:1]
    assert engine.claim(worker, default, kind(engine, "u")) == [], "its own drain stays"


def test_a_claim_does_not_pass_a_drain_of_everything(engine: Engine, another: Any, lane: int) -> None:
    worker, one, two = engine.worker(), another(), another()
    engine.enqueue("t"), engine.enqueue("t")
    with one.db.transaction():
        assert len(one.claim(worker, lane, kind(engine))) == 1
        drain = Beside(engine, two, lambda: two.one("select lanework.drain_all('ann')"))
        assert drain.blocked, "it answers when no claim can have missed it"
    assert drain.result() is True
    assert engine.claim(worker, lane, kind(engine), used=1) == []


# freezes


def freeze(engine: Engine, *lanes: str, seconds: float = 60) -> int:
    return int(engine.one("select lanework.freeze(%s, 'ann', 'restore', %s)", list(lanes), seconds))


def freeze_for(engine: Engine, claim: Claim, *lanes: str) -> int:
    return int(engine.one("select lanework.freeze_for(%s, %s, %s, %s, 'restore')", *claim, list(lanes)))


def test_a_frozen_lane_starts_nothing_and_keeps_its_settings(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    job = engine.enqueue("t")
    engine.rows("select * from lanework.set_lane('default', '{\"enabled\": false}', 'ann', false)")
    held = freeze(engine, "l", "default")
    assert engine.claim(worker, lane, kind(engine)) == []
    assert engine.one("select lanework.held_by('l')") == [f"freeze {held} by ann"]
    engine.rows("select * from lanework.set_lane('l', '{\"max_slots\": 3}', 'bob', false)")  # operators may go on meanwhile
    assert engine.one("select lanework.thaw(%s, 'ann')", held) == ["default", "l"]
    assert engine.rows("select name, enabled, max_slots from lanework.lanes order by 1") == [
        {"name": "default", "enabled": False, "max_slots": 1}, {"name": "l", "enabled": True, "max_slots": 3}]  # fmt: skip
    assert [c.id for c in engine.claim(worker, lane, kind(engine))] == [job]
    refused(engine, "LW507", "select lanework.thaw(%s, 'ann')", held)


def test_an_operators_hold_expires(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    engine.enqueue("t")
    freeze(engine, "l", seconds=10)
    freeze(engine, "l", seconds=20)
    move(engine, seconds=11)
    assert engine.claim(worker, lane, kind(engine)) == [], "two holds are two"
    move(engine, seconds=11)
    assert len(engine.claim(worker, lane, kind(engine))) == 1
    assert engine.one("select count(*) from lanework.freezes") == 2
    engine.rows("select lanework.end_freezes()")
    assert engine.one("select count(*) from lanework.freezes") == 0


@pytest.mark.parametrize("end", ["completed", "fail", "retry", "cancel", "worker dies", "silence"])
def test_a_jobs_hold_ends_with_its_run_by_whatever_path(engine: Engine, lane: int, end: str) -> None:
    worker, other = engine.worker(), engine.worker()
    default = int(engine.one("select id from lanework.lanes where name = 'default'"))
    owner = engine.enqueue("u")
    (claim,) = engine.claim(worker, default, kind(engine, "u"))
    engine.enqueue("t")
    freeze_for(engine, claim, "l")
    assert engine.claim(other, lane, kind(engine)) == []
    match end:
        case "completed":
            engine.completed(worker, claim)
        case "worker dies":
            engine.end_worker(worker)
        case "silence":
            for _ in range(4):
                move(engine, seconds=0.5)
                engine.beat(other)
            assert engine.reap(other) == {worker}
        case _:
            engine.settle(worker, claim, action=end)
    assert engine.status(owner) != "running"
    assert len(engine.claim(other, lane, kind(engine))) == 1
    engine.rows("select lanework.end_freezes()")
    assert engine.one("select count(*) from lanework.freezes") == 0


def test_the_next_attempt_does_not_hold_what_the_last_one_froze(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    default = int(engine.one("select id from lanework.lanes where name = 'default'"))
    engine.enqueue("u")
    (claim,) = engine.claim(worker, default, kind(engine, "u"))
    freeze_for(engine, claim, "l", "default")
    engine.settle(worker, claim, action="release")
    (again,) = engine.claim(worker, default, kind(engine, "u"))
    assert engine.one("select lanework.held_by('l') <> '{}'") is False
    refused(engine, "LW400", "select lanework.freeze_for(%s, %s, %s, '{l}', '')", *claim)
    freeze_for(engine, again, "l", "default")
    assert engine.one("select lanework.held_by('l') <> '{}'") is True


def test_quiet_counts_all_bodies_but_the_one_that_asks(engine: Engine, lane: int) -> None:
    worker, other = engine.worker(), engine.worker()
    for _ in range(2):
        engine.enqueue("t")
    (mine,) = engine.claim(worker, lane, kind(engine))
    (theirs,) = engine.claim(other, lane, kind(engine))
    busy = "select * from lanework.busy_lanes('{l,default}', %s)"
    freeze_for(engine, mine, "l", "default")
    assert engine.rows(busy, mine.id) == [{"lane": "l", "used": 1}]
    assert engine.rows(busy, None) == [{"lane": "l", "used": 2}]
    engine.settle(other, theirs, action="cancel")
    assert engine.rows(busy, mine.id) == [{"lane": "l", "used": 1}], "fenced, and its body has not ended"
    engine.claim(other, lane, kind(engine), want=0, used=0)
    assert engine.rows(busy, mine.id) == []


def test_two_jobs_that_would_wait_for_each_other(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    default = int(engine.one("select id from lanework.lanes where name = 'default'"))
    engine.enqueue("t"), engine.enqueue("u")
    (one,) = engine.claim(worker, lane, kind(engine))
    (two,) = engine.claim(worker, default, kind(engine, "u"))
    freeze_for(engine, one, "default")
    assert str(one.id) in refused(engine, "LW506", "select lanework.freeze_for(%s, %s, %s, '{l}', '')", *two)
    freeze_for(engine, one, "l")
    freeze_for(engine, two, "default")  # its own lane alone: the first one waits for it, and it for nobody


def test_a_wrong_freeze_is_refused(engine: Engine, lane: int) -> None:
    for lanes, seconds, code in (([], 60, "LW505"), (["nowhere"], 60, "LW321"), (["l"], 0, "LW505"), (["l"], 10**9, "LW505")):
        refused(engine, code, "select lanework.freeze(%s::text[], 'ann', '', %s)", lanes, seconds)
    assert engine.rows("select from lanework.audit_log") == engine.rows("select from lanework.freezes") == []


def test_a_claim_does_not_pass_a_freeze(engine: Engine, another: Any, lane: int) -> None:
    worker, one, two = engine.worker(), another(), another()
    engine.enqueue("t"), engine.enqueue("t")
    with one.db.transaction():
        assert len(one.claim(worker, lane, kind(engine))) == 1
        hold = Beside(engine, two, lambda: freeze(two, "l"))
        assert hold.blocked, "it answers when no claim can have missed it"
    hold.result()
    assert engine.claim(worker, lane, kind(engine), used=1) == []
