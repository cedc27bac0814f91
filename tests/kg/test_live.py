"""Streams over HTTP, from a real server: order, resuming, rights, slow readers, the end (promise 29)."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import psycopg
import psycopg.types.json
import pytest

from kg._store.schema import prepare
from kg.access.access import Access
from lanework._options import Options
from lanework.api import feed, sources, streams
from lanework.bench import sse
from lanework.events import TOPICS, Everywhere, Page
from tests.kg.served import Served, make_work, serve
from tests.pace import bound
from tests.servers import PrivateServer

PATIENCE = 60.0


@pytest.fixture
def served(database: str) -> Iterator[Served]:
    with serve(database) as served:
        yield served


async def until(done: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not done():
            await asyncio.sleep(0.02)


async def take(stream: sse.Stream, count: int) -> list[sse.Message]:
    async with asyncio.timeout(PATIENCE):
        return [await anext(stream) for _ in range(count)]


async def rest(stream: sse.Stream) -> list[sse.Message]:
    async with asyncio.timeout(PATIENCE):
        return [message async for message in stream]


def tell(database: str, count: int, size: int = 0) -> None:
    with psycopg.connect(database, autocommit=True) as db:
        db.execute(
            "select lanework.tell('test', 'told', null, jsonb_build_object('n', n, 'pad', repeat('x', %s)))"
            " from generate_series(1, %s) n",
            [size, count],
        )
        db.execute("select lanework.hint_events()")


async def check_resume(served: Served, path: str) -> None:
    """Ten events whose order is not that of their ids; after each of them, those that follow, no more and no less."""
    told = await take(await served.follow("operator", path, "0-0"), 10)
    ids = [int(one.id.split("-")[1]) for one in told]
    assert ids != sorted(ids) and len(set(ids)) == 10
    for place, one in enumerate(told[:-1]):
        stream = await served.follow("operator", path, one.id)
        assert [later.id for later in await take(stream, 9 - place)] == [later.id for later in told[place + 1 :]]
        stream.close()


# -- one job


def test_a_job_s_stream_is_its_life_in_order_and_goes_on_after_each_event(served: Served, database: str) -> None:
    async def main() -> None:
        work = make_work(database)
        async with work, work.worker():
            job = await work.asubmit_json("speak", {})
            path = f"/jobs/{job.id}/stream"
            seen = await rest(await served.follow("operator", path))
            told = [one.kind for one in seen if one.kind != "progress"]
            assert told == ["submitted", "started", "line", "line", "line", "completed"]
            assert [one.data["data"]["text"] for one in seen if one.kind == "line"] == [f"line {n}" for n in range(3)]
            again = await rest(await served.follow("operator", path))
            for place, one in enumerate(again[:-1]):
                assert await rest(await served.follow("operator", path, one.id)) == again[place + 1 :]
            with pytest.raises(sse.Refused) as refused:  # a browser would come back for ever otherwise
                await served.follow("operator", path, again[-1].id)
            assert refused.value.status == 204

    served.run(main())


def test_progress_and_lines_come_while_the_job_runs(served: Served, database: str) -> None:
    async def main() -> None:
        work = make_work(database)
        async with work, work.worker():
            job = await work.asubmit_json("speak", {"seconds": 60})
            stream = await served.follow("operator", f"/jobs/{job.id}/stream")
            seen: list[str] = []
            async with asyncio.timeout(PATIENCE):
                while not {"line", "progress"} <= set(seen):
                    seen.append((await anext(stream)).kind)
            await work.acancel(job.id)
            assert (await rest(stream))[-1].kind == "cancelled"

    served.run(main())


def test_a_job_s_stream_does_not_wait_for_transactions_of_others(served: Served, database: str) -> None:
    async def main() -> None:
        job = await served_submit(served)
        stream = await served.follow("operator", f"/jobs/{job}/stream")
        assert [one.kind for one in await take(stream, 1)] == ["submitted"]
        with psycopg.connect(database) as held:
            held.execute("select pg_current_xact_id()")  # below it nothing is final
            start = time.monotonic()
            await asyncio.to_thread(served.work.cancel, job)
            assert (await rest(stream))[-1].kind == "cancelled"
            assert time.monotonic() - start < bound(2 * 2.0)

    served.run(main())


async def served_submit(served: Served, owner: str = "operator", **options: Any) -> int:
    handle = await asyncio.to_thread(served.work.submit_json, "speak", {}, owner=owner, **options)
    return handle.id


# -- everything


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
        monkeypatch.setattr("tests.kg.test_live.PATIENCE", 3.0)
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


# -- whose


def test_one_s_own_events_and_nothing_of_others(served: Served, database: str) -> None:
    served.user("ann", "contributor")
    served.user("bob", "contributor")

    async def main() -> None:
        stream = await served.follow("ann", "/events")
        mine, theirs = await served_submit(served, "ann"), await served_submit(served, "bob")
        bulk = await asyncio.to_thread(
            served.work._submit_many,
            served.work.handlers["speak"],
            served.work.handlers["speak"].bind_many([()] * 30),
            Options(owner="ann"),
        )
        with psycopg.connect(database, autocommit=True) as db:
            db.execute(
                "insert into lanework.progress (job_id, attempt, fraction, message)"
                " values (%s, 1, 0.5, 'mine'), (%s, 1, 0.6, 'secret')",
                [mine, theirs],
            )
            db.execute(
                "insert into lanework.logs (job_id, attempt, stream, text)"
                " values (%s, 1, 'stdout', 'mine'), (%s, 1, 'stdout', 'secret')",
                [mine, theirs],
            )
            db.execute("select lanework.tell('operator', 'lane.set', null, '{\"target\": \"secret\"}')")
        await asyncio.to_thread(served.work.cancel, mine)
        seen: list[sse.Message] = []
        async with asyncio.timeout(PATIENCE):
            while not seen or seen[-1].kind != "cancelled":
                seen.append(await anext(stream))
        assert [one.kind for one in seen if one.data["topic"] != "operator"] == [
            "submitted", "submitted", "progress", "lines", "cancelled",
        ]  # fmt: skip
        assert seen[1].data["jobs"] == [bulk[0], bulk[-1]] and seen[1].data["range"]
        assert all(set(one.data["jobs"]) <= {mine, bulk[0], bulk[-1]} for one in seen)
        assert "secret" not in str(seen) and str(theirs) not in [str(job) for one in seen for job in one.data["jobs"]]
        again = await take(await served.follow("ann", "/events", seen[0].id), len(seen) - 1)
        assert again == seen[1:]  # from the store as from the feed
        with pytest.raises(sse.Refused) as refused:
            await served.follow("ann", f"/jobs/{theirs}/stream")
        assert refused.value.status == 404

    served.run(main())


async def check_ends(served: Served, lose: Callable[[], Any]) -> None:
    """Both of ann's streams end within a second of her loss; another's goes on."""
    job = await served_submit(served, "ann")
    hers = [await served.follow("ann", "/events"), await served.follow("ann", f"/jobs/{job}/stream")]
    other = await served.follow("operator", "/events?topic=test")
    await asyncio.to_thread(lose)
    start = time.monotonic()
    for stream in hers:
        assert (await rest(stream))[-1].kind == "end"
    assert time.monotonic() - start < bound(2)
    await asyncio.to_thread(tell, served.work.settings.dsn or "", 1)
    assert (await take(other, 1))[0].kind == "told"


LOSSES: dict[str, Callable[[Served], Any]] = {
    "token": lambda served: served.act(served.access.revoke_token(served.ids["ann"], by="test")),
    "user": lambda served: served.act(served.access.set_user("ann", disabled=True, by="test")),
    "role": lambda served: served.act(served.access.set_user("ann", roles=["read_only"], by="test")),
}


@pytest.mark.parametrize("what", LOSSES)
def test_who_loses_his_right_loses_his_streams(served: Served, what: str) -> None:
    served.user("ann", "contributor")
    served.run(check_ends(served, lambda: LOSSES[what](served)))


def test_the_check_notices_a_right_that_is_never_looked_at_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(*_: Any) -> list[Any]:
        return []

    served.user("ann", "contributor")
    monkeypatch.setattr("kg.api.door.Door.recheck", nobody)
    monkeypatch.setattr("tests.kg.test_live.PATIENCE", 3.0)
    with pytest.raises((AssertionError, TimeoutError)):
        served.run(check_ends(served, lambda: LOSSES["token"](served)))


def test_a_login_that_came_with_fewer_rights_hides_nobody_who_came_with_more(served: Served) -> None:
    token = served.user("ann", "operator")
    before = served.act(served.access.caller(token, ["token"]))
    served.act(served.access.set_user("ann", roles=["read_only"], by="test"))
    after = served.act(served.access.caller(token, ["token"]))
    assert served.act(served.access.changed([before, after])) == [before]


# -- slow readers, many readers


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


@contextmanager
def not_reading(port: int, token: str) -> Iterator[None]:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(f"GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        yield


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
    monkeypatch.setattr("tests.kg.test_live.PATIENCE", 4.0)
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


# -- the end


def test_streams_outlive_the_database(private_server: Callable[..., PrivateServer]) -> None:
    server = private_server(durable=True)
    with serve(server.dsn, connect_timeout=1.0) as served:

        async def main() -> None:
            job = await served_submit(served)
            one, everything = await served.follow("operator", f"/jobs/{job}/stream"), await served.follow("operator", "/events")
            await take(one, 1)
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(2)
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(tell, server.dsn, 1)
            async with asyncio.timeout(PATIENCE):
                while (await anext(everything)).kind != "told":
                    pass
            await asyncio.to_thread(served.work.cancel, job)
            assert (await rest(one))[-1].kind == "cancelled"

        served.run(main())


def test_sigterm_ends_streams_and_server_within_a_second(database: str) -> None:
    """Those of clients that do not read, too."""

    async def main() -> None:
        work = make_work(database)
        await asyncio.to_thread(prepare, work)
        access = Access(work)
        await access.add_user("op", None, ["operator"], by="test")
        token = (await access.create_token("op", "test", by="test")).secret
        with process(database) as (server, port):
            open_ones = [await sse.follow(port, "/events", token=token) for _ in range(10)]
            with not_reading(port, token):
                await asyncio.sleep(0.5)
                tell(database, 100, 40_000)
                for stream in open_ones:
                    while (await take(stream, 1))[0].data["data"].get("n") != 100:
                        pass
                start = time.monotonic()
                server.terminate()
                for stream in open_ones:
                    assert (await rest(stream))[-1].data == streams.STOPPING
                    assert not stream.cut
                ended = time.monotonic() - start
                await asyncio.to_thread(server.wait, PATIENCE)
                assert ended < bound(2 * 1.0) and time.monotonic() - start < bound(2 * 1.0)
        await work.aclose()

    asyncio.run(main())


@contextmanager
def process(dsn: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(2048)
        server = subprocess.Popen(
            [sys.executable, "-m", "kg.serving", str(listening.fileno())], pass_fds=[listening.fileno()],
            env={**os.environ, "KG_DSN": dsn},
        )  # fmt: skip
        port = listening.getsockname()[1]
    try:
        yield server, port
    finally:
        server.kill()
        server.wait()
