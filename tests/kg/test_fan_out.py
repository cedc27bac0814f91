"""Walks of one process share their places."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from kg.errors import InvalidQuery
from kg.graph.fan import PER_PROCESS, Places, fan_out


async def _crowd(requests: int, places: Places) -> int:
    now, most = 0, 0

    async def one(_: int) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1

    await asyncio.gather(*(fan_out(range(50), one, places) for _ in range(requests)))
    assert places._free == PER_PROCESS
    return most


def test_a_process_has_eight_workers_whoever_asks() -> None:
    assert asyncio.run(_crowd(1, Places(PER_PROCESS))) == 8
    assert asyncio.run(_crowd(5, Places(PER_PROCESS))) == 8


def test_who_is_cancelled_takes_no_place_with_him() -> None:
    async def main() -> None:
        places = Places(1)
        async with places.place():
            waiting = [asyncio.create_task(fan_out([1], _never, places)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.sleep(0)
        waiting[1].cancel()  # it may just have been given the place
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert (places._free, len(places._waiting)) == (1, 0)

    asyncio.run(main())


async def _never(_: int) -> None:
    await asyncio.Event().wait()


def test_loops_share_the_places() -> None:
    places = Places(2)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: asyncio.run(fan_out(range(50), lambda _: asyncio.sleep(0), places)), range(4)))
    assert places._free == 2


def test_what_fails_is_told_as_it_is() -> None:
    async def wrong(_: int) -> None:
        raise InvalidQuery("no")

    with pytest.raises(InvalidQuery):
        asyncio.run(fan_out([1, 2], wrong))
