"""Streams of events from the outside: a job's life, everything, resuming, slow and dead subscribers, hooks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import psycopg
import pytest

from lanework import Cancel, Context, Event, Lanework, Retryable, Snooze
from lanework.errors import EventsRemoved, InvalidCursor, JobNotFound


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database, beat=0.2, idle_beat=0.2, sweep=0.5) as app:
        app.lane("default", max_slots=None, poll_interval_ms=100)
        yield app


def declare(app: Lanework) -> dict[str, Any]:
    @app.job("speak", backoff_base=0.01, max_tries=3)
    async def speak(ctx: Context, fail: int = 0) -> int:
        for n in range(3):
            print(f"line {n}")
        ctx.progress(0.5, "half")
        if ctx.attempt <= fail:
            raise Retryable("again")
        return ctx.attempt

    @app.job("end", max_tries=1)
    async def end(ctx: Context, how: str) -> Any:
        match how:
            case "snooze":
                return Snooze(0.01) if ctx.attempt == 1 else None
            case "cancel":
                return Cancel("enough")
            case "fail":
                raise ValueError("broken")
        return None

    return {"speak": speak, "end": end}


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def test_a_job_s_life_in_order_and_resumed_after_each_event(app: Lanework) -> None:
    jobs = declare(app)

    async def main() -> None:
        async with app, app.worker():
            handle = await jobs["speak"].asubmit(fail=1)
            events = [event async for event in handle.aevents()]
            # progress is a state: one that was overwritten before anybody looked is not told
            told = [kind for kind in kinds(events) if kind != "progress"]
            lines = ["line"] * 3
            assert told == ["submitted", "started", *lines, "retried", "started", *lines, "completed"]
            assert [event.data["text"] for event in events if event.kind == "line"] == [f"line {n}" for n in range(3)] * 2
            assert events[-1].final and {event.job_id for event in events} == {handle.id}
            again = [event async for event in handle.aevents()]
            assert told == [kind for kind in kinds(again) if kind != "progress"]
            for place, event in enumerate(again):
                rest = [one async for one in handle.aevents(after=event.cursor)]
                assert rest == again[place + 1 :]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("done", ["submitted", "started", "completed"]),
        ("snooze", ["submitted", "started", "snoozed", "started", "completed"]),
        ("cancel", ["submitted", "started", "cancelled"]),
        ("fail", ["submitted", "started", "failed"]),
    ],
)
def test_every_end_is_told_to_the_job_s_stream_and_to_all(app: Lanework, how: str, told: list[str]) -> None:
    jobs = declare(app)

    async def main() -> None:
        async with app, app.worker():
            everywhere = app.aevents(topics="job")
            first = asyncio.ensure_future(anext(everywhere))
            await asyncio.sleep(0.2)  # its position is taken by its first read
            handle = await jobs["end"].asubmit(how)
            assert kinds([event async for event in handle.aevents()]) == told
            seen = [await first]
            while not seen[-1].final:
                seen.append(await anext(everywhere))
            assert kinds(seen) == told
            assert all(list(event.jobs) == [handle.id] for event in seen)
            await everywhere.aclose()  # type: ignore[attr-defined]

    asyncio.run(main())


def test_a_queued_job_that_is_cancelled_ends_its_stream(app: Lanework) -> None:
    handle = declare(app)["end"].submit("done")
    seen: list[Event] = []
    reader = threading.Thread(target=lambda: seen.extend(handle.events()))
    reader.start()
    handle.cancel("not needed")
    reader.join(60)
    assert kinds(seen) == ["submitted", "job.cancel", "cancelled"]
    assert seen[-1].data["error"] == "not needed"


def test_wrong_cursors_are_refused_with_words(app: Lanework) -> None:
    handle = declare(app)["end"].submit("done")
    with pytest.raises(JobNotFound):
        next(app.events(job=handle.id + 1000))
    for wrong in ("x", "1", "-1-2", "1.2.3.4.5"):
        with pytest.raises(InvalidCursor, match="after: expected a cursor"):
            next(app.events(after=wrong))
    with pytest.raises(InvalidCursor, match="cursor of an event of this job"):
        next(app.events(after="1-2", job=handle.id))
    with pytest.raises(InvalidCursor, match="belongs to another"):
        next(app.events(after=f"{2**62}-1"))


def test_a_bulk_submit_is_one_event(app: Lanework) -> None:
    handles = declare(app)["end"].submit_many([("done",)] * 3000)
    (event,) = app.events(after="0-0", kinds="submitted", follow=False)
    assert event.jobs == range(handles[0].id, handles[-1].id + 1)


def test_pages_and_filters_do_not_lose_anything(app: Lanework, database: str) -> None:
    with app, psycopg.connect(database, autocommit=True) as db:
        app._ready()
        for n in range(1200):
            db.execute("select lanework.tell('mine', %s, null, %s::jsonb)", (f"kind{n % 3}", f'{{"n": {n}}}'))
        everything = list(app.events(after="0-0", topics="mine", follow=False))
        assert [event.data["n"] for event in everything] == list(range(1200))
        some = list(app.events(after=everything[99].cursor, topics=["mine"], kinds=["kind1"], follow=False))
        assert [event.data["n"] for event in some] == [n for n in range(100, 1200) if n % 3 == 1]


@pytest.mark.direct("it listens")
def test_a_subscription_holds_no_connection_and_a_slow_or_dead_one_hurts_nobody(app: Lanework, database: str) -> None:
    def connections() -> dict[str, int]:
        with psycopg.connect(database) as db:
            rows = db.execute(
                "select application_name, count(*) from pg_stat_activity where datname = current_database()"
                " and application_name like 'lanework-%' and state <> 'idle' or application_name = 'lanework-events' group by 1"
            ).fetchall()
        return dict(rows)

    app._ready()
    streams = [app.events(topics="mine") for _ in range(20)]
    threads = [threading.Thread(target=next, args=(stream,), daemon=True) for stream in streams]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 90
    while not (app._hub.listening and app._hub._seats == 20) and time.monotonic() < deadline:
        time.sleep(0.01)
    while connections() != {"lanework-events": 1} and time.monotonic() < deadline:  # each has looked for what was there before
        time.sleep(0.05)
    assert connections() == {"lanework-events": 1}
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("select lanework.tell('mine', 'x')")
        db.execute("select lanework.hint_events()")
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    del streams  # nobody reads on: their places are free again
    deadline = time.monotonic() + 90
    while connections() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert connections() == {}


def test_hints_come_only_while_somebody_listens(app: Lanework, database: str) -> None:
    app._ready()
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("listen lanework_events")
        db.execute("select lanework.hint_events()")
        assert list(db.notifies(timeout=0.2)) == []
        db.execute("select lanework.subscribe(gen_random_uuid(), interval '1 min')")
        db.execute("select lanework.hint_events()")
        assert len(list(db.notifies(timeout=5, stop_after=1))) == 1


def test_closing_the_application_ends_its_subscriptions(app: Lanework) -> None:
    app._ready()
    reader = threading.Thread(target=lambda: list(app.events()))
    reader.start()
    while app._hub._seats == 0:
        time.sleep(0.01)
    app.close()
    reader.join(60)
    assert not reader.is_alive()


def test_what_retention_took_is_an_error_not_a_gap(app: Lanework, database: str) -> None:
    app._ready()
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("select lanework.tell('mine', 'x')")
        db.execute("select lanework.tell('mine', 'y')")
        first, second = islice(app.events(after="0-0", topics="mine", follow=False), 2)
        db.execute("select setval('lanework.event_ids', 1000000)")
        db.execute("update lanework.lifetimes set keep = interval '1 microsecond' where thing = 'events'")
        db.execute("select lanework.prune()")
    with pytest.raises(EventsRemoved, match="begin with 0-0"):
        list(app.events(after=first.cursor, follow=False))
    assert list(app.events(after=second.cursor, follow=False)) == []
    assert list(app.events(after="0-0", follow=False)) == []
