"""`Documents`: accept, list, show, delete, run again. One service for HTTP and the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kg._store import documents as store
from kg._store.ingestion import list_sources
from kg._store.leaving import still_leaving
from kg._store.reading import use_space
from kg._store.transaction import Transaction, once
from kg.access.reach import EVERYTHING, Reach
from kg.documents.document import FINAL, Accepted, Document, New, shown_name
from kg.documents.intake import Intake, state_of
from kg.documents.submitting import Ingestion, pass_on, submit
from kg.errors import DocumentNotFound, NotRetryable, OntologyNotFound
from kg.ingest.pipeline import Pipeline, Sniff
from kg.ingest.reading import pieces
from kg.jobs.ingestion import cost
from lanework import Estimate, Lanework

#: Documents that are read, and addresses that are fetched, at a time in a process that only estimates.
READINGS, FETCHES = 2, 4
#: Seconds that whoever deletes a large document waits for the graph to let go of it; upkeep does what is left then.
PATIENCE = 2.0


class Documents:
    def __init__(
        self, work: Lanework, ingestion: Ingestion, pipeline: Callable[[], Pipeline], *, sniff: Sniff, size_limit: int
    ) -> None:
        self._work, self._ingestion, self._pipeline, self._sniff = work, ingestion, pipeline, sniff
        self._intake = Intake(work, ingestion, sniff, size_limit)
        self._reading, self._fetching = asyncio.Semaphore(READINGS), asyncio.Semaphore(FETCHES)

    # -- accepting -------------------------------------------------------------------------------------------------------

    async def accept(self, new: New, reach: Reach = EVERYTHING) -> Accepted:
        """The document, its bytes (or its address) and its job in one commit. The same content in one ontology is one document, in
        every state: it is answered as it is, unless `force` asks for a new version."""
        found, existing = await self._intake.take(new, reach)
        return Accepted(await self.show(found, reach), existing)

    async def estimate(self, new: New) -> Estimate:
        """What it would cost, and nothing is stored. An address is fetched here and now."""
        self._intake.check(new)
        pipeline = self._pipeline()
        if new.url is not None:
            async with self._fetching:
                page = await pipeline.fetch(new.url)
            new = replace(new, data=page.data, name=new.name or page.name, media_type=new.media_type or page.media_type)
        async with self._reading:
            media_type = self._sniff(new.data, new.name, new.media_type)
            parsed = await pipeline.parse(new.data, media_type, shown_name(new.name))
            chunks = await asyncio.to_thread(pipeline.chunker.chunks, parsed.text)
        graph = new.options.graph
        return cost(pipeline, pieces(chunks), graph=graph, warnings=pipeline.doubts(parsed, graph=graph))

    # -- reading ---------------------------------------------------------------------------------------------------------

    async def find(
        self, reach: Reach = EVERYTHING, *, ontology: str | None = None, status: Sequence[str] | None = None,
        owner: str | None = None, name: str | None = None, before: int | None = None, limit: int = 100,
    ) -> list[Document]:  # fmt: skip
        """Newest first; the last id of a page is the `before` of the next. An ontology that is not there is not an empty one."""
        found = await self._work._arun(
            store.list_documents(
                ontology=ontology,
                status=status,
                owner=owner,
                name=name,
                before=before,
                limit=limit,
                all=reach.everything,
                mine=reach.owner,
                ontologies=sorted(reach.ontologies),
            )
        )
        if ontology is not None and not found:
            await self._must_be(ontology, reach)
        return [Document(*row) for row in found]

    async def _must_be(self, ontology: str, reach: Reach) -> None:
        verb = store.list_ontologies(ontology, all=reach.everything, names=sorted(reach.ontologies), owner=reach.owner)
        if not await self._work._arun(verb):
            raise OntologyNotFound(f"there is no ontology {ontology!r}")

    async def show(self, id: int, reach: Reach = EVERYTHING) -> Document:
        found = await self._work._arun(
            store.show_document(id, all=reach.everything, mine=reach.owner, ontologies=sorted(reach.ontologies))
        )
        if found is None:
            raise DocumentNotFound(f"there is no document {id}")
        return Document(*found)

    async def text(self, id: int) -> str:
        """The text that was found in it: offsets everywhere count its characters."""
        data = await self._work._arun(store.document_text(id))
        if data is None:
            raise DocumentNotFound(f"document {id} has no text (yet): it was not parsed")
        return bytes(data).decode()

    # -- acting ----------------------------------------------------------------------------------------------------------

    async def delete(self, id: int, *, by: str, patience: float = PATIENCE) -> bool:
        """Its job is told to stop; what only it supported leaves the graph; whatever its job still writes is refused. Answers
        whether all of it is done: of a large one the rest is done by upkeep, while nobody finds any of its text any more."""
        pipeline = self._pipeline()
        await pipeline.load()
        space = await self._work._arun(use_space(pipeline.embed.name, pipeline.embed.dimensions))

        async def within(vectors: Any, tx: Transaction) -> None:
            held = await tx.run(store.hold_document(id))
            if held is None:
                raise DocumentNotFound(f"there is no document {id}")
            if held.job is not None:
                await tx.run(store.cancel_job(held.job, "its document was deleted", by=by))
            await pass_on(tx, self._ingestion, id)
            sources = [one.id for one in await tx.run(list_sources(id))]
            await pipeline.graph.drop(tx.connection, held.ontology, sources, vectors, space)
            await tx.run(store.remove_document(id, by=by))
            await tx.run(store.remove_blobs(held.blobs))

        async def act(vectors: Any) -> None:
            await once(self._work, partial(within, vectors))

        sources = [one.id for one in await self._work._arun(list_sources(id))]
        await pipeline.graph.dropping(pipeline.embed, space, sources, act, patience=patience)
        return not await self._work._arun(still_leaving(sources))

    async def retry(self, id: int, *, by: str) -> Document:
        """What of it is not done is done again: the chunks that failed, or all that is left after a failure or a cancel."""

        async def act(tx: Transaction) -> None:
            held = await tx.run(store.hold_document(id))
            if held is None:
                raise DocumentNotFound(f"there is no document {id}")
            document = await state_of(tx, id)
            if document.processing_status not in FINAL - {"completed", "duplicate"}:
                raise NotRetryable(
                    f"document {id} is {document.processing_status}; what is partial, failed or cancelled can be run again"
                )
            # what a job has stored is not done again; but an address that gave nothing is asked again, and what could not be read
            # is read again: somebody may have raised a limit
            worth = held.job is not None and not held.awaits_fetch and document.chunks > 0
            ended = worth and held.job is not None and await tx.run(store.job_has_ended(held.job))
            await tx.run(store.reopen_document(id))
            await submit(tx, self._ingestion, id, held.version, held.owner, continues=held.job if ended else None)

        await once(self._work, act)
        return await self.show(id)
