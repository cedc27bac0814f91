"""`explain`: one test for each reason why a job is not running, or why a lane does not start more. The queue is driven by the
engine's own verbs, as workers call them; the answers are read by Python and on the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from lanework import Context, JobNotFound, Lanework
from lanework.cli import main
from lanework.errors import LaneNotFound
from lanework.explanations import Brake, Explanation
from lanework.testing import Clock
from tests.sql.engine import Claim, Engine, connect


@dataclass
class House:
    """An application with a lane `books` (2 slots) for `read` and `write`, and the engine's verbs beside it."""

    app: Lanework
    engine: Engine
    read: Any
    write: Any

    def worker(self, *types: str, lanes: tuple[str, ...] = (), name: str = "w", version: int = 1, max_jobs: int = 100) -> int:
        ids = [self.type_id(one) for one in types]
        info = json.dumps({"max_jobs": max_jobs, "versions": dict.fromkeys(map(str, ids), version)})
        return int(self.engine.one(
            "select lanework.start_worker(%s, 'here', 1, '30 s', %s, %s::int[], %s)", name, list(lanes), ids, info))  # fmt: skip

    def type_id(self, name: str) -> int:
        return int(self.engine.one("select id from lanework.job_types where name = %s", name))

    def lane_id(self, name: str = "books") -> int:
        return int(self.engine.one("select id from lanework.lanes where name = %s", name))

    def claim(self, worker: int, type: str = "read", want: int = 1, used: int = 0, **options: Any) -> list[Claim]:
        return self.engine.claim(worker, self.lane_id(), self.type_id(type), want=want, used=used, **options)

    def why(self, handle: Any) -> Explanation:
        return self.app.explain(handle.id)

    def brake(self, lane: str = "books") -> Brake:
        return self.app.lanes.explain(lane)


@pytest.fixture
def house(database: str) -> Iterator[House]:
    with Lanework(database) as app, connect(database) as db:
        app.lane("books", max_slots=2)

        @app.job(lane="books")
        async def read(ctx: Context, n: int = 0) -> None: ...

        @app.job(lane="books", concurrency=1)
        async def write(ctx: Context, n: int = 0) -> None: ...

        app.lanes.list()
        yield House(app, Engine(db), read, write)


def test_next(house: House) -> None:
    house.worker("read")
    found = house.why(house.read.submit())
    assert (found.status, found.reason, found.until) == ("approved", "next", None)
    assert found.text == "nothing holds it: it is the next in lane books"
    assert found.remedy == "it starts within one poll (5000 ms)"
    assert house.brake().reason == "open"


def test_lane_drained(house: House) -> None:
    house.app.lanes.drain("books", by="ada")
    found = house.why(house.read.submit())
    assert (found.reason, found.waits_for, found.remedy) == ("drained", ("lane:books",), "lanework lanes resume books")
    assert "set by ada" in found.text
    assert house.brake().reason == "drained"


@pytest.mark.parametrize("setting", ["max_slots", "worker_slots"])
def test_lane_without_slots(house: House, setting: str) -> None:
    house.worker("read")
    values: dict[str, Any] = {setting: 0}
    house.app.lanes.set("books", **values)
    found = house.why(house.read.submit())
    assert (found.reason, found.remedy) == ("no_slots", f"lanework lanes set books --{setting.replace('_', '-')} 1")
    assert house.brake().reason == "no_slots"


def test_no_worker_alive(house: House) -> None:
    job = house.read.submit()
    assert house.why(job).reason == house.brake().reason == "no_worker"
    worker = house.worker("read")
    assert house.why(job).reason == "next"
    house.engine.end_worker(worker)
    assert house.why(job).reason == "no_worker"


def test_a_silent_worker_is_no_worker(house: House) -> None:
    house.worker("read")
    house.engine.rows("update lanework.workers set seen_at = seen_at - interval '1 h'")
    assert house.why(house.read.submit()).reason == "no_worker"


def test_no_worker_serves_the_type(house: House) -> None:
    job = house.read.submit()
    house.worker("write")
    found = house.why(job)
    assert (found.reason, found.waits_for) == ("unserved", ("worker",))
    assert found.text == "no worker serves type read in lane books"
    assert house.brake().text == "no worker serves type read, which has jobs waiting"
    house.worker("read", lanes=("other",))
    assert house.why(job).reason == "unserved"
    house.worker("read", lanes=("books",))
    assert house.why(job).reason == "next"


