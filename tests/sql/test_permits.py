"""Permits in SQL: counted exactly, freed with their process, taken with the claim, passed on in order."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import Another
from tests.sql.engine import Claim, Engine, columns, numbers
from tests.sql.interleave import Beside
from tests.sql.proof import move

MINUTE = timedelta(minutes=1)


def take(
    engine: Engine, worker: int, *names: str, n: int = 1, held: int = 0, capacity: int = 1, call: int = 0
) -> int:  # fmt: skip
    """How many of `n` grants of these names together were given."""
    state = [{"name": name, "held": held, "waiting": n, "jobs": [], "capacity": capacity} for name in names]
    asks = [{"names": list(names), "n": n}] if n else []
    rows = engine.rows(
        "select * from lanework.take_permits(%s, %s, %s, %s) where ask >= 0",
        worker, call or next(numbers), json.dumps(state), json.dumps(asks),
    )  # fmt: skip
    return int(rows[0]["granted"]) if rows else 0


def others_wait(engine: Engine, worker: int, name: str, held: int) -> bool:
    state = [{"name": name, "held": held, "waiting": 0, "jobs": [], "capacity": 1}]
    found = engine.one(
        "select names from lanework.take_permits(%s, %s, %s, '[]') where ask = -1", worker, next(numbers), json.dumps(state)
    )
    return name in found


def used(engine: Engine, name: str) -> int:
    join = "lanework.permit_use u join lanework.permits p on p.id = u.permit_id"
    return int(engine.one(f"select coalesce(sum(u.used), 0) from {join} where p.name = %s", name))


def acquire(engine: Engine, *names: str, ttl: timedelta = MINUTE, capacity: int = 1, waiter: int | None = None) -> Any:
    rows = engine.rows(
        "select * from lanework.acquire_permits(%s, %s, %s, 'test', null, %s, %s)", list(names), capacity, ttl, uuid.uuid4(), waiter
    )
    return rows[0] if rows else None


def release(engine: Engine, token: uuid.UUID) -> bool:
    return bool(engine.one("select lanework.release_permits(%s)", token))


def limited_claim(
    engine: Engine, worker: int, lane: int, types: dict[int, list[str]], *more: int, held: dict[str, int] | None = None,
    want: int = 10, used: int = 0, done: list[Claim] | None = None, rates: dict[int, str] | None = None,
) -> list[Claim]:  # fmt: skip
    """A claim of a lane with types that declare permits, and `more` types that do not."""
    names = {name for needs in types.values() for name in needs}
    limits = {
        "types": {str(kind): needs for kind, needs in types.items()},
        "held": {name: (held or {}).get(name, 0) for name in names},
        "rates": {str(kind): name for kind, name in (rates or {}).items()},
    }
    kinds = [*types, *more, *(kind for kind in rates or {} if kind not in types)]
    claim_id = uuid.uuid4()
    ended = (None, None, None, None) if done is None else (*columns(done), ["null"] * len(done))
    rows = engine.rows(
        """select * from lanework.complete_and_claim(
            %s, %s, %s, %s, %s, %s, %s, '{}', '{}', %s::int[], %s::smallint[], %s::int[], %s::smallint[], %s::timestamptz[],
            %s::bigint[], %s::int[], %s::int[], %s::bigint[], %s::int[], %s::uuid[], %s::text[], %s::jsonb)""",
        worker, lane, next(numbers), next(numbers), claim_id, want, used, kinds, [1] * len(kinds), [-(2**31)] * len(kinds),
        [-32768] * len(kinds), ["1970-01-01Z"] * len(kinds), [0] * len(kinds), [1] * len(kinds), [0] * len(kinds),
        *ended, json.dumps(limits),
    )  # fmt: skip
    return [Claim(row["id"], row["attempt"], claim_id) for row in rows if row["id"] > 0]


def permit(engine: Engine, name: str, capacity: int = 1) -> int:
    engine.rows("select * from lanework.set_permit(%s, %s, 'test')", name, capacity)
    return int(engine.one("select id from lanework.permits where name = %s", name))


def blocked_on(engine: Engine, job: int) -> str | None:
    return engine.rows("select blocked_on from lanework.jobs where id = %s", job)[0]["blocked_on"]  # type: ignore[no-any-return]


# -- holds of processes


def test_no_more_than_the_capacity_over_processes(engine: Engine) -> None:
    one, two = engine.worker(), engine.worker()
    assert take(engine, one, "gpu", n=5, capacity=3) == 3
    assert take(engine, two, "gpu", n=1, capacity=99) == 0, "the first value stands"
    assert take(engine, one, "gpu", n=0, held=2) == 0
    assert take(engine, two, "gpu", n=2) == 1
    assert used(engine, "gpu") == 3


def test_a_grant_is_never_counted_from_before_the_lock(engine: Engine, another: Another) -> None:
    one, two = engine.worker(), engine.worker()
    permit(engine, "gpu")
    other = another()
    with engine.db.transaction():
        assert take(engine, one, "gpu") == 1
        answer = Beside(another(), other, lambda: take(other, two, "gpu"))
        assert answer.blocked
    assert answer.result() == 0


def test_repeatable_read_is_refused_for_permits(engine: Engine, another: Another) -> None:
    worker = engine.worker()
    strict = another("-c default_transaction_isolation=repeatable\\ read")
    with pytest.raises(psycopg.Error) as refused:
        take(strict, worker, "gpu")
    assert refused.value.sqlstate == "LW100"


def test_several_together_all_or_none(engine: Engine) -> None:
    one, two = engine.worker(), engine.worker()
    assert take(engine, one, "b") == 1
    assert take(engine, two, "a", "b", "c") == 0
    assert (used(engine, "a"), used(engine, "c")) == (0, 0)
    assert take(engine, one, "b", n=0) == 0
    assert take(engine, two, "a", "b", "c") == 1


def test_a_late_call_sets_nothing(engine: Engine) -> None:
    worker = engine.worker()
    assert take(engine, worker, "gpu", capacity=2, call=10_000_002) == 1
    with pytest.raises(psycopg.Error) as refused:
        take(engine, worker, "gpu", n=0, held=0, call=10_000_001)
    assert refused.value.sqlstate == "LW401"
    assert used(engine, "gpu") == 1


def test_who_waited_longer_comes_first(engine: Engine) -> None:
    one, two, three = engine.worker(), engine.worker(), engine.worker()
    assert take(engine, one, "gpu") == 1
    assert take(engine, two, "gpu") == 0
    move(engine, seconds=1)
    assert others_wait(engine, one, "gpu", held=1)
    take(engine, one, "gpu", n=0)
    assert take(engine, three, "gpu") == 0, "two was there before"
    assert take(engine, one, "gpu") == 0
    assert take(engine, two, "gpu") == 1


def test_holds_are_freed_with_their_process_and_once(engine: Engine) -> None:
    one, two = engine.worker(), engine.worker()
    assert take(engine, one, "gpu", n=2, capacity=2) == 2
    for _ in range(2):
        engine.rows("select * from lanework.end_worker(%s, 'dead', 'killed', false)", one)
    assert take(engine, two, "gpu", n=5) == 2
    with pytest.raises(psycopg.Error):
        take(engine, one, "gpu")


def test_a_grant_in_flight_when_its_process_is_declared_dead(engine: Engine, another: Another) -> None:
    one, two = engine.worker(), engine.worker()
    permit(engine, "gpu")
    other = another()
    with engine.db.transaction():
        assert take(engine, one, "gpu") == 1
        end = Beside(another(), other, lambda: other.rows("select * from lanework.end_worker(%s, 'dead', 'killed', false)", one))
        assert end.blocked
    end.result()
    assert used(engine, "gpu") == 0
    assert take(engine, two, "gpu") == 1


def test_fences_rise(engine: Engine) -> None:
    worker, last = engine.worker(), 0
    for _ in range(3):
        rows = engine.rows(
            "select fences from lanework.take_permits(%s, %s, %s, %s) where ask = 0", worker, next(numbers),
            json.dumps([{"name": "x", "held": 0, "waiting": 1, "jobs": [], "capacity": 1}]), json.dumps([{"names": ["x"], "n": 1}]),
        )  # fmt: skip
        assert rows[0]["fences"] == sorted(rows[0]["fences"])
        assert rows[0]["fences"][0] > last
        last = rows[0]["fences"][-1]
    engine.rows("select * from lanework.end_worker(%s, 'dead', '', false)", worker)
    assert acquire(engine, "x")["fence"] > last


# -- holds with a token


def test_a_token_holds_until_its_expiry(engine: Engine) -> None:
    first = acquire(engine, "chat-7")
    assert acquire(engine, "chat-7") is None
    move(engine, seconds=59)
    assert engine.one("select lanework.renew_permits(%s, '60 s')", first["token"]) is not None
    move(engine, seconds=59)
    assert acquire(engine, "chat-7") is None
    move(engine, seconds=2)
    second = acquire(engine, "chat-7")
    assert second["fence"] > first["fence"]
    assert engine.one("select lanework.renew_permits(%s, '60 s')", first["token"]) is None, "what has expired is not brought back"
    release(engine, first["token"])
    assert acquire(engine, "chat-7") is None, "a late release frees nobody else's hold"


def test_tokens_and_processes_share_the_capacity(engine: Engine) -> None:
    worker = engine.worker()
    held = acquire(engine, "gpu", capacity=2)
    assert take(engine, worker, "gpu", n=5) == 1
    assert acquire(engine, "gpu") is None
    assert release(engine, held["token"])
    assert not release(engine, held["token"])
    assert acquire(engine, "gpu") is not None
    assert acquire(engine, "gpu") is None


def test_renew_waits_for_an_acquire(engine: Engine, another: Another) -> None:
    """Both look at the same expiry: one of them is first."""
    first = acquire(engine, "chat-7")
    other = another()
    with engine.db.transaction():
        engine.rows("select lanework.permit_lock(id) from lanework.permits")
        answer = Beside(another(), other, lambda: other.one("select lanework.renew_permits(%s, '60 s')", first["token"]))
        assert answer.blocked
    assert answer.result() is not None


def test_a_lost_answer_is_asked_again_with_the_same_token(engine: Engine) -> None:
    token = uuid.uuid4()
    sql = "select fence from lanework.acquire_permits('{x}', 1, '60 s', '', null, %s, null)"
    assert engine.one(sql, token) == engine.one(sql, token)


# -- with the claim


def test_declared_permits_are_taken_with_the_claim(engine: Engine) -> None:
    lane, kind, one, two = engine.lane("l", 100), engine.type("k", "l"), engine.worker(), engine.worker()
    permit(engine, "openai", 2)
    jobs = [engine.enqueue("k") for _ in range(4)]
    first = limited_claim(engine, one, lane, {kind: ["openai"]})
    assert [c.id for c in first] == jobs[:2]
    assert limited_claim(engine, two, lane, {kind: ["openai"]}) == []
    assert [blocked_on(engine, job) for job in jobs[2:]] == ["permit:openai"] * 2
    limited_claim(engine, one, lane, {kind: ["openai"]}, held={"openai": 2}, used=2, want=0)
    assert limited_claim(engine, two, lane, {kind: ["openai"]}) == []
    # its finish and its next claim are one call: the hold is passed on
    again = limited_claim(engine, one, lane, {kind: ["openai"]}, held={"openai": 1}, used=1, done=first[:1])
    assert [c.id for c in again] == [jobs[2]]
    assert used(engine, "openai") == 2
    assert limited_claim(engine, two, lane, {kind: ["openai"]}) == []
    # given back without a claim: whoever comes finds the first waiter awake
    limited_claim(engine, one, lane, {kind: ["openai"]}, held={"openai": 0}, used=0, done=[first[1], again[0]], want=0)
    assert blocked_on(engine, jobs[3]) is None
    assert [c.id for c in limited_claim(engine, two, lane, {kind: ["openai"]})] == [jobs[3]]
    assert engine.rows("select * from lanework.jobs where tries_used <> 0") == []


def test_a_claim_never_counts_from_before_the_lock(engine: Engine, another: Another) -> None:
    lane, kind, one, two = engine.lane("l", 100), engine.type("k", "l"), engine.worker(), engine.worker()
    permit(engine, "gpu")
    engine.enqueue("k")
    other = another()
    with engine.db.transaction():
        assert take(engine, one, "gpu") == 1
        answer = Beside(another(), other, lambda: limited_claim(other, two, lane, {kind: ["gpu"]}))
        assert answer.blocked
    assert answer.result() == []
    assert used(engine, "gpu") == 1


def test_jobs_behind_that_need_something_else_go_on(engine: Engine) -> None:
    lane, worker = engine.lane("l", 100), engine.worker()
    busy, free, plain = engine.type("busy", "l"), engine.type("free", "l"), engine.type("plain", "l")
    permit(engine, "a", 0), permit(engine, "b", 5)
    stuck = [engine.enqueue("busy") for _ in range(120)]
    others = [engine.enqueue("free"), engine.enqueue("plain")]
    found = limited_claim(engine, worker, lane, {busy: ["a", "b"], free: ["b"]}, plain)
    assert [c.id for c in found] == others
    assert engine.one("select count(*) from lanework.jobs where blocked_on = 'permit:a'") == 50, "some, not all"
    assert blocked_on(engine, stuck[0]) == "permit:a"
    engine.rows("select * from lanework.set_permit('a', 3, 'boss')")
    found = limited_claim(engine, worker, lane, {busy: ["a", "b"], free: ["b"]}, plain, held={"b": 1}, used=2)
    assert [c.id for c in found] == stuck[:3], "in claim order, those that were parked first"


def test_the_last_of_a_permit_that_two_types_need(engine: Engine) -> None:
    lane, worker = engine.lane("l", 100), engine.worker()
    a, b = engine.type("a", "l"), engine.type("b", "l")
    permit(engine, "gpu")
    jobs = [engine.enqueue(kind) for kind in ("a", "b", "a", "b")]
    assert [c.id for c in limited_claim(engine, worker, lane, {a: ["gpu"], b: ["gpu"]})] == jobs[:1]
    assert used(engine, "gpu") == 1


def test_a_dead_workers_declared_holds_wake_who_waits(engine: Engine) -> None:
    lane, kind, one, two = engine.lane("l", 100), engine.type("k", "l"), engine.worker(), engine.worker()
    permit(engine, "gpu")
    jobs = [engine.enqueue("k") for _ in range(2)]
    limited_claim(engine, one, lane, {kind: ["gpu"]})
    limited_claim(engine, two, lane, {kind: ["gpu"]})
    assert blocked_on(engine, jobs[1]) == "permit:gpu"
    engine.rows("select * from lanework.end_worker(%s, 'dead', 'killed', false)", one)
    assert blocked_on(engine, jobs[1]) is None
    assert [c.id for c in limited_claim(engine, two, lane, {kind: ["gpu"]})] == jobs[:1]


def test_the_sweep_finds_who_was_missed(engine: Engine) -> None:
    engine.type("k")
    permit(engine, "gpu", 2)
    jobs = [engine.enqueue("k") for _ in range(3)]
    engine.rows("update lanework.jobs set status = 'blocked', blocked_on = 'permit:gpu'")
    engine.rows("select lanework.sweep_limits()")
    assert [blocked_on(engine, job) for job in jobs] == [None, None, "permit:gpu"]


def test_a_job_of_a_session_is_not_parked(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", 100), engine.type("k", "l"), engine.worker()
    permit(engine, "gpu", 0)
    job = engine.enqueue("k", session="s")
    engine.rows("select lanework.promote_sessions('{s}')")
    assert limited_claim(engine, worker, lane, {kind: ["gpu"]}) == []
    assert blocked_on(engine, job) is None


def test_a_paused_rate_parks_its_type(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", 100), engine.type("k", "l"), engine.worker()
    job = engine.enqueue("k")
    engine.rows("select lanework.pause_rate('openai', 30)")
    assert limited_claim(engine, worker, lane, {}, rates={kind: "openai"}) == []
    assert blocked_on(engine, job) == "rate:openai"
    move(engine, seconds=31)
    assert [c.id for c in limited_claim(engine, worker, lane, {}, rates={kind: "openai"})] == [job]


# -- operators


def test_acts_are_audited(engine: Engine) -> None:
    permit(engine, "gpu", 2)
    held = acquire(engine, "gpu")
    assert engine.one("select lanework.revoke_permit(%s, 'boss')", held["token"])
    assert acquire(engine, "gpu")
    acts = engine.rows("select actor, act, target from lanework.audit_log order by id")
    assert [tuple(row.values()) for row in acts] == [("test", "permit.set", "permit:gpu"), ("boss", "permit.release", "permit:gpu")]
    for wrong in (-1, 10_001, None):
        with pytest.raises(psycopg.Error) as refused:
            engine.rows("select * from lanework.set_permit('gpu', %s, 'boss')", wrong)
        assert refused.value.sqlstate == "LW541"
