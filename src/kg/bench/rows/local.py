"""The local pipeline beside its floor: the same text embedded and extracted with nothing around it, in the same process."""

from __future__ import annotations

import importlib
import time

from kg.bench.context import Bench
from kg.bench.house import house
from kg.config import KgSettings
from kg.ingest.chunker import WordChunker
from kg.ingest.passages import passages
from kg.local.floor import memory
from kg.parts import Embed, Extractor
from lanework._worker import runner
from lanework.bench.home import say
from lanework.bench.report import Limit, Line, Section

DOCUMENTS, CHARACTERS = 6, 12_000


def measure(bench: Bench) -> list[Section]:
    with bench.server.fresh() as dsn, runner() as loop:
        floor, through = loop.run(_both(dsn))
    return [
        Section(
            f"Local models, {DOCUMENTS} documents of {CHARACTERS:,} characters, one worker process",
            [
                Line("extract and embed alone", "local_floor_per_s", floor, "characters/s"),
                Line(
                    "the whole pipeline, from the first submit to the last commit", "local_pipeline_per_s", through, "characters/s"
                ),
                Line("  of the floor", "local_of_floor", through / floor, limit=Limit("≥", 0.85)),
                Line("most memory of the process, models and worker", "local_worker_mb", memory(), "MB", limit=Limit("<", 900)),
            ],
        )
    ]


def _texts() -> list[str]:
    """English prose about Python, as every interpreter brings it."""
    topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    whole = "\n\n".join(topics[name] for name in sorted(topics))
    return [whole[n * CHARACTERS : (n + 1) * CHARACTERS] for n in range(DOCUMENTS)]


async def _both(dsn: str) -> tuple[float, float]:
    texts = _texts()
    async with house(dsn, KgSettings.load(chat="local", embed="local")) as here:
        models = here.models
        await _alone(models.embed, models.extractor, texts[0][:2000])  # warm
        say("the floor")
        floor = await _alone(models.embed, models.extractor, *texts)
        say("the pipeline")
        seconds, _ = await here.ingest(texts)
    return floor, sum(map(len, texts)) / seconds


async def _alone(embed: Embed, extractor: Extractor, *texts: str) -> float:
    """Characters a second: every chunk extracted, every passage and every name embedded, once."""
    begun = time.monotonic()
    names: set[str] = set()
    for text in texts:
        for chunk in WordChunker().chunks(text):
            found = await extractor.extract(chunk.text)
            new = {one.label for one in found.concepts} - names
            names |= new
            await embed.embed([one for _, _, one in passages(text[chunk.own : chunk.end], chunk.own)])
            if new:
                await embed.embed(sorted(new))
    return sum(map(len, texts)) / (time.monotonic() - begun)
