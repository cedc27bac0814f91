"""The stream of everything (promise 29): in order, resumed after each event, nothing skipped or told twice."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import Any

import httpx2
import psycopg
import psycopg.types.json
import pytest

from lanework.api import feed, sources, streams
from lanework.events import TOPICS, Everywhere, Page
from tests.kg.live.following import PATIENCE, check_resume, take, tell, until
from tests.kg.served import Served, make_work


def invert(database: str) -> None:
    """Five pairs: the transaction that began first writes last and commits last."""
    with psycopg.connect(database) as first, psycopg.connect(database) as second:
        for n in range(5):
            first.execute("select pg_current_xact_id()")
            second.execute("select lanework.tell('test', 'second', null, %s)", [psycopg.types.json.Jsonb({"n": n})])
            second.commit()
            first.execute("select lanework.tell('test', 'first', null, %s)", [psycopg.types.json.Jsonb({"n": n})])
            first.commit()


def test_events_go_on_after_each_whatever_the_order_of_their_ids(served: Served, database: str) -> None:
    invert(database)
    served.run(check_resume(served, "/events?topic=test"))


def test_the_check_notices_who_goes_on_by_id_alone(served: Served, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    invert(database)
    start = 0

    class ById(Everywhere):
        __slots__ = ()

        def take(self, rows: list[Any]) -> Page:
            page = Everywhere.take(self, rows)
            return page._replace(events=[one for one in page.events if feed.place(one.cursor)[1] > start])

    def after(cursor: str | None, topics: Any, kinds: Any) -> Everywhere:
        nonlocal start
        start = feed.place(cursor or "0-0")[1]
        return ById(0 if cursor else None, 0, topics, kinds)

    monkeypatch.setattr(Everywhere, "after", after)
    with pytest.raises((AssertionError, TimeoutError)):
        monkeypatch.setattr("tests.kg.live.following.PATIENCE", 3.0)
        served.run(check_resume(served, "/events?topic=test"))


def test_a_topic_that_nobody_tells_is_refused_with_those_that_there_are(served: Served) -> None:
    # Red with any word taken for a topic: the stream is open, and never says anything.
    headers = {"Authorization": f"Bearer {served.tokens['operator']}"}
    for query in ("topic=nonsense", "topic=job&topic=nonsense", "topic="):
        answer = httpx2.get(f"http://127.0.0.1:{served.port}/events?{query}", headers=headers)
        assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "LW-500", "topic"), query
        assert all(one in answer.json()["detail"] for one in (*TOPICS, "test"))


def test_readers_who_come_and_go_see_every_event_once(served: Served, database: str) -> None:
    """While transactions commit out of order, each reader leaves after a few events and comes back, some at the same time."""

    async def main() -> None:
        stop = threading.Event()
        told: list[int] = []
        writers = [threading.Thread(target=write, args=(database, n, stop, told)) for n in range(3)]
        first = await served.follow("operator", "/events?topic=test")
        start = first.last_id
        assert start is not None  # known before there was any event
        first.close()
        for one in writers:
            one.start()
        readers = [asyncio.create_task(wander(served, start, n)) for n in range(4)]
        await asyncio.sleep(3)
        stop.set()
        for one in writers:
            await asyncio.to_thread(one.join)
        with psycopg.connect(database, autocommit=True) as db:
            db.execute("select lanework.tell('test', 'over')")
        for seen in await asyncio.gather(*readers):
            assert sorted(seen) == sorted(told)
            assert len(seen) > 100

    served.run(main())


def write(database: str, number: int, stop: threading.Event, told: list[int]) -> None:
    chance = random.Random(number)
    with psycopg.connect(database) as one, psycopg.connect(database) as other:
        pair = [one, other]
        n = number
        while not stop.is_set():
            chance.shuffle(pair)
            for db in (*pair, *pair):
                db.execute("select lanework.tell('test', 'told', null, jsonb_build_object('n', %s::int))", [n])
                told.append(n)
                n += 3
            for db in pair:
                time.sleep(chance.random() * 0.01)
                db.commit()


async def wander(served: Served, after: str, number: int) -> list[int]:
    chance = random.Random(number)
    seen: list[int] = []
    while True:
        stream = await served.follow("operator", "/events?topic=test", after)
        for _ in range(chance.randrange(1, 200)):
            async with asyncio.timeout(PATIENCE):
                message = await anext(stream)
            after = message.id
            if message.kind == "over":
                stream.close()
                return seen
            seen.append(message.data["data"]["n"])
        stream.close()


def test_who_is_ahead_of_this_process_is_told_nothing_twice(database: str) -> None:
    """He was told by another process, whose reader is faster."""

    class Behind(feed.Feed):
        async def follow(self, reader: feed.Reader) -> feed.Place:
            return (1, 0)

    async def main() -> None:
        work = make_work(database)
        async with work:
            tell(database, 3)
            known = [event async for event in work.aevents(after="0-0", topics="test", follow=False)]
            source = sources.Everything(work, Behind(work), known[-1].cursor, None, None)
            await source.begin()
            for _ in range(3):
                assert not [one for one in (await source.read()).data if b"told" in one]
            source.take([feed.Told(event) for event in known], feed.place(known[-1].cursor))
            assert (await source.read()).data == []
            mark = source.mark()
            assert mark is not None and feed.place(mark) >= feed.place(known[-1].cursor)

    asyncio.run(main())


def test_what_happens_while_a_stream_joins_the_feed_is_not_lost(database: str) -> None:
    """The feed has passed it on before the stream joined, and the stream had read before it happened."""

    class Ahead(feed.Feed):
        async def follow(self, reader: feed.Reader) -> feed.Place:
            await asyncio.to_thread(tell, database, 1)
            return (2**60, 0)

    async def main() -> None:
        work = make_work(database)
        async with work:
            source = sources.Everything(work, Ahead(work), "0-0", ["test"], None)
            await source.begin()
            found = [one for _ in range(4) for one in (await source.read()).data]
            assert len(found) == 1 and b"told" in found[0]

    asyncio.run(main())


def test_a_quiet_stream_is_kept_alive_and_its_place_moves_on(
    served: Served, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "KEEP_ALIVE", 0.2)

    async def main() -> None:
        stream = await served.follow("operator", "/events?topic=other")
        waiting = asyncio.create_task(anext(stream))
        first = stream.last_id
        await asyncio.to_thread(tell, database, 5)
        await until(lambda: stream.comments > 2 and stream.last_id != first)
        waiting.cancel()
        again = await served.follow("operator", "/events", stream.last_id)
        await asyncio.to_thread(tell, database, 1)
        assert (await take(again, 1))[0].data["data"]["n"] == 1

    served.run(main())
