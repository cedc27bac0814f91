"""Rates from the outside: shared by all processes, paused for all by one 429, changed by operators."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from lanework import Lanework
from lanework._limits import slices
from lanework._store import rates as store
from lanework._store.rates import Slice
from lanework.errors import InvalidLimit, LimitNotFound, PermitBusy
from tests.limits import code
from tests.limits.conftest import House
from tests.sql.engine import Engine

Other = Callable[[], Lanework]


def test_the_burst_then_the_pace(app: Lanework, other: Other) -> None:
    rate, same = app.rate("openai", requests=100, per=2.0), other().rate("openai", requests=9999)
    begun = time.monotonic()
    for n in range(10):
        (same if n % 2 else rate).take()
    took = time.monotonic() - begun
    assert took > 5 * 2.0 / 95 * 0.9, "five at once, the others at their pace"
    assert app.rates.get("openai").requests == 100


def test_no_window_has_more_over_processes(app: Lanework, other: Other, sql: Engine) -> None:
    sql.rows("create table grants (at timestamptz not null default clock_timestamp(), n float8)")
    sql.db.execute(
        b"""create function note() returns trigger language plpgsql as $$ begin
             insert into grants
             values (clock_timestamp(), extract(epoch from new.requests_at - greatest(old.requests_at, lanework.now())) * 95.0);
             return null; end $$"""
    )
    sql.rows("create trigger note after update on lanework.rates for each row execute function note()")
    apps = [app, other(), other()]
    rates = [one.rate("r", requests=100, per=1.0) for one in apps]
    done: list[float] = []

    def use(n: int) -> None:
        rates[n % 3].take(wait=30)
        done.append(time.monotonic())

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(use, range(200)))
    assert len(done) == 200
    assert done[-1] - done[0] > 0.9 * 195 / 95
    window = "order by at range between '0.999 s' preceding and current row"
    worst = sql.one(f"select max(s) from (select sum(n) over ({window}) as s from grants) x")
    assert worst <= 101, "what a window has, as the database has counted it"


def test_tokens_and_async(app: Lanework) -> None:
    async def main() -> None:
        rate = app.rate("t", tokens=1000, per=1.0)
        begun = time.monotonic()
        await asyncio.gather(*(rate.atake(tokens=100) for _ in range(8)))
        assert time.monotonic() - begun > 0.6
        await rate.apause(0.5)
        paused = time.monotonic()
        await rate.atake(tokens=1)
        assert time.monotonic() - paused > 0.45
        await app._close_loop()

    asyncio.run(main())


def test_a_pause_holds_everybody(app: Lanework, other: Other) -> None:
    rate, same = app.rate("openai", requests=6000), other().rate("openai")
    rate.take()
    same.take()
    until = rate.pause(60)
    assert app.rates.get("openai").paused_until == until
    for one in (rate, same):
        with pytest.raises(PermitBusy, match="'openai'"):
            one.take(wait=1.5)
    assert app.rates.resume("openai", by="ann") and not app.rates.resume("openai", by="ann")
    same.take(wait=5)


def test_a_429_of_a_job_pauses_the_rate_of_its_type(house: House) -> None:
    first = house.submit("throttled", 1, 1.0)
    house.until(lambda: house.blocked_on(first) == "rate:openai")
    others = [house.submit("throttled", 0, 0.0) for _ in range(3)]
    house.until(lambda: [house.blocked_on(job) for job in others] == ["rate:openai"] * 3)
    info = house.app.rates.get("openai")
    assert info.paused_until is not None and info.waiting == 4
    assert code.said() == [f"try {first.id}"]
    ended = [house.end(job) for job in [first, *others]]
    assert [(one.status, one.tries_used) for one in ended] == [("completed", 0)] * 4
    assert house.app.attempts(first.id)[0].error_class == "throttled"


def test_operators_change_it(app: Lanework) -> None:
    app.rate("openai", requests=500).take()
    assert app.rates.set("openai", requests=10, tokens=100.0, by="ann").changed == {"requests": (500, 10), "tokens": (None, 100)}
    assert app.rates.set("openai", tokens=None).changed == {"tokens": (100, None)}
    for wrong in ({"requests": 0}, {"tokens": -1}, {"burst": 1.5}, {"speed": 3}, {"window_s": None}):
        with pytest.raises(InvalidLimit, match=f"^{next(iter(wrong))}:"):
            app.rates.set("openai", **wrong)
    with pytest.raises(LimitNotFound):
        app.rates.get("nothing")
    with pytest.raises(InvalidLimit, match=r"^tokens:"):
        app.rate("openai").take(tokens=-1)
    with pytest.raises(InvalidLimit, match=r"^seconds:"):
        app.rates.pause("openai", -1)


# -- slices


class Clock:
    """Stands where it is put."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        patch.setattr(slices, "time", SimpleNamespace(monotonic=lambda: self.now))


def test_who_calls_all_the_time_does_not_wait_for_the_next_slice(app: Lanework, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: without the fetch the fifth asks the database."""
    Clock(monkeypatch)

    async def main() -> None:
        rate = app.rate("busy", requests=60_000)
        for _ in range(slices.BUSY):
            await rate.atake()
        await asyncio.gather(*rate._fetching)
        asked: list[Any] = []
        monkeypatch.setattr(app, "_arun", asked.append)
        for _ in range(slices.BUSY - 1):
            await rate.atake()
        assert not asked
        await app._close_loop()

    asyncio.run(main())


def test_who_calls_now_and_then_has_nothing_fetched(app: Lanework, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be lost, and has been counted. Seen red: with a fetch after every call."""
    clock = Clock(monkeypatch)

    async def main() -> None:
        rate = app.rate("now and then")
        for _ in range(5):
            await rate.atake()
            assert not rate._fetching
            clock.now += 0.4
        await app._close_loop()

    asyncio.run(main())


def test_a_slice_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, share = Clock(monkeypatch), slices.Share()
    share.add(Slice(5, 100.0, 0.0), 0)
    clock.now += 0.7
    share.add(Slice(1, 10.0, 0.0), 0)
    clock.now += 0.4
    assert not share.serve(share.enter(11.0)), "the first one has ended, and its tokens with it"
    share.queue.clear()
    assert share.serve(share.enter(10.0)) and not share.serve(share.enter(0.0))


def test_what_was_granted_before_a_pause_is_not_used_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it arrives later. Seen red: without the count of pauses."""
    Clock(monkeypatch)
    share = slices.Share()
    before = share.pauses
    share.drop()
    share.add(Slice(5, 100.0, 0.0), before)
    assert not share.serve(share.enter(1.0))


def test_what_has_no_limit_is_asked_for_once_a_second(app: Lanework, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    real = store.take_rate

    def take(name: str, **wanted: float) -> Any:
        asked.append(wanted["want_requests"])
        return real(name, **wanted)

    monkeypatch.setattr("lanework.rates.store.take_rate", take)
    monkeypatch.setattr(slices, "SLICE_S", 3600.0)

    async def main() -> None:
        free = app.rate("free")
        await free.atake(tokens=10.0)
        await asyncio.gather(*(free.atake(tokens=1e6) for _ in range(100)))
        app.rates.set("free", requests=60)  # what is in a slice is used; after that the limit holds
        app._share("free").drop()
        await free.atake(tokens=1e6)
        assert app._share("free").slices[0].requests < 60
        await app._close_loop()

    asyncio.run(main())
    assert len(asked) == 2, asked
