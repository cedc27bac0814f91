"""Schedules in SQL: whatever leaders do, a tick makes at most one job, and each tick is accounted for."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import Another
from tests.sql.engine import Engine
from tests.sql.interleave import Beside
from tests.sql.proof import move
from tests.sql.timetable import START, House, at, fire, jobs, outcomes, schedule


def test_a_tick_makes_one_job_however_often_it_is_fired(house: House) -> None:
    engine = house.engine
    schedule(engine, payload={"n": 1}, priority=7, owner="o", tags=["a"])
    move(engine, minutes=1)
    (first,) = fire(engine, at(minutes=1))
    assert first["outcome"] == "submitted"
    house.end()
    fire(engine, at(minutes=1))
    fire(engine, at(minutes=1), at(minutes=1, seconds=1))  # not later than now: the second one has not come
    assert outcomes(engine) == ["submitted"]
    assert engine.job(first["job_id"])["status"] == "completed"
    assert jobs(engine) == 0
    row = engine.rows("select payload, priority, owner, tags from lanework.all_jobs where id = %s", first["job_id"])[0]
    assert row == {"payload": {"n": 1}, "priority": 7, "owner": "o", "tags": ["a"]}


def test_the_key_alone_keeps_a_tick_single(engine: Engine) -> None:
    """Whatever the cursor says."""
    engine.type("t")
    schedule(engine, overlap="queue")
    move(engine, minutes=1)
    fire(engine, at(minutes=1))
    engine.rows("update lanework.schedules set last_tick = %s", START)
    fire(engine, at(minutes=1))
    assert jobs(engine) == 1


def test_a_row_that_stands_for_many_keeps_them_out(engine: Engine) -> None:
    """An older leader, who still counts from the old cursor, cannot fire what was missed."""
    engine.type("t")
    schedule(engine, overlap="queue", misfire="all")
    move(engine, minutes=5)
    fire(engine, at(minutes=5), first_missed=at(minutes=1), missed=4)
    fire(engine, at(minutes=2), at(minutes=3), at(minutes=5))
    assert outcomes(engine) == ["missed", "submitted"]
    row = engine.rows("select until, count from lanework.ticks where outcome = 'missed'")[0]
    assert (row["until"], row["count"]) == (at(minutes=5), 4)


def test_another_revision_decides_nothing(engine: Engine) -> None:
    engine.type("t")
    schedule(engine)
    old = engine.one("select revision from lanework.schedules")
    engine.rows("select * from lanework.set_schedule('s', %s, 'me', false)", json.dumps({"every_s": 30}))
    move(engine, minutes=1)
    assert fire(engine, at(minutes=1), revision=old) == []
    assert outcomes(engine) == []


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("skip", ["missed", "missed", "missed", "submitted"]),
        ("one", ["missed", "missed", "missed", "submitted"]),
        ("all", ["submitted"] * 4),
    ],
)
def test_after_downtime(engine: Engine, policy: str, expected: list[str]) -> None:
    engine.type("t")
    schedule(engine, overlap="queue", misfire=policy)
    move(engine, minutes=10)
    fire(engine, at(minutes=1), at(minutes=2), at(minutes=8), at(minutes=10))
    assert outcomes(engine) == expected


def test_one_run_for_all_that_were_missed(engine: Engine) -> None:
    engine.type("t")
    for name, policy in (("none", "skip"), ("once", "one")):
        schedule(engine, name, misfire=policy)
    move(engine, minutes=10)
    for name in ("none", "once"):
        fire(engine, at(minutes=1), at(minutes=2), name=name)
    assert outcomes(engine, "none") == ["missed", "missed"]
    assert outcomes(engine, "once") == ["missed", "submitted"]


def test_overlap_skips_while_a_job_has_not_ended(house: House) -> None:
    engine = house.engine
    schedule(engine)
    move(engine, minutes=3)
    fire(engine, at(minutes=2), at(minutes=2.5))
    (claim,) = house.claim()
    fire(engine, at(minutes=2.8))
    engine.settle(house.worker, claim, action="retry", delay_s=60, max_tries=9)
    fire(engine, at(minutes=2.9))
    assert outcomes(engine) == ["submitted", "skipped", "skipped", "skipped"]
    assert "overlap: job" in engine.one("select reason from lanework.ticks order by tick desc limit 1")
    engine.cancel(claim.id)
    fire(engine, at(minutes=3))
    assert outcomes(engine)[-1] == "submitted"


def test_what_is_queued_runs_one_at_a_time(house: House) -> None:
    engine = house.engine
    schedule(engine, overlap="queue")
    move(engine, minutes=2)
    fire(engine, at(minutes=1.5), at(minutes=2))
    engine.rows("select lanework.promote_sessions(array['schedule:s'])")
    first, *more = house.claim()
    assert more == []
    engine.completed(house.worker, first)
    assert len(house.claim()) == 1


def test_the_running_one_is_cancelled(house: House) -> None:
    engine = house.engine
    schedule(engine, overlap="cancel")
    move(engine, minutes=2)
    (first,) = fire(engine, at(minutes=1.5))
    engine.rows("select lanework.promote_sessions(array['schedule:s'])")
    (claim,) = house.claim()
    (second,) = fire(engine, at(minutes=2))
    assert engine.one("select asked_by from lanework.stops where job_id = %s", first["job_id"]) == "schedule:s"
    assert house.claim() == []  # not beside the one that is being stopped
    engine.settle(house.worker, claim, action="cancel")
    assert [one.id for one in house.claim()] == [second["job_id"]]


def test_overlap_is_decided_under_the_schedules_lock(house: House, another: Another) -> None:
    """Two who fire different ticks at once: the second sees the first one's job."""
    engine, other = house.engine, another()
    schedule(engine)
    move(engine, minutes=1)
    with engine.db.transaction():
        engine.rows("select * from lanework.run_schedule('s', 'me', false)")
        answer = Beside(engine, other, lambda: fire(other, at(seconds=30)))
    answer.result()
    assert jobs(engine) == 1
    assert sorted(outcomes(engine)) == ["skipped", "submitted"]