def test_no_worker_knows_the_version(house: House) -> None:
    house.worker("read", version=1)
    job = house.engine.enqueue("read", version=2)
    assert house.app.explain(job).reason == "version"
    house.worker("read", version=2)
    assert house.app.explain(job).reason == "next"


def test_no_free_slot(house: House) -> None:
    worker = house.worker("read")
    jobs = [house.read.submit() for _ in range(3)]
    running = house.claim(worker, want=2)
    found = house.why(jobs[2])
    assert (found.reason, found.waits_for, found.holders) == ("full", ("lane:books",), tuple(f"job:{c.id}" for c in running))
    assert found.text == f"all 2 slots of lane books are in use: job {running[0].id}, job {running[1].id}"
    assert "lanework lanes set books --max-slots 3" in found.remedy
    brake = house.brake()
    assert (brake.reason, brake.holders) == ("full", found.holders)


@pytest.mark.parametrize("limit", ["worker_slots", "max_jobs"])
def test_every_worker_is_full(house: House, limit: str) -> None:
    worker = house.worker("read", max_jobs=1 if limit == "max_jobs" else 100)
    if limit == "worker_slots":
        house.app.lanes.set("books", worker_slots=1)
    jobs = [house.read.submit() for _ in range(2)]
    (running,) = house.claim(worker)
    found = house.why(jobs[1])
    assert (found.reason, found.holders) == ("workers_full", (f"job:{running.id}",))
    assert house.brake().reason == "workers_full"


def test_the_types_concurrency_is_used(house: House) -> None:
    worker = house.worker("read", "write")
    jobs = [house.write.submit() for _ in range(2)]
    (running,) = house.claim(worker, "write", capped={house.type_id("write"): 0})
    found = house.why(jobs[1])
    assert (found.reason, found.waits_for, found.holders) == ("type_full", ("type:write",), (f"job:{running.id}",))
    assert house.brake().reason == "type_full"
    house.read.submit()
    assert house.brake().reason == "open"  # another type could start


def test_behind_others(house: House) -> None:
    house.worker("read", "write")
    low = house.read.options(priority=-1).submit()
    assert house.why(low).reason == "next"
    house.write.submit()
    assert house.why(low).text == "1 job starts before it in lane books"
    house.read.submit_many([(n,) for n in range(5)])
    assert (house.why(low).reason, house.why(low).text) == ("behind", "6 jobs start before it in lane books")
    house.read.submit_many([(n,) for n in range(1200)])
    assert "1000 jobs or more" in house.why(low).text


def test_behind_others_in_a_fair_lane(house: House) -> None:
    house.app.lanes.set("books", fair=True)
    house.worker("read")
    mine = [house.read.options(owner="ada").submit() for _ in range(3)]
    other = house.read.options(owner="bob").submit()
    assert house.why(mine[1]).text == "2 jobs start before it in lane books, whose owners take turns"
    assert house.why(other).reason == "behind"


def test_delayed(house: House) -> None:
    job = house.read.options(run_at=timedelta(hours=1)).submit()
    found = house.why(job)
    assert (found.status, found.reason, found.waits_for) == ("scheduled", "delayed", ("time",))
    assert found.until == house.app.get(job.id).run_at
    assert house.brake().reason == "no_worker"
    Clock(house.app).advance(hours=2)
    assert "that has come" in house.why(job).text


def test_retry_and_snooze(house: House) -> None:
    worker = house.worker("read")
    jobs = [house.read.submit() for _ in range(2)]
    failed, snoozed = house.claim(worker, want=2)
    house.engine.settle(worker, failed, action="retry", delay_s=60, error_class="transient", error="the shelf is empty")
    house.engine.settle(worker, snoozed, action="snooze", delay_s=60)
    retry, snooze = house.app.explain(failed.id), house.app.explain(snoozed.id)
    assert {failed.id, snoozed.id} == {job.id for job in jobs}
    assert (retry.reason, snooze.reason) == ("retry", "snoozed")
    assert retry.text.startswith("attempt 1 failed (transient: the shelf is empty); it is tried again at ")
    assert retry.until is not None and snooze.until is not None


