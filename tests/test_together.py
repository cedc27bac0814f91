"""Several statements in one round trip (`arun_all`): one after the other, all or nothing, and whatever happens on the way the
connection is good for the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg

from lanework._store.verb import Verb, abegun, arun, arun_all, rows, scalar
from lanework.errors import ClaimLost
from tests.pace import bound
from tests.pooler import Pooler
from tests.servers import Databases, PrivateServer

Conn = psycopg.AsyncConnection[Any]


def _verb(sql: str, **params: Any) -> Verb[Any]:
    return Verb(sql.encode(), params, scalar)


ADD = _verb("insert into t select coalesce(max(n), 0) + 1 from t returning n")
WAITED_FOR = _verb(
    "select exists (select from pg_locks l join pg_database d on d.oid = l.database"
    " where not l.granted and l.objid = 7 and d.datname = current_database())"
)
LOCK = _verb("select pg_advisory_xact_lock(7)::text")


@pytest.fixture(params=["direct", "pooled"])
def dsn(request: pytest.FixtureRequest, databases: Databases, direct: str, _poolers: Callable[[PrivateServer], Pooler]) -> str:
    return direct if request.param == "direct" else _poolers(databases.server).dsn(direct)


def _within(dsn: str, act: Callable[[Conn], Awaitable[None]]) -> None:
    async def main() -> None:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True, prepare_threshold=None) as conn:
            await conn.execute("create table t (n int primary key)")
            await act(conn)

    asyncio.run(main())


async def _numbers(conn: Conn) -> list[int]:
    return [row[0] for row in await arun(conn, Verb(b"select n from t order by n", {}, rows))]


def test_each_sees_what_those_before_it_did(dsn: str) -> None:
    async def act(conn: Conn) -> None:
        async with conn.transaction():
            found = await arun_all(conn, [LOCK, ADD, ADD, _verb("create temp table u ()"), _verb("select count(*) from t"), ADD])
        assert found == ["", 1, 2, None, 2, 3]
        assert [await arun_all(conn, []), await arun_all(conn, [ADD])] == [[], [4]]

    _within(dsn, act)


def test_a_failure_in_the_middle_is_told_as_what_it_is_and_nothing_stays(dsn: str) -> None:
    async def act(conn: Conn) -> None:
        for wrong, told in (
            (_verb("insert into t values (1)"), pg.UniqueViolation),
            (_verb("select 1 / %(by)s::int", by=0), pg.DivisionByZero),
            (_verb("do $$ begin raise exception 'lost' using errcode = 'LW400'; end $$"), ClaimLost),
        ):
            with pytest.raises(told):
                async with conn.transaction():
                    await arun_all(conn, [ADD, wrong, ADD])
            assert await _numbers(conn) == []
        async with conn.transaction():
            assert await arun_all(conn, [ADD, ADD]) == [1, 2]

    _within(dsn, act)


def test_who_is_cancelled_while_it_waits_leaves_a_connection_that_works(dsn: str) -> None:
    async def act(conn: Conn) -> None:
        async def wait() -> None:
            async with conn.transaction():
                await arun_all(conn, [LOCK, ADD, ADD])

        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as other, other.transaction():
            await other.execute("select pg_advisory_xact_lock(7)")
            task = asyncio.create_task(wait())
            async with asyncio.timeout(bound(30)):
                while not await arun(other, WAITED_FOR):
                    await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await _numbers(conn) == []
        async with conn.transaction():
            assert await arun_all(conn, [LOCK, ADD]) == ["", 1]

    _within(dsn, act)


def test_a_transaction_and_its_first_statement(dsn: str) -> None:
    async def act(conn: Conn) -> None:
        async with abegun(conn, ADD) as first:
            assert (first, await arun(conn, ADD)) == (1, 2)
        assert await _numbers(conn) == [1, 2]
        with pytest.raises(ZeroDivisionError):
            async with abegun(conn, ADD):
                raise ZeroDivisionError
        with pytest.raises(pg.UniqueViolation):
            async with abegun(conn, _verb("insert into t values (1)")):
                raise AssertionError("it has not begun")
        assert await _numbers(conn) == [1, 2]

    _within(dsn, act)
