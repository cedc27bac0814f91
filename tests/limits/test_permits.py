"""Permits from the outside: blocks of code in one process and in several, sync and async, with and without a wait."""

from __future__ import annotations

import asyncio
import gc
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lanework import Lanework
from lanework._limits import pool
from lanework._limits.source import AppSource
from lanework._store.permits import take_permits
from lanework.errors import InvalidLimit, LimitNotFound, PermitBusy, PermitLost, PermitOrder
from lanework.permits import Hold
from tests.limits.conftest import FAST
from tests.sql.engine import Engine

Other = Callable[[], Lanework]


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def test_a_lock_for_the_cluster(app: Lanework, other: Other) -> None:
    second = other()
    with app.permit("index") as hold:
        assert hold.name == "index" and hold.token and not hold.lost
        with pytest.raises(PermitBusy, match="'index'"), second.permit("index", wait=0):
            pass
    with second.permit("index", wait=0) as later:
        assert later.fence > hold.fence
    assert app.permits.get("index").held == 0


def test_the_capacity_is_a_row(app: Lanework, other: Other) -> None:
    second = other()
    with app.permit("openai", capacity=2), second.permit("openai", capacity=99):
        assert app.permits.get("openai").capacity == 2
        with pytest.raises(PermitBusy), second.permit("openai", wait=0):
            pass
        assert app.permits.set("openai", 3, by="ann").changed == {"capacity": (2, 3)}
        with second.permit("openai", wait=0):
            assert app.permits.get("openai").held == 3
    info = app.permits.list()[0]
    assert (info.name, info.capacity, info.held, info.set_by) == ("openai", 3, 0, "ann")


def test_a_wait_ends_when_another_process_gives_back(app: Lanework, other: Other) -> None:
    second = other()
    got = threading.Event()

    def wait() -> None:
        with second.permit("gpu", wait=20):
            got.set()

    with app.permit("gpu"):
        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: app.permits.get("gpu").waiting == 1)
        assert not got.is_set()
    assert got.wait(5)
    thread.join()


def test_a_wait_that_is_too_short(app: Lanework, other: Other) -> None:
    with app.permit("gpu"):
        with pytest.raises(PermitBusy, match=r"within 0\.2 s"), other().permit("gpu", wait=0.2):
            pass
        until(lambda: app.permits.get("gpu").waiting == 0)


def test_a_process_passes_its_hold_on(app: Lanework, sql: Engine) -> None:
    """Ten callers of one process and one permit: few words with the database, and rising fences."""
    order: list[int] = []

    def use(_: int) -> None:
        with app.permit("gpu", wait=20) as hold:
            order.append(hold.fence)

    with app.permit("gpu"):
        pass
    with ThreadPoolExecutor(10) as threads:
        list(threads.map(use, range(10)))
    assert order == sorted(order) and len(set(order)) == 10
    with app.permit("gpu", wait=0) as last:
        assert last.fence > order[-1]


def test_others_get_their_turn(app: Lanework, other: Other) -> None:
    """A process that never stops wanting it does not keep it: after a second it gives way."""
    second, stop = other(), threading.Event()

    def greedy(_: int) -> None:
        while not stop.is_set():
            with app.permit("gpu", wait=20):
                time.sleep(0.005)

    with ThreadPoolExecutor(3) as threads:
        running = [threads.submit(greedy, n) for n in range(3)]
        try:
            for _ in range(2):
                with second.permit("gpu", wait=10):
                    pass
        finally:
            stop.set()
        for one in running:
            one.result(60)


def test_never_more_than_the_capacity(app: Lanework, other: Other) -> None:
    apps, inside, most, lock = [app, other(), other()], 0, 0, threading.Lock()

    def use(n: int) -> None:
        nonlocal inside, most
        with apps[n % 3].permit("openai", capacity=4, wait=30):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.002)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(24) as threads:
        list(threads.map(use, range(240)))
    assert most == 4
    assert app.permits.get("openai").held == 0