def test_session(house: House) -> None:
    worker = house.worker("read")
    chat = house.read.options(session="chat")
    first, second, third = (chat.submit() for _ in range(3))
    house.engine.rows("select lanework.promote_sessions('{chat}')")
    house.claim(worker)
    assert house.why(first).reason == "running"
    found = house.why(third)
    assert (found.status, found.reason, found.waits_for) == ("blocked", "session", ("session:chat",))
    assert found.holders == (f"job:{first.id}", f"job:{second.id}")
    assert house.brake().reason == "blocked"


def test_children(house: House) -> None:
    worker = house.worker("read")
    parent = house.read.submit()
    (claim,) = house.claim(worker)
    rows = house.engine.rows(
        "select child_id from lanework.submit_children(%s, %s, %s, '{a,b}', 'read', '{\"{}\",\"{}\"}', 1, null, 0, null, null)",
        *claim,
    )
    house.engine.settle(worker, claim, action="wait")
    found = house.why(parent)
    assert (found.status, found.reason, found.holders) == ("blocked", "children", tuple(f"job:{row['child_id']}" for row in rows))


def test_running_and_finished(house: House) -> None:
    worker = house.worker("read", name="here:1")
    jobs = [house.read.submit() for _ in range(2)]
    first, second = house.claim(worker, want=2)
    found = house.app.explain(first.id)
    assert (found.status, found.reason, found.holders) == ("running", "running", (f"worker:{worker}",))
    assert f"on worker {worker} (here:1)" in found.text
    house.app.cancel(first.id)
    assert "asked to stop (cancel)" in house.app.explain(first.id).text
    house.engine.settle(worker, first, action="cancel")
    house.engine.settle(worker, second, action="fail", error_class="permanent", error="no such book")
    assert house.app.explain(first.id).reason == "cancelled"
    failed = house.app.explain(second.id)
    assert (failed.status, failed.reason, failed.text) == ("failed", "failed", "it has failed (permanent: no such book)")
    house.read.submit()
    (third,) = house.claim(worker)
    house.engine.completed(worker, third)
    assert house.app.explain(third.id).reason == "completed"
    assert len(jobs) == 2


def test_nothing_waits(house: House) -> None:
    house.worker("read")
    brake = house.brake()
    assert (brake.reason, brake.text) == ("empty", "nothing waits in lane books")
    assert house.brake("default").text == "lane default has no job types"


def test_nobody(house: House) -> None:
    with pytest.raises(JobNotFound, match="there is no job 4711"):
        house.app.explain(4711)
    with pytest.raises(LaneNotFound, match="there is no lane 'attic'"):
        house.app.lanes.explain("attic")


def test_async_twins(house: House) -> None:
    job = house.read.submit()

    async def main() -> tuple[Explanation, Brake]:
        try:
            return await house.app.aexplain(job.id), await house.app.lanes.aexplain("books")
        finally:
            await house.app._close_loop()

    assert asyncio.run(main()) == (house.why(job), house.brake())


