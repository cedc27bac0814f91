"""Fair lanes: owners take turns, whatever one of them has queued, and plain lanes keep their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.sql.engine import Claim, Engine, Range, connect
from tests.sql.proof import move
from tests.sql.test_plans import PAGES


def fair(engine: Engine, name: str = "l", slots: int | None = None, on: bool = True) -> int:
    lane = engine.lane(name, slots)
    engine.rows("update lanework.lanes set fair = %s where id = %s", on, lane)
    return lane


def kinds(engine: Engine, lane: str, *names: str) -> list[int]:
    found = [engine.type(name, lane) for name in names]
    align(engine)
    return found


def align(engine: Engine, limit: int = 1000) -> int:
    return int(engine.one("select lanework.align_turns(%s)", limit))


def submit(engine: Engine, owners: str, type: str = "t", **options: Any) -> list[int]:
    """One job for each letter, owned by it."""
    return [engine.enqueue(type, owner=owner, **options) for owner in owners]


def owners(engine: Engine, worker: int, lane: int, types: Sequence[int], want: int, used: int = 0) -> str:
    """The owners of the next jobs, in the order in which they start: one claim each, all of them kept."""
    return "".join(owner_of(engine, claim) for claim in one_by_one(engine, worker, lane, types, want, used))


def one_by_one(engine: Engine, worker: int, lane: int, types: Sequence[int], want: int, used: int = 0) -> list[Claim]:
    found: list[Claim] = []
    for n in range(want):
        found += engine.claim(worker, lane, *types, used=used + n)
    return found


def owner_of(engine: Engine, claim: Claim) -> str:
    return str(engine.one("select owner from lanework.jobs where id = %s", claim.id))


def turns(engine: Engine, ids: Sequence[int]) -> list[int]:
    rows = engine.rows("select id, turn + 2000000000 as turn from lanework.jobs where id = any (%s)", list(ids))
    found = {row["id"]: row["turn"] for row in rows}
    return [found[id] for id in ids]


def test_owners_take_turns(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    submit(engine, "aaaaabbbc")
    assert owners(engine, worker, lane, types, 9) == "abcababaa"


def test_a_first_job_is_in_the_turn_that_is_served(engine: Engine) -> None:
    """The bound: with 10,000 jobs of one owner queued, and some of them served, another's first job is the next but one."""
    lane, (kind,), worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    engine.rows(
        """insert into lanework.jobs (type_id, status, owner, lane_id, turn)
           select %s, 'approved', 'a', %s, -2000000001 + n from generate_series(1, 10000) n""", kind, lane)  # fmt: skip
    assert len(engine.claim(worker, lane, kind, want=500)) == 500
    (first,) = submit(engine, "b")
    found = engine.claim(worker, lane, kind, want=2, used=500)
    assert first in {claim.id for claim in found}
    # whoever has just had his turn, and has nothing waiting, is there in the next one
    (second,) = submit(engine, "b")
    assert second in {claim.id for claim in engine.claim(worker, lane, kind, want=2, used=502)}


