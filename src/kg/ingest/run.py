"""One run of an ingestion: read, arrange, then each chunk by itself (`Chunks`), then finish."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from kg._store import ingestion as store
from kg._store.ingestion import Source
from kg._store.reading import use_space
from kg._store.transaction import Block, fenced
from kg._store.verb import Verb
from kg.documents.document import Options
from kg.ingest.answers import StoredEmbed
from kg.ingest.arrangement import Arrangement, arrange
from kg.ingest.chunks import Chunks
from kg.ingest.pipeline import Pipeline
from kg.ingest.reading import Piece, Reader, Subject, Superseded
from lanework import Context, Fail, ItemError, Lanework
from lanework.outcomes import Finished

T = TypeVar("T")


async def subject_of(work: Lanework, document: int, version: int) -> Subject:
    row = await work._arun(store.read_document(document, version))
    if row is None:
        raise Superseded
    *known, ontology_name, name, media_type, hash, epoch, stored = row
    id, version, ontology = known
    options = Options.of(stored)
    return Subject(
        id, version, ontology, name, media_type, bytes(hash), options.graph, options.collection or ontology_name, options.ask,
        bool(stored.get("force")), epoch,
    )  # fmt: skip


class Run:
    def __init__(self, ctx: Context, work: Lanework, pipeline: Pipeline, subject: Subject) -> None:
        self._ctx, self._work, self._pipeline, self._subject = ctx, work, pipeline, subject
        self._embed = StoredEmbed(ctx, pipeline.embed)
        self._space = 0

    async def all(self) -> Finished | Fail:
        reading, pieces = await Reader(self._ctx, self._work, self._pipeline, self._subject, "processing").read()
        if reading.error:
            return Fail(reading.error, "invalid_input")
        epoch = await self._ctx.astep("epoch", _same, self._subject.epoch)
        arrangement = await self._arrange(pieces)
        chunks = Chunks(self._ctx, self._work, self._pipeline, self._subject, self._embed, epoch=epoch, space=self._space)
        await chunks.work_through(arrangement.todo, len(arrangement.kept))
        if chunks.parked is not None:  # a limit was reached: what is stored stays, and the job comes again
            raise chunks.parked
        if chunks.first is not None and len(chunks.errors) == len(pieces):
            raise chunks.first  # nothing could be done: the class of the error says whether it is tried again
        return await self._finish(len(pieces), len(arrangement.kept), [chunks.errors[n] for n in sorted(chunks.errors)])

    async def _arrange(self, pieces: Sequence[Piece]) -> Arrangement:
        """In every attempt: what the one before has stored is there, and is not done again."""
        subject, graph = self._subject, self._pipeline.graph
        self._space = await self._work._arun(use_space(self._embed.name, self._embed.dimensions))

        async def within(tx: Block, vectors: Any) -> Arrangement:
            ontology = await self._claim(tx)
            found = arrange(subject, pieces, await _sources(tx.run, subject.id))
            if found.gone:
                await graph.drop(tx.connection, ontology, found.gone, vectors, self._space)
            if found.kept:
                await tx.run(store.place_sources(subject.version, found.kept))
            for verb in store.move(found.moved) if found.moved else ():
                await tx.run(verb)
            await tx.run(store.begin_chunks(subject.id, subject.version, chunks=len(pieces), done=len(found.kept)))
            return found

        gone = arrange(subject, pieces, await _sources(self._work._arun, subject.id)).gone
        act = partial(self._fenced, within)
        found: Arrangement = await (graph.dropping(self._embed, self._space, gone, act) if gone else act({}))
        return found

    async def _fenced(self, within: Callable[[Block, Any], Awaitable[T]], vectors: Any) -> T:
        return await fenced(self._ctx, lambda tx: within(tx, vectors))

    async def _claim(self, tx: Block) -> int:
        """The document's ontology, with the document held: nobody deletes or replaces it before this commit."""
        ontology: int | None = await tx.run(store.claim_document(self._subject.id, self._subject.version))
        if ontology is None:
            raise Superseded
        return ontology

    # -- the end ---------------------------------------------------------------------------------------------------------

    async def _finish(self, chunks: int, kept: int, errors: list[ItemError]) -> Finished:
        subject, failed = self._subject, len(errors)
        told = f"{failed} of {chunks} chunks failed; the first: {errors[0].error}" if errors else None

        async def act(tx: Block) -> Finished:
            verb = store.finish_document(
                subject.id, subject.version, status="partial" if errors else "completed", chunks=chunks, failed=failed,
                error=told, job=self._ctx.job_id, actor=self._ctx.owner or "",
            )  # fmt: skip
            if await tx.run(verb) is None:
                raise Superseded
            result = {"document": subject.id, "version": subject.version, "chunks": chunks, "kept": kept, "failed": failed}
            return await tx.finish(result, errors)

        self._ctx.progress(1.0, "finish", stage="finish")
        return await fenced(self._ctx, act)


async def _sources(run: Callable[[Verb[list[Source]]], Awaitable[list[Source]]], document: int) -> list[Source]:
    return await run(store.list_sources(document))


async def _same(value: int) -> int:
    return value
