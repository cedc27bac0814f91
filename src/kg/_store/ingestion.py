"""What the ingestion of a document writes: its stage, its chunks, its passages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from psycopg.types.json import Jsonb

from kg._store.documents import _json
from kg._store.verb import Row, Verb, nothing, rows, scalar, verb
from kg.parts import Vector
from lanework._store.claims import Held


class Source(NamedTuple):
    """A chunk that is stored."""

    id: int
    hash: bytes
    copy: int
    version: int
    extractor: str
    ordinal: int
    start: int
    own: int
    finish: int


class Placed(NamedTuple):
    """Where a stored chunk stands now, by how much it has moved, and whether it is of a version before."""

    id: int
    ordinal: int
    start: int
    own: int
    finish: int
    shift: int
    aged: bool


def read_document(id: int, version: int) -> Verb[Row | None]:
    """(id, version, ontology, its name, name, media type, hash, the ontology's epoch, options, is it to be fetched, whose content
    it has), or None: replaced or deleted."""
    return verb(
        "read_document",
        lambda found: (*found[0][:8], _json(found[0][8]), *found[0][9:]) if found else None,
        id=id,
        version=version,
    )


def stage_document(held: Held, id: int, version: int, status: str, stage: str) -> Verb[tuple[bool, int | None]]:
    """Whether the job still holds, and the document if it is still this version."""
    return verb(
        "stage_document", lambda found: (found[0][0], found[0][1]), job=held.id, attempt=held.attempt, claim=held.claim, id=id,
        version=version, status=status, stage=stage,
    )  # fmt: skip


def has_content(id: int, version: int, hash: bytes) -> Verb[Any]:
    """None: replaced or deleted. Held."""
    return verb("has_content", scalar, id=id, version=version, hash=hash)


def hold_content(id: int, ontology: int, hash: bytes) -> Verb[Any]:
    """The other document that has it, held."""
    return verb("hold_content", scalar, id=id, ontology=ontology, hash=hash)


def fetched_document(
    id: int, version: int, *, hash: bytes, duplicate_of: int | None, name: str | None, media_type: str, size: int, url: str
) -> Verb[Any]:
    return verb(
        "fetched_document", scalar, id=id, version=version, hash=hash, duplicate_of=duplicate_of, name=name, media_type=media_type,
        size=size, provenance=Jsonb({"url": url}),
    )  # fmt: skip


def parsed_document(id: int, version: int, *, hash: bytes, characters: int, title: str, media_type: str) -> Verb[Any]:
    return verb(
        "parsed_document", scalar, id=id, version=version, hash=hash, characters=characters, title=title, media_type=media_type
    )


def warn_document(id: int, version: int, warnings: Sequence[str]) -> Verb[None]:
    """What is known of how it was made says what was doubtful in reading it."""
    said = {"warnings": list(warnings)} if warnings else {}
    return verb("warn_document", nothing, id=id, version=version, warnings=Jsonb(said))


def claim_document(id: int, version: int) -> Verb[Any]:
    """Its ontology, held; None: replaced or deleted."""
    return verb("claim_document", scalar, id=id, version=version)


def list_sources(id: int) -> Verb[list[Source]]:
    return verb("list_sources", lambda found: [Source(*row) for row in found], id=id)


def place_sources(version: int, placed: Sequence[Placed]) -> Verb[None]:
    return verb(
        "place_sources", nothing, version=version, ids=[one.id for one in placed], ordinals=[one.ordinal for one in placed],
        starts=[one.start for one in placed], owns=[one.own for one in placed], finishes=[one.finish for one in placed],
    )  # fmt: skip


def move(placed: Sequence[Placed]) -> list[Verb[None]]:
    """Everything that counts characters of the document's text goes with its chunk."""
    moved = {"ids": [one.id for one in placed], "shifts": [one.shift for one in placed]}
    return [
        verb("shift_passages", nothing, **moved),
        verb("shift_instances", nothing, **moved),
        verb("settle_instances", nothing, ids=moved["ids"]),
        verb("shift_items", nothing, **moved),
    ]


def begin_chunks(id: int, version: int, *, chunks: int, done: int) -> Verb[Any]:
    return verb("begin_chunks", scalar, id=id, version=version, chunks=chunks, done=done)


def add_chunk(
    document: int, version: int, *, hash: bytes, copy: int, ordinal: int, start: int, own: int, finish: int, text: str,
    extractor: str, dropped: int, stage: str, space: int, passages: Sequence[tuple[int, int, str]], vectors: Sequence[Vector],
) -> Verb[tuple[int, int] | None]:  # fmt: skip
    """Its ontology and its source, the document held; None: replaced or deleted."""
    return verb(
        "add_chunk", lambda found: (found[0][0], found[0][1]) if found else None, document=document, version=version, hash=hash,
        copy=copy, ordinal=ordinal, start=start, own=own, finish=finish, text=text, extractor=extractor, dropped=dropped,
        stage=stage, space=space, starts=[start for start, _, _ in passages], finishes=[finish for _, finish, _ in passages],
        texts=[text for _, _, text in passages], embeddings=[literal(vector) for vector in vectors],
    )  # fmt: skip


def known_concepts(
    ontology: int, epoch: int, model: str, vectors: Sequence[Vector], *, each: int, limit: int, least: float
) -> Verb[list[Row]]:
    """(label, description) of the nearest, best first."""
    return verb(
        "known_concepts", rows, ontology=ontology, epoch=epoch, model=model, vectors=[literal(one) for one in vectors], each=each,
        limit=limit, least=least,
    )  # fmt: skip


def add_items(
    collection: str, space: int, document: int, source: int, *, items: Sequence[tuple[str, str, Mapping[str, Any]]],
    vectors: Sequence[Vector],
) -> Verb[None]:  # fmt: skip
    return verb(
        "add_items", nothing, collection=collection, space=space, document=document, source=source, ids=[id for id, _, _ in items],
        texts=[text for _, text, _ in items], metas=[json.dumps(meta) for _, _, meta in items],
        embeddings=[literal(vector) for vector in vectors],
    )  # fmt: skip


def finish_document(
    id: int, version: int, *, status: str, chunks: int, failed: int, error: str | None, text_hash: bytes | None,
    characters: int | None, title: str, job: int, actor: str,
) -> Verb[Any]:  # fmt: skip
    """From now on its text is this one. Answers how many of its chunks are stored; None: replaced or deleted."""
    return verb(
        "finish_document", scalar, id=id, version=version, status=status, chunks=chunks, failed=failed, error=error,
        text_hash=text_hash, characters=characters, title=title, job=job, actor=actor,
    )  # fmt: skip


def literal(vector: Vector) -> str:
    """As pgvector reads it."""
    return "[" + ",".join(f"{one:.8g}" for one in vector) + "]"
