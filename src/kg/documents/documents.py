"""`Documents`: accept, list, show, delete, run again. One service for HTTP and the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from kg._store import documents as store
from kg._store.ingestion import list_sources
from kg._store.reading import use_space
from kg._store.transaction import Transaction, once
from kg.access.reach import EVERYTHING, Reach
from kg.documents.document import FINAL, Accepted, Document, New, checked_key, shown_name
from kg.errors import DocumentNotFound, InvalidDocument, NotRetryable, OntologyFrozen, SameContent
from kg.ingest.pipeline import Pipeline
from kg.ingest.reading import pieces
from kg.jobs.ingestion import cost
from kg.ontologies.ontologies import hold
from lanework import Estimate, Lanework
from lanework.job import Job

#: Documents that are read at a time in a process that only estimates.
READINGS = 2


class Sniff(Protocol):
    def __call__(self, data: bytes, name: str, declared: str, /) -> str: ...


class Documents:
    def __init__(
        self, work: Lanework, ingestion: Job[[int, int], Any], pipeline: Callable[[], Pipeline], *, sniff: Sniff, size_limit: int
    ) -> None:
        self._work, self._ingestion, self._pipeline, self._sniff = work, ingestion, pipeline, sniff
        self._size_limit = size_limit
        self._reading = asyncio.Semaphore(READINGS)

    # -- accepting -------------------------------------------------------------------------------------------------------

    async def accept(self, new: New, reach: Reach = EVERYTHING) -> Accepted:
        """The document, its bytes and its job in one commit. The same content in one ontology is one document, in every state:
        it is answered as it is, unless `force` asks for a new version."""
        self._check(new)
        media_type = self._sniff(new.data, new.name, new.media_type)

        async def act(tx: Transaction) -> tuple[int, bool]:
            ontology = await hold(tx, new.ontology, by=new.owner)
            if ontology.state == "frozen":
                raise OntologyFrozen(f"the ontology {new.ontology!r} is frozen: it takes no documents")
            await tx.run(store.put_blob(new.hash, new.data))
            row = await self._added(tx, ontology.id, new, media_type)
            if row is not None:
                await self._submit(tx, row[0], row[1], new.owner)
                return row[0], False
            return await self._renewed(tx, ontology.id, new, media_type, reach)

        found, existing = await once(self._work, act)
        return Accepted(await self.show(found), existing)

    async def estimate(self, new: New) -> Estimate:
        """What it would cost, and nothing is stored."""
        self._check(new)
        pipeline = self._pipeline()
        media_type = self._sniff(new.data, new.name, new.media_type)
        async with self._reading:
            parsed = await pipeline.parse(new.data, media_type, shown_name(new.name))
            chunks = await asyncio.to_thread(pipeline.chunker.chunks, parsed.text)
        return cost(pipeline, pieces(chunks), graph=new.options.graph, warnings=tuple(parsed.warnings))

    def _check(self, new: New) -> None:
        checked_key(new.key)
        if not new.data:
            raise InvalidDocument("the document is empty: it has no bytes", field="file")
        if len(new.data) > self._size_limit:
            raise InvalidDocument(f"the document has {len(new.data):,} bytes; up to {self._size_limit:,} are taken", field="file")

    async def _added(self, tx: Transaction, ontology: int, new: New, media_type: str) -> Any:
        return await tx.run(
            store.add_document(
                ontology,
                new.hash,
                key=new.key,
                name=shown_name(new.name),
                media_type=media_type,
                size=len(new.data),
                owner=new.owner,
                provenance=new.provenance,
                options=new.options.stored(),
            )
        )

    async def _renewed(self, tx: Transaction, ontology: int, new: New, media_type: str, reach: Reach) -> tuple[int, bool]:
        """There is a document of this content or of this key: whoever came first has committed, and is visible."""
        known = await tx.run(store.known_documents(ontology, new.hash, new.key))
        if not known:  # deleted in this very moment
            row = await self._added(tx, ontology, new, media_type)
            if row is None:
                raise SameContent("this document was added and deleted at the same time; try again")
            await self._submit(tx, row[0], row[1], new.owner)
            return row[0], False
        if not all(reach.covers(new.ontology, owner) for *_, owner in known):
            raise SameContent("a document that is not yours has this content or this key in the same ontology")
        if len(known) > 1:
            there, here = (one[0] for one in sorted(known, key=lambda one: not one[1]))
            raise SameContent(
                f"this content is document {there} of the same ontology; delete it, or document {here}, whose key it has"
            )
        id, same, job, _ = known[0]
        if same and not new.force:
            return id, True
        if job is not None:
            await tx.run(store.cancel_job(job, "a new version of its document has come", by=new.owner))
        _, version = await tx.run(
            store.renew_document(
                id,
                new.hash,
                name=shown_name(new.name),
                media_type=media_type,
                size=len(new.data),
                provenance=new.provenance,
                options={**new.options.stored(), **({"force": True} if new.force else {})},
            )
        )
        await self._submit(tx, id, version, new.owner)
        return id, False

    async def _submit(self, tx: Transaction, id: int, version: int, owner: str, continues: int | None = None) -> None:
        # one at a time for a document, in order: an older version never writes after a newer one has begun
        options: Any = {"continues": continues} if continues is not None else {}
        submitter = self._ingestion.options(connection=tx.connection, session=f"document:{id}", owner=owner, **options)
        job = await submitter.asubmit(id, version)
        await tx.run(store.give_job(id, job.id))

    # -- reading ---------------------------------------------------------------------------------------------------------

    async def find(
        self, reach: Reach = EVERYTHING, *, ontology: str | None = None, status: Sequence[str] | None = None,
        owner: str | None = None, name: str | None = None, before: int | None = None, limit: int = 100,
    ) -> list[Document]:  # fmt: skip
        """Newest first; the last id of a page is the `before` of the next."""
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
        return [Document(*row) for row in found]

    async def show(self, id: int, reach: Reach = EVERYTHING) -> Document:
        found = await self._work._arun(
            store.list_documents(id=id, limit=1, all=reach.everything, mine=reach.owner, ontologies=sorted(reach.ontologies))
        )
        if not found:
            raise DocumentNotFound(f"there is no document {id}")
        return Document(*found[0])

    async def text(self, id: int) -> str:
        """The text that was found in it: offsets everywhere count its characters."""
        data = await self._work._arun(store.document_text(id))
        if data is None:
            raise DocumentNotFound(f"document {id} has no text (yet): it was not parsed")
        return bytes(data).decode()

    # -- acting ----------------------------------------------------------------------------------------------------------

    async def delete(self, id: int, *, by: str) -> None:
        """Its job is told to stop; what only it supported leaves the graph; whatever its job still writes is refused."""
        pipeline = self._pipeline()
        await pipeline.load()
        space = await self._work._arun(use_space(pipeline.embed.name, pipeline.embed.dimensions))

        async def within(vectors: Any, tx: Transaction) -> None:
            held = await tx.run(store.hold_document(id))
            if held is None:
                raise DocumentNotFound(f"there is no document {id}")
            _, _, job, ontology, hash, text_hash, *_ = held
            if job is not None:
                await tx.run(store.cancel_job(job, "its document was deleted", by=by))
            sources = [one.id for one in await tx.run(list_sources(id))]
            await pipeline.graph.drop(tx.connection, ontology, sources, vectors, space)
            await tx.run(store.remove_document(id, by=by))
            await tx.run(store.remove_blobs([one for one in (hash, text_hash) if one is not None]))

        async def act(vectors: Any) -> None:
            await once(self._work, partial(within, vectors))

        sources = [one.id for one in await self._work._arun(list_sources(id))]
        await pipeline.graph.dropping(pipeline.embed, space, sources, act)

    async def retry(self, id: int, *, by: str) -> Document:
        """What of it is not done is done again: the chunks that failed, or all that is left after a failure or a cancel."""

        async def act(tx: Transaction) -> None:
            held = await tx.run(store.hold_document(id))
            if held is None:
                raise DocumentNotFound(f"there is no document {id}")
            _, version, job, *_, owner = held
            document = await self._state(tx, id)
            if document.processing_status not in FINAL - {"completed"}:
                raise NotRetryable(
                    f"document {id} is {document.processing_status}; what is partial, failed or cancelled can be run again"
                )
            ended = job is not None and await tx.run(store.job_has_ended(job))
            await tx.run(store.reopen_document(id))
            await self._submit(tx, id, version, owner, continues=job if ended else None)

        await once(self._work, act)
        return await self.show(id)

    async def _state(self, tx: Transaction, id: int) -> Document:
        found = await tx.run(store.list_documents(id=id, limit=1, all=True, mine=None, ontologies=[]))
        return Document(*found[0])
