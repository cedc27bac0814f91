"""One run of an ingestion: read, arrange, then each chunk by itself (extract, match, store), then finish."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from kg._store import ingestion as store
from kg._store.ingestion import Source
from kg._store.reading import use_space
from kg._store.transaction import Block, fenced
from kg._store.verb import Verb
from kg.documents.document import Options
from kg.ingest.answers import StoredEmbed, StoredExtractor
from kg.ingest.arrangement import Arrangement, arrange
from kg.ingest.pipeline import Pipeline
from kg.ingest.reading import Piece, Reader, Subject, Superseded
from kg.parts import Extraction, Known, Vector
from lanework import Context, Fail, ItemError, Lanework
from lanework.errors import ClaimLost, JobStopped
from lanework.outcomes import Finished
from lanework.retries import PARKED_CLASSES, classify, describe

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
        self._extractor, self._embed = StoredExtractor(ctx, pipeline.extractor), StoredEmbed(ctx, pipeline.embed)
        self._errors: dict[int, ItemError] = {}
        self._first: Exception | None = None
        self._parked: Exception | None = None
        self._chunks = self._done = self._unread = 0
        self._epoch = self._space = 0
        self._storing = asyncio.Lock()  # chunks of one document are stored one by one: they would wait for its row anyway

    async def all(self) -> Finished | Fail:
        reading, pieces = await Reader(self._ctx, self._work, self._pipeline, self._subject, "processing").read()
        if reading.error:
            return Fail(reading.error, "invalid_input")
        self._epoch = await self._ctx.astep("epoch", _same, self._subject.epoch)
        arrangement = await self._arrange(pieces)
        await self._work_through(arrangement.todo)
        if self._parked is not None:  # a limit was reached: what is stored stays, and the job comes again
            raise self._parked
        if self._first is not None and len(self._errors) == self._chunks:
            raise self._first  # nothing could be done: the class of the error says whether it is tried again
        return await self._finish(len(arrangement.kept))

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
        self._chunks, self._done, self._unread = len(pieces), len(found.kept), len(found.todo)
        self._tell()
        return found

    async def _fenced(self, within: Callable[[Block, Any], Awaitable[T]], vectors: Any) -> T:
        return await fenced(self._ctx, lambda tx: within(tx, vectors))

    # -- the chunks ------------------------------------------------------------------------------------------------------

    async def _work_through(self, todo: Sequence[Piece]) -> None:
        left = iter(_alike(todo))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._pipeline.chunks_at_once, len(todo))):
                    group.create_task(self._drain(left))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _drain(self, left: Iterator[list[Piece]]) -> None:
        for alike in left:
            if self._parked is not None:
                return
            self._ctx.raise_if_cancelled()
            await self._try(alike)

    async def _try(self, alike: list[Piece]) -> None:
        try:
            await self._one(alike)
        except (ClaimLost, JobStopped, Superseded):
            raise
        except Exception as error:
            self._unread -= len(alike)
            if classify(error, self._work.classifiers) in PARKED_CLASSES:
                self._parked = error  # calls that are under way are let finish: they are paid
                return
            self._first = self._first or error
            for piece in alike:
                self._errors[piece.chunk.ordinal] = _item_error(piece, error)
            self._tell()

    async def _one(self, alike: list[Piece]) -> None:
        """Chunks with the same text are read once. Passages are made of what is not in the chunk before, too."""
        subject, graph, chunk = self._subject, self._pipeline.graph, alike[0].chunk
        text, own = chunk.text, chunk.own - chunk.start
        passages = self._pipeline.passages(text[own:], own)
        vectors = (await self._embed.embed([one for _, _, one in passages])).vectors
        extraction = await self._extract(text, vectors) if subject.graph else Extraction()
        self._unread -= len(alike)
        for piece in alike:
            within = partial(self._store, piece, extraction, list(zip(passages, vectors, strict=True)))
            act = partial(self._fenced, within)
            async with self._storing:
                await (graph.storing(self._embed, subject.ontology, self._space, extraction, act) if subject.graph else act({}))
            self._done += 1
            self._tell()

    async def _extract(self, text: str, vectors: Sequence[Vector]) -> Extraction:
        """The extractor sees the ontology as it was when the document's work began, whoever else has written since."""
        known: Sequence[Known] = ()
        if getattr(self._pipeline.extractor, "sees_known", True):
            known = await self._pipeline.graph.known(self._subject.ontology, self._epoch, self._embed.name, vectors)
        return await self._extractor.extract(text, known)

    async def _store(
        self,
        piece: Piece,
        extraction: Extraction,
        passages: Sequence[tuple[tuple[int, int, str], Vector]],
        tx: Block,
        meanings: Any,
    ) -> None:
        """One chunk, one commit: its text, its passages, its part of the graph, and that it is done."""
        subject, chunk = self._subject, piece.chunk
        placed = [(chunk.start + start, chunk.start + finish, text) for (start, finish, text), _ in passages]
        vectors = [vector for _, vector in passages]
        ontology = await self._claim(tx)
        source = await tx.run(
            store.add_source(
                subject.id,
                subject.version,
                hash=piece.hash,
                copy=piece.copy,
                ordinal=chunk.ordinal,
                start=chunk.start,
                own=chunk.own,
                finish=chunk.end,
                text=chunk.text,
                extractor=self._extractor.name if subject.graph else "",
                dropped=extraction.dropped,
            )
        )
        if subject.graph:
            await tx.run(store.add_passages(source, ontology, self._space, placed, vectors))
            await self._pipeline.graph.store(tx.connection, ontology, source, extraction, meanings, self._space)
        else:
            items = [
                (f"{subject.id}:{source}:{n}", text, _meta(subject, start, end)) for n, (start, end, text) in enumerate(placed)
            ]
            await tx.run(store.add_items(subject.collection, self._space, subject.id, source, items=items, vectors=vectors))
        await tx.run(store.chunk_done(subject.id, "extract" if self._unread else "upsert"))

    async def _claim(self, tx: Block) -> int:
        """The document's ontology, with the document held: nobody deletes or replaces it before this commit."""
        ontology: int | None = await tx.run(store.claim_document(self._subject.id, self._subject.version))
        if ontology is None:
            raise Superseded
        return ontology

    # -- the end ---------------------------------------------------------------------------------------------------------

    async def _finish(self, kept: int) -> Finished:
        subject, failed = self._subject, len(self._errors)
        errors = [self._errors[n] for n in sorted(self._errors)]
        told = f"{failed} of {self._chunks} chunks failed; the first: {errors[0].error}" if errors else None

        async def act(tx: Block) -> Finished:
            verb = store.finish_document(
                subject.id, subject.version, status="partial" if errors else "completed", chunks=self._chunks, failed=failed,
                error=told, job=self._ctx.job_id, actor=self._ctx.owner or "",
            )  # fmt: skip
            if await tx.run(verb) is None:
                raise Superseded
            result = {"document": subject.id, "version": subject.version, "chunks": self._chunks, "kept": kept, "failed": failed}
            return await tx.finish(result, errors)

        self._ctx.progress(1.0, "finish", stage="finish")
        return await fenced(self._ctx, act)

    def _tell(self) -> None:
        finished = self._done + len(self._errors)
        stage = "extract" if self._unread else "upsert"
        fraction = finished / self._chunks if self._chunks else 1.0
        self._ctx.progress(fraction, f"{stage}: chunk {finished} of {self._chunks}", stage=stage, chunk=finished, of=self._chunks)


def _alike(pieces: Sequence[Piece]) -> list[list[Piece]]:
    found: dict[bytes, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(piece.hash, []).append(piece)
    return list(found.values())


def _meta(subject: Subject, start: int, finish: int) -> dict[str, Any]:
    return {"document": subject.id, "name": subject.name, "start": start, "finish": finish}


def _item_error(piece: Piece, error: Exception) -> ItemError:
    told = describe(error)
    return ItemError(f"chunk {piece.chunk.ordinal}", told["error"], classify(error), told["error_code"], told["traceback"])


async def _sources(run: Callable[[Verb[list[Source]]], Awaitable[list[Source]]], document: int) -> list[Source]:
    return await run(store.list_sources(document))


async def _same(value: int) -> int:
    return value