def test_several_together(app: Lanework, other: Other) -> None:
    second = other()
    with app.permit("b"):
        with pytest.raises(PermitBusy), second.permit("a", "b", "c", wait=0):
            pass
        with second.permit("a", "c", wait=0) as hold:
            assert hold.names == ("a", "c")
    with second.permits_together(["c", "a", "b"], wait=5) as hold:
        assert {one.name: one.held for one in app.permits.list()} == {"a": 1, "b": 1, "c": 1}


def test_names_are_taken_in_rising_order(app: Lanework) -> None:
    with app.permit("b"):
        with pytest.raises(PermitOrder, match=r"'a'.*'b'"), app.permit("a", wait=1):
            pass
        with pytest.raises(PermitOrder), app.permit("b", wait=1):
            pass
        with app.permit("a", wait=0), app.permit("c", wait=1):
            pass


async def _async_use(app: Lanework, n: int, seen: list[Hold]) -> None:
    async with app.permit("openai", capacity=2, wait=20) as hold:
        seen.append(hold)
        assert (await app.permits.aget("openai")).held <= 2
        await asyncio.sleep(0.01)


def test_async(app: Lanework) -> None:
    async def main() -> None:
        seen: list[Hold] = []
        await asyncio.gather(*(_async_use(app, n, seen) for n in range(8)))
        assert len({hold.fence for hold in seen}) == 8
        async with app.permit("one"):
            with pytest.raises(PermitBusy):
                async with app.permit("one", wait=0):
                    pass
            waiting = asyncio.create_task(_forever(app))
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with app.permit("one", wait=2):
            pass
        await app._close_loop()

    async def _forever(app: Lanework) -> None:
        from lanework.permits import _around

        _around.set(())
        async with app.permit("one", wait=60):
            raise AssertionError("it was not free")

    asyncio.run(main())
    assert app.permits.get("one").held == 0


def test_scopes(app: Lanework, other: Other) -> None:
    second = other()
    with app.permit("model", scope="process"), second.permit("model", scope="process", wait=0), pytest.raises(PermitBusy):
        app.permit("model", scope="process", wait=0).__enter__()
    assert app.permits.list() == []
    with app.permit("gpu", scope="host"):
        with pytest.raises(PermitBusy), second.permit("gpu", scope="host", wait=0):
            pass
        with second.permit("gpu", wait=0):
            pass
    assert [info.name.partition("@")[0] for info in app.permits.list()] == ["gpu", "gpu"]


def test_a_session_lock(app: Lanework, other: Other) -> None:
    second = other()
    token = app.permits.acquire("chat-7", ttl=30)
    with pytest.raises(PermitBusy):
        second.permits.acquire("chat-7", ttl=30)
    assert app.permits.renew(token.token, 30) > token.expires_at
    holder = app.permits.get("chat-7").holders[0]
    assert (holder.token, holder.fence) == (token.token, token.fence)
    assert app.permits.release(token.token) and not app.permits.release(token.token)
    with second.permit("chat-7", ttl=30, wait=0) as hold:
        assert hold.fence > token.fence
        hold.renew()
        assert app.permits.revoke(hold.token, by="ann")
        with pytest.raises(PermitLost):
            hold.renew()
        assert hold.lost
        with pytest.raises(PermitLost):
            hold.check()
    with pytest.raises(PermitLost):
        app.permits.renew(token.token)


def test_a_token_waits_in_line(app: Lanework, other: Other) -> None:
    second = other()
    with app.permit("chat-7"), ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(second.permits.acquire, "chat-7", ttl=30, wait=20)
        until(lambda: app.permits.get("chat-7").waiting == 1)
        with pytest.raises(PermitBusy):
            second.permits.acquire("chat-7", ttl=30)
        app._permit_pool().release(next(iter(app._permit_pool()._holders.values())))
        assert waiting.result(60).fence


def test_a_process_that_ends_frees_what_it_had(app: Lanework, other: Other, sql: Engine) -> None:
    second = other()
    entered = second.permit("gpu")
    entered.__enter__()
    assert app.permits.get("gpu").held == 1
    second.close()
    assert app.permits.get("gpu").held == 0
    assert sql.rows("select * from lanework.permit_use") == []


