"""Calls at a time: a permit is held on the wire alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kg.errors import ModelThrottled
from kg.models import openai
from kg.models.calling import Got
from kg.models.clients import OpenAIClient
from kg.models.turns import Turn
from lanework import Lanework
from lanework.rates import Rate
from tests.kg.models.bench import KEY, Bench, ask
from tests.kg.processes import until
from tests.kg.provider import Fault


def test_no_more_calls_at_a_time_than_allowed(bench: Bench) -> None:
    """Calls that do not end: three are made, and the others are seen to wait."""
    bench.models = bench.make(model_concurrency=3)
    bench.provider.fail("hang", times=None)

    def seen() -> bool:
        now = bench.provider.counts().now
        return now > 3 or (now == 3 and any(one.waiting for one in bench.work.permits.list()))

    async def todo() -> None:
        calls = [asyncio.ensure_future(ask(bench)) for _ in range(7)]
        await asyncio.to_thread(until, seen, "three under way, and others who wait")
        assert bench.provider.counts().most == 3
        bench.provider.fail()
        await asyncio.to_thread(bench.provider.reset)  # lets them go: they are made again
        await asyncio.gather(*calls)

    bench.run(todo())
    assert bench.provider.counts().most <= 3
    assert bench.outcomes() == {"away": 3, "ok": 7}


def test_a_permit_is_held_on_the_wire_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while the request is made nor while the answer is read. Seen red: with a turn that ends after the client."""
    held: dict[str, dict[str, int]] = {}

    def note(when: str) -> None:
        held[when] = dict(bench.work._permit_pool().held())

    begin = Turn._begin

    async def noted_begin(self: Turn) -> None:
        note("made")
        await begin(self)
        note("sent")

    def noted(*found: Any) -> Got[Any]:
        note("read")
        return Got(*found)

    monkeypatch.setattr(Turn, "_begin", noted_begin)
    monkeypatch.setattr(openai, "Got", noted)
    bench.run(ask(bench))
    assert held == {"made": {}, "sent": {"openai": 1}, "read": {}}


def test_a_429_has_its_permit_until_everybody_knows(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is next would call into the pause. Seen red: with a turn that ends with every answer."""
    held: list[dict[str, int]] = []
    apause = Rate.apause

    async def noted(self: Rate, seconds: float) -> Any:
        paused = await apause(self, seconds)
        held.append(dict(bench.work._permit_pool().held()))
        return paused

    monkeypatch.setattr(Rate, "apause", noted)
    bench.provider.fail(Fault("429", retry_after=0.01))
    bench.run(ask(bench))
    assert held == [{"openai": 1}]


def test_what_stops_a_call_before_it_is_sent_is_told_as_it_is(bench: Bench, database: str) -> None:
    """Seen red: what its client makes of it is a provider that hung up."""
    bench.models = bench.make(
        chat="anthropic:m", anthropic_url=bench.provider.url, anthropic_key=KEY, model_concurrency=1, model_timeout=0.2
    )
    with (
        Lanework(database) as other,
        other.permit("anthropic", capacity=1),
        pytest.raises(ModelThrottled, match="all calls of anthropic are taken"),
    ):
        bench.run(ask(bench))
    assert bench.provider.counts().calls == 0 and not bench.outcomes()


def test_nothing_is_sent_outside_of_a_call(bench: Bench) -> None:
    async def todo() -> None:
        client = OpenAIClient(bench.provider.openai, KEY, 10)
        with pytest.raises(RuntimeError, match="outside of a call"):
            await client.get().models.list()
        await client.close()

    bench.run(todo())
