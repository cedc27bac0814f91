"""A platform for a measurement: the lanes and settings that a user gets, a worker in this process, and one that sends documents."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from kg import lanes
from kg._store.schema import prepare
from kg.config import KgSettings
from kg.graph.growth import Growth
from kg.ingest.chunker import WordChunker
from kg.ingest.passages import passages
from kg.ingest.pipeline import Pipeline
from kg.jobs import ingestion
from kg.models.models import Models
from kg.parts import Embed, Parsed
from lanework import Lanework


async def plain(data: bytes, media_type: str, name: str) -> Parsed:
    return Parsed(data.decode())


@dataclass(frozen=True)
class House:
    dsn: str
    work: Lanework
    models: Models

    async def ingest(self, texts: Sequence[str]) -> tuple[float, list[int]]:
        """Seconds from the first submit to the last commit, and how many chunks each document has."""
        async with self.work.worker():
            words = [sys.executable, "-m", "kg.bench.sender", self.dsn]
            sender = await asyncio.create_subprocess_exec(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert sender.stdout is not None
            await sender.stdout.readline()
            told, _ = await sender.communicate(json.dumps(texts).encode())
        if sender.returncode:
            raise RuntimeError(f"whoever sends the documents has ended with {sender.returncode}")
        found = json.loads(told)
        if len(found["chunks"]) != len(texts):
            raise RuntimeError(f"{len(found['chunks'])} of {len(texts)} documents were completed")
        return found["seconds"], found["chunks"]


@asynccontextmanager
async def house(dsn: str, settings: KgSettings, embed: Embed | None = None) -> AsyncIterator[House]:
    """`embed`: instead of the one that the settings name."""
    async with Lanework(dsn) as work:
        lanes.declare(work, settings)
        models = Models.from_settings(settings, work)
        pipeline = Pipeline(
            plain, WordChunker(), passages, models.extractor, embed or models.embed, Growth(work), settings.chunks_at_once
        )
        ingestion.declare(work, lambda: pipeline)
        await asyncio.to_thread(prepare, work)
        await models.load()  # as a worker does before its first job
        try:
            yield House(dsn, work, models)
        finally:
            await models.close()
