"""Passages for a question that needs more than one of them: by meaning and by words, and by what the graph leads to from there.

From the passages that are found, and from the concepts that the question names, a walk goes over a bounded part of the graph: from
a passage to the concepts in it, along relations, and from concepts to passages that speak of them. Where it often is, counts
beside how near a passage is and how many of the question's words it has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from kg._store import reading as store
from kg._store.verb import Row
from kg.graph.fan import fan_out
from kg.graph.neighbourhood import batches
from kg.graph.ranking import GOES_ON, added, best, scaled
from kg.graph.runs import Runs
from kg.graph.searching import Asked, Passage
from kg.graph.sight import Run

Place = tuple[Literal["concept", "passage"], int]
#: Personalised PageRank: weighted edges without a direction, and where it begins, to how often it is where.
Walk = Callable[[Mapping[tuple[Place, Place], float], Mapping[Place, float]], Mapping[Place, float]]

DEPTH = 50
#: The part of the graph that is read. Relations are followed from what is named, and from the concepts of the first passages.
MOST_NAMED, MOST_CONCEPTS, PER_CONCEPT, PASSAGES_OF_ONE, MOST_LINKS, RELATED_OF = 200, 400, 8, 5, 4000, 10
#: What the concepts that a question names weigh, all together, beside all passages; and the walk beside nearness and words.
NAMED, WALKED = 1.0, 1.0
#: Relations beside mentions; and the weak tier beside the precise one.
RELATED, WEAK = 0.5, 0.3
#: A common noun beside a name.
COMMON = 0.2


class Questions:
    def __init__(self, run: Run, walk: Walk) -> None:
        self._run, self._walk = run, walk

    async def passages(self, asked: Asked, ontologies: Sequence[int] | None, limit: int) -> list[Passage]:
        assert asked.vector is not None and asked.words is not None
        seeds = await self._run(store.question_seeds(asked.model, asked.vector, asked.words, ontologies, DEPTH))
        near, words = ({id: float(score) for kind, id, score in sorted(seeds) if kind == one} for one in ("near", "words"))
        first = added((1.0, scaled(near, DEPTH)), (1.0, scaled(words, DEPTH)))
        named = await self._named(asked.words, ontologies)
        walked = self._walked(first, named, await self._edges(best(first, DEPTH), list(named), ontologies))
        return await self._told(added((1.0, first), (WALKED, walked)), limit)

    async def _named(self, question: str, ontologies: Sequence[int] | None) -> dict[int, float]:
        """Concepts that the question names, and what each is worth: the rarer, the more."""
        runs = Runs(question)
        found = await self._run(store.named_concepts(sorted(runs.forms), ontologies, MOST_NAMED))
        longest = runs.longest({form for form, *_ in found})
        return {
            concept: (COMMON if type == "concept" else 1.0) * _rarity(seen)
            for form, concept, type, seen in reversed(found)
            if form in longest
        }

    def _walked(
        self, first: Mapping[int, float], named: Mapping[int, float], edges: Mapping[tuple[Place, Place], float]
    ) -> dict[int, float]:
        """What the walk brings to each passage, at most 1, without what it begins with there. The root, because every step takes a
        half."""
        passages, concepts = sum(first.values()) or 1.0, sum(named.values()) or 1.0
        seeds: dict[Place, float] = {("passage", id): score / passages for id, score in first.items()}
        seeds |= {("concept", id): NAMED * score / concepts for id, score in named.items()}
        total = sum(seeds.values())
        linked = sorted({end for edge in edges for end in edge if end[0] == "passage"})
        walked = self._walk(edges, seeds) if edges else {}
        brought = {place[1]: walked.get(place, 0.0) - (1 - GOES_ON) * seeds.get(place, 0.0) / total for place in linked}
        most = max(brought.values(), default=0.0)
        return {id: math.sqrt(share / most) for id, share in brought.items() if share > 0}

    async def _edges(
        self, passages: Sequence[int], concepts: Sequence[int], ontologies: Sequence[int] | None
    ) -> dict[tuple[Place, Place], float]:
        edges: dict[tuple[Place, Place], float] = {}
        known = dict.fromkeys(concepts)
        for passage, concept, count, seen in await self._run(store.passage_concepts(passages, MOST_LINKS)):
            edges[("passage", passage), ("concept", concept)] = _mentioned(count, seen)
            known[concept] = None
        begun = {*concepts, *(concept for (_, passage), (_, concept) in edges if passage in passages[:RELATED_OF])}
        inner = [concept for concept in known if concept in begun][:MOST_CONCEPTS]
        for here, _, other, _, _, tier, _, confidence, _ in await self._neighbours(inner, ontologies):
            one, two = min(here, other), max(here, other)
            weight = RELATED * (confidence if tier == "precise" else confidence * WEAK)
            edge: tuple[Place, Place] = (("concept", one), ("concept", two))
            edges[edge] = max(edges.get(edge, 0.0), weight)
            known[other] = None
        for concept, passage, count, seen in await self._run(
            store.concept_passages(list(known)[: 2 * MOST_CONCEPTS], PASSAGES_OF_ONE, ontologies)
        ):
            edges.setdefault((("passage", passage), ("concept", concept)), _mentioned(count, seen))
        return edges

    async def _neighbours(self, ids: Sequence[int], ontologies: Sequence[int] | None) -> list[Row]:
        rows: list[Row] = []

        async def ask(some: Sequence[int]) -> None:
            rows.extend(await self._run(store.neighbours(some, most=PER_CONCEPT, ontologies=ontologies, tier=None, types=None)))

        await fan_out(batches(ids), ask)
        return sorted(rows)  # whoever answered first

    async def _told(self, ranked: Mapping[int, float], limit: int) -> list[Passage]:
        first = sorted(ranked, key=lambda id: (-ranked[id], id))[:limit]
        rows = {row[0]: row for row in await self._run(store.get_passages(first))}
        return [Passage(*(*rows[id], ranked[id])) for id in first if id in rows]


def _mentioned(count: int, seen: int) -> float:
    return min(count, 3) * _rarity(seen)


def _rarity(seen: int) -> float:
    """A concept that is named everywhere tells little of each place."""
    return 1 / (1 + math.log(max(seen, 1)))
