"""Documents and ontologies as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from psycopg.types.json import Jsonb

from kg._store.verb import Row, Verb, nothing, rows, scalar, verb


class Held(NamedTuple):
    """A document whose row is held. `blobs` are its bytes and its texts."""

    id: int
    version: int
    job: int | None
    ontology: int
    owner: str
    awaits_fetch: bool
    blobs: list[bytes]


class Known(NamedTuple):
    """A document that is there already. `same`: it has this content; `named`: it has this key."""

    id: int
    same: bool
    named: bool
    duplicate_of: int | None
    awaits_fetch: bool
    job: int | None
    owner: str


class Heir(NamedTuple):
    """A document that has got the content of another one."""

    id: int
    version: int
    owner: str


def first(found: list[Row]) -> Row | None:
    return found[0] if found else None


def _json(value: Any) -> Any:
    """The engine's connections give JSON as it comes, a job's own block as what it is."""
    return json.loads(value) if isinstance(value, (str, bytes)) else value


# -- ontologies ----------------------------------------------------------------------------------------------------------------


def create_ontology(name: str, description: str, *, by: str) -> Verb[Row | None]:
    """(id, state, …), or None if there is one of this name."""
    return verb("create_ontology", first, name=name, description=description, by=by)


def hold_ontology(name: str) -> Verb[Row | None]:
    return verb("hold_ontology", first, name=name)


def list_ontologies(name: str | None, *, all: bool, names: Sequence[str], owner: str | None) -> Verb[list[Row]]:
    return verb("list_ontologies", rows, name=name, all=all, names=list(names), owner=owner)


def set_ontology(name: str, state: str | None, description: str | None, *, by: str) -> Verb[Any]:
    return verb("set_ontology", scalar, name=name, state=state, description=description, by=by)


def take_ontology(name: str) -> Verb[Row | None]:
    return verb("take_ontology", first, name=name)


def ontology_documents(ontology: int) -> Verb[list[int]]:
    return verb("ontology_documents", lambda found: [row[0] for row in found], ontology=ontology)


def delete_ontology(id: int, documents: int, *, by: str) -> Verb[None]:
    return verb("delete_ontology", nothing, id=id, documents=documents, by=by)


# -- accepting -----------------------------------------------------------------------------------------------------------------


def put_blob(hash: bytes, data: bytes) -> Verb[None]:
    return verb("put_blob", nothing, hash=hash, data=data)


def read_blob(hash: bytes) -> Verb[Any]:
    return verb("read_blob", scalar, hash=hash)


def add_document(
    ontology: int, hash: bytes | None, *, key: str | None, name: str, media_type: str, size: int, owner: str,
    provenance: Mapping[str, Any], options: Mapping[str, Any],
) -> Verb[Row | None]:  # fmt: skip
    """(id, version), or None where there is one of this content or key. Without a hash: an address, still to be fetched."""
    return verb(
        "add_document", first, ontology=ontology, hash=hash, key=key, name=name, media_type=media_type, size=size, owner=owner,
        provenance=Jsonb(dict(provenance)), options=Jsonb(dict(options)),
    )  # fmt: skip


def known_documents(ontology: int, hash: bytes | None, key: str | None) -> Verb[list[Known]]:
    """Up to two, held."""
    return verb("known_documents", lambda found: [Known(*row) for row in found], ontology=ontology, hash=hash, key=key)


def renew_document(
    id: int, hash: bytes, *, duplicate_of: int | None, name: str, media_type: str, size: int, provenance: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Verb[Row]:  # fmt: skip
    return verb(
        "renew_document", lambda found: found[0], id=id, hash=hash, duplicate_of=duplicate_of, name=name, media_type=media_type,
        size=size, provenance=Jsonb(dict(provenance)), options=Jsonb(dict(options)),
    )  # fmt: skip


def refetch_document(id: int, name: str | None, options: Mapping[str, Any]) -> Verb[Row]:
    return verb("refetch_document", lambda found: found[0], id=id, name=name, options=Jsonb(dict(options)))


def pass_on(id: int) -> Verb[Heir | None]:
    """Call it before the document's content changes or goes."""
    return verb("pass_on", lambda found: Heir(*found[0]) if found else None, id=id)


def reopen_document(id: int) -> Verb[None]:
    return verb("reopen_document", nothing, id=id)


def give_job(id: int, job: int) -> Verb[None]:
    return verb("give_job", nothing, id=id, job=job)


def cancel_job(job: int, reason: str, *, by: str) -> Verb[None]:
    return verb("cancel_job", nothing, job=job, by=by, reason=reason)


def job_has_ended(job: int) -> Verb[Any]:
    return verb("job_has_ended", scalar, job=job)


# -- reading and removing ------------------------------------------------------------------------------------------------------


def list_documents(
    *, before: int | None = None, ontology: str | None = None, status: Sequence[str] | None = None,
    owner: str | None = None, name: str | None = None, all: bool, mine: str | None, ontologies: Sequence[str], limit: int,
) -> Verb[list[Row]]:  # fmt: skip
    return verb(
        "list_documents", lambda found: list(map(_document, found)), before=before, ontology=ontology,
        status=None if status is None else list(status), owner=owner, name=name, all=all, mine=mine, ontologies=list(ontologies),
        limit=limit,
    )  # fmt: skip


def show_document(id: int, *, all: bool, mine: str | None, ontologies: Sequence[str]) -> Verb[Row | None]:
    """A statement of its own, that is planned once: people poll it."""
    return verb(
        "show_document",
        lambda found: _document(found[0]) if found else None,
        id=id,
        all=all,
        mine=mine,
        ontologies=list(ontologies),
    )


def _document(row: Row) -> Row:
    return (*row[:17], _json(row[17]), _json(row[18]), *row[19:])


def document_text(id: int) -> Verb[Any]:
    return verb("document_text", scalar, id=id)


def hold_document(id: int) -> Verb[Held | None]:
    return verb("hold_document", lambda found: Held(*found[0]) if found else None, id=id)


def remove_document(id: int, *, by: str) -> Verb[None]:
    return verb("remove_document", nothing, id=id, by=by)


def remove_blobs(hashes: Sequence[bytes]) -> Verb[None]:
    return verb("remove_blobs", nothing, hashes=list(hashes))


def fold_documents() -> Verb[Any]:
    return verb("fold_documents", scalar)


def tidy_blobs() -> Verb[Any]:
    return verb("tidy_blobs", scalar)
