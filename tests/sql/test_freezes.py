"""Freezes of lanes, by operators and by jobs, as SQL."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.engine import Claim, Engine
from tests.sql.interleave import Beside
from tests.sql.operations import kind, refused
from tests.sql.proof import move


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
