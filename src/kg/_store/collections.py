"""Texts and vectors under names of their own, as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kg._store.reading import vector_text
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
