"""Slow readers are dropped, and many cost little."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import psycopg.types.json
import pytest

from lanework.api import sources, streams
from tests.kg.live.following import not_reading, rest, served_submit, take, tell, until
from tests.kg.served import Served


async def check_slow(served: Served, database: str) -> None:
    """One does not read; it is dropped, its connection closed, and what waits for it is bounded. Another reads everything."""
    fast = await served.follow("operator", "/events?topic=test")
    with not_reading(served.port, served.tokens["operator"]):
        await until(lambda: len(served.streams.open) == 2)
        for _ in range(6):
            writing = asyncio.create_task(asyncio.to_thread(tell, database, 50, 50_000))
            assert [one.data["data"]["n"] for one in await take(fast, 50)] == [*range(1, 51)]
            await writing
        await until(lambda: len(served.streams.open) == 1 and len(served.server.server_state.connections) == 1)


def test_a_slow_reader_is_dropped_and_others_go_on(served: Served, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_WAITING", 60)
    served.run(check_slow(served, database))


def test_what_is_sent_to_nobody_ends_in_time(served: Served, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client takes nothing, and there is too little for the queue to be full."""
    monkeypatch.setattr(streams, "SLOW", 0.5)
    monkeypatch.setattr(sources, "MOST_BYTES", 10**12)
    served.run(check_slow(served, database))


def test_the_check_notices_a_queue_without_a_bound(served: Served, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_WAITING", 10**9)
    monkeypatch.setattr(sources, "MOST_BYTES", 10**12)
    monkeypatch.setattr(streams, "SLOW", 10**6)
    monkeypatch.setattr("tests.kg.live.following.PATIENCE", 4.0)
    with pytest.raises((AssertionError, TimeoutError)):
        served.run(check_slow(served, database))


def test_many_streams_hold_no_connection_and_are_read_for_by_one(
    served: Served, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    asked: list[bytes] = []
    run = served.work._arun

    async def counted(verb: Any) -> Any:
        asked.append(verb.sql)
        return await run(verb)

    async def main() -> None:
        jobs = [await served_submit(served) for _ in range(100)]
        open_ones = [await served.follow("operator", f"/jobs/{job}/stream") for job in jobs]
        open_ones += [await served.follow("operator", "/events") for _ in range(50)]
        for stream in open_ones[:100]:
            await take(stream, 1)
        monkeypatch.setattr(served.work, "_arun", counted)
        await asyncio.sleep(3)
        assert len(asked) < 40  # the feed, and the look at who may follow: not 150 of each
        with psycopg.connect(database) as db:
            held = db.execute(
                "select application_name, state, xact_start from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            ).fetchall()
        assert len(held) <= 2 * served.work.settings.connections + 1  # those of this test's own submits among them
        assert all(state == "idle" and start is None for _, state, start in held)
        asked.clear()
        await asyncio.to_thread(served.work.cancel, jobs[0])
        assert (await rest(open_ones[0]))[-1].kind == "cancelled"
        assert sum(b"job_events" in sql for sql in asked) <= 3
        for stream in open_ones:
            stream.close()
        await until(lambda: not served.streams.open)
        await asyncio.sleep(1.5)  # nobody is left: nothing is asked any more
        asked.clear()
        await asyncio.sleep(1.5)
        assert asked == []

    served.run(main())


def test_all_come_back_at_once(served: Served, database: str) -> None:
    async def main() -> None:
        first = [await served.follow("operator", "/events?topic=test") for _ in range(200)]
        tell(database, 5)
        places = [(await take(stream, 5))[-1].id for stream in first]
        for stream in first:
            stream.close()
        writing = asyncio.create_task(asyncio.to_thread(tell, database, 20))
        again = await asyncio.gather(*(served.follow("operator", "/events?topic=test", after) for after in places))
        await writing
        for seen in await asyncio.gather(*(take(stream, 20) for stream in again)):
            assert [one.data["data"]["n"] for one in seen] == [*range(1, 21)]
        await until(lambda: len(served.streams.open) == 200)  # and those that left are gone

    served.run(main())
