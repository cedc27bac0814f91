"""Texts and vectors under names of their own, as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kg._store.reading import EF_SEARCH, Ontologies, vector_text
from kg._store.verb import Row, Verb, nothing, rows, verb
from kg.parts import Item, Vector


def put_items(collection: str, space: int, items: Sequence[Item], document: int | None) -> Verb[None]:
    return verb(
        "put_items", nothing, collection=collection, space=space, document=document, ids=[one.id for one in items],
        texts=[one.text for one in items], metas=[json.dumps(dict(one.meta)) for one in items],
        vectors=[vector_text(one.vector) for one in items],
    )  # fmt: skip


def near_items(collection: str, model: str, vector: Vector, limit: int) -> Verb[list[Row]]:
    return verb("near_items", rows, collection=collection, model=model, vector=vector_text(vector), limit=limit)


def remove_items(collection: str, ids: Sequence[str]) -> Verb[int]:
    return verb("remove_items", lambda found: int(found[0][0]), collection=collection, ids=list(ids))


def item_ontologies(ontologies: Ontologies, collection: str | None) -> Verb[list[int]]:
    """Those that have documents without a graph, in this collection if one is named."""
    return verb(
        "item_ontologies", lambda found: [row[0] for row in found], ontologies=None if ontologies is None else list(ontologies),
        collection=collection,
    )  # fmt: skip


def search_items(  # noqa: PLR0917 - a question, and where
    model: str | None, vector: Vector | None, words: str | None, ontologies: Sequence[int], collection: str | None, depth: int
) -> Verb[list[Row]]:
    return verb(
        "search_items", rows, model=model, vector=None if vector is None else vector_text(vector), words=words,
        ontologies=list(ontologies), collection=collection, depth=depth, ef=EF_SEARCH,
    )  # fmt: skip
