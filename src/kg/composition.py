"""What the settings say, put together: models, and the pipeline that uses them. Nothing is loaded before it is used."""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property, partial

from kg.config import KgSettings
from kg.documents.fetching import Fetcher
from kg.documents.limits import ParseLimits
from kg.documents.parsing import parse
from kg.documents.sniffing import sniff
from kg.errors import ModelMissing
from kg.graph.growth import Growth
from kg.ingest.chunker import WordChunker
from kg.ingest.passages import passages
from kg.ingest.pipeline import Parse, Pipeline
from kg.models.models import Models
from kg.parts import Embed, Parsed, Usage
from lanework import Lanework

logger = logging.getLogger("kg")
#: Documents that one process has read at a time.
READINGS = 2


def _few_at_a_time(parse: Parse) -> Parse:
    """Estimates that wait for somebody's server are many, the processes that read are few."""
    free = asyncio.Semaphore(READINGS)

    async def read(data: bytes, media_type: str, name: str) -> Parsed:
        async with free:
            return await parse(data, media_type, name)

    return read


class Composition:
    def __init__(self, settings: KgSettings, work: Lanework) -> None:
        self._settings, self._work = settings, work

    @cached_property
    def models(self) -> Models:
        return Models.from_settings(self._settings, self._work)

    @property
    def searching(self) -> Embed | None:
        """What makes the vectors of searches; None where its package is not installed: then they are by words alone."""
        try:
            return self.models.embed if self.models.embed.name else None
        except ModelMissing as error:
            logger.warning("searches are by words alone: %s", error)
            return None

    @cached_property
    def pipeline(self) -> Pipeline:
        models = self.models

        def seconds(chunks: int, usage: Usage) -> float | None:
            return models.seconds(chunks, usage) if models.chat is not None else None

        return Pipeline(
            _few_at_a_time(partial(parse, limits=ParseLimits.from_settings(self._settings))),
            WordChunker(self._settings.chunk_words, overlap=self._settings.chunk_overlap), passages,
            models.extractor, models.embed, Growth(self._work), self._settings.chunks_at_once, seconds, sniff,
            Fetcher.from_settings(self._settings).fetch,
        )  # fmt: skip
