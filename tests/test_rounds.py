"""How often a lane asks the database, and in what order: one job costs two calls, and its body waits for no other call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from lanework import Context, Job, Lanework
from lanework._services.positions import Positions
from lanework._store.keeper import AsyncKeeper
from lanework._store.verb import Verb, query

CALLS = {query("complete_and_claim"): "call", query("completed"): "finish alone"}


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a worker of this process does, in order. The index is always read from the top: no call comes later for it."""
    seen: list[str] = []
    plain = AsyncKeeper.run

    async def noted(self: AsyncKeeper, verb: Verb[Any]) -> Any:
        if name := CALLS.get(verb.sql):
            seen.append(name)
        answer = await plain(self, verb)
        if name == "call" and answer.claimed:
            seen.append(f"{len(answer.claimed)} claimed")
        return answer

    monkeypatch.setattr(AsyncKeeper, "run", noted)
    monkeypatch.setattr(Positions, "due", lambda self: True)
    return seen


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database) as app:
        app.lane("big", max_slots=200, poll_interval_ms=120_000)
        yield app


def declare(app: Lanework, happened: list[str]) -> Job[[], None]:
    @app.job(lane="big")
    async def note(ctx: Context) -> None:
        happened.append("body")

    for n in range(3):  # a lane with several types looks at as many parts of the index
        app.job(f"other_{n}", lane="big")(note.handler.fn)
    return note


def test_a_lone_job_in_a_big_lane_costs_two_calls(app: Lanework, happened: list[str]) -> None:
    # Red with a claim that asks again after every answer, with finishes that always go beside (then there is `finish alone`, and
    # a call to tell of the slot), and without the turn of the loop after a claim (`call` comes before `body`).
    note = declare(app, happened)

    async def main() -> None:
        async with app, app.worker():
            await _one_by_one(app, note, 2)  # then the worker has looked, and listens
            happened.clear()
            await _one_by_one(app, note, 3)
            assert happened == ["call", "1 claimed", "body", "call"] * 3

    asyncio.run(main())


async def _one_by_one(app: Lanework, job: Job[[], None], count: int) -> None:
    for _ in range(count):
        await (await job.asubmit()).aresult(timeout=60)
        async with asyncio.timeout(60):
            while not all(lane.idle for worker in app._workers for lane in worker.lanes.values()):
                await asyncio.sleep(0.005)
