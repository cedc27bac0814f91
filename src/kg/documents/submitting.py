"""The job of a document, submitted in the commit that makes it needed."""

from __future__ import annotations

from typing import Any

from kg._store import documents as store
from kg._store.transaction import Transaction
from lanework.job import Job

#: Takes a document and its version.
Ingestion = Job[[int, int], Any]


async def submit(tx: Transaction, ingestion: Ingestion, id: int, version: int, owner: str, *, continues: int | None = None) -> None:
    # one at a time for a document, in order: an older version never writes after a newer one has begun
    options: Any = {"continues": continues} if continues is not None else {}
    submitter = ingestion.options(connection=tx.connection, session=f"document:{id}", owner=owner, **options)
    job = await submitter.asubmit(id, version)
    await tx.run(store.give_job(id, job.id))


async def pass_on(tx: Transaction, ingestion: Ingestion, id: int) -> None:
    """Before a document's content changes or goes: if there are duplicates of it, the first of them is worked now."""
    heir = await tx.run(store.pass_on(id))
    if heir is not None:
        await submit(tx, ingestion, heir.id, heir.version, heir.owner)