def test_command_line(house: House, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    job = house.read.submit()

    def says(*words: object) -> str:
        assert main(["--dsn", database, *map(str, words)]) == 0
        return capsys.readouterr().out

    said = says("jobs", "explain", job.id)
    assert said == f"job {job.id}, approved: no_worker\n  no worker is alive\n  → lanework worker module:app\n"
    assert json.loads(says("jobs", "explain", job.id, "-o", "json"))[0]["reason"] == "no_worker"
    assert "why         no worker is alive\n" in says("jobs", "show", job.id)
    assert json.loads(says("jobs", "show", job.id, "-o", "json"))[0]["explanation"]["reason"] == "no_worker"
    assert "lane books: no_worker" in says("lanes", "explain")
    assert main(["--dsn", database, "jobs", "explain", "4711"]) == 5
    assert main(["--dsn", database, "lanes", "explain", "attic"]) == 5


def test_everything_drained(house: House) -> None:
    house.worker("read")
    job = house.read.submit()
    house.engine.rows("insert into lanework.drains (by, reason) values ('ada', 'night')")
    found = house.why(job)
    assert (found.reason, found.holders, found.remedy) == ("all_drained", ("operator:ada",), "lanework lanes resume --all")
    assert found.text.startswith("everything is drained by ada since ") and found.text.endswith(" (night)")
    assert house.brake().reason == "all_drained"


def test_frozen(house: House) -> None:
    worker = house.worker("read")
    house.read.submit()
    (holder,) = house.claim(worker)
    job = house.read.submit()
    house.engine.rows(
        "insert into lanework.freezes (id, lane, job_id, claim_id, by, reason) values (1, 'books', %s, %s, 'x', 'restore')",
        holder.id, holder.claim_id)  # fmt: skip
    found = house.why(job)
    assert (found.reason, found.holders) == ("frozen", (f"job:{holder.id}",))
    assert found.text == f"lane books is frozen by job {holder.id} (restore)"
    house.engine.rows("delete from lanework.freezes")
    house.engine.rows(
        "insert into lanework.freezes (id, lane, by, reason, until) values (2, 'books', 'ada', '', lanework.now() + interval '1 h')"
    )
    found = house.why(job)
    assert (found.holders, found.remedy) == (("operator:ada",), "lanework lanes thaw 2")
    assert found.until is not None and house.brake().reason == "frozen"


def park(house: House, key: str) -> Any:
    house.worker("read")
    job = house.read.submit()
    house.engine.rows("update lanework.jobs set status = 'blocked', blocked_on = %s where id = %s", key, job.id)
    return job


def test_a_permit(house: House) -> None:
    permit = house.engine.one("insert into lanework.permits (name, capacity) values ('gpu', 1) returning id")
    job = park(house, "permit:gpu")
    assert house.why(job).reason == "parked"
    house.engine.rows(
        "insert into lanework.permit_use (permit_id, worker_id, source, used, jobs) values (%s, 1, 1, 1, '{17}')", permit
    )
    found = house.why(job)
    assert (found.status, found.reason, found.waits_for, found.holders) == ("blocked", "permit", ("permit:gpu",), ("job:17",))
    assert found.text == "it needs permit gpu, whose 1 are held by job 17"
    assert house.brake().reason == "permit"
    house.engine.rows("update lanework.job_types set permits = '{gpu}' where name = 'read'")
    assert house.why(house.read.submit()).reason == "permit"
    assert house.brake().reason == "permit"


def test_a_rate(house: House) -> None:
    house.engine.rows(
        "insert into lanework.rates (name, requests, paused_until) values ('llm', 5, lanework.now() + interval '1 h')"
    )
    found = house.why(park(house, "rate:llm"))
    assert (found.reason, found.waits_for, found.remedy) == ("rate", ("rate:llm",), "wait, or lanework rates resume llm")
    assert found.until is not None
    assert house.brake().reason == "rate"


def test_a_budget(house: House) -> None:
    house.engine.rows("insert into lanework.budgets (name, amount, per) values ('ada', 5, 'day')")
    job = park(house, "budget:ada")
    house.engine.rows("insert into lanework.budget_waits (job_id, budget, need) values (%s, 'ada', 7.5)", job.id)
    found = house.why(job)
    assert (found.reason, found.text) == ("budget", "budget ada has 5 left of 5 per day, and it needs 7.5")
    assert found.until is not None


def test_an_approval(house: House) -> None:
    job, other = house.read.submit(), house.read.submit()
    house.engine.rows("update lanework.jobs set status = 'awaiting_approval' where id = %s", job.id)
    house.engine.rows(
        "insert into lanework.approval_requests values (%s, lanework.now(), lanework.now() + interval '1 day', 'always')", job.id
    )
    found = house.why(job)
    assert (found.status, found.reason, found.waits_for) == ("awaiting_approval", "approval", ("approval",))
    assert (found.text, found.remedy) == ("it waits for an approval: always", f"lanework jobs approve {job.id}")
    assert found.until is not None
    house.engine.rows("update lanework.jobs set status = 'pending' where id = %s", other.id)
    house.engine.rows("insert into lanework.estimating (job_id, estimate_id, hash) values (%s, 99, 'x')", other.id)
    assert (house.why(other).reason, house.why(other).holders) == ("estimating", ("job:99",))
    house.worker("read")
    assert house.brake().waits_for == ("approval",)
