"""The chunks of one run: a model reads many at a time, and they are stored one by one. Who waits to be stored does not keep the
model from reading on; but it reads no further ahead than `chunks_at_once`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from kg._store import ingestion as store
from kg._store.transaction import Block, fenced
from kg.ingest.answers import StoredEmbed, StoredExtractor
from kg.ingest.pipeline import Act, Pipeline
from kg.ingest.reading import Piece, Subject, Superseded
from kg.parts import Extraction, Known, Vector
from lanework import Context, ItemError, Lanework
from lanework.errors import ClaimLost, JobStopped
from lanework.retries import PARKED_CLASSES, classify, describe

T = TypeVar("T")
Passage = tuple[int, int, str]


class Chunks:
    """`epoch`: of the ontology, when the document's work began; `space`: of the embedding's vectors; `replaced`: chunks of the same
    text that are read again, by hash and copy. Each goes in the commit that stores the new one."""

    def __init__(
        self, ctx: Context, work: Lanework, pipeline: Pipeline, subject: Subject, embed: StoredEmbed, *, epoch: int, space: int,
        replaced: Mapping[tuple[bytes, int], int],
    ) -> None:  # fmt: skip
        self._ctx, self._work, self._pipeline, self._subject, self._embed = ctx, work, pipeline, subject, embed
        self._epoch, self._space, self._replaced = epoch, space, replaced
        self._extractor = StoredExtractor(ctx, pipeline.extractor)
        self.errors: dict[int, ItemError] = {}
        self.first: Exception | None = None
        self.parked: Exception | None = None
        self._all = self._done = self._unread = 0
        self._storing = asyncio.Lock()  # they would wait for the document's row anyway
        self._ahead = asyncio.Semaphore(pipeline.chunks_at_once)

    async def work_through(self, todo: Sequence[Piece], kept: int) -> None:
        self._all, self._done, self._unread = kept + len(todo), kept, len(todo)
        self._tell()
        left = iter(_alike(todo))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._pipeline.chunks_at_once, len(todo))):
                    group.create_task(self._read_on(left, group))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    @contextmanager
    def _alone(self, pieces: Sequence[Piece]) -> Iterator[None]:
        """A chunk fails alone; a limit that is reached parks the job, when the calls that are under way, and paid, have ended."""
        try:
            yield
        except (ClaimLost, JobStopped, Superseded):
            raise
        except Exception as error:
            if classify(error, self._work.classifiers) in PARKED_CLASSES:
                self.parked = error
                return
            self.first = self.first or error
            for piece in pieces:
                self.errors[piece.chunk.ordinal] = _item_error(piece, error)
            self._tell()

    # -- reading ---------------------------------------------------------------------------------------------------------

    async def _read_on(self, left: Iterator[list[Piece]], group: asyncio.TaskGroup) -> None:
        for alike in left:
            if self.parked is not None:
                return
            self._ctx.raise_if_cancelled()
            extraction = None
            with self._alone(alike):
                extraction = await self._read(alike[0])
            self._unread -= len(alike)
            if extraction is not None:
                await self._ahead.acquire()
                group.create_task(self._keep(alike, extraction))

    async def _read(self, piece: Piece) -> Extraction:
        """The extractor sees the ontology as it was when the document's work began, whoever else has written since."""
        if not self._subject.graph:
            return Extraction()
        known: Sequence[Known] = ()
        if self._epoch and getattr(self._pipeline.extractor, "sees_known", True):  # at epoch 0 there was nothing to see
            _, vectors = await self._passages(piece)
            known = await self._pipeline.graph.known(self._subject.ontology, self._epoch, self._embed.name, vectors)
        return await self._extractor.extract(piece.chunk.text, known)

    async def _passages(self, piece: Piece) -> tuple[Sequence[Passage], Sequence[Vector]]:
        """Of what is not in the chunk before, too."""
        own = piece.chunk.own - piece.chunk.start
        passages = self._pipeline.passages(piece.chunk.text[own:], own)
        return passages, (await self._embed.embed([text for _, _, text in passages])).vectors

    # -- storing ---------------------------------------------------------------------------------------------------------

    async def _keep(self, alike: list[Piece], extraction: Extraction) -> None:
        """Chunks with the same text were read once."""
        try:
            for piece in alike:
                with self._alone([piece]):
                    await self._store(piece, extraction)
                    self._done += 1
                    self._tell()
        finally:
            self._ahead.release()

    async def _store(self, piece: Piece, extraction: Extraction) -> None:
        passages, vectors = await self._passages(piece)
        await self._with_meanings(
            piece, extraction, partial(self._one_by_one, partial(self._write, piece, extraction, passages, vectors))
        )

    async def _with_meanings(self, piece: Piece, extraction: Extraction, act: Act[None]) -> None:
        """Those for what the chunk says, and for what loses by the one it replaces."""
        graph, subject = self._pipeline.graph, self._subject

        async def store(others: Any) -> None:
            if not subject.graph:
                return await act(others)
            both: Act[None] = lambda meanings: act({**others, **meanings})  # noqa: E731
            return await graph.storing(self._embed, subject.ontology, self._space, extraction, both)

        old = self._replaced.get((piece.hash, piece.copy))
        await (store({}) if old is None else graph.dropping(self._embed, self._space, [old], store))

    async def _one_by_one(self, within: Callable[[Any, Block], Awaitable[T]], meanings: Any) -> T:
        async with self._storing:
            return await fenced(self._ctx, partial(within, meanings))

    async def _write(  # noqa: PLR0917 - what belongs to a chunk
        self, piece: Piece, extraction: Extraction, passages: Sequence[Passage], vectors: Sequence[Vector], meanings: Any, tx: Block
    ) -> None:
        """One chunk, one commit: its text, its passages, its part of the graph, and that it is done."""
        subject, chunk = self._subject, piece.chunk
        placed = [(chunk.start + start, chunk.start + finish, text) for start, finish, text in passages]
        if (old := self._replaced.get((piece.hash, piece.copy))) is not None:
            held = await tx.run(store.claim_document(subject.id, subject.version))
            if held is None:
                raise Superseded
            await self._pipeline.graph.drop(tx.connection, held, [old], meanings, self._space)
        added = await tx.run(
            store.add_chunk(
                subject.id, subject.version, hash=piece.hash, copy=piece.copy, ordinal=chunk.ordinal, start=chunk.start,
                own=chunk.own, finish=chunk.end, text=chunk.text, extractor=self._extractor.name if subject.graph else "",
                dropped=extraction.dropped, stage=self._stage, space=self._space, passages=placed if subject.graph else (),
                vectors=vectors if subject.graph else (),
            )
        )  # fmt: skip
        if added is None:
            raise Superseded
        ontology, source = added
        if subject.graph:
            await self._pipeline.graph.store(tx.connection, ontology, source, extraction, meanings, self._space)
        else:
            items = [
                (f"{subject.id}:{source}:{n}", text, _meta(subject, start, end)) for n, (start, end, text) in enumerate(placed)
            ]
            await tx.run(store.add_items(subject.collection, self._space, subject.id, source, items=items, vectors=vectors))

    # -- how far it is ---------------------------------------------------------------------------------------------------

    @property
    def _stage(self) -> str:
        return "extract" if self._unread else "upsert"

    def _tell(self) -> None:
        finished = self._done + len(self.errors)
        fraction = finished / self._all if self._all else 1.0
        self._ctx.progress(
            fraction, f"{self._stage}: chunk {finished} of {self._all}", stage=self._stage, chunk=finished, of=self._all
        )


def _alike(pieces: Sequence[Piece]) -> list[list[Piece]]:
    found: dict[str, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(piece.chunk.text, []).append(piece)
    return list(found.values())


def _meta(subject: Subject, start: int, finish: int) -> dict[str, Any]:
    return {"document": subject.id, "name": subject.name, "start": start, "finish": finish}


def _item_error(piece: Piece, error: Exception) -> ItemError:
    told = describe(error)
    return ItemError(f"chunk {piece.chunk.ordinal}", told["error"], classify(error), told["error_code"], told["traceback"])
