"""Ending a run: the fence, the verdicts, what is read back."""

from __future__ import annotations

import re
import uuid
from typing import Any

import psycopg
import pytest

from tests.sql.engine import Claim, Engine
from tests.sql.proof import move


def claimed(engine: Engine) -> Claim:
    """A job of three tries, claimed by a worker in lane `l`."""
    lane, kind, worker = engine.lane("l", 5), engine.type("t", "l"), engine.worker()
    engine.enqueue("t", {"a": 1})
    return engine.claim(worker, lane, kind)[0]


@pytest.fixture
def claim(engine: Engine) -> Claim:
    return claimed(engine)


def again(engine: Engine) -> Claim:
    lane, kind = engine.one("select id from lanework.lanes where name = 'l'"), engine.one("select id from lanework.job_types")
    engine.promote()
    return engine.claim(engine.worker("next"), lane, kind)[0]


def test_completed_moves_the_row(engine: Engine, claim: Claim) -> None:
    assert engine.completed(1, claim, result={"n": 1}) == 1
    job = engine.job(claim.id)
    assert (job["place"], job["status"], job["result"], job["payload"]) == ("jobs_done", "completed", {"n": 1}, {"a": 1})
    assert job["claim_id"] == str(claim.claim_id)


@pytest.mark.parametrize("wrong", ["attempt", "claim_id", "id"])
def test_every_part_of_the_fence_counts(engine: Engine, claim: Claim, wrong: str) -> None:
    other: dict[str, Any] = {"attempt": claim.attempt + 1, "claim_id": uuid.uuid4(), "id": claim.id + 1000}
    stranger = claim._replace(**{wrong: other[wrong]})
    assert engine.completed(1, stranger) == 0
    assert engine.settle(1, stranger, action="fail") == {}
    assert engine.progress(stranger) == engine.log(stranger) == set()
    assert engine.checkpoint(stranger) is False
    assert engine.status(claim.id) == "running"
    for table in ("progress", "logs", "checkpoints", "attempts", "jobs_done", "jobs_failed"):
        assert engine.one(f"select count(*) from lanework.{table}") == 0, table


@pytest.mark.parametrize(("action", "verdict", "state", "tries"), [
    ("retry", {}, "approved", 1), ("retry", {"delay_s": 5}, "scheduled", 1), ("snooze", {"delay_s": 60}, "scheduled", 0),
    ("release", {}, "approved", 0), ("fail", {"error_class": "permanent"}, "failed", 1),
    ("cancel", {"reason": "no"}, "cancelled", 0),
    ("retry", {"uses_try": False, "delay_s": 0.5}, "scheduled", 0),
])  # fmt: skip
def test_verdicts(engine: Engine, claim: Claim, action: str, verdict: dict[str, Any], state: str, tries: int) -> None:
    assert engine.settle(1, claim, action=action, **verdict) == {claim.id: state}
    job = engine.job(claim.id)
    assert (job["status"], job["tries_used"], job["attempt"]) == (state, tries, 1)
    if state in ("approved", "scheduled"):
        assert job["claim_id"] is None and job["worker_id"] is None and (job["run_at"] is not None) == (state == "scheduled")
    assert engine.one("select count(*) from lanework.attempts where job_id = %s and attempt = 1", claim.id) == 1
    # ended is ended: the same claim changes nothing any more
    assert engine.completed(1, claim) == 0 and engine.settle(1, claim, action="fail") == {}


def test_a_verdict_needs_only_its_action(engine: Engine, claim: Claim) -> None:
    rows = engine.rows(
        """select next from lanework.settle(
               1, array[%s]::bigint[], array[1], array[%s]::uuid[], array['{"action": "release"}']::jsonb[])""",
        claim.id, claim.claim_id)  # fmt: skip
    assert rows == [{"next": "approved"}]


def test_tries_run_out(engine: Engine, claim: Claim) -> None:
    for expected in ("approved", "approved", "failed"):
        assert engine.settle(1, claim, error_class="transient") == {claim.id: expected}
        if expected == "approved":
            claim = again(engine)
    job = engine.job(claim.id)
    assert (job["tries_used"], job["attempt"], job["error_class"]) == (3, 3, "transient")


def test_waits_use_no_try(engine: Engine, claim: Claim) -> None:
    for action in ("snooze", "release", "snooze", "release"):
        engine.settle(1, claim, action=action, delay_s=1 if action == "snooze" else 0)
        move(engine, seconds=2)
        claim = again(engine)
    job = engine.job(claim.id)
    assert (job["tries_used"], job["attempt"]) == (0, 5)


def test_three_losses_are_a_crash_loop(engine: Engine, claim: Claim) -> None:
    for expected in ("approved", "approved", "failed"):
        assert engine.settle(1, claim, action="release", loss=True) == {claim.id: expected}
        if expected == "approved":
            assert engine.job(claim.id)["suspect"] is True
            claim = again(engine)
    job = engine.job(claim.id)
    assert (job["error_class"], job["tries_used"], job["losses"]) == ("crash_loop", 0, 3)


