"""Submits in the caller's own transaction (promise 2): a job exists if and only if that transaction commits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from lanework import Context, IdempotencyConflict, InvalidJob, Job, JobNotFinished, JobNotFound, Lanework
from lanework._store.verb import Verb, arun, nothing, rows, run
from tests.processes.database_callers import ASYNC_KINDS, KINDS, async_unit_of, unit_of

Echo = Job[[int], int]
#: Longer than any test waits: what starts sooner was started by a hint.
LONG_POLL_MS = 120_000
COMMIT_TAKES_S = 0.15


@pytest.fixture
def echo(app: Lanework) -> Echo:
    @app.job("echo")
    async def echo(ctx: Context, value: int) -> int:
        return value

    return echo


def stored(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as db:
        return [row[0] for row in db.execute("select (payload ->> 'value')::int from lanework.jobs order by 1").fetchall()]


def test_half_rolled_back_leaves_exactly_the_committed(database: str, echo: Echo) -> None:
    # Red with submit_many as the first statement of a transaction that only psycopg knows of (it committed by itself), and with
    # rows read by position from a connection that makes dicts (both were bugs here).
    for kind in KINDS:
        expected = stored(database)
        with unit_of(kind, database) as unit:
            inside = echo.options(connection=unit.connection)
            for n in range(12):
                unit.begin()
                for way in ("one", "many") if n % 3 else ("many", "one"):
                    inside.submit(n) if way == "one" else inside.submit_many([(n,), (n,)])
                assert stored(database) == expected, kind  # nobody else sees them yet
                if n % 2:
                    unit.commit()
                    expected = sorted([*expected, n, n, n])
                else:
                    unit.rollback()
                assert stored(database) == expected, kind


def test_half_rolled_back_async(database: str, app: Lanework, echo: Echo) -> None:
    async def main() -> None:
        async with app:
            for kind in ASYNC_KINDS:
                expected = stored(database)
                async with async_unit_of(kind, database) as unit:
                    inside = echo.options(connection=unit.connection)
                    for n in range(8):
                        if n % 3:
                            await inside.asubmit_many([(n,), (n,)])
                            await inside.asubmit(n)
                        else:
                            await inside.asubmit(n)
                            await inside.asubmit_many([(n,), (n,)])
                        assert stored(database) == expected, kind
                        await (unit.commit() if n % 2 else unit.rollback())
                        expected = sorted([*expected, n, n, n]) if n % 2 else expected
                        assert stored(database) == expected, kind

    asyncio.run(main())


def test_plain_sql_half_rolled_back(database: str, app: Lanework, echo: Echo) -> None:
    app._ready()
    with psycopg.connect(database) as db:
        for n in range(20):
            db.execute("select lanework.enqueue('echo', jsonb_build_object('value', %s::int))", (n,))
            db.commit() if n % 2 else db.rollback()
    assert stored(database) == [n for n in range(20) if n % 2]


def test_a_rolled_back_savepoint_takes_its_jobs_with_it(database: str, echo: Echo) -> None:
    with psycopg.connect(database) as db:
        with pytest.raises(ZeroDivisionError), db.transaction(), db.transaction():
            echo.options(connection=db).submit(1)
            raise ZeroDivisionError
        echo.options(connection=db).submit(2)
    assert stored(database) == [2]


def test_a_refused_bulk_leaves_the_callers_transaction_whole(database: str, echo: Echo) -> None:
    # Red without the savepoint around the COPY: the caller's own row is lost with it.
    for kind in KINDS:
        with unit_of(kind, database) as unit:
            inside = echo.options(connection=unit.connection)
            unit.begin()
            before = stored(database)
            inside.submit(7)
            with pytest.raises(InvalidJob):
                inside.submit_many([*((n,) for n in range(3000)), ("no number",)])
            unit.commit()
            assert stored(database) == [*before, 7], kind


def test_a_conflict_of_keys_is_ours_whatever_wraps_it(database: str, echo: Echo) -> None:
    echo.options(idempotency_key="k").submit(1)
    for kind in KINDS:
        with unit_of(kind, database) as unit:
            unit.begin()
            with pytest.raises(IdempotencyConflict):
                echo.options(connection=unit.connection, idempotency_key="k").submit(2)
            unit.rollback()
    assert stored(database) == [1]


def test_waiting_inside_the_open_transaction_raises(database: str, echo: Echo) -> None:
    for kind in KINDS:
        with unit_of(kind, database) as unit:
            unit.begin()
            one = echo.options(connection=unit.connection).submit(1)
            many = echo.options(connection=unit.connection).submit_many([(1,)])
            for handle in (one, *many):
                with pytest.raises(JobNotFinished, match="transaction that is still open: commit it"):
                    handle.result()
            unit.rollback()
            # and what was rolled back is waited for by nobody; red with a wait that only looks for finished jobs: it never ends
            for handle in (one, *many):
                with pytest.raises(JobNotFound):
                    handle.result(timeout=90)


def test_a_committed_job_is_waited_for_although_another_transaction_is_open(database: str, echo: Echo) -> None:
    for kind in KINDS:
        with unit_of(kind, database) as unit:
            inside = echo.options(connection=unit.connection)
            unit.begin()
            handle = inside.submit(1)
            unit.commit()
            unit.begin()
            inside.submit(2)
            with pytest.raises(JobNotFinished, match=r"within 0\.01 s; it goes on"):
                handle.result(timeout=0.01)
            unit.rollback()


def test_the_wrong_twin_says_which_one_is_right(database: str, app: Lanework, echo: Echo) -> None:
    async def main() -> None:
        async with app, async_unit_of("psycopg async", database) as unit:
            for call in (echo.options(connection=unit.connection).submit, echo.options(connection=unit.connection).submit_many):
                with pytest.raises(InvalidJob, match="async; use asubmit") as caught:
                    call([(1,)] if call.__name__ == "submit_many" else 1)  # type: ignore[arg-type]
                assert caught.value.field == "connection"
        with psycopg.connect(database) as db:
            with pytest.raises(InvalidJob, match="blocks; use submit"):
                await echo.options(connection=db).asubmit(1)
            with pytest.raises(InvalidJob, match="blocks; use submit"):
                await echo.options(connection=db).asubmit_many([(1,)])

    asyncio.run(main())


@pytest.mark.direct("it is about hints")
def test_a_commit_wakes_a_worker_that_polls_rarely(database: str, app: Lanework, echo: Echo) -> None:
    # Red with no hint after submit or submit_many, and with the hint of a session sent at once or at the release of a savepoint.
    # (A SQLAlchemy connection's `commit` event comes before the commit: it is not the moment for a hint.)
    app.lanes.set("default", poll_interval_ms=LONG_POLL_MS, max_slots=None)

    def blocking(kind: str, many: bool) -> int:
        with unit_of(kind, database, commit_takes=COMMIT_TAKES_S) as unit:
            unit.begin()
            inside = echo.options(connection=unit.connection)
            if kind.endswith(" session"):
                with unit.connection.begin_nested():
                    handle = inside.submit_many([(1,)])[0] if many else inside.submit(1)
                time.sleep(COMMIT_TAKES_S)  # a hint that was sent too early is used up by then
            else:
                handle = inside.submit_many([(1,)])[0] if many else inside.submit(1)
            unit.commit()
            return handle.id

    async def with_async(kind: str, many: bool) -> int:
        async with async_unit_of(kind, database) as unit:
            inside = echo.options(connection=unit.connection)
            handle = (await inside.asubmit_many([(1,)]))[0] if many else await inside.asubmit(1)
            await unit.commit()
            return handle.id

    def plain(many: bool) -> int:
        with psycopg.connect(database) as db:
            row = db.execute("select lanework.enqueue('echo', '{\"value\": 1}')").fetchone()
            assert row is not None
            return int(row[0])

    ways: dict[str, Callable[[bool], Awaitable[int]]] = {
        "plain SQL": lambda many: asyncio.to_thread(plain, many),
        **{kind: lambda many, kind=kind: asyncio.to_thread(blocking, kind, many) for kind in KINDS},  # type: ignore[misc]
        **{kind: lambda many, kind=kind: with_async(kind, many) for kind in ASYNC_KINDS},  # type: ignore[misc]
    }

    async def main() -> None:
        async with app, app.worker() as worker:
            while not worker.health()["listening"]:
                await asyncio.sleep(0.01)
            await (await echo.asubmit(0)).aresult(timeout=90)
            for kind, way in ways.items():
                for many in (False, True):
                    while not worker.lanes["default"].idle:
                        await asyncio.sleep(0.01)
                    job_id = await way(many)
                    info = await app._await(job_id, timeout=30)
                    assert info.status == "completed", (kind, many)

    asyncio.run(main())


def test_a_deadlock_in_a_callers_transaction_is_the_callers_to_repeat(database: str) -> None:
    """It is lost as a whole: to repeat one statement of it would only say that."""

    async def locks(conn: psycopg.AsyncConnection[tuple[object, ...]], key: int) -> None:
        await arun(conn, Verb(b"select pg_advisory_xact_lock(%(key)s)", {"key": key}, rows))

    async def both(first: int, second: int, met: asyncio.Event, other: asyncio.Event) -> str:
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
            await conn.execute("set deadlock_timeout = '10ms'")
            try:
                async with conn.transaction():
                    await locks(conn, first)
                    met.set()
                    await other.wait()
                    await locks(conn, second)
                return "done"
            except psycopg.errors.DeadlockDetected:
                return "deadlock"

    async def main() -> list[str]:
        one, other = asyncio.Event(), asyncio.Event()
        return list(await asyncio.gather(both(1, 2, one, other), both(2, 1, other, one)))

    assert sorted(asyncio.run(main())) in (["deadlock", "done"], ["deadlock", "deadlock"])


def test_a_deadlock_inside_a_transaction_is_told_to_whoever_can_repeat_it(database: str) -> None:
    # Red where a statement is repeated by itself whenever its connection is in autocommit mode: inside `conn.transaction()` too,
    # where what then comes is InFailedSqlTransaction.
    def lock(number: int) -> Verb[None]:
        return Verb(b"select pg_advisory_xact_lock(%(number)s)", {"number": number}, nothing)

    def both(first: int, second: int) -> str:
        with psycopg.connect(database, autocommit=True) as conn:
            try:
                with conn.transaction():
                    run(conn, lock(first))
                    ready.wait()
                    run(conn, lock(second))
            except psycopg.Error as error:
                return type(error).__name__
        return "committed"

    ready = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(both, 1, 2), pool.submit(both, 2, 1)]
        assert sorted(end.result() for end in ends) == ["DeadlockDetected", "committed"]