def test_jitter_is_the_same_for_everybody(engine: Engine) -> None:
    engine.type("t")
    schedule(engine, jitter_s=600)
    move(engine, minutes=1)
    fire(engine, at(minutes=1))
    run_at = engine.one("select run_at from lanework.jobs")
    assert at(minutes=1) < run_at < at(minutes=11)
    assert run_at == engine.one("select %s + lanework.jitter('s', %s, 600)", at(minutes=1), at(minutes=1))
    moments = {engine.one("select lanework.jitter('s', %s, 600)", at(minutes=n)) for n in range(50)}
    assert len(moments) == 50
    assert all(timedelta(0) <= one < timedelta(minutes=10) for one in moments)
    assert max(moments) - min(moments) > timedelta(minutes=5)


def test_five_errors_in_a_row_disable_it_loudly(house: House) -> None:
    engine = house.engine
    schedule(engine)
    for n in range(1, 6):
        move(engine, hours=1)
        fire(engine, at(hours=n))
        house.end("fail", error_class="permanent", error="no such table")
        engine.rows("select * from lanework.settle_schedules()")
        row = engine.rows("select * from lanework.schedules")[0]
        assert (row["errors"], row["enabled"]) == (n, n < 5)
    assert row["disabled_because"] == "5 errors in a row, the last: its job failed: permanent: no such table"
    assert engine.one("select count(*) from lanework.events where kind = 'schedule.disable'") == 1
    assert engine.one("select actor from lanework.audit_log where act = 'schedule.disable'") == "lanework"
    assert [row["kind"] for row in engine.rows("select * from lanework.schedule_alarms()")] == ["disabled"]
    move(engine, hours=1)
    assert fire(engine, at(hours=6)) == []
    engine.rows("select * from lanework.set_schedule('s', %s, 'me', false)", json.dumps({"payload": {"n": 2}}))
    assert [row["name"] for row in engine.rows("select * from lanework.schedule_alarms()")] == ["s"]  # until it is resumed
    engine.rows("select lanework.resume_schedule('s', 'me')")
    move(engine, minutes=1)
    assert fire(engine, at(hours=6, minutes=1))[0]["outcome"] == "submitted"
    house.end()
    engine.rows("select * from lanework.settle_schedules()")
    assert engine.one("select errors from lanework.schedules") == 0


