"""One run of an ingestion: read, arrange, then each chunk by itself (extract, match, store), then finish."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from kg._store import ingestion as store
from kg._store.reading import use_space
from kg._store.transaction import Block, fenced
from kg.documents.document import Options
from kg.errors import ChunksLost
from kg.ingest.answers import StoredEmbed
from kg.ingest.arrangement import Arrangement, arrange
from kg.ingest.chunks import Chunks
from kg.ingest.pipeline import Pipeline
from kg.ingest.reading import Piece, Reader, Reading, Subject, Superseded
from kg.ingest.refusal import failed
from lanework import Context, Fail, ItemError, Lanework
from lanework.outcomes import Finished

T = TypeVar("T")


async def subject_of(work: Lanework, document: int, version: int) -> Subject:
    row = await work._arun(store.read_document(document, version))
    if row is None:
        raise Superseded
    id, version, ontology, ontology_name, name, media_type, hash, epoch, stored, awaits_fetch, duplicate_of = row
    options = Options.of(stored)
    return Subject(
        id, version, ontology, name, media_type, None if hash is None else bytes(hash), options.graph,
        options.collection or ontology_name, options.ask, bool(stored.get("force")), epoch,
        stored.get("url", "") if awaits_fetch else "", bool(stored.get("named")), stored.get("media_type", ""), duplicate_of,
    )  # fmt: skip


class Run:
    def __init__(self, ctx: Context, work: Lanework, pipeline: Pipeline, subject: Subject) -> None:
        self._ctx, self._work, self._pipeline, self._subject = ctx, work, pipeline, subject
        self._embed = StoredEmbed(ctx, pipeline.embed)
        self._space = 0
        self._pieces: Sequence[Piece] = ()
        self._plan = Arrangement([], [], [], {})

    async def all(self) -> Finished | Fail:
        if self._subject.duplicate_of is not None:
            await self._arrange([])
            return await self._finish(Reading(title=self._subject.name), [])
        reading, pieces = await Reader(self._ctx, self._work, self._pipeline, self._subject, "processing").read()
        if reading.error:
            return failed(reading.error)
        epoch = await self._ctx.astep("epoch", _same, self._subject.epoch)
        await self._arrange(pieces)
        chunks = Chunks(
            self._ctx, self._work, self._pipeline, self._subject, self._embed, epoch=epoch, space=self._space,
            replaced=self._plan.replaced,
        )  # fmt: skip
        await chunks.work_through(self._plan.todo, len(self._plan.kept))
        if chunks.parked is not None:  # a limit was reached: what is stored stays, and the job comes again
            raise chunks.parked
        if chunks.first is not None and len(chunks.errors) == len(pieces):
            raise chunks.first  # nothing could be done: the class of the error says whether it is tried again
        return await self._finish(reading, [chunks.errors[n] for n in sorted(chunks.errors)])

    async def _arrange(self, pieces: Sequence[Piece]) -> None:
        """In every attempt: what the one before has stored is there, and is not done again. Nothing goes yet: readers see the
        version before until this one is done."""
        subject = self._subject
        self._space = await self._work._arun(use_space(self._embed.name, self._embed.dimensions))

        async def act(tx: Block) -> Arrangement:
            _, sources = await self._claim(tx)
            found = arrange(subject, pieces, sources)
            await tx.run(store.begin_chunks(subject.id, subject.version, chunks=len(pieces), done=len(found.kept)))
            return found

        self._pieces, self._plan = pieces, await fenced(self._ctx, act)

    async def _fenced(self, within: Callable[[Block, Any], Awaitable[T]], vectors: Any) -> T:
        return await fenced(self._ctx, lambda tx: within(tx, vectors))

    async def _claim(self, tx: Block) -> tuple[int, list[Any]]:
        """The document's ontology and its sources, with the document held: nobody deletes or replaces it before this commit."""
        subject = self._subject
        ontology, sources = await tx.run_all([store.claim_document(subject.id, subject.version), store.list_sources(subject.id)])
        if ontology is None:
            raise Superseded
        return ontology, sources

    # -- the end ---------------------------------------------------------------------------------------------------------

    async def _finish(self, reading: Reading, errors: list[ItemError]) -> Finished:
        """The end of this version is the end of the one before: what is not in it goes, and what is stands where it stands now."""
        act, gone = partial(self._fenced, partial(self._end, reading, errors)), self._plan.gone
        self._ctx.progress(1.0, "finish", stage="finish")
        return await (self._pipeline.graph.dropping(self._embed, self._space, gone, act) if gone else act({}))

    async def _end(self, reading: Reading, errors: list[ItemError], tx: Block, vectors: Any) -> Finished:
        subject, chunks, failed = self._subject, len(self._pieces), len(errors)
        if not self._plan.is_new:
            await self._replace(tx, vectors)
        duplicate = {} if subject.duplicate_of is None else {"duplicate_of": subject.duplicate_of}
        verb = store.finish_document(
            subject.id, subject.version, status="duplicate" if duplicate else "partial" if errors else "completed",
            chunks=chunks, failed=failed,
            error=f"{failed} of {chunks} chunks failed; the first: {errors[0].error}" if errors else None,
            text_hash=bytes.fromhex(reading.text_hash) or None, characters=reading.characters, title=reading.title,
            job=self._ctx.job_id, actor=self._ctx.owner or "",
        )  # fmt: skip
        stored = await tx.run(verb)
        if stored is None:
            raise Superseded
        if stored + failed < chunks:
            lost = chunks - stored - failed
            raise ChunksLost(f"the database's server went down and lost {lost} of {chunks} chunks; they are stored again")
        told = {"chunks": chunks, "kept": len(self._plan.kept), "failed": failed}
        return await tx.finish({"document": subject.id, "version": subject.version, **(duplicate or told)}, errors)

    async def _replace(self, tx: Block, vectors: Any) -> None:
        ontology, sources = await self._claim(tx)
        found = arrange(self._subject, self._pieces, sources)
        if found.gone:
            await self._pipeline.graph.drop(tx.connection, ontology, found.gone, vectors, self._space)
        await tx.run(store.place_sources(self._subject.version, found.kept))
        for verb in store.move(found.moved) if found.moved else ():
            await tx.run(verb)


async def _same(value: int) -> int:
    return value
