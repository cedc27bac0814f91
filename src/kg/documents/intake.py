"""`Intake`: what comes in becomes a document and a job, in one commit.

A request that is well formed is taken, whatever the bytes are: what is wrong with them is the job's to say, so that there is a
document to ask about and a failed job to see. Refused at the door is only what cannot be kept: too large, no address at all.
"""

from __future__ import annotations

from typing import Any

from kg._store import documents as store
from kg._store.documents import Known
from kg._store.transaction import Transaction, once
from kg.access.reach import Reach
from kg.documents.document import FINAL, Document, New, checked_key, shown_name
from kg.documents.fetching import name_of, parse_url
from kg.documents.submitting import Ingestion, pass_on, submit
from kg.errors import OntologyFrozen, OntologyNotFound, SameContent, TooLarge, Unreadable, Unsupported
from kg.ingest.pipeline import Sniff
from kg.ontologies.ontologies import hold
from lanework import Lanework


class Intake:
    def __init__(self, work: Lanework, ingestion: Ingestion, sniff: Sniff, size_limit: int) -> None:
        self._work, self._ingestion, self._sniff, self._size_limit = work, ingestion, sniff, size_limit

    async def take(self, new: New, reach: Reach) -> tuple[int, bool]:
        """The document, and whether it was there and nothing was started."""
        self.check(new)
        put = self._address if new.url is not None else self._content

        async def act(tx: Transaction) -> tuple[int, bool]:
            ontology = await hold(tx, new.ontology, by=new.owner)
            # a graph is all of its documents: whose it is says who adds to it
            if not reach.covers(new.ontology, ontology.created_by):
                raise OntologyNotFound(f"there is no ontology {new.ontology!r} that you may add to; it is somebody else's")
            if ontology.state == "frozen":
                raise OntologyFrozen(f"the ontology {new.ontology!r} is frozen: it takes no documents")
            return await put(tx, ontology.id, new, reach)

        return await once(self._work, act)

    def check(self, new: New) -> None:
        checked_key(new.key)
        if new.url is not None:
            parse_url(new.url)
        if len(new.data) > self._size_limit:
            raise TooLarge(f"the document has {len(new.data):,} bytes; up to {self._size_limit:,} are taken")

    # -- bytes -----------------------------------------------------------------------------------------------------------

    async def _content(self, tx: Transaction, ontology: int, new: New, reach: Reach) -> tuple[int, bool]:
        await tx.run(store.put_blob(new.hash, new.data))
        if (added := await self._added(tx, ontology, new)) is not None:
            return added, False
        known = await tx.run(store.known_documents(ontology, new.hash, new.key))
        if not known:  # deleted in this very moment
            return await self._added_after_all(tx, ontology, new), False
        ours = _ours(known, new, reach)
        if ours.same and not (new.force and ours.duplicate_of is None) and not (ours.named and ours.awaits_fetch):
            return ours.id, True
        await self._renew(tx, ours, new, duplicate_of=next((one.id for one in known if one.id != ours.id), None))
        return ours.id, False

    async def _renew(self, tx: Transaction, ours: Known, new: New, *, duplicate_of: int | None) -> None:
        await self._stop(tx, ours, new.owner)
        if not ours.same:
            await pass_on(tx, self._ingestion, ours.id)
        _, version = await tx.run(
            store.renew_document(
                ours.id,
                new.hash,
                duplicate_of=duplicate_of,
                name=shown_name(new.name),
                media_type=self._type(new),
                size=len(new.data),
                provenance=new.provenance,
                options=new.stored_options(),
            )
        )
        await submit(tx, self._ingestion, ours.id, version, new.owner)

    def _type(self, new: New) -> str:
        """What it is, or what it is said to be: the job finds out what is wrong with it."""
        try:
            return self._sniff(new.data, new.name, new.media_type)
        except (Unsupported, Unreadable):
            return new.media_type[:200]

    # -- an address ------------------------------------------------------------------------------------------------------

    async def _address(self, tx: Transaction, ontology: int, new: New, reach: Reach) -> tuple[int, bool]:
        """What is there now is known when it has come. While one job has not ended, another one would fetch the same."""
        if (added := await self._added(tx, ontology, new)) is not None:
            return added, False
        known = await tx.run(store.known_documents(ontology, None, new.key or new.url))
        if not known:
            return await self._added_after_all(tx, ontology, new), False
        ours = _ours(known, new, reach)
        if not new.force and (await state_of(tx, ours.id)).processing_status not in FINAL:
            return ours.id, True
        await self._stop(tx, ours, new.owner)
        _, version = await tx.run(store.refetch_document(ours.id, shown_name(new.name) if new.name else None, new.stored_options()))
        await submit(tx, self._ingestion, ours.id, version, new.owner)
        return ours.id, False

    # -- both ------------------------------------------------------------------------------------------------------------

    async def _added(self, tx: Transaction, ontology: int, new: New) -> int | None:
        there = new.url is None
        row = await tx.run(
            store.add_document(
                ontology,
                new.hash if there else None,
                key=new.key or new.url,
                name=shown_name(new.name) if there or new.name else name_of(new.url or ""),
                media_type=self._type(new) if there else "",
                size=len(new.data),
                owner=new.owner,
                provenance=new.provenance,
                options=new.stored_options(),
            )
        )
        if row is None:
            return None
        await submit(tx, self._ingestion, row[0], row[1], new.owner)
        return int(row[0])

    async def _added_after_all(self, tx: Transaction, ontology: int, new: New) -> int:
        added = await self._added(tx, ontology, new)
        if added is None:
            raise SameContent("this document was added and deleted at the same time; try again")
        return added

    async def _stop(self, tx: Transaction, ours: Known, by: str) -> None:
        if ours.job is not None:
            await tx.run(store.cancel_job(ours.job, "a new version of its document has come", by=by))


def _ours(known: list[Known], new: New, reach: Reach) -> Known:
    """The document of this key, else the one of this content: whoever came first has committed, and is visible."""
    ours = next((one for one in known if one.named), known[0])
    if not reach.covers(new.ontology, ours.owner):
        raise SameContent("a document that is not yours has this content or this key in the same ontology")
    return ours


async def state_of(tx: Transaction, id: int) -> Document:
    found: Any = await tx.run(store.show_document(id, all=True, mine=None, ontologies=[]))
    return Document(*found)
