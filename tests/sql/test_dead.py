"""Dead letters: groups, the way back, the archive, rules, and the outbox."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.sql.conftest import Another
from tests.sql.engine import Engine
from tests.sql.interleave import Beside
from tests.sql.letters import a_lane, carry, die, groups, redrive, retry, run, the_redrive
from tests.sql.proof import move

# -- groups --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), [
    ("job 17 timed out after 3.5 s", "job 4 timed out after 12 s"),
    ("no row 6f9619ff-8b86-d011-b42d-00cf4fc964ff", "no row 00000000-0000-0000-0000-000000000000"),
    ("KeyError: 'ada'", "KeyError: 'bob'"),
    ('column "a" does not exist', 'column "b c" does not exist'),
    ("cannot open /data/a/1.txt: gone", "cannot open /data/b: gone"),
    (r"cannot open C:\data\a.txt", r"cannot open D:\x"),
    ("connection to 10.0.0.1:5432 refused", "connection to 192.168.7.12:80 refused"),
    ("connection to fe80::1:2:3:4 refused", "connection to 2001:db8:0:1:1:1:1:1 refused"),
    ("<object at 0x7f3a01>", "<object at 0x1>"),
    ("at 2030-01-01T10:00:00.123Z it broke", "at 2031-12-31 23:59:59+01:00 it broke"),
    ("GET https://a.example/x?y=1 said 500", "GET http://b.example said 503"),
    ("mail to ada@example.org bounced", "mail to bob.b@mail.example.com bounced"),
    ("checksum 9f86d081884c7d65 differs", "checksum 12345678 differs"),
    ("missing [1, 2, 3]", "missing [4]"),
    ("value 1e-05 is too small", "value -0.25 is too small"),
    ("it's wrong:  5\n  times", "it's wrong: 6 times"),
])  # fmt: skip
def test_equal_errors_have_equal_texts(engine: Engine, one: str, other: str) -> None:
    first, second = (engine.one("select lanework.normalise_error(%s)", text) for text in (one, other))
    assert first == second


@pytest.mark.parametrize(("one", "other"), [
    ("connection refused", "connection reset"), ("KeyError: 'a'", "IndexError: 'a'"), ("can't read", "can't write"),
    ("and/or", "and or"), ("", "x"), ("don't do that, won't work", "don't see, won't work"),
])  # fmt: skip
def test_different_errors_stay_different(engine: Engine, one: str, other: str) -> None:
    first, second = (engine.one("select lanework.normalise_error(%s)", text) for text in (one, other))
    assert first != second


def test_what_is_normalised_stays_as_it_is(engine: Engine) -> None:
    @settings(max_examples=150, deadline=None)
    @given(st.text(alphabet=st.sampled_from("a1f0 '\"`/\\:.,-<>@xX_%\nZT+e="), max_size=60))
    def check(text: str) -> None:
        once = engine.one("select lanework.normalise_error(%s)", text)
        twice = engine.one("select lanework.normalise_error(%s)", once)
        assert engine.one("select lanework.normalise_error(%s)", twice) == twice
        assert not any(digit in once for digit in "0123456789")

    check()


def test_groups_count_what_is_there(engine: Engine) -> None:
    a_lane(engine)
    first = die(engine, count=3, error="no key 'a'")
    move(engine, minutes=5)
    second = die(engine, count=2, error="no key 'b'")
    other = die(engine, error="no key 'c'", error_class="unknown")
    big, small = groups(engine)
    assert (big["count"], big["type"], big["error_class"], big["message"]) == (5, "t", "permanent", "no key <text>")
    assert (big["last_seen"] - big["first_seen"]).total_seconds() == 300
    assert big["sample"] == second[-1] and small["sample"] == other[0]
    retry(engine, first[0])
    engine.rows("select lanework.archive_dead(%s, 'ada')", Jsonb({"ids": [first[1]]}))
    assert groups(engine)[0]["count"] == 3
    (again,) = run(engine)
    engine.settle(1, again, action="fail", error="no key 'z'", error_class="permanent")
    assert groups(engine)[0]["count"] == 4
    assert engine.job(first[1])["place"] == "jobs_failed"


# -- the way back --------------------------------------------------------------------------------------------------------------


def test_a_retry_goes_on_where_the_job_was(engine: Engine) -> None:
    lane, kind, worker = a_lane(engine)
    job = engine.enqueue("t", {"a": 1}, owner="ada", tags=["x"], priority=7, max_tries=2)
    (claim,) = engine.claim(worker, lane, kind)
    engine.checkpoint(claim, {"at": 1})
    engine.one("select lanework.save_step(%s, %s, %s, 'fetch', '1', null)", *claim)
    engine.settle(worker, claim, action="retry")
    (claim,) = engine.claim(worker, lane, kind)
    assert engine.settle(worker, claim, action="retry", error="x") == {job: "failed"}
    before = engine.job(job)
    assert retry(engine, job) == "approved"
    now = engine.job(job)
    assert (now["place"], now["status"], now["attempt"], now["tries_used"], now["losses"]) == ("jobs", "approved", 2, 0, 0)
    same = ("payload", "owner", "tags", "rank", "max_tries", "created_at", "version", "type_id")
    assert {name: now[name] for name in same} == {name: before[name] for name in same}
    assert now["claim_id"] is now["worker_id"] is None
    assert engine.one("select count(*) from lanework.steps where job_id = %s", job) == 1
    assert engine.one("select count(*) from lanework.checkpoints where job_id = %s", job) == 1
    (audit,) = engine.rows("select actor, act, target, before from lanework.audit_log")
    assert (audit["actor"], audit["act"], audit["target"]) == ("ada", "job.retry", f"job:{job}")
    (claim,) = engine.claim(worker, lane, kind)
    assert claim.attempt == 3
    assert engine.completed(worker, claim) == 1


def test_only_the_dead_come_back(engine: Engine) -> None:
    lane, kind, worker = a_lane(engine)
    waiting, done = engine.enqueue("t", priority=-1), engine.enqueue("t", priority=1)
    engine.completed(worker, *engine.claim(worker, lane, kind))
    for job, code, word in ((waiting, "LW510", "approved"), (done, "LW510", "continues"), (10**9, "LW310", "no job")):
        with pytest.raises(psycopg.Error, match=word) as caught:
            retry(engine, job)
        assert caught.value.sqlstate == code
    (job,) = die(engine, priority=5)
    retry(engine, job)
    with pytest.raises(psycopg.Error, match="approved"):
        retry(engine, job)
    assert engine.one("select count(*) from lanework.audit_log") == 1


def test_a_session_job_waits_for_its_turn(engine: Engine) -> None:
    a_lane(engine)
    (job,) = die(engine, session="s")
    follower = engine.enqueue("t", session="s")
    engine.rows("select lanework.promote_sessions('{s}')")
    assert retry(engine, job) == "blocked"
    assert (engine.status(job), engine.status(follower)) == ("blocked", "approved")
    (claim,) = run(engine)
    engine.completed(1, claim)
    assert (claim.id, engine.status(job)) == (follower, "approved")


def test_a_deadline_that_has_passed_is_given_anew(engine: Engine) -> None:
    a_lane(engine)
    engine.rows("update lanework.job_types set max_age_s = 60")
    (own,) = die(engine)
    engine.rows("update lanework.job_types set max_age_s = null")
    (given,) = die(engine, max_age="10 s")
    (open,) = die(engine, max_age="1 day")
    move(engine, hours=1)
    engine.rows("update lanework.job_types set max_age_s = 60")
    in_s = "select extract(epoch from deadline - lanework.now())::float8 from lanework.jobs where id = %s"
    assert [retry(engine, own), engine.one(in_s, own)] == ["approved", 60]
    engine.rows("update lanework.job_types set max_age_s = null")
    assert [retry(engine, given), engine.one(in_s, given)] == ["approved", None]
    assert [retry(engine, open), engine.one(in_s, open)] == ["approved", 82800]
    (more,) = die(engine, priority=9)
    retry(engine, more, max_age="5 s")
    assert engine.one(in_s, more) == 5
    assert engine.sweep() == {}


def test_a_child_comes_back_alone(engine: Engine) -> None:
    lane, kind, worker = a_lane(engine)
    parent = engine.enqueue("t")
    (claim,) = engine.claim(worker, lane, kind)
    (child,) = [
        row["child_id"]
        for row in engine.rows(
            "select * from lanework.submit_children(%s, %s, %s, '{a}', 't', '{\"{}\"}', 1, null, null, null, null)", *claim
        )
    ]
    engine.completed(worker, claim)
    (claim,) = engine.claim(worker, lane, kind)
    engine.settle(worker, claim, action="fail", error="x")
    assert retry(engine, child) == "approved"
    engine.completed(worker, *engine.claim(worker, lane, kind))
    assert (engine.status(parent), engine.status(child)) == ("completed", "completed")


def test_a_crash_loop_comes_back_alone_in_a_process(engine: Engine) -> None:
    lane, kind, worker = a_lane(engine)
    job = engine.enqueue("t")
    for _ in range(3):
        (claim,) = engine.claim(worker, lane, kind)
        engine.settle(worker, claim, action="release", loss=True)
    assert engine.job(job)["error_class"] == "crash_loop"
    retry(engine, job)
    assert (engine.job(job)["losses"], engine.job(job)["suspect"]) == (0, True)


def test_copies_are_still_checked_after_a_retry(engine: Engine) -> None:
    (job,) = die(engine)
    with engine.db.transaction(), pytest.raises(psycopg.Error) as caught:
        retry(engine, job)
        engine.rows("insert into lanework.jobs (type_id, status, attempt) select id, 'approved', 5 from lanework.job_types")
    assert caught.value.sqlstate == "LW300"


def test_a_canary_goes_first(engine: Engine) -> None:
    a_lane(engine)
    ids = die(engine, count=5)
    (group,) = groups(engine)
    number = redrive(engine, group=group["fingerprint"])
    assert carry(engine) == 0
    (canary,) = run(engine, 9)
    row = the_redrive(engine, number)
    assert (row["state"], row["canary"], row["moved"], row["matched"]) == ("canary", ids[0], 1, 5)
    assert (canary.id, engine.job(ids[0])["max_tries"]) == (ids[0], 1)
    assert carry(engine) == 0
    engine.completed(1, canary)
    assert carry(engine) == 4
    assert carry(engine) == 0
    row = the_redrive(engine, number)
    assert (row["state"], row["moved"]) == ("done", 5)
    assert {claim.id for claim in run(engine, 9)} == set(ids[1:])
    assert engine.one("select count(*) from lanework.audit_log") == 1


def test_a_canary_that_fails_stops_it(engine: Engine) -> None:
    a_lane(engine)
    ids = die(engine, count=4, max_tries=5)
    (group,) = groups(engine)
    number = redrive(engine, group=group["fingerprint"])
    (canary,) = run(engine, 9)
    assert engine.settle(1, canary, action="retry", error="boom again", delay_s=5) == {ids[0]: "failed"}
    assert carry(engine) == 0
    row = the_redrive(engine, number)
    assert (row["state"], row["moved"]) == ("failed", 1)
    assert "boom again" in row["note"] and "other 3" in row["note"]
    assert engine.one("select count(*) from lanework.jobs") == 0
    retry(engine, ids[0])  # its own tries come back with it
    assert engine.job(ids[0])["max_tries"] == 5


def test_what_fails_again_does_not_rejoin(engine: Engine) -> None:
    a_lane(engine)
    ids = die(engine, count=3)
    number = redrive(engine, canary=False, per_minute=60, type="t")
    for _ in range(6):
        for claim in run(engine, 9):
            engine.settle(1, claim, action="fail", error="boom", error_class="permanent")
        move(engine, seconds=1)
        carry(engine)
    row = the_redrive(engine, number)
    assert (row["state"], row["moved"]) == ("done", 3)
    assert [engine.job(id)["attempt"] for id in ids] == [2, 2, 2]


def test_a_redrive_flows_at_its_rate(engine: Engine) -> None:
    a_lane(engine)
    die(engine, count=40)
    number = redrive(engine, canary=False, per_minute=30, type="t")
    moved = [int(the_redrive(engine, number)["moved"])]
    for _ in range(30):
        move(engine, seconds=2)
        moved.append(carry(engine))
    assert moved == [1] * 31
    move(engine, hours=3)  # nobody was there: what was not used does not come at once
    assert carry(engine) == 5
    engine.rows("select lanework.stop_redrive(%s, 'bob', 'enough')", number)
    move(engine, hours=1)
    assert carry(engine) == 0
    assert the_redrive(engine, number)["note"] == "stopped by bob: enough"
    with pytest.raises(psycopg.Error) as caught:
        engine.rows("select lanework.stop_redrive(%s, 'bob')", number)
    assert caught.value.sqlstate == "LW513"


def test_two_carriers_move_each_once(engine: Engine, another: Another) -> None:
    a_lane(engine)
    die(engine, count=6)
    number = redrive(engine, type="t")
    (canary,) = run(engine, 9)
    engine.completed(1, canary)
    other = another()
    with engine.db.transaction():
        assert carry(engine) == 5
        assert carry(other) == 0  # does not wait, either
    assert carry(other) == 0
    assert the_redrive(engine, number)["moved"] == 6


def test_a_locked_letter_is_found_later(engine: Engine, another: Another) -> None:
    a_lane(engine)
    ids = die(engine, count=3)
    other = another()
    with other.db.transaction():
        other.rows("select id from lanework.jobs_failed where id = %s for update", ids[0])
        number = redrive(engine, canary=False, type="t")
        carry(engine)
        assert the_redrive(engine, number)["state"] == "flowing"
    carry(engine), carry(engine), carry(engine)
    assert (the_redrive(engine, number)["state"], engine.status(ids[0])) == ("done", "approved")


def test_two_retries_of_one(engine: Engine, another: Another) -> None:
    (job,) = die(engine)
    one, two = another(), another()
    with one.db.transaction():
        assert retry(one, job) == "approved"
        second = Beside(engine, two, lambda: retry(two, job))
        assert second.blocked
    with pytest.raises(psycopg.Error) as caught:
        second.result()
    assert caught.value.sqlstate == "LW510"


def test_a_retry_of_one_that_a_redrive_takes(engine: Engine, another: Another) -> None:
    ids = die(engine, count=3)
    one, two = another(), another()
    with one.db.transaction():
        retry(one, ids[0])
        number = redrive(two, canary=False, type="t")  # does not wait for it
    carry(two), carry(two)
    assert the_redrive(engine, number)["moved"] == 2
    assert [engine.job(id)["status"] for id in ids] == ["approved"] * 3


def test_what_a_redrive_refuses(engine: Engine) -> None:
    a_lane(engine)
    die(engine, count=2)
    (group,) = groups(engine)
    redrive(engine, group=group["fingerprint"])
    for chosen, code in (
        ({"group": group["fingerprint"]}, "LW513"),
        ({"group": "none"}, "LW512"),
        ({}, "LW511"),
        ({"colour": "x"}, "LW511"),
    ):
        with pytest.raises(psycopg.Error) as caught:
            redrive(engine, **chosen)
        assert caught.value.sqlstate == code, chosen
    with pytest.raises(psycopg.Error, match="per_minute"):
        redrive(engine, per_minute=0, type="t")


def test_filters_choose(engine: Engine) -> None:
    a_lane(engine)
    (ada,) = die(engine, owner="ada", tags=["x", "y"])
    (bob,) = die(engine, owner="bob", error_class="timeout")

    def found(**chosen: Any) -> list[int]:
        return [row["x"] for row in engine.rows("select lanework.dead_matching(%s, 0, 1000000) as x", Jsonb(chosen))]

    assert found(type="t") == found(type=["t", "u"]) == found(lane="l") == found(status=["failed"], lane=["l"]) == [ada, bob]
    assert found(owner="ada") == found(tag="y") == found(error_class="permanent") == found(ids=[ada]) == [ada]
    assert found(error_class=["timeout", "x"]) == [bob]
    assert found(type="u") == found(status=["completed"]) == found(owner="ada", tag="z") == []
    assert found(created_after="2000-01-01", created_before="2100-01-01") == [ada, bob]
    assert found(created_before="2000-01-01") == []


def test_pieces_of_operations(engine: Engine) -> None:
    a_lane(engine)
    ids = die(engine, count=4)
    waiting = engine.enqueue("t")
    assert engine.one("select lanework.carry_archive(%s::bigint[], '{}', 'ada', null)", [ids[0], waiting]) == 1
    assert engine.one("select lanework.carry_retry(%s::bigint[], '{}', 'ada', null)", [*ids, waiting, 10**9]) == 4
    assert engine.one("select lanework.carry_retry(%s::bigint[], '{}', 'ada', null)", ids) == 0
    assert [row["act"] for row in engine.rows("select act from lanework.audit_log order by id")] == ["dead.archive", "job.retry"]


# -- archive and retention -----------------------------------------------------------------------------------------------------


def test_the_archive(engine: Engine) -> None:
    a_lane(engine)
    ids = die(engine, count=3)
    (group,) = groups(engine)
    assert engine.one("select lanework.archive_dead(%s, 'ada', 'known')", Jsonb({"group": group["fingerprint"]})) == 3
    assert groups(engine) == []
    assert engine.rows("select * from lanework.all_jobs where id = any (%s)", ids)[0]["error"] == "boom"
    with pytest.raises(psycopg.Error) as caught:
        engine.one("select lanework.archive_dead(%s, 'ada')", Jsonb({"group": group["fingerprint"]}))
    assert caught.value.sqlstate == "LW512"
    (audit,) = engine.rows("select act, target, after from lanework.audit_log")
    assert (audit["act"], audit["target"], audit["after"]["archived"]) == ("dead.archive", f"group:{group['fingerprint']}", 3)
    assert retry(engine, ids[0]) == "approved"
    move(engine, days=31)
    engine.rows("select lanework.prune()")
    assert engine.one("select count(*) from lanework.jobs_failed") == 0
    engine.rows("delete from proof.history")


def test_the_books_are_pruned(engine: Engine) -> None:
    a_lane(engine)
    engine.rows("select lanework.set_notifier('hook', 'http://x.example/', null, true, 0, 'ada')")
    (job,) = die(engine)
    redrive(engine, canary=False, ids=[job]), carry(engine), engine.one("select lanework.gather_notifications()")
    message = engine.rows("select * from lanework.take_notification((select id from lanework.notifiers))")[0]
    engine.one("select lanework.end_notification(%s, null)", message["id"])
    move(engine, days=91)
    engine.rows("select lanework.prune()")
    for table in ("redrives", "redriven", "notifications", "notified"):
        assert engine.one(f"select count(*) from lanework.{table}") == 0, table
    engine.rows("delete from proof.history")
