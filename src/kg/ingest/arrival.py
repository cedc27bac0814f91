"""The first step of a document that is an address: its bytes are fetched, and it is known what it is and whether it is new.

It belongs to the estimate, so that a cost can be told. There an error that lasts must not be raised: a job whose estimate failed
waits for somebody's approval. It is stored as the step's value, and the run ends with it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kg._store import documents as documents_store
from kg._store import ingestion as store
from kg._store.transaction import Block, fenced
from kg.documents.document import shown_name
from kg.documents.submitting import Ingestion, pass_on
from kg.errors import KgError
from kg.ingest.pipeline import Fetch, Page
from kg.ingest.reading import Subject, Superseded, stage
from kg.ingest.refusal import Refusal, asked_again
from lanework import Context
from lanework.retries import FINAL_CLASSES, PARKED_CLASSES, classify


@dataclass(frozen=True)
class Arrival:
    """`error`: nothing has come, and why."""

    error: str = ""
    error_class: str = ""


class Arriving:
    """`tries`: after so many, what is wrong lasts."""

    def __init__(self, ctx: Context, ingestion: Ingestion, fetch: Fetch, subject: Subject, *, status: str, tries: int) -> None:
        self._ctx, self._ingestion, self._fetch, self._subject = ctx, ingestion, fetch, subject
        self._status, self._tries = status, tries

    async def arrive(self) -> Arrival:
        found = await self._ctx.astep("fetch", _once, self._arrive)
        if found.error and asked_again(self._ctx, self._status):
            found = await self._ctx.astep(f"fetch {self._ctx.attempt}", _once, self._arrive)
        return found

    async def _arrive(self) -> Arrival:
        await stage(self._ctx, self._subject, self._status, "fetch")
        try:
            page = await self._fetch(self._subject.url)
        except KgError as error:
            if not self._lasts(error):
                raise
            return Arrival(Refusal.told(error), classify(error))
        await self._keep(page, await asyncio.to_thread(_hash, page.data))
        return Arrival()

    def _lasts(self, error: KgError) -> bool:
        kind = classify(error)
        return kind in FINAL_CLASSES or (kind not in PARKED_CLASSES and self._ctx.tries_used + 1 >= self._tries)

    async def _keep(self, page: Page, hash: bytes) -> None:
        subject = self._subject

        async def act(tx: Block) -> None:
            same = await tx.run(store.has_content(subject.id, subject.version, hash))
            if same is None:
                raise Superseded
            if not same:
                await pass_on(tx, self._ingestion, subject.id)
            await tx.run(documents_store.put_blob(hash, page.data))
            other = await tx.run(store.hold_content(subject.id, subject.ontology, hash))
            await tx.run(
                store.fetched_document(
                    subject.id,
                    subject.version,
                    hash=hash,
                    duplicate_of=other,
                    name=None if subject.named else shown_name(page.name),
                    media_type=subject.declared or page.media_type[:200],
                    size=len(page.data),
                    url=page.url,
                )
            )

        await fenced(self._ctx, act)


# not a method: the engine remembers what a step's function returns, and with a method it would remember the whole job
async def _once(arrive: Callable[[], Awaitable[Arrival]]) -> Arrival:
    return await arrive()


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
