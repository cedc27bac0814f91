"""Promise 16: a lost notification costs at most one poll; a full notification queue stops no submit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from lanework import Context, Job, Lanework, Worker
from tests.servers import PrivateServer

pytestmark = pytest.mark.processes
POLL_MS = 2000


def echo_of(app: Lanework) -> Job[[int], int]:
    @app.job("echo", lane="work", backoff_base=0.01)
    async def echo(ctx: Context, value: int) -> int:
        if value < 0 and ctx.tries_used == 0:
            raise ConnectionError("once more")
        return value

    app.lane("work", max_slots=None, poll_interval_ms=POLL_MS)
    return echo


async def until(condition: Callable[[], Any], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


KILL = (
    b"select pg_terminate_backend(pid, 10000) from pg_stat_activity "
    b"where application_name like 'lanework-%-listen' and datname = current_database()"
)
QUIET = b"""select lanework.enqueue('echo', '{"value": 1}', hint => false) from generate_series(1, 3)"""


def test_a_listener_that_is_killed_costs_a_poll_and_comes_back(database: str) -> None:
    # Red with the poll removed (the jobs without a hint never start), and with a listener that ends at the first error.
    async def main() -> None:
        async with Lanework(database) as app, await psycopg.AsyncConnection.connect(database, autocommit=True) as db:
            echo = echo_of(app)
            async with app.worker(lanes=["work"]) as worker:
                await until(lambda: worker.health()["listening"])
                await until(lambda: worker.lanes and worker.lanes["work"].idle)
                for kill in (False, True):
                    if kill:
                        killed = await db.execute(KILL)
                        assert await killed.fetchall() == [(True,)]
                    # nobody hears of these: stored without a hint, as if it had been sent and lost
                    quiet = await db.execute(QUIET)
                    for (job_id,) in await quiet.fetchall():
                        assert (await app._await(job_id, timeout=30)).result == 1
                await until(lambda: worker.health()["listening"])
                (listener,) = [one for one in worker.health()["services"] if one["name"] == "listener"]
                assert (listener["state"], listener["restarts"] >= 1) == ("running", True)
                await heard(worker, echo)

    asyncio.run(main())


def test_a_listener_that_cannot_stay_stops_nobody(database: str) -> None:
    """For a while each LISTEN connection dies as soon as it is there: jobs start by the poll, and whoever waits for one gets it."""

    async def kill(db: psycopg.AsyncConnection[Any]) -> None:
        while True:
            await db.execute(KILL)
            await asyncio.sleep(0.02)

    async def main() -> None:
        async with Lanework(database) as app, await psycopg.AsyncConnection.connect(database, autocommit=True) as db:
            echo = echo_of(app)
            async with app.worker(lanes=["work"]) as worker:
                await until(lambda: worker.health()["listening"])
                killing = asyncio.create_task(kill(db))
                async with await psycopg.AsyncConnection.connect(database, autocommit=True) as other:
                    quiet = await (await other.execute(QUIET)).fetchall()  # a hint might slip through between two kills
                for (job_id,) in quiet:
                    assert (await app._await(job_id, timeout=30)).result == 1
                killing.cancel()
                await asyncio.wait([killing])
                await until(lambda: worker.health()["listening"])
                await heard(worker, echo)

    asyncio.run(main())


async def heard(worker: Worker, echo: Job[[int], int]) -> None:
    """A hint gets through again: with a poll of two minutes, nothing else would start this job in time."""
    await worker.app.lanes.aset("work", poll_interval_ms=120_000)
    worker.poller.wake()
    await until(lambda: worker.poller.interval == 120)
    await until(lambda: worker.lanes["work"].idle)
    assert await (await echo.asubmit(2)).aresult(timeout=60) == 2


@pytest.mark.pg(18)  # max_notify_queue_pages is of 17; before, the queue takes 8 GB
def test_a_full_notification_queue_stops_no_submit(private_server: Callable[..., PrivateServer]) -> None:
    # Red with `pg_notify` in enqueue instead of the guarded `lanework.hint`.
    server = private_server()
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("alter system set max_notify_queue_pages = 64")
    server.restart("fast")

    async def main() -> None:
        with psycopg.connect(server.dsn) as sleeper, psycopg.connect(server.dsn, autocommit=True) as db:
            async with Lanework(server.dsn, beat=0.2, idle_beat=0.2) as app:
                echo = echo_of(app)
                async with app.worker(lanes=["work"]) as worker:
                    await until(lambda: worker.health()["listening"])
                    sleeper.execute("listen lanework")
                    sleeper.commit()
                    sleeper.execute("select 1")  # and now it listens no more, in an open transaction: nothing is let go
                    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
                        while True:
                            db.execute("select pg_notify('lanework', repeat('x', 7900))")
                    assert db.execute("select pg_notification_queue_usage() > 0.9").fetchone() == (True,)
                    ids = [(await echo.asubmit(1)).id, *(one.id for one in await echo.asubmit_many([(2,), (-3,)]))]
                    ids.append(await asyncio.to_thread(lambda: echo.submit(4).id))
                    ids += [one.id for one in await asyncio.to_thread(echo.submit_many, [(5,)])]
                    with psycopg.connect(server.dsn) as mine:
                        ids.append(echo.options(connection=mine).submit(6).id)
                        ids += [one.id for one in echo.options(connection=mine).submit_many([(7,)])]
                        row = mine.execute("select lanework.enqueue('echo', '{\"value\": 8}')").fetchone()
                        assert row is not None
                        ids.append(row[0])
                    await app.lanes.aset("work", max_slots=5)
                    found = [await app._await(job_id, timeout=60) for job_id in ids]
                    assert [info.result for info in found] == [1, 2, -3, 4, 5, 6, 7, 8]
                    sleeper.rollback()
                    await until(lambda: db.execute("select pg_notification_queue_usage() < 0.1").fetchone() == (True,))
                    await heard(worker, echo)

    asyncio.run(main())
