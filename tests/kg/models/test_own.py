"""Models that run here: loaded once, before the first job."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from kg.errors import ModelMissing
from kg.models.ledger import Ledger
from kg.models.local import OwnEmbed, OwnExtractor
from kg.models.models import Models
from kg.parts import Embedded, Extraction, Known, Usage
from lanework import Context
from tests.kg.models.bench import Bench


class Heavy:
    """Counts how often it is made and loaded."""

    name = "heavy"
    dimensions = 2
    made = loaded = 0

    def __init__(self) -> None:
        Heavy.made += 1

    def load(self) -> None:
        assert threading.current_thread() is not threading.main_thread(), "loading takes seconds: not on the loop"
        Heavy.loaded += 1

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(tuple((1.0, 0.0) for _ in texts))

    async def extract(self, text: str, *, known: Sequence[Known] = ()) -> Extraction:
        raise ValueError(f"cannot read {text!r}")

    def expect(self, text: str, *, known: Sequence[Known] = ()) -> tuple[Usage, Usage]:
        return Usage(1), Usage(2)


@pytest.fixture
def heavy(bench: Bench) -> Models:
    Heavy.made = Heavy.loaded = 0
    ledger = Ledger(bench.work)
    return Models(OwnEmbed(ledger, Heavy), OwnExtractor(ledger, Heavy))


def test_a_model_that_runs_here_is_loaded_once(bench: Bench, heavy: Models) -> None:
    assert (heavy.embed.name, Heavy.loaded) == ("heavy", 0)  # what it is called is known before

    async def todo() -> None:
        await asyncio.gather(*(heavy.load() for _ in range(5)), heavy.embed.embed(["at once"]))
        assert (heavy.embed.name, heavy.embed.dimensions) == ("heavy", 2)
        await asyncio.gather(*(heavy.embed.embed(["a", "b"]) for _ in range(9)))
        with pytest.raises(ValueError, match="cannot read"):
            await heavy.extractor.extract("x")
        assert heavy.extractor.expect("text") == (Usage(1), Usage(2))

    bench.run(todo())
    assert (Heavy.made, Heavy.loaded) == (2, 2)
    assert bench.outcomes() == {"ok": 10, "failed": 1}


def test_a_worker_loads_them_before_its_first_job(bench: Bench, heavy: Models) -> None:
    heavy.declare(bench.work)

    async def todo(ctx: Context) -> int:
        return Heavy.loaded

    assert [job.result for job in bench.jobs(todo, 3)] == [2, 2, 2]


def test_local_models_that_are_not_installed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg.models.local.EMBED", "kg.nowhere.embedding:LocalEmbed")
    models = bench.make(embed="local")
    with pytest.raises(ModelMissing, match="lanework\\[local\\]"):
        bench.run(models.load())


def test_a_provider_that_is_away_at_the_start_is_asked_later(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.models = bench.make(model_retries=0)
    bench.provider.fail("503")
    bench.run(bench.models.load())
    assert "not there yet" in caplog.text

    async def later() -> int:
        await bench.models.embed.embed(["x"])
        return bench.models.embed.dimensions

    assert bench.run(later()) == 64
