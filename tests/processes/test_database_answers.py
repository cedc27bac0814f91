"""Promise 3 and the edges of a claim: commits whose answer nobody heard."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from lanework import Context, DatabaseUnavailable, Job, Lanework, Snooze
from tests.processes.database_proxy import Proxy

pytestmark = pytest.mark.processes


@pytest.fixture
def proxy(database: str) -> Iterator[Proxy]:
    with Proxy(database) as proxy:
        yield proxy


def counts(dsn: str) -> tuple[int, int]:
    with psycopg.connect(dsn) as db:
        row = db.execute("select (select count(*) from lanework.keys), (select count(*) from lanework.all_jobs)").fetchone()
        assert row is not None
        return int(row[0]), int(row[1])


def submit_stubbornly(job: Job[[int], int], value: int, key: str | None) -> int:
    while True:
        try:
            return job.options(idempotency_key=key).submit(value).id
        except DatabaseUnavailable:
            continue


async def asubmit_stubbornly(job: Job[[int], int], value: int, key: str) -> int:
    while True:
        try:
            return (await job.options(idempotency_key=key).asubmit(value)).id
        except DatabaseUnavailable:
            continue


def test_a_client_that_asks_again_with_its_key_makes_one_job(proxy: Proxy, database: str) -> None:
    # Red with a key that is overwritten instead of deciding. The last lines do without one: there the commits show.
    with Lanework(proxy.dsn, notify=False) as app:

        @app.job("echo")
        def echo(ctx: Context, value: int) -> int:
            return value

        rule = proxy.swallow("lanework.submit", every=3)
        found = Counter(submit_stubbornly(echo, n, f"key {n}") for n in range(60))
        assert rule.swallowed >= 20
        assert set(found.values()) == {1}
        assert counts(database) == (60, 60)

        async def main() -> list[int]:
            async with app:
                return await asyncio.gather(*(asubmit_stubbornly(echo, n, f"other {n}") for n in range(40)))

        assert len(set(asyncio.run(main()))) == 40
        assert counts(database) == (100, 100)
        swallowed = rule.swallowed
        for n in range(9):
            submit_stubbornly(echo, n, None)
        assert counts(database) == (100, 100 + 9 + rule.swallowed - swallowed)  # the commits were real
        assert rule.swallowed > swallowed


@pytest.mark.parametrize("slots", [3, 200], ids=["finishes with claims", "finishes beside claims"])
def test_lost_answers_to_claims_and_finishes_strand_nothing_and_run_nothing_twice(proxy: Proxy, database: str, slots: int) -> None:
    # Red with the claims of a beat not given back (jobs stay `running`), and with a finish that changed nothing taken for a lost
    # claim (`superseded` in the log).
    bodies: Counter[int] = Counter()
    effects: dict[int, int] = {}

    async def main() -> None:
        async with Lanework(proxy.dsn, notify=False, beat=0.1, idle_beat=0.1, sweep=0.2) as app:

            @app.job("effect", lane="work", max_tries=1)
            async def effect(ctx: Context, value: int) -> int:
                if value % 10 == 9 and ctx.tries_used == 0 and ctx.attempt == 1:
                    return Snooze(0.01)  # type: ignore[return-value]
                bodies[ctx.job_id] += 1
                assert ctx.fence > effects.get(ctx.job_id, 0)
                effects[ctx.job_id] = ctx.fence
                return value

            app.lane("work", max_slots=slots, poll_interval_ms=50)
            often = {"complete_and_claim": 8, "completed(": 4, "settle": 3, "beat": 5, "look": 3}
            rules = [proxy.swallow(f"lanework.{verb}", every=2, times=times) for verb, times in often.items()]
            rules.append(proxy.swallow("j.payload::text", every=2, times=3))
            handles: list[Any] = []
            async with app.worker(), asyncio.timeout(90):
                while sum(rule.swallowed for rule in rules) < 12:
                    handles += await effect.asubmit_many([(len(handles) + n,) for n in range(60)])
                    while await app.alist(status=["approved", "running", "scheduled"], limit=1):
                        await asyncio.sleep(0.02)
                found = [await one.ainfo() for one in handles]
                assert {(info.status, info.tries_used) for info in found} == {("completed", 0)}
                assert [info.result for info in found] == list(range(len(handles)))
                # a claim that nobody heard of ran nothing, and a finish that nobody heard of is a finish
                assert set(bodies.values()) == {1}
                with psycopg.connect(database, autocommit=True) as db:
                    # a beat closes what is left of the lost claims
                    while db.execute("select from lanework.claims union all select from lanework.jobs").fetchall():
                        await asyncio.sleep(0.02)

    asyncio.run(main())


def test_a_finish_whose_answer_was_lost_is_not_taken_for_a_lost_claim(proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    # Red with `read_back` answering that it was not us.
    async def main() -> None:
        async with Lanework(proxy.dsn, notify=False, beat=0.1, idle_beat=0.1) as app:
            started, go_on = asyncio.Event(), asyncio.Event()

            @app.job("echo", lane="work", max_tries=1)
            async def echo(ctx: Context, value: int) -> int:
                started.set()
                await go_on.wait()
                if value < 0:
                    raise ValueError("this end is settled, not completed")
                return value

            app.lane("work", max_slots=2, poll_interval_ms=50)
            async with app.worker() as worker, asyncio.timeout(60):
                for value, verb in ((7, "complete_and_claim"), (-7, "settle")):
                    started.clear()
                    go_on.clear()
                    handle = await echo.asubmit(value)
                    await started.wait()
                    rule = proxy.swallow(f"lanework.{verb}", times=1)
                    go_on.set()
                    info = await handle.await_(timeout=30)
                    assert (info.status, info.attempt) == ("completed" if value > 0 else "failed", 1)
                    while not (rule.swallowed and worker.lanes["work"].idle):
                        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert "superseded" not in caplog.text


def test_an_answer_that_never_comes_is_given_up(proxy: Proxy, database: str) -> None:
    # Red without the watchdog over each statement: the lane, or the heartbeat, waits for ever.
    async def main() -> None:
        async with Lanework(proxy.dsn, notify=False, beat=0.1, idle_beat=0.1, statement_timeout=1) as app:

            @app.job("echo", lane="work", max_tries=1)
            async def echo(ctx: Context, value: int) -> int:
                return value

            app.lane("work", max_slots=2, poll_interval_ms=50)
            async with app.worker() as worker, asyncio.timeout(90):
                verbs = ("complete_and_claim", "look", "beat")
                rules = [proxy.swallow(f"lanework.{verb}", times=1, hangs=True) for verb in verbs]
                handles = [await echo.asubmit(n) for n in range(4)]
                assert [await one.aresult(timeout=60) for one in handles] == [0, 1, 2, 3]
                while not all(rule.swallowed for rule in rules):
                    await asyncio.sleep(0.01)
                (before,) = await app.aworkers()
                while (await app.aworkers())[0].seen_at <= before.seen_at:  # beats again
                    await asyncio.sleep(0.05)
                assert [one.id for one in await app.aworkers(ended=True)] == [worker.worker_id]

    asyncio.run(main())
