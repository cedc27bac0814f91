"""Promise 17: works through PgBouncer in transaction mode. Here is what a session would carry: submits, a worker from end to end,
recovery after a kill, hints that do not come. `make chaos` runs most of the suite through it (`pytest --through=pgbouncer`)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from lanework import Context, Job, Lanework
from tests.pace import bound
from tests.pooler import Pooler
from tests.processes.harness import Site
from tests.processes.test_kills import given_back
from tests.servers import Databases, PrivateServer
from tests.sql.proof import complaints, instrumented

pytestmark = pytest.mark.processes


@pytest.fixture
def site(pooled: str, direct: str, tmp_path: Path) -> Iterator[Site]:
    """Processes and client go through the pooler; the judge does not."""
    sql = instrumented(direct)
    with sql.db, closing(Site(pooled, tmp_path, sql)) as site:
        yield site
        print(site.logs())
        assert complaints(sql) == []


def declare(app: Lanework, poll_ms: int = 100) -> Job[[int], int]:
    app.lane("work", max_slots=None, poll_interval_ms=poll_ms)

    @app.job(lane="work")
    async def double(ctx: Context, n: int) -> int:
        with_step = await ctx.astep("twice", lambda: 2 * n)
        async with ctx.atransaction() as tx:
            await tx.execute("select set_config('test.here', 'x', true)")
        return with_step

    return double


def test_the_schema_comes_through_it(databases: Databases, _poolers: Callable[[PrivateServer], Pooler]) -> None:
    with databases.empty() as dsn, Lanework(_poolers(databases.server).dsn(dsn)) as app:
        assert declare(app).submit(1).id == 1


def test_submits_of_every_kind(pooled: str) -> None:
    with Lanework(pooled) as app, psycopg.connect(pooled, prepare_threshold=None) as db:
        double = declare(app)
        first = double.options(idempotency_key="k").submit(1)
        assert double.options(idempotency_key="k").submit(1).id == first.id
        double.submit_many([(n,) for n in range(500)])
        double.options(connection=db).submit(2)
        double.options(connection=db).submit_many([(n,) for n in range(10)])
        db.rollback()
        double.options(connection=db).submit(3)
        db.commit()
        assert len(app.list(limit=1000)) == 502


def test_a_worker_polls_and_says_so(pooled: str) -> None:
    async def main() -> None:
        async with Lanework(pooled, beat=0.2, idle_beat=0.2) as app:
            double = declare(app)
            async with app.worker():
                handles = await double.asubmit_many([(n,) for n in range(50)])
                assert [await one.aresult(timeout=60) for one in handles] == [2 * n for n in range(50)]
                health = await app.ahealth()
                assert health["ok"] and health["polling_only"]
                (listener,) = [one for one in health["here"][0]["services"] if one["name"] == "listener"]
                assert "behind a pooler: polling only; set LANEWORK_DIRECT_DSN" in listener["error"]

    asyncio.run(main())


def test_hints_come_by_the_direct_way(pooled: str, direct: str) -> None:
    """A poll would take a minute."""

    async def main() -> None:
        async with Lanework(pooled, direct_dsn=direct) as app:
            double = declare(app, poll_ms=60_000)
            async with app.worker() as worker:
                async with asyncio.timeout(60):
                    while not worker.health()["listening"] or not worker.lanes:
                        await asyncio.sleep(0.02)
                started = time.monotonic()
                assert await (await double.asubmit(4)).aresult(timeout=60) == 8
                assert time.monotonic() - started < bound(30)
                assert not (await app.ahealth())["polling_only"]

    asyncio.run(main())


def test_a_killed_worker_is_recovered(site: Site) -> None:
    worker = site.start()
    job = site.submit("hold")
    site.began(job)
    worker.kill_worker()
    site.until(lambda: given_back(site, job), "the job to be given back")
    site.began(job, 2)
    site.open("go")
    (ended,) = site.ended(job)
    assert (ended.status, ended.attempt, ended.tries_used) == ("completed", 2, 0)


def test_silence_is_noticed(site: Site) -> None:
    """Guard and worker die together: another worker's beats, through the same pooler, expire them."""
    workers = site.start_many(2)
    job = site.submit("hold")
    site.began(job)
    (victim,) = [one for one in workers if one.id == site.client.get(job).worker_id]
    victim.kill_tree()
    site.until(lambda: given_back(site, job), "the job to be given back")
    site.open("go")
    assert site.ended(job)[0].status == "completed"


def test_more_clients_than_connections(pooled: str) -> None:
    """Twenty threads submit through six connections while a worker works and beats through them, too."""

    async def main() -> None:
        async with Lanework(pooled, beat=0.2, idle_beat=0.2, connections=20) as app:
            double = declare(app)
            await double.asubmit(0)

            def submit() -> None:
                for n in range(20):
                    double.submit(n)

            async with app.worker() as worker:
                threads = [threading.Thread(target=submit) for _ in range(20)]
                for one in threads:
                    one.start()
                async with asyncio.timeout(120):
                    while any(one.is_alive() for one in threads) or await app.alist(status=["approved", "running"], limit=1):
                        await asyncio.sleep(0.05)
                assert worker.health()["state"] == "running"
            assert len(await app.alist(status=["completed"], limit=1000)) == 401

    asyncio.run(main())