def test_a_process_that_was_declared_dead_knows_it(app: Lanework, other: Other, sql: Engine) -> None:
    with app.permit("gpu") as hold:
        row = sql.one("select worker_id from lanework.permit_use")
        sql.rows("select * from lanework.end_worker(%s, 'dead', 'test', false)", row)
        with other().permit("gpu", wait=0):
            until(lambda: hold.lost)
            with pytest.raises(PermitLost):
                hold.check()
    with app.permit("gpu", wait=5) as again:
        assert again.fence > hold.fence


def test_a_killed_process_without_a_worker(database: str) -> None:
    """No worker is there: processes that only use permits notice each other's silence."""
    mortal = {**FAST, "expiry": 3.0, "fence_after": 2.0}
    code = (
        "import sys, time\nfrom lanework import Lanework\n"
        f"app = Lanework({database!r}, allow_unsafe=True, **{mortal!r})\n"
        "with app.permit('gpu'):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    with Lanework(database, allow_unsafe=True, **mortal) as app:
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"held\n"
            with pytest.raises(PermitBusy), app.permit("gpu", wait=0):
                pass
            process.kill()
        with app.permit("gpu", wait=60):
            pass


def test_what_an_application_that_is_gone_has_held_is_nobody_elses() -> None:
    """An application may be made where another one was: in the same place of memory."""
    held = []
    for _ in range(20):
        app = Lanework("host=/nowhere/at/all dbname=x")
        assert AppSource(app).who == AppSource(app).who
        held.append(AppSource(app).who)
        del app
        gc.collect()
    assert all(one != other for one, other in itertools.combinations(held, 2))


def test_bounds_are_named(app: Lanework) -> None:
    for wrong in ({"capacity": -1}, {"capacity": 10_001}, {"scope": "galaxy"}, {"ttl": 0}, {"ttl": 30, "scope": "process"}):
        with pytest.raises(InvalidLimit, match=rf"^({'|'.join(wrong)}):"):
            app.permit("x", **wrong)
    for name in ("", "a@b", "x" * 151):
        with pytest.raises(InvalidLimit, match=r"^permit:"):
            app.permit(name)
    with pytest.raises(LimitNotFound):
        app.permits.get("nothing")
    with pytest.raises(InvalidLimit, match=r"^token:"):
        app.permits.release("no uuid")
    with pytest.raises(InvalidLimit, match=r"^capacity:"):
        app.permits.set("x", 10_001)


def test_whoever_comes_behind_others_asks_nobody(database: str, other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    """One asks for all that wait, now and then; who gets it passes it on."""
    asked: list[int] = []

    def take(worker: int, call: int, state: Any, asks: Any) -> Any:
        asked.extend(one["n"] for one in asks)  # the holder only tells
        return take_permits(worker, call, state, asks)

    monkeypatch.setattr(pool, "take_permits", take)
    monkeypatch.setattr(pool, "ASK_S", 2.0)

    async def main() -> None:
        async def use(n: int) -> int:
            async with app.permit("gpu", wait=60):
                return n

        first = asyncio.create_task(use(0))
        await asyncio.to_thread(until, lambda: app.permits.get("gpu").waiting == 1)
        before, begun, rest = len(asked), time.monotonic(), []
        for n in range(1, 20):
            rest.append(asyncio.create_task(use(n)))
            await asyncio.sleep(0.02)  # in which each could ask for itself
        others = (time.monotonic() - begun) // 2.0 + 1
        assert len(asked) - before <= others, f"19 callers have asked for {asked}"
        held.__exit__(None, None, None)
        assert await asyncio.gather(first, *rest) == list(range(20))

    held = other().permit("gpu")
    held.__enter__()
    # a beat asks again for all that wait, too
    with Lanework(database, allow_unsafe=True, **{**FAST, "beat": 9.0, "idle_beat": 9.0, "fence_after": 25.0}) as app:
        asyncio.run(main())
