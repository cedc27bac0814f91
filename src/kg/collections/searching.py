"""Search over documents that were ingested without a graph: their pieces, in the places that they would have among the passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kg._store import collections as store
from kg._store.reading import passage_scores
from kg.graph.ranking import fused
from kg.graph.searching import Asked, Passage
from kg.graph.sight import Run

#: Of each half of a search, so many are put together. Of one collection all that are near are looked at.
DEPTH, DEPTH_OF_ONE = 50, 1000
_Key = tuple[bool, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """`likeness` is a cosine, `words` what a search by words says; None: it was not found so."""

    passage: Passage
    likeness: float | None
    words: float | None


class Pieces:
    def __init__(self, run: Run) -> None:
        self._run = run

    async def among(self, found: list[Passage], asked: Asked, ontologies: Sequence[int] | None, limit: int) -> list[Passage]:
        """The passages that were found, and between them the pieces, each where nearness and words put it."""
        pieces = await self._find(asked, ontologies)
        if not pieces:
            return found
        if asked.mode != "hybrid":
            ours = [replace(one.passage, score=_score(one, asked)) for one in pieces]
            return sorted([*found, *ours], key=lambda one: (-one.score, one.collection is not None, one.id))[:limit]
        places = self._places(pieces, await self._run(passage_scores(asked.model, asked.vector, asked.words, ontologies, DEPTH)))
        return _inserted(found, pieces, places, limit)

    async def alone(self, asked: Asked, ontologies: Sequence[int] | None, collection: str, limit: int) -> list[Passage] | None:
        """Of one collection, and nothing else; None: there is no such collection."""
        pieces = await self._find(asked, ontologies, collection)
        if pieces is None:
            return None
        if asked.mode == "hybrid":
            scores = self._scores(pieces, [])
            told = [replace(one.passage, score=scores[True, one.passage.id]) for one in pieces]
        else:
            told = [replace(one.passage, score=_score(one, asked)) for one in pieces]
        return sorted(told, key=lambda one: (-one.score, one.id))[:limit]

    async def _find(self, asked: Asked, ontologies: Sequence[int] | None, collection: str | None = None) -> list[Piece] | None:
        """None: nobody has put anything there."""
        there = await self._run(store.item_ontologies(ontologies, collection))
        if not there:
            return None
        depth = DEPTH if collection is None else DEPTH_OF_ONE
        rows = await self._run(store.search_items(asked.model, asked.vector, asked.words, there, collection, depth))
        return [Piece(Passage(*(*row[:9], 0.0, row[9])), *row[10:]) for row in rows]

    def _scores(self, pieces: Sequence[Piece], others: Sequence[tuple[str, int, float]]) -> dict[_Key, float]:
        """By reciprocal rank over both kinds: (is it a piece, its id) → score."""
        near: dict[_Key, float] = {(False, id): score for kind, id, score in others if kind == "near"}
        words: dict[_Key, float] = {(False, id): score for kind, id, score in others if kind == "words"}
        near |= {(True, one.passage.id): one.likeness for one in pieces if one.likeness is not None}
        words |= {(True, one.passage.id): one.words for one in pieces if one.words is not None}
        return fused([_ranked(near), _ranked(words)])

    def _places(self, pieces: Sequence[Piece], others: Sequence[tuple[str, int, float]]) -> dict[int, int]:
        """Piece → its place among all."""
        order = _ranked(self._scores(pieces, others))
        return {id: place for place, (is_piece, id) in enumerate(order) if is_piece}


def _ranked(scores: dict[_Key, float]) -> list[_Key]:
    return sorted(scores, key=lambda one: (-scores[one], one))


def _score(one: Piece, asked: Asked) -> float:
    return (one.likeness if asked.mode == "semantic" else one.words) or 0.0


def _inserted(found: list[Passage], pieces: Sequence[Piece], places: dict[int, int], limit: int) -> list[Passage]:
    """What comes between two passages has the score of the one before it: scores say the order, and nothing more."""
    told: list[Passage] = list(found)
    by_place: Callable[[Any], int] = lambda one: places[one.passage.id]  # noqa: E731
    for one in sorted(pieces, key=by_place):
        at = min(places[one.passage.id], len(told))
        near = told[at - 1] if at else told[0] if told else None
        told.insert(at, replace(one.passage, score=1.0 if near is None else near.score))
    return told[:limit]
