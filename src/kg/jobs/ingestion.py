"""`ingestion`: a document to graph. What it would cost is estimated first; reading it is done there, and kept for the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kg._store import documents as documents_store
from kg._store import ingestion as store
from kg.ingest.arrangement import arrange
from kg.ingest.arrival import Arriving
from kg.ingest.pipeline import Pipeline
from kg.ingest.reading import Piece, Reader, Subject, Superseded
from kg.ingest.refusal import failed
from kg.ingest.run import Run, subject_of
from kg.jobs import upkeep
from kg.parts import Usage
from lanework import Above, Cancel, Context, Estimate, Lanework
from lanework.job import Job
from lanework.outcomes import Outcome

NAME = "ingestion"
_GONE = "its document was deleted, or a newer version of it has come"
ASKED = "whoever submitted it wants it to be approved"
LARGE_CHUNKS, TINY_CHARACTERS = 500, 200
#: Of an estimate. An address that has not answered by then has failed.
TRIES = 3


def declare(work: Lanework, pipeline: Callable[[], Pipeline], *, auto_approve: float = 1.0) -> Job[[int, int], Any]:
    """`pipeline` is asked for its parts by whoever runs a job, and never by those who only submit."""
    upkeep.declare(work, pipeline)

    @work.job(NAME, lane="interactive", progress=True, approval=Above(auto_approve), internal=True)
    async def ingestion(ctx: Context, document: int, version: int) -> dict[str, Any] | Outcome:
        try:
            subject = await _arrived(ctx, document, version, "processing")
            if isinstance(subject, tuple):
                return failed(*subject)
            parts = pipeline()
            await parts.load()
            return await Run(ctx, work, parts, subject).all()
        except Superseded:
            return Cancel(_GONE)

    @ingestion.estimator(timeout=600, max_tries=TRIES)
    async def estimate(ctx: Context, document: int, version: int) -> Estimate:
        try:
            subject = await _arrived(ctx, document, version, "estimating")
            return _nothing(subject[0]) if isinstance(subject, tuple) else await _estimate(ctx, work, pipeline(), subject)
        except Superseded:
            return Estimate(low=0.0, warnings=[_GONE])  # the run will find out, and end itself

    async def _arrived(ctx: Context, document: int, version: int, status: str) -> Subject | tuple[str, str]:
        """The document with its bytes, or what is wrong with its address."""
        subject = await subject_of(work, document, version)
        if not subject.url:
            return subject
        found = await Arriving(ctx, ingestion, pipeline().fetch, subject, status=status, tries=TRIES).arrive()
        return (found.error, found.error_class) if found.error else await subject_of(work, document, version)

    @work.maintenance("documents", every=60, timeout=120)
    async def fold(ctx: Context) -> dict[str, int]:
        """Jobs that ended without their handler are the documents' own; bytes of documents that are gone go."""
        return {
            "folded": await work._arun(documents_store.fold_documents()),
            "blobs": await work._arun(documents_store.tidy_blobs()),
        }

    return ingestion


async def _estimate(ctx: Context, work: Lanework, pipeline: Pipeline, subject: Subject) -> Estimate:
    if subject.duplicate_of is not None:
        return _nothing(f"its content is that of document {subject.duplicate_of}")
    reading, pieces = await Reader(ctx, work, pipeline, subject, "estimating").read()
    if reading.error:
        return _nothing(reading.error)
    sources = await work._arun(store.list_sources(subject.id))
    todo = arrange(subject, pieces, sources).todo
    return cost(pipeline, todo, graph=subject.graph, warnings=reading.warnings, ask=subject.ask)


def _nothing(why: str) -> Estimate:
    """Nobody is asked: there is nothing to be paid."""
    return Estimate(low=0.0, warnings=[why])


def cost(
    pipeline: Pipeline, todo: list[Piece], *, graph: bool = True, warnings: tuple[str, ...] = (), ask: bool = False
) -> Estimate:
    """What reading these chunks with the extractor would cost: the least and the most."""
    low = high = Usage()
    for piece in {one.hash: one for one in todo}.values() if graph else ():
        least, most = pipeline.extractor.expect(piece.chunk.text)
        low, high = low + least, high + most
    return Estimate(
        low=low.cost, high=high.cost, tokens=high.tokens_in + high.tokens_out, items=len(todo),
        seconds=pipeline.seconds(len(todo), high), warnings=(*warnings, *_remarks(todo)), ask=ASKED if ask else None,
    )  # fmt: skip


def _remarks(todo: list[Piece]) -> list[str]:
    if len(todo) > LARGE_CHUNKS:
        return [f"it is large: {len(todo):,} chunks"]
    if todo and sum(one.chunk.end - one.chunk.own for one in todo) < TINY_CHARACTERS:
        return ["there is very little text in it"]
    return []