def test_an_error_backs_off_and_a_success_forgets_it(house: House) -> None:
    engine = house.engine
    schedule(engine)
    move(engine, minutes=1)
    fire(engine, at(minutes=1))
    house.end("fail", error_class="permanent", error="x")
    move(engine, seconds=5)
    (skipped,) = fire(engine, at(minutes=1, seconds=5))
    assert skipped["reason"].startswith("waits until 2030-01-01T00:01:15Z after an error")
    move(engine, seconds=10)
    fire(engine, at(minutes=1, seconds=15))
    house.end()
    engine.rows("select * from lanework.settle_schedules()")
    assert engine.one("select errors from lanework.schedules") == 0
    assert outcomes(engine) == ["submitted", "skipped", "submitted"]


def test_an_unknown_type_is_an_error_of_the_schedule(engine: Engine) -> None:
    schedule(engine, type="nobody")
    move(engine, minutes=1)
    (tick,) = fire(engine, at(minutes=1))
    assert tick["outcome"] == "error" and "'nobody'" in tick["reason"]
    assert engine.one("select errors from lanework.schedules") == 1


@pytest.mark.parametrize("answer", ["no", "yes", "more", "failed"])
def test_a_condition_is_asked_by_a_job(house: House, answer: str) -> None:
    engine = house.engine
    kind = engine.type("ready:condition", "l")
    schedule(engine, condition="ready", payload={"a": 1, "b": 1})
    move(engine, minutes=2)
    (tick,) = fire(engine, at(minutes=1.5))
    assert tick["outcome"] == "asking"
    assert engine.one("select payload from lanework.jobs")["schedule"] == "s"
    fire(engine, at(minutes=2))  # it is being asked: that is a job of it that has not ended
    (claim,) = house.claim(kind)
    if answer == "failed":
        engine.settle(house.worker, claim, action="fail", error_class="unknown", error="down")
        engine.rows("select * from lanework.settle_schedules()")
        assert outcomes(engine) == ["error", "skipped"]
        assert engine.one("select last_error from lanework.schedules") == "its condition failed: unknown: down"
        return
    more = json.dumps({"b": 2}) if answer == "more" else None
    said = engine.one("select lanework.answer_condition('s', %s, %s, %s, %s)", at(minutes=1.5), claim.id, answer != "no", more)
    engine.completed(house.worker, claim)
    again = engine.one("select lanework.answer_condition('s', %s, %s, true, null)", at(minutes=1.5), claim.id)
    assert (said, again) == (("skipped" if answer == "no" else "submitted"), "superseded")
    assert outcomes(engine) == [said, "skipped"]
    assert jobs(engine) == (answer != "no")
    if answer == "more":
        assert engine.one("select payload from lanework.jobs") == {"a": 1, "b": 2}


def test_code_never_overwrites_an_operator(engine: Engine) -> None:
    def register(**values: Any) -> str:
        one = {"name": "s", "type": "t", "cron": "0 3 * * *", "every_s": None, **values}
        return str(engine.rows("select did from lanework.register_schedules(%s)", json.dumps([one]))[0]["did"])

    def cron() -> Any:
        rows = engine.rows("select cron from lanework.schedules where not removed")
        return rows[0]["cron"] if rows else None

    assert (register(), register()) == ("created", "same")
    assert register(cron="0 4 * * *") == "changed" and cron() == "0 4 * * *"
    engine.rows("select * from lanework.set_schedule('s', %s, 'me', false)", json.dumps({"cron": "0 5 * * *"}))
    assert register(cron="0 6 * * *") == "left to its operator" and cron() == "0 5 * * *"
    engine.rows("select lanework.reset_schedule('s', 'me')")
    assert cron() == "0 6 * * *"
    engine.rows("select lanework.pause_schedule('s', 'me', '')")
    assert register(cron="0 7 * * *", enabled=True) == "left to its operator"
    assert engine.one("select enabled from lanework.schedules") is False
    engine.rows("select lanework.remove_schedule('s', 'me')")
    assert register(cron="0 8 * * *") == "left to its operator" and cron() is None
    engine.rows("select lanework.reset_schedule('s', 'me')")
    assert cron() == "0 8 * * *"


