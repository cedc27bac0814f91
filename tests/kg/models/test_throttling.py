"""429s delay calls, and fail nobody."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from kg.errors import ModelThrottled
from lanework import Context, Lanework
from lanework.errors import PermitBusy
from tests.kg.models.bench import Bench, ask
from tests.kg.processes import until
from tests.kg.provider import Fault


def test_a_429_pauses_everybody_and_fails_nobody(bench: Bench, database: str) -> None:
    """Retry-After is an hour; a person ends the pause."""
    bench.provider.fail(Fault("429", retry_after=3600))
    bench.models = bench.make(model_concurrency=1)

    async def todo(ctx: Context) -> None:
        await asyncio.gather(ask(bench), ask(bench))

    with Lanework(database) as other:

        def resume() -> None:
            until(lambda: [one for one in other.rates.list() if one.paused_until is not None], "paused")
            paused.append(other.rates.get("openai").paused_until)
            with pytest.raises(PermitBusy):
                other.rate("openai").take(wait=0.05)
            calls.append(bench.provider.counts().calls)
            other.rates.resume("openai")

        paused: list[Any] = []
        calls: list[int] = []
        thread = threading.Thread(target=resume)
        thread.start()
        job = bench.job(todo)
        thread.join()
    assert (job.status, job.tries_used, job.attempt) == ("completed", 0, 1)
    assert paused
    assert calls == [1], "nobody calls in a pause"
    assert bench.outcomes() == {"throttled": 1, "ok": 2}


def test_a_storm_of_429s_only_delays(bench: Bench) -> None:
    bench.provider.fail(Fault("429", times=25, retry_after=0.01), Fault("529", times=5, retry_after=0.01))
    bench.models = bench.make(model_retries=0)

    async def todo(ctx: Context) -> None:
        await asyncio.gather(*(ask(bench) for _ in range(5)))

    job = bench.job(todo)
    assert (job.status, job.tries_used) == ("completed", 0)
    assert bench.outcomes() == {"throttled": 30, "ok": 5}
    assert bench.rows("select sum(cost) from kg.model_calls where outcome = 'throttled'") == [(0.0,)]


def test_pauses_grow_with_the_waves_and_not_with_the_calls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight that were under way when the first was refused are one wave."""
    pauses: list[float] = []
    monkeypatch.setattr("kg.models.throttle.backoff", lambda waves, base, cap: [0.02, 0.03, 0.04][waves])
    bench.provider.set(latency=0.05)
    bench.provider.fail(Fault("429", times=8))
    real = type(bench.work.rate("openai")).apause

    async def apause(self: Any, seconds: float) -> Any:
        pauses.append(seconds)
        return await real(self, seconds)

    monkeypatch.setattr("lanework.rates.Rate.apause", apause)

    async def todo() -> None:
        await asyncio.gather(*(ask(bench) for _ in range(8)))

    bench.run(todo())
    assert set(pauses) == {0.02}


def test_outside_of_a_job_patience_ends(bench: Bench) -> None:
    bench.models = bench.make(model_timeout=2)
    bench.provider.fail(Fault("429", times=None, retry_after=30))
    with pytest.raises(ModelThrottled) as caught:
        bench.run(ask(bench))
    assert caught.value.retry_after == 30
    with pytest.raises(ModelThrottled, match="as often as it may"):
        bench.run(ask(bench))
    assert bench.provider.counts().calls == 1


def test_tokens_per_minute(bench: Bench) -> None:
    """A call that is larger than the limit of a minute takes all of it; the next one has to wait."""
    bench.models = bench.make(model_tokens=50, model_timeout=2)
    bench.run(ask(bench))
    with pytest.raises(ModelThrottled, match="as often as it may"):
        bench.run(ask(bench))
    assert bench.provider.counts().calls == 1
