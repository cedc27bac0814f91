"""How the graph is written: a chunk's extraction, a document that goes, a text that changed. Each in the transaction of the caller,
all or nothing, and the same however often and in whatever order it is done.

    vectors = await embedded(embed, await prepare_chunk(work, ontology, space, extraction))
    await ctx.atransact("store 7", store_chunk, ontology, source, extraction, vectors=vectors, space=space)

A vector belongs to the leading mention of a name. If another transaction changes who leads between the two lines, the second one
raises `Unprepared`, with the texts that it wants; `with_vectors` does both and goes round again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kg._store import graph as store
from kg._store import leaving as leaving_store
from kg._store.graph import arun, arun_all
from kg._store.verb import Verb
from kg.errors import SourceGone, Unprepared
from kg.graph.said import Meaning, Said, meaning, said
from kg.graph.settle import Change, placeable, settle
from kg.parts import Chunk, Embed, Extraction, Vector
from kg.vocabulary.types import TYPES
from lanework import Lanework

T = TypeVar("T")
Vectors = Mapping[bytes, Vector]
#: Rounds of `with_vectors`. Each loses to a change of the same names in the milliseconds between its two halves.
ROUNDS = 20


@dataclass(frozen=True)
class Stored:
    """What the chunk says, and whether it said that before."""

    names: int = 0
    instances: int = 0
    claims: int = 0
    dropped: int = 0
    changed: bool = False


@dataclass(frozen=True)
class Removed:
    sources: int
    names: int


@dataclass(frozen=True)
class Placed:
    """A source of a document; `new` ones are still to be extracted and embedded."""

    id: int
    ordinal: int
    new: bool


async def embedded(embed: Embed, meanings: Sequence[Meaning]) -> dict[bytes, Vector]:
    if not meanings:
        return {}
    found = await embed.embed([one.text for one in meanings])
    return dict(zip((one.rank for one in meanings), found.vectors, strict=True))


async def with_vectors(embed: Embed, meanings: Sequence[Meaning], act: Callable[[Vectors], Awaitable[T]]) -> T:
    """`act` opens a transaction of its own each time it is called."""
    vectors = await embedded(embed, meanings)
    for _ in range(ROUNDS - 1):
        try:
            return await act(vectors)
        except Unprepared as missing:
            vectors |= await embedded(embed, missing.meanings)
    return await act(vectors)


# -- a chunk -------------------------------------------------------------------------------------------------------------------


async def prepare_chunk(work: Lanework, ontology: int, space: int, extraction: Extraction) -> list[Meaning]:
    """What must be embedded before the chunk can be stored."""
    leaders = said(extraction).leaders
    ranks = {form: one.rank for form, one in leaders.items()}
    found = await work._arun(store.missing_meanings(ontology, space, ranks))
    wanted = [
        meaning(rank, label, context)
        if rank is not None and rank <= ranks[form]
        else meaning(ranks[form], leaders[form].label, leaders[form].description)
        for form, rank, label, context in found
    ]
    return list({one.rank: one for one in wanted}.values())


async def store_chunk(
    conn: Any,
    ontology: int,
    source: int,
    extraction: Extraction,
    *,
    vectors: Vectors,
    space: int,
    actor: str = "",
    job: int | None = None,
) -> Stored:
    """From now on the source says this and nothing else. Waits for nobody but others who write into the same ontology."""
    what = said(extraction)
    ready = placeable(vectors, ontology=ontology, space=space)
    told, now = await arun_all(conn, [_saying(ontology, source, what), store.names_now(None, space, source=source)])
    if told.start is None:
        raise SourceGone(f"ontology {ontology} has no source {source}: its document was deleted, or has another text now")
    change = Change(ontology, space, (told.epoch or 0) + 1, ready, told.names, told.claims, now=now)
    await _settle(conn, change, "chunk", actor=actor, job=job, source=source)
    return Stored(len(what.leaders), len(what.places), len(what.claims), what.dropped + extraction.dropped, bool(change))


async def _begin(conn: Any, ontology: int, space: int, vectors: Vectors) -> Change:
    """The change, with the ontology locked."""
    ready = placeable(vectors, ontology=ontology, space=space)
    _, epoch = await arun_all(conn, [store.lock_ontology(ontology), store.epoch_now(ontology)])
    return Change(ontology, space, (epoch or 0) + 1, ready)


async def _settle(conn: Any, change: Change, kind: str, *, actor: str = "", job: int | None = None, **detail: Any) -> None:
    if change:
        await settle(conn, change, store.next_epoch(change.ontology, change.epoch, kind, actor=actor, job=job, **detail))


def _saying(ontology: int, source: int, what: Said) -> Verb[store.Told]:
    mentions = [
        (
            one.form,
            one.label,
            one.type,
            one.description,
            [term for term, _ in one.terms],
            [form for _, form in one.terms],
            one.rank,
        )
        for one in what.mentions
    ]
    claims = [(one.from_form, one.to_form, one.type, one.tier, one.direction, one.confidence) for one in what.claims]
    labels = {form: one.label for form, one in what.leaders.items()}
    return store.say(ontology, source, labels, mentions, what.places, claims, {one.type for one in what.claims} - TYPES)


# -- what goes -----------------------------------------------------------------------------------------------------------------


async def prepare_removal(work: Lanework, document: int, space: int) -> list[Meaning]:
    """What must be embedded before the document can go: names that live on under another leading mention."""
    found = await work._arun(store.sources_of(document))
    return await _next_meanings(work, found[1] if found else [], space)


async def remove_document(
    conn: Any, document: int, *, vectors: Vectors, space: int, actor: str = "", job: int | None = None
) -> Removed | None:
    """The document, its text, and what it alone supported. None if there is no such document (any more)."""
    found = await arun(conn, store.sources_of(document))
    if found is None:
        return None
    ontology = found[0]
    change = await _begin(conn, ontology, space, vectors)
    found = await arun(conn, store.sources_of(document))  # again: it may have changed while we waited
    if found is None:
        return None
    removed = await _remove(conn, change, found[1], "document removed", actor=actor, job=job, document=document)
    await arun(conn, store.drop_document(document))
    return removed


async def remove_names(conn: Any, ontology: int, names: set[int], *, vectors: Vectors, space: int) -> int:
    """What chunks that are to go (`kg.graph.leaving`) say of these names. Answers of how many they said something."""
    change = await _begin(conn, ontology, space, vectors)
    verbs: list[Verb[Any]] = [leaving_store.leave_claims(names), leaving_store.leave_mentions(names)]
    claimed, mentioned = await arun_all(conn, verbs)
    change.claims += claimed
    change.names |= mentioned
    await _settle(conn, change, "chunks removed", names=len(change.names))
    return len(change.names)


async def _remove(conn: Any, change: Change, gone: Sequence[int], kind: str, **detail: Any) -> Removed:
    verbs: list[Verb[Any]] = [store.drop_claims(gone), store.drop_mentions(gone), store.drop_sources(gone)]
    claimed, mentioned, _ = await arun_all(conn, verbs)
    change.claims += claimed
    change.names |= mentioned
    await _settle(conn, change, kind, **detail)
    return Removed(len(gone), len(change.names))


async def _next_meanings(work: Lanework, sources: Sequence[int], space: int) -> list[Meaning]:
    found = await work._arun(store.next_meanings(sources, space))
    return [meaning(rank, label, description) for rank, label, description in found]


# -- what changes --------------------------------------------------------------------------------------------------------------


async def prepare_replacement(work: Lanework, document: int, chunks: Sequence[Chunk], space: int) -> list[Meaning]:
    hashes, copies = _hashes(chunks)
    found = await work._arun(store.changed_sources(document, hashes, copies))
    return await _next_meanings(work, found[1] if found else [], space)


async def replace_sources(
    conn: Any, document: int, chunks: Sequence[Chunk], *, vectors: Vectors, space: int, actor: str = "", job: int | None = None
) -> list[Placed]:
    """The document's text is these chunks now. What it said in chunks that are gone is taken out; chunks that stay keep what they
    said, at their new place; new ones say nothing yet. For a document without sources it just adds them."""
    hashes, copies = _hashes(chunks)
    found = await arun(conn, store.changed_sources(document, hashes, copies))
    if found is None:
        raise SourceGone(f"there is no document {document}: it was deleted")
    ontology = found[0]
    change = await _begin(conn, ontology, space, vectors)
    found = await arun(conn, store.changed_sources(document, hashes, copies))
    if found is None:
        raise SourceGone(f"there is no document {document}: it was deleted")
    if found[1]:
        await _remove(conn, change, found[1], "document changed", actor=actor, job=job, document=document)
    await arun(conn, store.move_instances(document, hashes, copies, [one.start for one in chunks]))
    rows = [
        (hash, copy, one.ordinal, one.start, one.own, one.end, one.text)
        for hash, copy, one in zip(hashes, copies, chunks, strict=True)
    ]
    placed = await arun(conn, store.put_sources(document, rows))
    return [Placed(*row) for row in placed]


def _hashes(chunks: Sequence[Chunk]) -> tuple[list[bytes], list[int]]:
    """The hash of each text, and how many equal ones came before it."""
    seen: Counter[bytes] = Counter()
    hashes, copies = [], []
    for chunk in chunks:
        hashes.append(hashlib.sha256(chunk.text.encode("utf-8", "replace")).digest())
        copies.append(seen[hashes[-1]])
        seen[hashes[-1]] += 1
    return hashes, copies


# -- chunks that go ------------------------------------------------------------------------------------------------------------


async def prepare_sources(work: Lanework, sources: Sequence[int], space: int) -> list[Meaning]:
    """What must be embedded before these sources can go."""
    return await _next_meanings(work, sources, space)


async def remove_sources(
    conn: Any, ontology: int, sources: Sequence[int], vectors: Vectors, space: int, *, job: int | None = None
) -> Removed:
    """These chunks, and what they alone supported; their document stays."""
    change = await _begin(conn, ontology, space, vectors)
    return await _remove(conn, change, sources, "chunks removed", job=job, sources=len(sources))