def test_a_late_owner_does_not_catch_up(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    submit(engine, "a" * 20)
    one_by_one(engine, worker, lane, types, 10)
    submit(engine, "bbbbb")
    assert owners(engine, worker, lane, types, 6, used=10) == "bababa"


def test_turns_count_over_all_types_of_the_lane(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t", "u"), engine.worker()
    submit(engine, "aaa", "t")
    submit(engine, "aaa", "u")
    submit(engine, "bb", "u")
    assert owners(engine, worker, lane, types, 8) == "ababaaaa"


def test_jobs_without_an_owner_are_one_owner(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    for _ in range(3):
        engine.enqueue("t")
    (first,) = submit(engine, "b")
    assert [claim.id for claim in one_by_one(engine, worker, lane, types, 2)][1] == first


@pytest.mark.parametrize("priorities", [(0,), (5, 0, -5), tuple(range(-40, 41))])
def test_priority_orders_the_jobs_of_one_owner_only(engine: Engine, priorities: tuple[int, ...]) -> None:
    """By its sign; and whatever an owner gives, at most three of his jobs come before another's first."""
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    for n in range(120):
        engine.enqueue("t", owner="a", priority=priorities[n % len(priorities)])
    (other,) = submit(engine, "b", priority=-1)
    order = [claim.id for claim in one_by_one(engine, worker, lane, types, 121)]
    assert order.index(other) <= 3
    own = [engine.job(job)["rank"] for job in order if job != other]
    # of two jobs of one turn the more urgent one is first; nobody less urgent starts while there are as many more urgent ones
    assert sum(rank < 0 for rank in own[:40]) >= sum(rank > 0 for rank in own[:40])


def test_an_urgent_job_passes_its_owners_others(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    submit(engine, "aaaabb")
    (urgent,) = submit(engine, "a", priority=1)
    (later,) = submit(engine, "a", priority=-1)
    order = [claim.id for claim in one_by_one(engine, worker, lane, types, 8)]
    assert order[0] == urgent
    assert order[-1] == later


def test_what_goes_back_keeps_its_turn(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    jobs = submit(engine, "aaabbb")
    first = one_by_one(engine, worker, lane, types, 4)
    engine.settle(worker, first[0], action="retry")
    engine.settle(worker, first[1], action="snooze", delay_s=5)
    assert turns(engine, [first[0].id]) == [0]
    move(engine, seconds=6)
    engine.promote()
    order = [claim.id for claim in one_by_one(engine, worker, lane, types, 4)]
    assert order == [first[0].id, first[1].id, jobs[2], jobs[5]]


def test_a_delayed_job_takes_its_turn_when_it_is_due(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    at = engine.one("select lanework.now() + interval '1 h'")
    delayed = submit(engine, "aaa", run_at=at)
    submit(engine, "bbbb")
    one_by_one(engine, worker, lane, types, 2)
    move(engine, hours=2)
    engine.promote()
    assert turns(engine, delayed) == [1, 2, 3]
    assert owners(engine, worker, lane, types, 5) == "aabab"


def test_a_sessions_next_job_takes_its_turn_when_it_may_start(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    chat = submit(engine, "aaa", session="s")
    engine.rows("select lanework.promote_sessions('{s}')")
    submit(engine, "bbb")
    (head,) = one_by_one(engine, worker, lane, types, 1)
    assert head.id == chat[0]
    one_by_one(engine, worker, lane, types, 2, used=1)
    engine.completed(worker, head)
    assert turns(engine, [chat[1]]) == [1]


def test_a_lane_with_a_queue_becomes_fair(engine: Engine) -> None:
    """Waiting jobs follow in small pieces; a new owner does not wait for them."""
    lane, types, worker = fair(engine, on=False), kinds(engine, "l", "t"), engine.worker()
    old = submit(engine, "aaaaaaaabb")
    assert turns(engine, old) == [2000000000] * 10
    engine.rows("""select lanework.set_lane('l', '{"fair": true}', 'me', false)""")
    assert owners(engine, worker, lane, types, 10) == "ababaaaaaa"


def test_a_long_queue_follows_in_pieces(engine: Engine) -> None:
    lane, types, worker = fair(engine, on=False), kinds(engine, "l", "t"), engine.worker()
    submit(engine, "a" * 10)
    engine.rows("update lanework.lanes set fair = true")
    assert align(engine, 4) == 4
    submit(engine, "c")
    assert owners(engine, worker, lane, types, 3) in ("aca", "caa")
    assert [align(engine, 4), align(engine, 4), align(engine, 4)] == [4, 2, 0]


def test_a_lane_with_a_queue_becomes_plain(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    jobs = submit(engine, "aaaaaabbbc")
    claims = one_by_one(engine, worker, lane, types, 3)
    engine.rows("update lanework.lanes set fair = false")
    while align(engine, 3):
        pass
    assert engine.rows("select from lanework.job_types where fair_lane <> 0 or mixed") == []
    engine.settle(worker, claims[0], action="retry")
    urgent = engine.enqueue("t", owner="z", priority=1)
    rest = [job for job in jobs if job not in {claim.id for claim in claims[1:]}]
    assert [claim.id for claim in one_by_one(engine, worker, lane, types, 9)] == [urgent, *rest]


def test_a_type_that_moves_takes_turns_in_its_new_lane(engine: Engine) -> None:
    one, two, worker = fair(engine, "one"), fair(engine, "two"), engine.worker()
    (kind,), (other,) = kinds(engine, "one", "t"), kinds(engine, "two", "u")
    submit(engine, "a" * 30)
    one_by_one(engine, worker, one, [kind], 20)
    submit(engine, "b" * 4, "u")
    engine.rows("update lanework.job_types set lane = 'two' where id = %s", kind)
    while align(engine, 3):
        pass
    assert owners(engine, worker, two, [kind, other], 6) == "ababab"


def test_an_operators_raise_crosses_owners(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    jobs = submit(engine, "aaaaaaaa")
    submit(engine, "bcd")
    engine.rows("select lanework.set_priority(%s, 5, 'me')", jobs[-1])
    engine.rows("""select lanework.carry_priority(%s, '{"priority": 4}', 'me', 1)""", jobs[-3:-1])
    assert [claim.id for claim in one_by_one(engine, worker, lane, types, 3)] == [jobs[-1], jobs[-3], jobs[-2]]


def test_children_take_turns(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    submit(engine, "a")
    (parent,) = one_by_one(engine, worker, lane, types, 1)
    engine.rows(
        "select * from lanework.submit_children(%s, %s, %s, '{x,y,z}', 't', '{\"{}\",\"{}\",\"{}\"}', 1, null, 0, null, null)",
        *parent,
    )
    submit(engine, "b")
    assert owners(engine, worker, lane, types, 4, used=1) == "abaa"


def test_plain_lanes_have_no_turns(engine: Engine) -> None:
    engine.lane("l", None)
    kinds(engine, "l", "t")
    assert turns(engine, submit(engine, "ab")) == [2000000000] * 2
    assert engine.rows("select from lanework.turns") == []


@pytest.mark.pg(15, 18)
def test_no_cost_grows_with_the_owners(database: str) -> None:
    """Pages touched by a claim, a submit and the sweep's share: with 5,000 owners of 20 jobs each as with one."""
    with connect(database) as db:
        engine = Engine(db)
        lane, (kind,), worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
        engine.rows(
            """insert into lanework.jobs (type_id, status, owner, lane_id, turn)
               select %s, 'approved', 'o' || n %% 5000, %s, -2000000000 + n / 5000
               from generate_series(0, 99999) n""", kind, lane)  # fmt: skip
        claim = """select * from lanework.claim(%s, %s, %s, %s, gen_random_uuid(), 10, 0, '{}', '{}', array[%s], '{1}',
                   '{-2147483648}', '{-32768}', '{1970-01-01}', '{0}', '{1}', '{0}')"""
        for no in (1, 2):  # the first time reads the catalogue, too
            seen = {
                "claim": pages(engine, claim, worker, lane, no, no, kind),
                "enqueue": pages(engine, "select lanework.enqueue('t', owner => 'o77')"),
                "new owner": pages(engine, "select lanework.enqueue('t', owner => 'new')"),
                "align": pages(engine, "select lanework.align_turns()"),
            }
    assert {name: count for name, count in seen.items() if count > PAGES} == {}


def pages(engine: Engine, sql: str, *args: object) -> int:
    (row,) = engine.rows(f"explain (analyze, buffers, format json) {sql}", *args)
    plan = row["QUERY PLAN"][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_a_claim_goes_on_from_a_turn(engine: Engine) -> None:
    lane, (kind,), worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    submit(engine, "aaaa")
    after = Range(kind, turn=-2000000000 + 2, below_turn=-2000000000 + 3, below=-32768)
    assert turns(engine, [claim.id for claim in engine.claim(worker, lane, after, want=9)]) == [2]


def test_an_approved_job_takes_its_turn_when_it_is_approved(engine: Engine) -> None:
    lane, types, worker = fair(engine), kinds(engine, "l", "t"), engine.worker()
    engine.rows("update lanework.job_types set approval = 'always'")
    waiting = submit(engine, "aaa")
    engine.rows("update lanework.job_types set approval = 'never'")
    submit(engine, "bbbb")
    one_by_one(engine, worker, lane, types, 2)
    for job in waiting:
        engine.rows("select lanework.let_go(%s)", job)
    assert turns(engine, waiting) == [1, 2, 3]