@pytest.mark.parametrize("action", ["retry", "snooze", "release"])
def test_a_cancel_wins_over_every_way_back(engine: Engine, claim: Claim, action: str) -> None:
    assert engine.cancel(claim.id, "enough") == "stopping"
    assert engine.settle(1, claim, action=action, delay_s=5) == {claim.id: "cancelled"}
    assert engine.job(claim.id)["reason"] == "enough"
    assert engine.one("select count(*) from lanework.stops") == 0


def test_completed_wins_over_a_cancel_that_came_later(engine: Engine, claim: Claim) -> None:
    engine.cancel(claim.id)
    assert engine.completed(1, claim) == 1
    assert engine.cancel(claim.id) == "completed"
    assert engine.one("select count(*) from lanework.stops") == 0


def test_a_superseded_settle_does_not_erase_a_cancel(engine: Engine, claim: Claim) -> None:
    engine.settle(1, claim, action="release")
    current = again(engine)
    engine.cancel(current.id)
    assert engine.settle(1, claim, action="fail") == {}
    assert engine.completed(1, claim) == 0
    assert engine.settle(2, current, action="retry") == {current.id: "cancelled"}


def test_a_stop_of_another_kind_ends_with_the_run(engine: Engine, claim: Claim) -> None:
    engine.rows("insert into lanework.stops (job_id, kind) values (%s, 'stalled')", claim.id)
    assert engine.settle(1, claim, action="retry") == {claim.id: "approved"}
    assert engine.one("select count(*) from lanework.stops") == 0


def test_one_bad_value_is_refused_with_its_batch_and_nothing_is_half_done(engine: Engine, claim: Claim) -> None:
    with pytest.raises(psycopg.DataError):
        engine.rows(
            r"""select lanework.completed(1, array[%s]::bigint[], array[1], array[%s]::uuid[], array['{"a": "\u0000"}'])""",
            claim.id, claim.claim_id)  # fmt: skip
    assert engine.status(claim.id) == "running"


def test_a_joint_call_tells_which_finishes_changed_nothing(engine: Engine, claim: Claim) -> None:
    lane = engine.job(claim.id)["lane_id"]
    kind = engine.job(claim.id)["type_id"]
    engine.enqueue("t")
    rows = engine.claim_rows(engine.worker(), lane, kind, done=[claim, claim._replace(attempt=9)])
    assert [row["id"] < 0 for row in rows] == [True, False], "one row says that something changed nothing, then the claim"
    assert engine.status(claim.id) == "completed"


def test_read_back_knows_what_this_worker_ended(engine: Engine, claim: Claim) -> None:
    worker = engine.job(claim.id)["worker_id"]
    assert engine.read_back(worker, claim) == {claim.id: False}
    engine.settle(worker, claim, action="retry")
    assert engine.read_back(worker, claim) == {claim.id: True}
    current = again(engine)
    assert engine.read_back(worker, current) == {claim.id: False}
    engine.completed(2, current)
    assert engine.read_back(2, current) == {claim.id: True}
    assert engine.read_back(2, current._replace(claim_id=uuid.uuid4(), attempt=7)) == {claim.id: False}


def test_read_back_does_not_take_a_reap_for_an_own_end(engine: Engine, claim: Claim) -> None:
    worker = engine.job(claim.id)["worker_id"]
    engine.end_worker(worker)
    assert engine.read_back(worker, claim) == {claim.id: False}


def test_a_row_found_by_its_place_is_guarded_all_the_same(engine: Engine) -> None:
    """Before the minor releases of November 2025 a TID scan did not look again at a row that changed while it was waited for:
    what is written `where ctid = …` alone is written to whatever the row has become."""
    found = engine.rows(
        """select proname, prosrc from pg_proc
           where pronamespace = 'lanework'::regnamespace and prosrc ~ 'ctid = '"""
    )
    running = (".attempt = ", ".claim_id = ", ".status = 'running'")
    guards = {
        "promote_followers": (".id = ", ".status::text = 'blocked'", ".blocked_on = 'session'"),
        "gate": (".id = ",),  # rows of this very statement: nobody else has seen them
    }
    for row in found:
        for condition in re.findall(r"ctid = .*?(?=returning|;|\)\s*,)", row["prosrc"], re.DOTALL):
            for part in guards.get(row["proname"], running):
                assert part in condition, f"lanework.{row['proname']}: `{part}` is missing beside ctid"


def test_rollups_count_each_end_once(engine: Engine, claim: Claim) -> None:
    engine.settle(1, claim, action="retry")
    engine.completed(1, again(engine))
    row = engine.rows("select sum(completed) c, sum(retried) r, sum(failed) f from lanework.rollups")[0]
    assert (row["c"], row["r"], row["f"]) == (1, 1, 0)
    move(engine, minutes=10)
    merged = engine.one("select lanework.merge_rollups()")
    row = engine.rows("select sum(completed) c, sum(retried) r, max(writer) w from lanework.rollups")[0]
    assert merged and (row["c"], row["r"], row["w"]) == (1, 1, 0)
    assert engine.one("select lanework.merge_rollups()") == 0
