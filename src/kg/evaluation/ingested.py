"""A corpus as a user has it: ingested by the platform into a database of its own, asked by the service that `kg search` asks."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from kg._store.schema import prepare
from kg.documents.document import New
from kg.documents.documents import Documents
from kg.documents.parsers.text import TextParser
from kg.errors import EvaluationData
from kg.graph.growth import Growth
from kg.graph.ranking import walked
from kg.graph.reader import Reader
from kg.graph.searching import PassageMode
from kg.ingest.chunker import WordChunker
from kg.ingest.passages import passages
from kg.ingest.pipeline import Pipeline
from kg.jobs import ingestion
from kg.parts import Embed, Extractor, Parsed
from lanework import Lanework
from lanework.embedded import acquire

ONTOLOGY = "corpus"
_OPEN = ["queued", "estimating", "awaiting_approval", "processing"]


class Ingested:
    """Made by `ingested`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def search(self, question: str, limit: int, mode: PassageMode) -> list[str]:
        """Names of the documents whose passages come first, each once."""
        found = await self._reader.passages(question, mode=mode, limit=4 * limit, ontology=ONTOLOGY)
        return list(dict.fromkeys(passage.document for passage in found.passages))[:limit]


@asynccontextmanager
async def ingested(texts: Mapping[str, str], embed: Embed, extractor: Extractor) -> AsyncIterator[Ingested]:
    """Name → text, each a document. The server and its folder go away afterwards."""
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="kg-eval-")
    try:
        lease = await asyncio.to_thread(acquire, folder)
        try:
            async with Lanework(lease.dsn) as work:
                await ingest(work, texts, embed, extractor)
                yield Ingested(Reader(work, embed, walked))
        finally:
            await asyncio.to_thread(lease.release)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def ingest(work: Lanework, texts: Mapping[str, str], embed: Embed, extractor: Extractor) -> None:
    pipeline = Pipeline(_parse, WordChunker(), passages, extractor, embed, Growth(work))
    work.lane("interactive", max_slots=4, poll_interval_ms=100)
    job = ingestion.declare(work, lambda: pipeline)
    documents = Documents(work, job, lambda: pipeline, sniff=lambda *_: "text/plain", size_limit=10_000_000)
    await asyncio.to_thread(prepare, work)
    for name, text in texts.items():
        await documents.accept(New(text.encode(), name=name, ontology=ONTOLOGY, owner="eval"))
    async with work.worker():
        while await documents.find(status=_OPEN, limit=1):  # noqa: ASYNC110 - the database knows
            await asyncio.sleep(0.2)
    if left := await documents.find(status=["partial", "failed", "cancelled"], limit=1):
        raise EvaluationData(f"{left[0].name!r} was not ingested: {left[0].error}")


async def _parse(data: bytes, media_type: str, name: str) -> Parsed:
    """As the platform parses text, without a process for each: nothing here is hostile."""
    return TextParser().parse(data, name)
