"""Acts on many jobs, as SQL: which jobs, and cancels in small commits."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Claim, Engine
from tests.sql.operations import carry, kind, many, matching, operation, refused, start
from tests.sql.proof import move


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
