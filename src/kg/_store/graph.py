"""The graph as rows. Everything that writes runs in the caller's transaction, after `lock_ontology` or `say`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kg._store.verb import Row, Verb, nothing, query, rows, scalar, verb
from lanework._store.verb import arun, arun_all

__all__ = ["arun", "arun_all"]

_SEPARATOR = "\x1f"


def _list(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(texts)


def _bands(bands: Iterable[int]) -> str:
    return f"{{{','.join(map(str, bands))}}}"


def _columns(table: Sequence[Row], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*table, strict=True)] if table else [[] for _ in range(width)]


def _ids(found: list[Row]) -> set[int]:
    return {row[0] for row in found}


def vector_text(vector: Sequence[float]) -> str:
    return f"[{','.join(f'{one:.9g}' for one in vector)}]"


# -- what a chunk says ---------------------------------------------------------------------------------------------------------


def lock_ontology(ontology: int) -> Verb[None]:
    return verb("lock_ontology", nothing, ontology=ontology)


def epoch_now(ontology: int) -> Verb[Any]:
    return verb("epoch_now", scalar, ontology=ontology)


class Told(NamedTuple):
    """What came of what a source says: the names of which it says something else than before, and of each claim that changed
    (from, to, type, concepts of both). `start`: where it begins in its document; None: it is gone, and nothing was done."""

    epoch: int | None
    start: int | None
    names: set[int]
    claims: list[Row]


def _told(found: list[Row]) -> Told:
    epoch, start, names, *claims = found[0]
    return Told(epoch, start, set(names), list(zip(*claims, strict=True)))


def say(  # noqa: PLR0917 - what belongs to a chunk
    ontology: int,
    source: int,
    labels: Mapping[str, str],
    mentions: Sequence[tuple[str, str, str, str, Iterable[str], Iterable[str], bytes]],
    places: Sequence[tuple[str, int, int, str]],
    claims: Sequence[tuple[str, str, str, str, str, float]],
    new_types: Iterable[str],
) -> Verb[Told]:
    """What a source says from now on, with the ontology locked. Names by their forms; mentions are (form, label, type, description,
    terms, their forms, rank), places count from the chunk's beginning, claims are (from, to, type, tier, direction, confidence)."""
    table = [(*one[:4], _list(one[4]), _list(one[5]), one[6]) for one in mentions]
    mentioned, called, kinds, descriptions, terms, term_forms, ranks = _columns(table, 7)
    placed, starts, finishes, quotes = _columns(places, 4)
    froms, tos, types, tiers, directions, confidences = _columns(claims, 6)
    return verb(
        "say", _told, ontology=ontology, source=source, forms=list(labels), labels=list(labels.values()), mentioned=mentioned,
        called=called, kinds=kinds, descriptions=descriptions, terms=terms, term_forms=term_forms, ranks=ranks, placed=placed,
        starts=starts, finishes=finishes, quotes=quotes, froms=froms, tos=tos, types=types, tiers=tiers, directions=directions,
        confidences=confidences, new_types=sorted(new_types),
    )  # fmt: skip


def missing_meanings(ontology: int, space: int, ranks: Mapping[str, bytes]) -> Verb[list[Row]]:
    """(form, rank, label, context) as stored, all but the form None for a new name."""
    return verb("missing_meanings", rows, ontology=ontology, space=space, forms=list(ranks), ranks=list(ranks.values()))


def next_meanings(sources: Sequence[int], space: int) -> Verb[list[Row]]:
    """(rank, label, description)."""
    return verb("next_meanings", rows, sources=list(sources), space=space)


# -- what follows from it ------------------------------------------------------------------------------------------------------


def names_now(names: Iterable[int] | None, space: int, *, source: int | None = None) -> Verb[list[Row]]:
    """(id, form, rank, keys, concept, has it a vector of the space; rank, label, type, description of who leads it; terms). None:
    of those that the source mentions."""
    return verb("names_now", rows, names=None if names is None else list(names), source=source, space=space)


def set_names(ontology: int, space: int, names: Sequence[Row]) -> Verb[None]:
    """(id, label, type, context, rank, keys; then text of the vector, sketch and bands, or None thrice if they stay)."""
    table = [(*row[:5], _list(row[5]), *row[6:8], row[8] and _bands(row[8])) for row in names]
    ids, labels, types, contexts, ranks, keys, vectors, sketches, bands = _columns(table, 9)
    return verb(
        "set_names", nothing, ontology=ontology, space=space, names=ids, labels=labels, types=types, contexts=contexts, ranks=ranks,
        keys=keys, vectors=vectors, sketches=sketches, bands=bands,
    )  # fmt: skip


def drop_names(names: Iterable[int]) -> Verb[None]:
    return verb("drop_names", nothing, names=list(names))


def likely_names(ontology: int, probes: Mapping[int, Sequence[str]], *, bits: int, cosine: float) -> Verb[list[Row]]:
    """(name, other, its form, label, type, keys, cosine)."""
    return verb(
        "likely_names",
        rows,
        ontology=ontology,
        names=list(probes),
        probes=[_list(one) for one in probes.values()],
        bits=bits,
        cosine=cosine,
    )


def old_sketches(limit: int) -> Verb[list[Row]]:
    """(ontology, space, name, rank, vector): all of one ontology and space."""
    return Verb(query("old_sketches"), {"limit": limit}, rows, binary=True)


def set_sketches(names: Sequence[tuple[int, str, Sequence[int], Sequence[str]]]) -> Verb[None]:
    """(id, bits, bands, keys)."""
    table = [(id, bits, _bands(bands), _list(keys)) for id, bits, bands, keys in names]
    ids, sketches, bands, keys = _columns(table, 4)
    return verb("set_sketches", nothing, names=ids, sketches=sketches, bands=bands, keys=keys)


