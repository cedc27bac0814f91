"""The local pipeline beside its floor: the same text embedded and extracted with nothing around it, in the same process."""

from __future__ import annotations

import asyncio
import importlib
import time

from kg._store.schema import prepare
from kg.bench.context import Bench
from kg.bench.rows.provider import plain
from kg.config import KgSettings
from kg.documents.document import New
from kg.documents.documents import Documents
from kg.graph.growth import Growth
from kg.ingest.chunker import WordChunker
from kg.ingest.passages import passages
from kg.ingest.pipeline import Pipeline
from kg.jobs import ingestion
from kg.local.floor import memory
from kg.models.models import Models
from kg.parts import Embed, Extractor
from lanework import Lanework
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
    async with Lanework(dsn) as work:
        work.lane("interactive", max_slots=2, poll_interval_ms=100)
        models = Models.from_settings(KgSettings.load(chat="local", embed="local"), work)
        pipeline = Pipeline(plain, WordChunker(), passages, models.extractor, models.embed, Growth(work), 8)
        job = ingestion.declare(work, lambda: pipeline)
        documents = Documents(work, job, lambda: pipeline, sniff=lambda *_: "text/plain", size_limit=10_000_000)
        await asyncio.to_thread(prepare, work)
        await models.load()
        await _alone(models.embed, models.extractor, texts[0][:2000])  # warm
        say("the floor")
        floor = await _alone(models.embed, models.extractor, *texts)
        say("the pipeline")
        async with work.worker():
            begun = time.monotonic()
            for n, text in enumerate(texts):
                await documents.accept(New(text.encode(), name=f"{n}.txt", ontology="bench", owner="bench"))
            while await documents.find(status=["queued", "estimating", "processing"], limit=1):  # noqa: ASYNC110 - the database knows
                await asyncio.sleep(0.05)
            seconds = time.monotonic() - begun
        if len(await documents.find(status=["completed"], limit=1000)) != DOCUMENTS:
            raise RuntimeError("not all documents were completed")
        await models.close()
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
