"""Stances: where each relation type stands between contradicting (-1) and supporting (1).

The axis goes from the mean of types that contradict to the mean of those that support; a type's stance is its place on it, half-way
being 0. Computed once for a type with the embedder and stored; the database weighs the relations of a concept with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from kg._store import reading as store
from kg._store.verb import Row
from kg.graph.sight import Run
from kg.parts import Embed, Vector

PAIRS = (
    ("SUPPORTS", "CONTRADICTS"), ("CONFIRMS", "REFUTES"), ("VALIDATES", "INVALIDATES"), ("REINFORCES", "OPPOSES"),
    ("ENABLES", "PREVENTS"),
)  # fmt: skip
#: Seconds after which a process looks for types that are new.
FRESH = 30.0


class Stances:
    def __init__(self, run: Run, embed: Embed | None) -> None:
        self._run, self._embed = run, embed
        self._axis: Axis | None = None
        self._looked = float("-inf")

    async def ensure(self) -> None:
        """Every relation type has its stance. Looks now and then; whoever comes meanwhile does not wait."""
        if self._embed is None or time.monotonic() - self._looked < FRESH:
            return
        self._looked = time.monotonic()
        rows = await self._run(store.types_without_stance(self._embed.name))
        if rows:
            await self._settle(self._embed, rows)

    async def _settle(self, embed: Embed, rows: Sequence[Row]) -> None:
        axis = self._axis = self._axis or await Axis.made(embed)
        known: dict[str, Vector] = {type: json.loads(text) for _, type, text in rows if text is not None}
        new = [type for _, type, text in rows if text is None]
        vectors = dict(zip(new, (await embed.embed([words(type) for type in new])).vectors, strict=True)) if new else {}
        found = [(type, axis.place({**known, **vectors}[type]), vectors.get(type)) for _, type, _ in rows]
        await self._run(store.put_stances(rows[0][0], found))


class Axis:
    def __init__(self, against: Vector, towards: Vector) -> None:
        self._along = [b - a for a, b in zip(against, towards, strict=True)]
        self._low, self._high = _dot(against, self._along), _dot(towards, self._along)

    @classmethod
    async def made(cls, embed: Embed) -> Axis:
        vectors = (await embed.embed([words(type) for pair in PAIRS for type in pair])).vectors
        return cls(_mean(vectors[1::2]), _mean(vectors[0::2]))

    def place(self, vector: Vector) -> float:
        reach = (self._high - self._low) / 2
        if reach <= 0:  # the embedder sees no difference
            return 0.0
        return max(-1.0, min(1.0, (_dot(vector, self._along) - self._low) / reach - 1))


def words(type: str) -> str:
    return type.lower().replace("_", " ")


def _mean(vectors: Sequence[Vector]) -> list[float]:
    return [sum(parts) / len(vectors) for parts in zip(*vectors, strict=True)]


def _dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
