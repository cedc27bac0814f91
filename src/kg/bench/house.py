"""A platform for a measurement: the lanes and settings that a user gets, and one worker in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from kg import lanes
from kg._store.schema import prepare
from kg.config import KgSettings
from kg.documents.document import Document, New
from kg.documents.documents import Documents
from kg.graph.growth import Growth
from kg.ingest.chunker import WordChunker
from kg.ingest.passages import passages
from kg.ingest.pipeline import Pipeline
from kg.jobs import ingestion
from kg.models.models import Models
from kg.parts import Embed, Parsed
from lanework import Lanework

_UNDER_WAY = ["queued", "estimating", "processing"]


async def plain(data: bytes, media_type: str, name: str) -> Parsed:
    return Parsed(data.decode())


@dataclass(frozen=True)
class House:
    work: Lanework
    models: Models
    documents: Documents

    async def ingest(self, texts: Sequence[str]) -> tuple[float, list[Document]]:
        """Seconds from the first submit to the last commit, and the documents."""
        before = {one.id for one in await self.documents.find(limit=1000)}
        async with self.work.worker():
            began = time.monotonic()
            for n, text in enumerate(texts):
                await self.documents.accept(New(text.encode(), name=f"{n}.txt", ontology="bench", owner="bench"))
            while await self.documents.find(status=_UNDER_WAY, limit=1):  # noqa: ASYNC110 - it is the database that knows
                await asyncio.sleep(0.25)  # to look costs the worker that is measured
            seconds = time.monotonic() - began
        done = [one for one in await self.documents.find(status=["completed"], limit=1000) if one.id not in before]
        if len(done) != len(texts):
            raise RuntimeError(f"{len(done)} of {len(texts)} documents were completed")
        return seconds, done


@asynccontextmanager
async def house(dsn: str, settings: KgSettings, embed: Embed | None = None) -> AsyncIterator[House]:
    """`embed`: instead of the one that the settings name."""
    async with Lanework(dsn) as work:
        lanes.declare(work, settings)
        models = Models.from_settings(settings, work)
        pipeline = Pipeline(
            plain, WordChunker(), passages, models.extractor, embed or models.embed, Growth(work), settings.chunks_at_once
        )
        job = ingestion.declare(work, lambda: pipeline)
        documents = Documents(work, job, lambda: pipeline, sniff=lambda *_: "text/plain", size_limit=10_000_000)
        await asyncio.to_thread(prepare, work)
        await models.load()  # as a worker does before its first job
        try:
            yield House(work, models, documents)
        finally:
            await models.close()
