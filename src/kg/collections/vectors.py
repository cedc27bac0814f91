"""`PgVectorStore`: collections of texts and vectors in the platform's own database."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kg._store import collections as store
from kg._store.reading import use_space
from kg.errors import InvalidQuery
from kg.parts import Item, Near, Vector
from lanework import Lanework

MOST = 1000


class PgVectorStore:
    """A `VectorStore`. A model's index is made when it is first used; all vectors of a model have the same length."""

    def __init__(self, work: Lanework) -> None:
        self._run = work._arun
        self._spaces: dict[str, tuple[int, int]] = {}

    async def put(self, collection: str, model: str, items: Sequence[Item], *, document: int | None = None) -> None:
        """`document`: the items go when it does."""
        if not items:
            return
        last = {one.id: one for one in items}  # of the same id the last one counts
        space = await self._space(collection, model, [one.vector for one in last.values()])
        await self._run(store.put_items(collection, space, list(last.values()), document))

    async def search(self, collection: str, model: str, vector: Vector, *, limit: int = 10) -> list[Near]:
        if not 1 <= limit <= MOST:
            raise InvalidQuery(f"limit: expected 1 to {MOST}, got {limit}", field="limit")
        rows = await self._run(store.near_items(collection, model, vector, limit))
        return [Near(id, text, score, json.loads(meta)) for id, text, score, meta in rows]

    async def remove(self, collection: str, ids: Sequence[str]) -> int:
        return await self._run(store.remove_items(collection, ids))

    async def _space(self, collection: str, model: str, vectors: Sequence[Vector]) -> int:
        lengths = {len(one) for one in vectors}
        if len(lengths) > 1:
            raise InvalidQuery(f"items: their vectors have different lengths: {sorted(lengths)}", field="items")
        if not 1 <= len(collection) <= 200:
            raise InvalidQuery(f"collection: expected a name of 1 to 200 characters, got {len(collection)}", field="collection")
        length = lengths.pop()
        if model not in self._spaces:
            self._spaces[model] = (await self._run(use_space(model, length)), length)
        space, known = self._spaces[model]
        if known != length:
            raise InvalidQuery(f"items: vectors of {model} have {known} dimensions, got {length}", field="items")
        return space
