"""Passages for a question that needs more than one of them: by meaning and by words, and by what the graph leads to from there.

From the passages that are found, and from concepts near the question, a walk goes over a bounded part of the graph: from a
passage to the concepts in it, along relations, and from concepts to passages that speak of them. Where it often is, comes
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from kg._store import reading as store
from kg._store.verb import Row
from kg.graph.fan import fan_out
from kg.graph.neighbourhood import batches
from kg.graph.searching import Asked, Passage
from kg.graph.sight import Run

Place = tuple[Literal["concept", "passage"], int]
#: Personalised PageRank: weighted edges without a direction, and where it begins, to how often it is where.
Walk = Callable[[Mapping[tuple[Place, Place], float], Mapping[Place, float]], Mapping[Place, float]]

DEPTH = 50
CONCEPTS = 10
#: The part of the graph that is read.
MOST_CONCEPTS, PER_CONCEPT, PASSAGES_OF_ONE, MOST_LINKS = 400, 8, 5, 4000
#: Of reciprocal rank.
SMOOTH = 60
WEAK = 0.3


class Questions:
    def __init__(self, run: Run, walk: Walk) -> None:
        self._run, self._walk = run, walk

    async def passages(self, asked: Asked, ontologies: Sequence[int] | None, limit: int) -> list[Passage]:
        near, words, concepts = await self._seeds(asked, ontologies)
        first = fused([near, words])
        edges = await self._edges(list(first)[:DEPTH], list(concepts), ontologies)
        seeds: dict[Place, float] = {("passage", id): score for id, score in first.items()}
        share = sum(seeds.values()) / max(sum(concepts.values()), 1e-9) / 2
        seeds |= {("concept", id): score * share for id, score in concepts.items()}
        walked = self._walk(edges, seeds) if edges else seeds
        ranked = {id: walked[kind, id] for kind, id in sorted(walked, key=lambda one: (-walked[one], one[1])) if kind == "passage"}
        return await self._told(ranked, limit)

    async def _seeds(self, asked: Asked, ontologies: Sequence[int] | None) -> tuple[list[int], list[int], dict[int, float]]:
        assert asked.vector is not None and asked.words is not None
        rows = await self._run(store.question_seeds(asked.model, asked.vector, asked.words, ontologies, (DEPTH, CONCEPTS)))
        lists = {kind: sorted((row for row in rows if row[0] == kind), key=lambda row: (-row[2], row[1])) for kind in KINDS}
        near, words = ([row[1] for row in lists[kind]] for kind in ("near", "words"))
        return near, words, {id: max(score, 0.0) for _, id, score in lists["concept"]}

    async def _edges(
        self, passages: Sequence[int], concepts: Sequence[int], ontologies: Sequence[int] | None
    ) -> dict[tuple[Place, Place], float]:
        edges: dict[tuple[Place, Place], float] = {}
        known = dict.fromkeys(concepts)
        for passage, concept, count in await self._run(store.passage_concepts(passages, MOST_LINKS)):
            edges[("passage", passage), ("concept", concept)] = float(min(count, 3))
            known[concept] = None
        inner = list(known)[:MOST_CONCEPTS]
        for here, _, other, _, _, tier, _, confidence, _ in await self._neighbours(inner, ontologies):
            one, two = min(here, other), max(here, other)
            weight = confidence if tier == "precise" else confidence * WEAK
            edge: tuple[Place, Place] = (("concept", one), ("concept", two))
            edges[edge] = max(edges.get(edge, 0.0), weight)
            known[other] = None
        for concept, passage, count in await self._run(
            store.concept_passages(list(known)[: 2 * MOST_CONCEPTS], PASSAGES_OF_ONE, ontologies)
        ):
            edges.setdefault((("passage", passage), ("concept", concept)), float(min(count, 3)))
        return edges

    async def _neighbours(self, ids: Sequence[int], ontologies: Sequence[int] | None) -> list[Row]:
        rows: list[Row] = []

        async def ask(some: Sequence[int]) -> None:
            rows.extend(await self._run(store.neighbours(some, most=PER_CONCEPT, ontologies=ontologies, tier=None, types=None)))

        await fan_out(batches(ids), ask)
        return sorted(rows)  # whoever answered first

    async def _told(self, ranked: Mapping[int, float], limit: int) -> list[Passage]:
        best = list(ranked)[:limit]
        rows = {row[0]: row for row in await self._run(store.get_passages(best))}
        return [Passage(*(*rows[id], ranked[id])) for id in best if id in rows]


KINDS = ("near", "words", "concept")


def fused(rankings: Iterable[Sequence[int]]) -> dict[int, float]:
    """By reciprocal rank, the best first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, one in enumerate(ranking, 1):
            scores[one] = scores.get(one, 0.0) + 1 / (SMOOTH + place)
    return dict(sorted(scores.items(), key=lambda one: (-one[1], one[0])))
