"""Search over documents that were ingested without a graph: their pieces, among the passages by scores of the same make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kg._store import collections as store
from kg._store.reading import passage_scores
from kg.graph.questions import WALKED
from kg.graph.ranking import added, fused, scaled
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

    async def among(
        self, found: list[Passage], asked: Asked, ontologies: Sequence[int] | None, limit: int, *, by_graph: bool = False
    ) -> list[Passage]:
        """The passages that were found, and between them the pieces, each where nearness and words put it. `by_graph`: `found` has
        the scores of `kg.graph.questions`."""
        depth = max(DEPTH, limit)
        pieces = await self._find(asked, ontologies, depth=depth)
        if not pieces:
            return found
        scores = {_key(one): one.score for one in found}
        if asked.mode != "hybrid":
            scores |= {_key(one.passage): _score(one, asked) for one in pieces}
        else:
            others = await self._run(passage_scores(asked.model, asked.vector, asked.words, ontologies, depth))
            halves = _halves(pieces, others)
            made = _as_questions(halves) if by_graph else fused(map(_ranked, halves))
            scores = made | scores if by_graph else scores | made
        told = [replace(one, score=scores[_key(one)]) for one in [*found, *(one.passage for one in pieces)]]
        return sorted(told, key=lambda one: (-one.score, _key(one)))[:limit]

    async def alone(self, asked: Asked, ontologies: Sequence[int] | None, collection: str, limit: int) -> list[Passage] | None:
        """Of one collection, and nothing else; None: there is no such collection."""
        pieces = await self._find(asked, ontologies, collection, depth=DEPTH_OF_ONE)
        if pieces is None:
            return None
        if asked.mode == "hybrid":
            scores = fused(map(_ranked, _halves(pieces, [])))
            told = [replace(one.passage, score=scores[True, one.passage.id]) for one in pieces]
        else:
            told = [replace(one.passage, score=_score(one, asked)) for one in pieces]
        return sorted(told, key=lambda one: (-one.score, one.id))[:limit]

    async def _find(
        self, asked: Asked, ontologies: Sequence[int] | None, collection: str | None = None, *, depth: int
    ) -> list[Piece] | None:
        """None: nobody has put anything there."""
        there = await self._run(store.item_ontologies(ontologies, collection))
        if not there:
            return None
        rows = await self._run(store.search_items(asked.model, asked.vector, asked.words, there, collection, depth))
        return [Piece(Passage(*(*row[:9], 0.0, row[9])), *row[10:]) for row in rows]


def _key(one: Passage) -> _Key:
    return one.collection is not None, one.id


def _halves(pieces: Sequence[Piece], others: Sequence[tuple[str, int, float]]) -> tuple[dict[_Key, float], dict[_Key, float]]:
    """Nearness and words of both kinds: (is it a piece, its id) → score."""
    near: dict[_Key, float] = {(False, id): score for kind, id, score in others if kind == "near"}
    words: dict[_Key, float] = {(False, id): score for kind, id, score in others if kind == "words"}
    near |= {_key(one.passage): one.likeness for one in pieces if one.likeness is not None}
    words |= {_key(one.passage): one.words for one in pieces if one.words is not None}
    return near, words


def _as_questions(halves: Sequence[Mapping[_Key, float]]) -> dict[_Key, float]:
    """No walk leads to a piece: its two parts stand for the third, too, so that having no graph is no fault."""
    made = added(*((1.0, scaled(half, DEPTH)) for half in halves))
    return {one: (2 + WALKED) / 2 * made.get(one, 0.0) for half in halves for one in half}


def _ranked(scores: Mapping[_Key, float]) -> list[_Key]:
    return sorted(scores, key=lambda one: (-scores[one], one))


def _score(one: Piece, asked: Asked) -> float:
    return (one.likeness if asked.mode == "semantic" else one.words) or 0.0
