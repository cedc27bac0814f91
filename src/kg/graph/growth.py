"""`Growth`: how an ingestion writes the graph. What it needs of models is asked for before a transaction, never in one."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from kg._store.ingestion import known_concepts
from kg.graph import leaving
from kg.graph.indexing import index
from kg.graph.writing import Vectors, prepare_chunk, prepare_sources, remove_sources, store_chunk, with_vectors
from kg.ingest.pipeline import Act
from kg.loops import PerLoop
from kg.parts import Embed, Extraction, Known, Vector
from lanework import Lanework

T = TypeVar("T")
#: Known concepts that an extractor is shown: the nearest few of each passage, and no more than this of all.
EACH, MOST, LEAST_SCORE = 5, 25, 0.3
#: Concepts, some of them new, before they are put into the index: few are found as quickly without. Upkeep does the rest.
ENOUGH = 2000
#: Chunks of a process that are being stored into an ontology: one has its lock, the other one is on its way to it. More would only
#: keep connections waiting.
AT_A_TIME = 2


class Growth:
    def __init__(self, work: Lanework) -> None:
        self._work = work
        self._new, self._indexing = 0, False
        self._turns = PerLoop(lambda: defaultdict[int, asyncio.Semaphore](lambda: asyncio.Semaphore(AT_A_TIME)))

    async def known(self, ontology: int, epoch: int, model: str, vectors: Sequence[Vector]) -> Sequence[Known]:
        verb = known_concepts(ontology, epoch, model, vectors, each=EACH, limit=MOST, least=LEAST_SCORE)
        return [Known(label, description) for label, description in await self._work._arun(verb)]

    async def storing(self, embed: Embed, ontology: int, space: int, extraction: Extraction, act: Act[T]) -> T:
        turns = self._turns.get()[ontology]

        async def in_turn(vectors: Vectors) -> T:
            async with turns:
                return await act(vectors)

        stored = await with_vectors(embed, await prepare_chunk(self._work, ontology, space, extraction), in_turn)
        self._new += len(extraction.concepts)
        if self._new >= ENOUGH:
            await self._index()
        return stored

    async def store(  # noqa: PLR0917 - what belongs to a chunk
        self, conn: Any, ontology: int, source: int, extraction: Extraction, vectors: Any, space: int
    ) -> None:
        await store_chunk(conn, ontology, source, extraction, vectors=vectors, space=space)

    async def dropping(self, embed: Embed, space: int, sources: Sequence[int], act: Act[T], *, patience: float = math.inf) -> T:
        few = len(sources) <= leaving.FEW
        done = await with_vectors(embed, await prepare_sources(self._work, sources, space) if few else [], act)
        if not few:
            await leaving.finish(self._work, embed, space, patience=patience)
        return done

    async def _index(self) -> None:
        """One at a time here: it is work for a core, and nobody waits for it."""
        if not self._indexing:
            self._indexing, self._new = True, 0
            try:
                await index(self._work)
            finally:
                self._indexing = False

    async def drop(self, conn: Any, ontology: int, sources: Sequence[int], vectors: Any, space: int) -> None:
        """Few go at once. Many are only marked: `dropping` takes them out in pieces, and upkeep does if it cannot."""
        if len(sources) <= leaving.FEW:
            await remove_sources(conn, ontology, sources, vectors, space)
        else:
            await leaving.leave(conn, ontology, sources)