def test_a_pause_is_no_downtime(engine: Engine) -> None:
    engine.type("t")
    schedule(engine, misfire="all")
    engine.rows("select lanework.pause_schedule('s', 'me', 'holidays')")
    move(engine, minutes=10)
    engine.rows("select lanework.resume_schedule('s', 'me')")
    assert fire(engine, at(minutes=5), at(minutes=10)) == []
    (row,) = engine.rows("select * from lanework.ticks")
    assert (row["outcome"], row["reason"], row["until"]) == ("skipped", "disabled: holidays", at(minutes=10))


def test_every_act_has_one_audit_row(engine: Engine) -> None:
    engine.type("t")
    engine.rows("select proof.forget_audit()")
    schedule(engine)
    engine.rows("select * from lanework.set_schedule('s', %s, 'me', false)", json.dumps({"overlap": "queue"}))
    for act in ("pause_schedule('s', 'me', '')", "resume_schedule('s', 'me')", "run_schedule('s', 'me', false)",
                "remove_schedule('s', 'me')", "enable_task('rollups', false, 'me')", "enable_task('rollups', true, 'me')",
                "ask_task('rollups', 'me')"):  # fmt: skip
        engine.rows(f"select lanework.{act}")
    acts = [row["act"] for row in engine.rows("select act from lanework.audit_log where actor = 'me' order by id")]
    assert acts == [
        "schedule.create", "schedule.set", "schedule.pause", "schedule.resume", "schedule.run", "schedule.remove",
        "maintenance.disable", "maintenance.enable", "maintenance.run",
    ]  # fmt: skip
    assert engine.one("select count(*) from lanework.audit_log") == len(acts)
    engine.rows("update lanework.maintenance_tasks set asked_by = null, set_by = 'code'")


@pytest.mark.parametrize("act", ["pause_schedule('x', 'me', '')", "run_schedule('x', 'me', false)", "reset_schedule('x', 'me')"])
def test_what_is_not_there(engine: Engine, act: str) -> None:
    with pytest.raises(psycopg.Error, match="'x'") as caught:
        engine.rows(f"select lanework.{act}")
    assert caught.value.sqlstate == "LW531"


def test_the_leader_looks_at_once_and_others_a_little_later(engine: Engine) -> None:
    engine.type("t")
    leader, other = engine.worker("a"), engine.worker("b")
    assert engine.lead(leader)
    schedule(engine)
    fire(engine, next=at(minutes=1))

    def due(worker: int) -> tuple[float | None, list[str]]:
        rows = engine.rows("select wait_s, name from lanework.due_schedules(%s)", worker)
        return rows[0]["wait_s"], [row["name"] for row in rows if row["name"]]

    assert due(leader) == (60.0, []) and due(other) == (62.0, [])
    move(engine, minutes=1)
    engine.lead(leader, timedelta(hours=1))
    assert due(leader)[1] == ["s"] and due(other) == (2.0, [])
    move(engine, seconds=2)
    assert due(other)[1] == ["s"]


def test_the_history_of_schedules_has_a_lifetime(house: House) -> None:
    engine = house.engine
    schedule(engine)
    move(engine, minutes=1)
    fire(engine, at(minutes=1))
    move(engine, days=31)
    assert engine.rows("select * from lanework.prune_schedules()") == []  # its job has not ended
    house.end()
    engine.rows("select * from lanework.settle_schedules()")
    assert [dict(row) for row in engine.rows("select * from lanework.prune_schedules()")] == [{"thing": "ticks", "removed": 1}]