def likes_of(names: Iterable[int]) -> Verb[list[Row]]:
    """(one, other, outcome, score)."""
    return verb("likes_of", rows, names=list(names))


def set_likes(ontology: int, names: Iterable[int], likes: Sequence[tuple[int, int, str, float]]) -> Verb[None]:
    ones, others, outcomes, scores = _columns(likes, 4)
    return verb(
        "set_likes", nothing, ontology=ontology, names=list(names), ones=ones, others=others, outcomes=outcomes, scores=scores
    )


def reached_names(names: Iterable[int], concepts: Iterable[int]) -> Verb[list[Row]]:
    """(id, form, label, type, keys, concept, seen)."""
    return verb("reached_names", rows, names=list(names), concepts=list(concepts))


def ties(ontology: int, names: Iterable[int]) -> Verb[list[Row]]:
    """(one, other, `same` | `decided same` | `decided apart`, score)."""
    return verb("ties", rows, ontology=ontology, names=list(names))


def moves_to(concepts: Iterable[int]) -> Verb[dict[str, int]]:
    return verb("moves_to", lambda found: {row[1]: row[0] for row in found}, concepts=list(concepts))


def add_concepts(ontology: int, epoch: int, concepts: Sequence[tuple[int | None, str]]) -> Verb[dict[str, int]]:
    """(the id that it had, or None; a form of it). Answers with form → id."""
    ids, forms = _columns(concepts, 2)
    return verb(
        "add_concepts", lambda found: {row[1]: row[0] for row in found}, ontology=ontology, epoch=epoch, ids=ids, forms=forms
    )


def place_names(places: Mapping[int, int]) -> Verb[None]:
    return verb("place_names", nothing, names=list(places), concepts=list(places.values()))


def end_concepts(concepts: Iterable[int], moves: Sequence[tuple[int, int, str]]) -> list[Verb[None]]:
    """Those that have no names left."""
    olds, news, forms = _columns(moves, 3)
    return [
        verb("move_concepts", nothing, concepts=list(concepts), olds=olds, news=news, forms=forms),
        verb("end_concepts", nothing, concepts=list(concepts)),
    ]


def set_concepts(concepts: Iterable[int], epoch: int) -> Verb[None]:
    return verb("set_concepts", nothing, concepts=list(concepts), epoch=epoch)


def count_unindexed() -> Verb[tuple[int, int]]:
    """Concepts and passages that wait for their index; a few of them twice."""
    return verb("count_unindexed", lambda found: (int(found[0][0]), int(found[0][1])))


def index_concepts(limit: int) -> Verb[int]:
    """How many were looked at."""
    return verb("index_concepts", lambda found: int(found[0][0]), limit=limit)


def index_passages(limit: int) -> Verb[int]:
    """As `index_concepts`."""
    return verb("index_passages", lambda found: int(found[0][0]), limit=limit)


def set_relations(
    ontology: int, claims: Sequence[tuple[int, int, str]], before: Sequence[tuple[int, int, str]], moved: Mapping[int, int]
) -> Verb[None]:
    """Claims between names; relations between concepts as they were; names that moved, with the concept before."""
    from_names, to_names, types = _columns(claims, 3)
    from_ids, to_ids, old_types = _columns(before, 3)
    return verb(
        "set_relations", nothing, ontology=ontology, from_names=from_names, to_names=to_names, types=types, from_ids=from_ids,
        to_ids=to_ids, old_types=old_types, moved=list(moved), was=list(moved.values()),
    )  # fmt: skip


def next_epoch(ontology: int, epoch: int, kind: str, *, actor: str, job: int | None, **detail: Any) -> Verb[None]:
    return verb("next_epoch", nothing, ontology=ontology, epoch=epoch, kind=kind, actor=actor, job=job, detail=json.dumps(detail))


# -- sources that go or move ---------------------------------------------------------------------------------------------------


def _of_document(found: list[Row]) -> tuple[int, list[int]] | None:
    return (found[0][0], found[0][1]) if found else None


def sources_of(document: int) -> Verb[tuple[int, list[int]] | None]:
    """(ontology, its sources)."""
    return verb("sources_of", _of_document, document=document)


def changed_sources(document: int, hashes: Sequence[bytes], copies: Sequence[int]) -> Verb[tuple[int, list[int]] | None]:
    return verb("changed_sources", _of_document, document=document, hashes=list(hashes), copies=list(copies))


def drop_claims(sources: Sequence[int]) -> Verb[list[Row]]:
    """As the claims of `Told`."""
    return verb("drop_claims", rows, sources=list(sources))


def drop_mentions(sources: Sequence[int]) -> Verb[set[int]]:
    return verb("drop_mentions", _ids, sources=list(sources))


def drop_sources(sources: Sequence[int]) -> Verb[None]:
    return verb("drop_sources", nothing, sources=list(sources))


def drop_document(document: int) -> Verb[None]:
    return verb("drop_document", nothing, document=document)


def move_instances(document: int, hashes: Sequence[bytes], copies: Sequence[int], starts: Sequence[int]) -> Verb[None]:
    return verb("move_instances", nothing, document=document, hashes=list(hashes), copies=list(copies), starts=list(starts))


def put_sources(document: int, sources: Sequence[tuple[bytes, int, int, int, int, int, str]]) -> Verb[list[Row]]:
    """(hash, copy, ordinal, start, own, finish, text). Answers with (id, ordinal, is it new)."""
    hashes, copies, ordinals, starts, owns, finishes, texts = _columns(sources, 7)
    return verb(
        "put_sources", rows, document=document, hashes=hashes, copies=copies, ordinals=ordinals, starts=starts, owns=owns,
        finishes=finishes, texts=texts,
    )  # fmt: skip
