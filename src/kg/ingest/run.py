"""One run of an ingestion: read, arrange, then each chunk by itself (extract, match, store), then finish."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from kg._store import ingestion as store
from kg._store.reading import use_space
from kg._store.transaction import Block, fenced
from kg.documents.document import Options
from kg.ingest.answers import StoredEmbed, StoredExtractor
from kg.ingest.arrangement import Arrangement, arrange
from kg.ingest.pipeline import Act, Pipeline
from kg.ingest.reading import Piece, Reader, Reading, Subject, Superseded
from kg.ingest.refusal import failed
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
        self._extractor, self._embed = StoredExtractor(ctx, pipeline.extractor), StoredEmbed(ctx, pipeline.embed)
        self._errors: dict[int, ItemError] = {}
        self._first: Exception | None = None
        self._parked: Exception | None = None
        self._chunks = self._done = self._unread = 0
        self._epoch = self._space = 0
        self._pieces: Sequence[Piece] = ()
        self._plan = Arrangement([], [], [], {})
        self._storing = asyncio.Lock()  # chunks of one document are stored one by one: they would wait for its row anyway

    async def all(self) -> Finished | Fail:
        if self._subject.duplicate_of is not None:
            await self._arrange([])
            return await self._finish(Reading(title=self._subject.name))
        reading, pieces = await Reader(self._ctx, self._work, self._pipeline, self._subject, "processing").read()
        if reading.error:
            return failed(reading.error)
        self._epoch = await self._ctx.astep("epoch", _same, self._subject.epoch)
        await self._arrange(pieces)
        await self._work_through(self._plan.todo)
        if self._parked is not None:  # a limit was reached: what is stored stays, and the job comes again
            raise self._parked
        if self._first is not None and len(self._errors) == self._chunks:
            raise self._first  # nothing could be done: the class of the error says whether it is tried again
        return await self._finish(reading)

    async def _arrange(self, pieces: Sequence[Piece]) -> None:
        """In every attempt: what the one before has stored is there, and is not done again. Nothing goes yet: readers see the
        version before until this one is done."""
        subject = self._subject
        self._space = await self._work._arun(use_space(self._embed.name, self._embed.dimensions))

        async def act(tx: Block) -> Arrangement:
            await self._claim(tx)
            sources = await tx.run(store.list_sources(subject.id))
            found = arrange(subject, pieces, sources)
            await tx.run(store.begin_chunks(subject.id, subject.version, chunks=len(pieces), done=len(found.kept)))
            return found

        self._pieces, self._plan = pieces, await fenced(self._ctx, act)
        self._chunks, self._done, self._unread = len(pieces), len(self._plan.kept), len(self._plan.todo)
        self._tell()

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
        subject, chunk = self._subject, alike[0].chunk
        text, own = chunk.text, chunk.own - chunk.start
        passages = self._pipeline.passages(text[own:], own)
        vectors = (await self._embed.embed([one for _, _, one in passages])).vectors
        extraction = await self._extract(text, vectors) if subject.graph else Extraction()
        self._unread -= len(alike)
        for piece in alike:
            within = partial(self._store, piece, extraction, list(zip(passages, vectors, strict=True)))
            async with self._storing:
                await self._with_vectors(piece, extraction, partial(self._fenced, within))
            self._done += 1
            self._tell()

    async def _with_vectors(self, piece: Piece, extraction: Extraction, act: Act[None]) -> None:
        """Those for what the chunk says, and for what loses by the one it replaces."""
        graph, subject = self._pipeline.graph, self._subject

        async def store(others: Any) -> None:
            if not subject.graph:
                return await act(others)
            both: Act[None] = lambda vectors: act({**others, **vectors})  # noqa: E731
            return await graph.storing(self._embed, subject.ontology, self._space, extraction, both)

        old = self._plan.replaced.get((piece.hash, piece.copy))
        await (store({}) if old is None else graph.dropping(self._embed, self._space, [old], store))

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
        if (old := self._plan.replaced.get((piece.hash, piece.copy))) is not None:
            await self._pipeline.graph.drop(tx.connection, ontology, [old], meanings, self._space)
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

    async def _finish(self, reading: Reading) -> Finished:
        """The end of this version is the end of the one before: what is not in it goes, and what is stands where it stands now."""
        act, gone = partial(self._fenced, partial(self._end, reading)), self._plan.gone
        self._ctx.progress(1.0, "finish", stage="finish")
        return await (self._pipeline.graph.dropping(self._embed, self._space, gone, act) if gone else act({}))

    async def _end(self, reading: Reading, tx: Block, vectors: Any) -> Finished:
        subject, failed = self._subject, len(self._errors)
        errors = [self._errors[n] for n in sorted(self._errors)]
        if not self._plan.is_new:
            await self._replace(tx, vectors)
        duplicate = {} if subject.duplicate_of is None else {"duplicate_of": subject.duplicate_of}
        verb = store.finish_document(
            subject.id, subject.version, status="duplicate" if duplicate else "partial" if errors else "completed",
            chunks=self._chunks, failed=failed,
            error=f"{failed} of {self._chunks} chunks failed; the first: {errors[0].error}" if errors else None,
            text_hash=bytes.fromhex(reading.text_hash) or None, characters=reading.characters, title=reading.title,
            job=self._ctx.job_id, actor=self._ctx.owner or "",
        )  # fmt: skip
        if await tx.run(verb) is None:
            raise Superseded
        told = {"chunks": self._chunks, "kept": len(self._plan.kept), "failed": failed}
        return await tx.finish({"document": subject.id, "version": subject.version, **(duplicate or told)}, errors)

    async def _replace(self, tx: Block, vectors: Any) -> None:
        ontology = await self._claim(tx)
        sources = await tx.run(store.list_sources(self._subject.id))
        found = arrange(self._subject, self._pieces, sources)
        if found.gone:
            await self._pipeline.graph.drop(tx.connection, ontology, found.gone, vectors, self._space)
        await tx.run(store.place_sources(self._subject.version, found.kept))
        for verb in store.move(found.moved) if found.moved else ():
            await tx.run(verb)

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


async def _same(value: int) -> int:
    return value
